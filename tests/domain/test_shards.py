"""Shards: every case is in exactly one, whoever asks."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.core.types import Case, CaseKey, Language
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection, select
from instruction_counts.domain.shards import Shard
from tests.fakes import make_case

CASES = st.lists(
    st.builds(
        lambda label, language, threads: make_case(*label, language=language, num_threads=threads),
        st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=2),
        st.sampled_from(Language),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=30,
    unique_by=lambda case: case.key,
)
TOTALS = st.integers(1, 9)
DURATIONS_S = st.lists(st.floats(0, 1e9), max_size=30)


def durations_of(cases: list[Case], durations_s: list[float]) -> dict[CaseKey, float]:
    """Those of the first cases."""
    return {case.key: duration_s for case, duration_s in zip(cases, durations_s, strict=False)}


def shards(total: int, cases: list[Case], durations_s: list[float]) -> list[Shard]:
    """All shards, where the durations of the first cases are known."""
    known = durations_of(cases, durations_s)
    return [Shard(number, total).balanced(known) for number in range(1, total + 1)]


@given(CASES, TOTALS, DURATIONS_S)
def test_shards_are_disjoint_and_complete(
    cases: list[Case], total: int, durations_s: list[float]
) -> None:
    """Each job finds its own; together they have every case once, at its place in the whole."""
    parts = [shard.of(cases, "counts") for shard in shards(total, cases, durations_s)]
    places = [place for part in parts for place in part.positions]

    assert list(range(len(cases))) == sorted(places)
    assert {(total, len(cases), parts[0].digest)} == {
        (part.total, part.cases, part.digest) for part in parts
    }


@given(CASES, TOTALS, DURATIONS_S, st.data())
def test_a_case_that_is_added_or_removed_moves_no_other(
    cases: list[Case], total: int, durations_s: list[float], data: st.DataObject
) -> None:
    """Nor does the order of the definitions, or of what is known."""
    fewer = data.draw(st.permutations(cases))[: data.draw(st.integers(1, len(cases)))]
    known = durations_of(cases, durations_s)
    for shard in shards(total, cases, durations_s):
        again = Shard(shard.number, total).balanced(dict(reversed(known.items())))
        before = {cases[place].key for place in shard.of(cases, "").positions}
        after = {fewer[place].key for place in again.of(fewer, "").positions}

        assert {case.key for case in fewer} & before == after


def test_shards_take_equally_long_where_durations_are_known() -> None:
    """What is not known, or took no time, is distributed by its name."""
    cases = [make_case(str(number)) for number in range(40)]
    durations_s = [float(number % 7) for number in range(30)]
    loads = [
        sum(durations_s[place] for place in shard.of(cases, "").positions if place < 30)
        for shard in shards(3, cases, durations_s)
    ]
    assert max(loads) - min(loads) <= 1
    for known, rest in ((durations_s, cases[30:]), ([0.0] * 40, cases)):
        for by_time, by_name in zip(shards(3, cases, known), shards(3, cases, []), strict=True):
            assert [*map(by_name.keeps, (case.key for case in rest))] == [
                *map(by_time.keeps, (case.key for case in rest))
            ]


def test_other_wholes_have_other_digests() -> None:
    """Cases, code, order, shards or balance: else shards that leave gaps would pass for one run."""
    a, b, edited = make_case("a"), make_case("b"), make_case("a", stmt="x - y")
    shard = Shard(1, 2, {a.key: 1, b.key: 1})
    wholes = [
        *((shard, cases) for cases in ([a, b], [b, a], [edited, b])),
        (attrs.evolve(shard, total=3), [a, b]),
        (attrs.evolve(shard, placed={a.key: 1, b.key: 2}), [a, b]),
    ]

    assert len(wholes) == len({whole.of(cases, "").digest for whole, cases in wholes})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0/3", "1/3 to 3/3"), ("4/3", "1/3 to 3/3"), ("1/0", "such as 3/8"), ("x", "such as 3/8")]
    + [(text, "such as 3/8") for text in ("3", "", "-1/3", "1/3/3", "1 / 3", "1/99999", "١/٣")],
)
def test_what_is_no_shard_is_refused(text: str, expected: str) -> None:
    """With what can be written instead."""
    with pytest.raises(ValueError, match=expected):
        Shard.parse(text)


def test_a_shard_without_cases_is_refused() -> None:
    """A job that measured nothing would pass for one that found nothing."""
    case = make_case("a")
    empty = Shard(1, 2, {case.key: 2})
    with pytest.raises(UsageError, match="Shard 1/2 has none of the 1 selected cases"):
        select([case, make_case("b")], Selection(("a",), shard=empty))
