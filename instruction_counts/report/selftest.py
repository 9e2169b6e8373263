"""What `selftest` found: a table, and the share of cases that is as it should be."""

from collections.abc import Iterator, Sequence

from instruction_counts.core.types import Language
from instruction_counts.report.cases import name_of
from instruction_counts.report.document import Cell, Column, Document, Line, Role, Row, Table, Unit
from instruction_counts.report.format import share
from instruction_counts.session.launches import CaseLaunches
from instruction_counts.session.selftest import CaseNoise

_LIMITS = {0.0: "0", 0.0001: "0.01%", 0.0005: "0.05%", 0.001: "0.1%"}


def selftest_document(noises: Sequence[CaseNoise]) -> Document:
    """A line for each case, then the shares by language."""
    others = (Column(name, name) for name in ("repeats", "windows", "layouts"))
    columns = (Column("case", ""), Column("instructions", "instr", Unit.COUNT), *others)
    table = Table("cases", "", columns, map(_row, noises)).without_empty_columns()
    return Document("selftest", sections=[table], notes=_summary(noises))


def _row(noise: CaseNoise) -> Row:
    name, title = name_of(noise.case.key), noise.case.title
    if None in noise.repeats:
        return Row([name, Cell("failed", Role.BAD), "", "", ""], title)
    cells = (
        name,
        noise.repeats[0],
        "same" if noise.repeated else Cell(percent(noise.noise), Role.BAD),
        "agree" if noise.windows_agree else "vary",
        percent(noise.layout_spread) if noise.layouts else "",
    )
    return Row(cells, title)


def _summary(noises: Sequence[CaseNoise]) -> Iterator[str]:
    for language in Language:
        mine = [noise for noise in noises if noise.case.autolabels.language is language]
        if not mine:
            continue
        same = sum(case.repeated for case in mine)
        agree = sum(case.windows_agree for case in mine)
        worst = percent(max(case.noise for case in mine))
        yield (
            f"{language.value}: {same} of {len(mine)} repeat to the instruction"
            f" (noise of the others: {worst}); windows agree in {agree}"
        )
        spreads = [case.layout_spread for case in mine if case.layouts and case.floor is not None]
        if spreads:
            shares = ", ".join(
                f"{share(sum(spread <= limit for spread in spreads) / len(spreads))} within {name}"
                for limit, name in _LIMITS.items()
            )
            number = 1 + len(mine[0].layouts)
            yield f"  over {number} layouts: {shares}; worst {percent(max(spreads))}"


def percent(spread: float) -> str:
    """A relative spread: ``0``, or at least ``0.0001%``."""
    return "0" if spread == 0 else f"{max(100 * spread, 0.0001):.4f}%"


def launches_document(found: Sequence[CaseLaunches]) -> Document:
    """A line for each case on CUDA, with what the GPU ran more or less often than was heard."""
    kernels = (Column("heard", "heard", Unit.COUNT), Column("ran", "on the GPU", Unit.COUNT))
    columns = (Column("case", ""), *kernels, Column("launches", "launches"))
    table = Table("cases", "", columns, map(_launches_row, found))
    agree = sum(case.agrees for case in found)
    note = f"{agree} of {len(found)} launch on the GPU what the stand-ins hear of"
    return Document("selftest", sections=[table], notes=[note])


def _launches_row(case: CaseLaunches) -> Row:
    said = Cell("same") if case.agrees else Cell("failed" if case.failure else "differ", Role.BAD)
    below = [Line(case.failure, indent=2)] if case.failure else []
    below += [Line(f"{by:+} {name}", indent=2) for name, by in case.differences.items()]
    amounts = (sum(case.heard.values()), sum(case.ran.values()))
    cells = (name_of(case.case.key), *(amounts if not case.failure else (None, None)), said)
    return Row(cells, case.case.title, below=tuple(below))
