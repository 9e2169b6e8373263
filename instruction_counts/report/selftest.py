"""What `selftest` found: a table, and the share of cases that is exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from core.types import Language
from instruction_counts.session.selftest import CaseNoise


def table(noises: Sequence[CaseNoise]) -> Table:
    """A line for each case."""
    has_layouts = any(noise.layouts for noise in noises)
    result = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    result.add_column("case", overflow="fold", ratio=1)
    result.add_column("instr", justify="right", no_wrap=True)
    result.add_column("repeats", justify="right", no_wrap=True)
    result.add_column("windows", justify="right", no_wrap=True)
    if has_layouts:
        result.add_column("layouts", justify="right", no_wrap=True)
    for noise in noises:
        failed = None in noise.repeats
        cells = [
            Text(noise.case.title),
            Text("failed" if failed else f"{noise.repeats[0]:,}"),
            Text("same" if noise.repeated else percent(noise.noise)),
            Text("agree" if noise.windows_agree else "vary"),
        ]
        result.add_row(*cells, *([Text(percent(noise.layout_spread))] if has_layouts else []))
    return result


def summary(noises: Sequence[CaseNoise]) -> Iterator[str]:
    """The shares, by language."""
    for language in Language:
        mine = [noise for noise in noises if noise.case.autolabels.language is language]
        if not mine:
            continue
        same = sum(case.repeated for case in mine)
        agree = sum(case.windows_agree for case in mine)
        worst = max(case.noise for case in mine)
        yield (
            f"{language.value}: {same} of {len(mine)} repeat to the instruction"
            f" (noise floor of the others: {percent(worst)}); windows agree in {agree}"
        )
        if any(case.layouts for case in mine):
            spreads = sorted(case.layout_spread for case in mine)
            shares = ", ".join(
                f"{_percent_within(limit, spreads):.0f}% within {name}"
                for limit, name in (
                    (0.0, "0"),
                    (0.0001, "0.01%"),
                    (0.0005, "0.05%"),
                    (0.001, "0.1%"),
                )
            )
            number = 1 + len(mine[0].layouts)
            yield f"  over {number} layouts: {shares}; worst {percent(spreads[-1])}"


def _percent_within(limit: float, spreads: Sequence[float]) -> float:
    return 100 * sum(spread <= limit for spread in spreads) / len(spreads)


def percent(share: float) -> str:
    """A relative spread: ``0``, or at least ``0.0001%``."""
    return "0" if share == 0 else f"{max(100 * share, 0.0001):.4f}%"
