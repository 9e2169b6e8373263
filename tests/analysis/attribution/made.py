"""Costs of functions, drawn at random."""

from fractions import Fraction

from hypothesis import strategies as st

from instruction_counts.analysis.attribution.functions import FunctionChange, FunctionDifference
from instruction_counts.domain.outcomes import CallCost, FunctionCost, FunctionCosts


def change_of(found: FunctionDifference, name: str) -> FunctionChange:
    """The only function of that name."""
    (change,) = (change for change in found.functions if change.key.name == name)
    return change


FUNCTIONS = st.sampled_from(
    [
        *(("libtorch_cpu.so", f"at::native::f({kind})") for kind in ("int", "long", "")),
        *(("libtorch_cpu.so", f"at::_ops::add::call<{number}>(int)") for number in (1, 2)),
        *(("libc.so.6", name) for name in ("malloc", "free", "memcpy@@GLIBC_2.14")),
        *(("libpython3.11.so.1.0", name) for name in ("PyNumber_Add", "slot.isra.0", "slot")),
        *(("libpython3.12.so.1.0", name) for name in ("PyNumber_Add", "tuple_alloc")),
        *(("???", name) for name in ("0x2c706000", "0x493d7a8")),
        *(("case.so", name) for name in ("main", "fib'2", "")),
    ]
)


@st.composite
def costs(draw: st.DrawFn, least: int = -9) -> FunctionCosts:
    """Costs of any functions, each at least ``least``, with any calls among them.

    Some functions are in several files.
    """
    row = st.tuples(FUNCTIONS, st.sampled_from("ab"), st.integers(least, 10**6))
    rows = draw(st.lists(row))
    places = st.integers(0, max(0, len(rows) - 1))
    edges = st.builds(CallCost, places, places, st.integers(-2, 99), st.integers(-9, 10**6))
    return FunctionCosts(
        draw(st.sampled_from([1, 2, 3, 5, 10, 100])),
        tuple(FunctionCost(library, file, name, cost) for (library, name), file, cost in rows),
        tuple(draw(st.lists(edges))) if rows else (),
    )


def total(costs: FunctionCosts) -> Fraction:
    """Instructions per run."""
    return Fraction(sum(cost.exclusive for cost in costs.costs), costs.runs)
