"""A site as files: its pages, what links them, its feed, and what is made again."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.etree import ElementTree as ET

import pytest

from instruction_counts.domain.outcomes import Failure, FailureKind, Outcome, Status
from instruction_counts.report.document import Column, Document, Row, Table
from instruction_counts.report.site import Site, _summary_of
from instruction_counts.session.histories import HistoryRequest, publication_of
from instruction_counts.storage.store import Store
from tests.history.made import run_of_cases

ATOM = "{http://www.w3.org/2005/Atom}"
SKIPPED = Outcome(Status.SKIPPED, failure=Failure(FailureKind.REFUSED, "no time was left"))
COUNTS: tuple[dict[str, int | Outcome | None], ...] = (
    {"add": 1000, "<mul>": 1000},
    {"add": 1000, "<mul>": SKIPPED},
    {"add": 1300, "<mul>": None},
    {"add": 1300, "<mul>": 1000},
)


def files_of(store: Store, remembered: Callable[..., Any] = lambda _, make: make()) -> Any:
    """The files of a site by name, each with what it is made of and its content."""
    site = Site(publication_of(HistoryRequest(), store), remembered, "https://example.org/")
    files = {name: (made_of, make()) for name, made_of, make in site.pages()}
    assert site.names() == files.keys()
    return files


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Four builds of two cases; one has a step in the third, where the other fails."""
    with Store(tmp_path_factory.mktemp("site") / "runs.db") as found:
        for day, counts in enumerate(COUNTS, 1):
            found.import_run(run_of_cases(counts, day))
        yield found


@pytest.fixture(scope="module")
def files(store: Store) -> dict[str, str]:
    """The content of each file of its site."""
    return {name: str(content) for name, (_, content) in files_of(store).items()}


def test_the_overview_says_what_is_new(files: dict[str, str]) -> None:
    """The builds, the newest first, and the steps, with pages and causes."""
    data = json.loads(files["index.json"])
    (step,) = data["steps"]

    assert ["run 4", "run 3", "run 2", "run 1"] == [build["build"] for build in data["builds"]]
    assert [0, 1, 0, 0] == [build["failed"] for build in data["builds"]]
    assert [None, "builds/run-2.html"] == [build["build_page"] for build in data["builds"][:1:-1]]
    assert (1000, 1300, "run 2", "run 3") == tuple(
        step[name] for name in ("base", "new", "before", "build")
    )
    assert ["+300 at::slow (new)"] == step["causes"] == data["builds"][1]["causes"]
    assert {"worse": 1, "failed": 1} == data["builds"][1]["tally"]


def test_a_case_has_its_counts_with_what_is_to_say_of_them(files: dict[str, str]) -> None:
    """Also where it has none."""
    (page,) = (name for name in files if re.fullmatch("cases/group-mul.*html", name))
    counts = files[page]

    assert "latest: 1,000" in counts
    assert "ValueError: bad" in counts
    assert "&lt;mul&gt;" in counts
    assert "<mul>" not in counts


def test_every_link_leads_to_a_file_of_the_site(files: dict[str, str]) -> None:
    """From every page, also from the feed and the search."""
    links = {
        urlsplit(urljoin(f"https://example.org/{name}", link)).path[1:]
        for name, text in files.items()
        if name.endswith((".html", ".xml"))
        for link in re.findall(r'(?:href|src)="([^"]*)"', text)
        if not link.startswith(("data:", "http://www.w3.org/"))
    }
    links |= {page for _, page in json.loads(files["assets/search.js"].splitlines()[0][14:-1])}

    assert set() == links - files.keys()
    assert {name for name in files if name.endswith((".html", ".json"))} == {
        link for link in links if link.endswith((".html", ".json"))
    }


def test_the_feed_has_an_entry_for_each_step(files: dict[str, str]) -> None:
    """With an address of its own, and a name that stays."""
    feed = ET.fromstring(files["feed.xml"])  # noqa: S314 - our own
    (entry,) = feed.findall(f"{ATOM}entry")

    assert "+300 in Group / add · C++ · Eager · Forward" == entry.findtext(f"{ATOM}title")
    assert "urn:uuid:" == str(entry.findtext(f"{ATOM}id"))[:9]
    assert "2026-01-03T05:00:00+00:00" == entry.findtext(f"{ATOM}updated")
    assert str(entry.find(f"{ATOM}link").get("href")).startswith("https://example.org/cases/")


def test_one_more_build_changes_its_own_pages_and_those_of_all_cases(store: Store) -> None:
    """Neighbours from before are not compared again; their figures are remembered."""
    known: dict[str, Any] = {}

    def remembered(name: str, make: Callable[[], Any]) -> Any:
        return known.setdefault(name, make()) if name not in known else known[name]

    before = files_of(store, remembered)
    first = set(known)
    number = store.import_run(run_of_cases({"add": 1300, "<mul>": 1000}, 5))
    try:
        after = files_of(store, remembered)
    finally:
        store.delete(number)
    changed = {name for name, page in after.items() if page != before.get(name)}

    assert {name for name in after if name.startswith(("cases/", "index"))} | {
        *("assets/search.js", "builds/run-5.html", "builds/run-5.json")
    } == changed
    assert 1 == len(known.keys() - first)


def test_what_single_cases_have_alone_is_no_cause() -> None:
    """It is the last row of the table of causes, without a letter."""
    causes = [Row(("A", "at::slow"), key="A"), Row(("", "what single cases have alone"))]
    table = Table("causes", "", (Column("letter", ""), Column("cause", "")), causes)
    data = {"cases": [], "tally": {}, "mean_change": 0.0}
    found = _summary_of(lambda: Document("comparison", "", sections=(table,), data=data))

    assert ["at::slow"] == found["causes"]
