"""A history as a static site: an overview, pages of cases and of pairs of neighbours, and a feed.

Every page is a document, written as HTML and beside it as JSON. What it is made of has a digest, so
that after one more build only what changed has to be made.
"""

import functools
import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import attrs

from instruction_counts import __version__
from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import DEFAULT_NAME
from instruction_counts.domain.records import StoredCount
from instruction_counts.history.series import Series, pairs_at_steps
from instruction_counts.report.cases import KEY_NAMES, name_of, selector
from instruction_counts.report.causes import texts, why
from instruction_counts.report.comparison import comparison_document, torch_of
from instruction_counts.report.document import (
    Block,
    Cell,
    Chart,
    Column,
    Document,
    Line,
    Role,
    Row,
    Section,
    Table,
    Unit,
    table_of,
)
from instruction_counts.report.format import plural, relative
from instruction_counts.report.history import chart_of, series_data
from instruction_counts.report.renderers import Content, html
from instruction_counts.report.renderers.json import compact
from instruction_counts.session.histories import Publication, PublishedBuild

FORMAT_VERSION = 1
"""Of the JSON of a site."""
_NEWEST = 20
"""So many builds and steps are shown at once; the others unfold."""
_MOST_STEPS = 1000
"""So many steps are on the overview; the others are on the pages of their cases."""

Values: TypeAlias = dict[str, Any]


def _build_cell(item: Values) -> Cell:
    return Cell(item["build"], link=item["build_page"] or "")


def _case_cell(item: Values) -> Cell:
    return Cell(item["case"], link=item["page"])


def _verdict(verdict: Verdict, role: Role) -> Any:
    return lambda item: Cell(item["tally"].get(verdict.value) or "", role)


def _change(name: str) -> Any:
    return lambda item: Cell(item[name], Role.of_change(item["change"]))


_DAY = Column("day", "date", of=lambda item: item["started_at"][:10])
_BUILDS = (
    Column("build", "build", of=_build_cell),
    Column("worse", "worse", Unit.COUNT, of=_verdict(Verdict.WORSE, Role.BAD)),
    Column("better", "better", Unit.COUNT, of=_verdict(Verdict.BETTER, Role.GOOD)),
    Column("failed", "failed", Unit.COUNT, of=lambda item: item["failed"] or ""),
    Column(
        *("mean_change", "in all", Unit.RELATIVE),
        of=lambda item: Cell(item["mean_change"] or "", Role.of_change(item["mean_change"])),
    ),
    _DAY,
    Column("torch", "torch", of=lambda item: item["torch"]),
    Column("cases", "cases", Unit.COUNT, of=lambda item: item["cases"]),
)
_STEP = (  # a phone shows the first columns
    Column("change", "change", Unit.CHANGE, of=_change("change")),
    Column("relative", "%", Unit.RELATIVE, of=_change("relative")),
    Column("base", "before", Unit.COUNT, of=lambda item: item["base"]),
    Column("new", "after", Unit.COUNT, of=lambda item: item["new"]),
)
_STEPS = (
    Column("case", "case", of=_case_cell),
    *(*_STEP, Column("build", "in", of=_build_cell), _DAY),
)
_STEPS_OF_CASE = (
    *(Column("build", "in", of=_build_cell), *_STEP, _DAY),
    Column("remark", "", of=lambda item: item["remark"]),
)
_CASES = (
    Column("case", "case", of=_case_cell),
    Column("latest", "latest", Unit.COUNT, of=lambda item: item["latest"]),
    Column("counts", "counts", Unit.COUNT, of=lambda item: item["counts"]),
    Column("steps", "steps", Unit.COUNT, of=lambda item: item["steps"] or ""),
    Column("last_step", "last step", of=lambda item: item["last_step"][:10]),
)
_COUNTS = (
    Column("build", "build", of=_build_cell),
    Column(
        *("count", "count", Unit.COUNT),
        of=lambda item: Cell(item["count"], approximate=item["exact"] is False),
    ),
    *(_DAY, Column("torch", "torch", of=lambda item: item["torch"])),
    Column("remark", "", of=lambda item: item["remark"]),
)


def overview(
    builds: Sequence[Values], steps: Sequence[Values], cases: Sequence[Values]
) -> Document:
    """What is new: the builds, the steps, the newest first, and then each case."""
    newest = builds[0]
    numbers = (plural(len(cases), "case"), plural(len(builds), "build"), plural(len(steps), "step"))
    answer = [
        " · ".join(numbers),
        f"newest: {newest['build']}, torch {newest['torch']}, {newest['started_at'][:10]}",
    ]
    shown = steps[:_MOST_STEPS]
    sections = [
        *_newest("builds", "Newest builds", "Earlier builds", _BUILDS, builds),
        *_newest("steps", "Newest steps", "Earlier steps", _STEPS, shown),
        table_of("cases", "Cases", _CASES, cases, folded=True),
    ]
    left_out = len(steps) - len(shown)
    notes = [f"{left_out:,} earlier steps are on the pages of their cases."] if left_out else []
    return Document(
        "overview",
        "Instruction counts",
        answer,
        sections=sections,
        notes=[*notes, Line("Instructions per iteration.", Role.DIM)],
        data={"format_version": FORMAT_VERSION, "builds": builds, "steps": steps, "cases": cases},
    )


def _newest(
    name: str, newest: str, earlier: str, columns: Sequence[Column], items: Sequence[Values]
) -> Iterable[Table]:
    if items:
        yield _with_causes(name, newest, columns, items[:_NEWEST])
    if len(items) > _NEWEST:
        yield _with_causes(f"earlier_{name}", earlier, columns, items[_NEWEST:], folded=True)


def _with_causes(
    name: str, title: str, columns: Sequence[Column], items: Iterable[Values], **more: Any
) -> Table:
    rows = (
        Row([column.of(item) for column in columns], below=why(item["causes"])) for item in items
    )
    return Table(name, title, columns, rows, **more).without_empty_columns()


def case_document(
    case: Values, chart: Chart | None, counts: Sequence[Values], command: str
) -> Document:
    """The history of a case; its steps and ``counts`` are the newest first."""
    steps = case["steps"]
    changes = plural(len(steps), "step")
    latest = "never counted" if case["latest"] is None else f"latest: {case['latest']:,}"
    last = f", the last {relative(steps[0]['relative'])} in {steps[0]['build']}" if steps else ""
    no_steps = Block("Steps", ["No step: all counts are the same but for noise."])
    return Document(
        "case",
        case["case"],
        [f"{latest} · {changes}{last}"],
        sections=[
            *([] if chart is None else [attrs.evolve(chart, title="Counts over time")]),
            _with_causes("steps", "Steps", _STEPS_OF_CASE, steps) if steps else no_steps,
            table_of("counts", "Counts", _COUNTS, counts).without_empty_columns(),
        ],
        notes=[Line("Instructions per iteration.", Role.DIM)],
        next_command=command,
        data=case,
    )


_FORM = 2, __version__
"""Of the pages: another one makes all of them anew."""
_SEARCH, _FEED = "assets/search.js", "feed.xml"
_SLUG_LENGTH = 48
_FEED_LENGTH = 100
_CAUSES = 3
"""So many causes of a build are on the overview."""

Page: TypeAlias = tuple[str, str, Callable[[], Content]]
"""Its path below the root (``cases/add-0f3a9c1e.html``), what it is made of (if that is the same,
so is the content), and what makes it."""


class Site:
    """The pages of a publication.

    What is costly is ``remembered`` by its name, and made where no earlier publication left it.
    """

    def __init__(
        self,
        publication: Publication,
        remembered: Callable[[str, Callable[[], Any]], Any],
        url: str = "",
    ) -> None:
        self._publication, self._remembered, self._url = publication, remembered, url
        self._keys = [series.key for series in publication.series]
        self._cases = {key: _case_page(key.as_values) for key in self._keys}
        self._builds = {(build.run_id, build.name): build for build in publication.builds}
        self._pairs = {build: _build_page(build) for build in publication.bases}
        self._said_of_pairs: dict[PublishedBuild, dict[str, list[str]]] = {}
        """The causes of changed cases in words, by the names of their pages."""
        self._digests = {build: self._digest_of(build) for build in publication.builds}

    def names(self) -> frozenset[str]:
        """The names of all pages; nothing is made for it."""
        pages = ("index", *self._cases.values(), *self._pairs.values())
        both = (f"{page}.{suffix}" for page in pages for suffix in ("html", "json"))
        return frozenset({*both, *html.assets(), _SEARCH, _FEED})

    def pages(self) -> Iterator[Page]:
        """All pages. Each has to be made before the next one is asked for."""
        for name, (version, make) in html.assets().items():
            yield name, _digest(version), make
        builds: list[Values] = []
        for build in self._publication.builds:
            values = self._build_values(build)
            if (base := self._publication.bases.get(build)) is not None:
                pair = _digest(self._publication.min_effect, *map(self._digests.get, (base, build)))
                document = functools.cache(functools.partial(self._pair, base, build))
                find = functools.partial(_summary_of, document)
                summary = self._remembered(f"pair {pair}", find)
                self._said_of_pairs[build] = summary["said"]
                values |= {name: summary[name] for name in ("tally", "mean_change", "causes")}
                yield from _both(self._pairs[build], pair, document)
            if not build.is_repeated:
                builds.append(values)
        steps: list[Values] = []
        cases: list[Values] = []
        for series in self._publication.series:
            case, mine, page = self._case(series)
            steps += mine
            cases.append(case)
            yield from page
        steps.sort(key=_moment, reverse=True)
        whole = functools.partial(overview, builds[::-1], steps, cases)
        yield from _both("index", _digest(builds, steps, cases), whole)
        newest = steps[:_FEED_LENGTH]
        feed = functools.partial(html.feed, newest, self._url)
        yield _FEED, _digest(newest, self._url), feed
        index = [(key.title, f"{page}.html") for key, page in self._cases.items()]
        index += [
            (f"{build['build']}, torch {build['torch']}, {build['started_at'][:10]}", page)
            for build in reversed(builds)
            if (page := build["build_page"])
        ]
        yield _SEARCH, _digest(index), functools.partial(html.search_script, index)

    def _digest_of(self, build: PublishedBuild) -> str:
        counts = [
            (
                *(self._cases[point.case], point.definition_hash, point.status.value),
                *(point.instructions, point.noise, point.failure, point.has_changed_files),
            )
            for point in build.points
        ]
        first = build.first
        return _digest(build.title, first.started_at, first.engine, first.fingerprint, counts)

    def _pair(self, base: PublishedBuild, new: PublishedBuild) -> Document:
        """The comparison of two builds, with a link to the history of each case."""
        names = [
            str(build.run_id) if build.name == DEFAULT_NAME else f"{build.run_id}:{build.name}"
            for build in (base, new)
        ]
        document = comparison_document(self._publication.compare(base, new), names)
        pages = {name_of(key): f"{page}.html" for key, page in self._cases.items()}
        return attrs.evolve(
            document,
            title=f"{_dated(new)} against {_dated(base)}",
            sections=(_linked(section, pages) for section in document.sections),
        )

    def _named(self, build: PublishedBuild) -> Values:
        page = self._pairs.get(build)
        return {
            "build": build.title,
            "build_page": page and f"{page}.html",
            "torch": torch_of(build.first.fingerprint),
        }

    def _build_values(self, build: PublishedBuild) -> Values:
        return {
            **self._named(build),
            "started_at": build.first.started_at,
            "cases": len(build.cases),
            "failed": sum(point.status.is_failure for point in build.points),
            "tally": {},
            "mean_change": None,
            "causes": [],
        }

    def _case(self, series: Series) -> tuple[Values, list[Values], Iterator[Page]]:
        """What the overview says of a case, its steps, and its page."""
        said = {pair: self._said(*pair) for pair in pairs_at_steps(series)}
        data, title, page = series_data(series, said), series.key.title, self._cases[series.key]
        segments = data["segments"]
        points = sorted((point for part in segments for point in part["points"]), key=_moment)
        counts = [self._of_point(point) for point in (*points, *data["uncounted"])]
        steps = [
            self._step(series.key, step, part["points"])
            for part in segments
            for step in part["steps"]
        ]
        for items in (steps, counts):
            items.sort(key=_moment, reverse=True)
        values = {
            "case": title,
            "page": f"{page}.html",
            "latest": points[-1]["count"] if points else None,
            "counts": len(points),
            "steps": len(steps),
            "last_step": steps[0]["started_at"] if steps else "",
        }
        command = f"history {selector(series.key, self._keys)}"
        shown = {**values, **data, "steps": steps}
        document = functools.partial(case_document, shown, chart_of(series), counts, command)
        made_of = _digest(compact(shown), counts, command)
        return values, steps, _both(page, made_of, functools.cache(document))

    def _said(self, base: StoredCount, new: StoredCount) -> Sequence[str]:
        """The causes of a step in words; mostly the comparison of neighbours found them."""
        build = self._builds[new.run_id, new.build]
        if self._publication.bases.get(build) is self._builds[base.run_id, base.build]:
            return self._said_of_pairs[build].get(self._cases[new.case], ())
        ends = [(point.run_id, point.build, point.instructions) for point in (base, new)]
        step = _digest(self._cases[new.case], *ends)
        found: Sequence[str] = self._remembered(
            f"step {step}", lambda: list(texts(self._publication.causes(base, new)))
        )
        return found

    def _of_point(self, point: Values) -> Values:
        """A count, or that there is none, with its build."""
        known = {name: point[name] for name in ("started_at", "run", "count", "exact", "remark")}
        return known | self._named(self._builds[point["run"], point["build"]])

    def _step(self, key: CaseKey, step: Values, points: Sequence[Values]) -> Values:
        before, after = (self._of_point(points[step[end]]) for end in ("before", "after"))
        outliers = step["after"] - step["before"] - 1
        remarks = (
            "" if step["confirmed"] else "one count only",
            f"outliers in between: {outliers}" if outliers else "",
            f"also differs: {', '.join(step['differs'])}" if step["differs"] else "",
        )
        names = ("base", "new", "change", "relative", "causes")
        return {
            "case": key.title,
            "page": f"{self._cases[key]}.html",
            **{name: after[name] for name in ("started_at", "run", "build", "build_page", "torch")},
            **{name: step[name] for name in names},
            "before": before["build"],
            "remark": " · ".join(filter(None, remarks)),
            # A feed knows a step by it, whichever version of the program wrote it.
            "id": _uuid_of(self._cases[key], before["build"], after["build"]),
        }


def _both(page: str, made_of: str, document: Callable[[], Document]) -> Iterator[Page]:
    """A document as HTML and as JSON."""
    yield f"{page}.html", made_of, lambda: html.site_page(document(), page)
    yield f"{page}.json", made_of, lambda: compact(document().data)


def _summary_of(make: Callable[[], Document]) -> Values:
    """What the overview and the pages of cases say of a comparison."""
    document = make()
    tables = (table for table in document.tables if table.name == "causes")
    # The row that sums up the other ones has no letter.
    shared = [row.cells[-1].value for table in tables for row in table.rows if row.key]
    changed = [case for case in document.data["cases"] if case["change"]]
    reported = (case for case in changed if case["verdict"] in {"worse", "better"})
    of_cases = (cause for case in reported for cause in case["causes"])
    return {
        "tally": document.data["tally"],
        "mean_change": document.data["mean_change"],
        "causes": list(dict.fromkeys(shared or of_cases))[:_CAUSES],
        "said": {_case_page(case): case["causes"] for case in changed},
    }


def _linked(section: Section, pages: dict[str, str]) -> Section:
    """A table with a link from each case to its page."""
    if not isinstance(section, Table):
        return section
    rows = []
    for row in section.rows:
        first, *others = row.cells
        linked = attrs.evolve(first, link=pages.get(row.key, ""))
        rows.append(attrs.evolve(row, cells=[linked, *others]))
    return attrs.evolve(section, rows=rows)


def _dated(build: PublishedBuild) -> str:
    started_at = build.first.started_at
    return f"{build.title} of {started_at[:10]}" if started_at else build.title


def _moment(values: Values) -> tuple[str, int]:
    return values["started_at"], values["run"]


def _case_page(key: Values) -> str:
    """Of a case, by the parts of its key, among others."""
    parts = {name: key[name] for name in KEY_NAMES}
    return f"cases/{_slug('/'.join(key['label']))}-{_uuid_of(parts)[:8]}"


def _build_page(build: PublishedBuild) -> str:
    if build.name == DEFAULT_NAME:
        return f"builds/run-{build.run_id}"
    return f"builds/run-{build.run_id}-{_slug(build.name)}-{_uuid_of(build.name)[:8]}"


def _slug(text: str) -> str:
    """What people can read of a text in an address."""
    return re.sub("[^a-z0-9]+", "-", text.lower())[:_SLUG_LENGTH].strip("-") or "x"


def _uuid_of(*parts: object) -> str:
    """What names a thing in addresses: the same in every version of the program."""
    return str(uuid.UUID(hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]))


def _digest(*parts: object) -> str:
    """Of what a page is made of."""
    text = repr((_FORM, parts))
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:32]
