"""Cases that changed for one cause."""

from __future__ import annotations

import random

import attrs
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.difference import Difference, Verdict
from instruction_counts.analysis.verdicts.shared_causes import (
    SharedCauses,
    is_changed,
    leading_causes,
    shared_causes,
)
from instruction_counts.domain.causes import Cause, CauseKind
from tests.builders import difference

FORWARD = Cause(
    CauseKind.PYTHON, "Linear.forward", 20, 30, where="torch/nn/modules/linear.py", line=130
)
CONTIGUOUS = Cause(CauseKind.OPERATOR, "aten::contiguous", 0, 1)


def native(name: str, change: int) -> Cause:
    """A native function that costs so much more."""
    return Cause(CauseKind.NATIVE, name, 1000, 1000 + change, where="libtorch_cpu.so")


def case(label: str, change: int, *causes: Cause, verdict: Verdict = Verdict.WORSE) -> Difference:
    """A case that changed for these causes."""
    return difference(10_000, 10_000 + change, label=label, verdict=verdict, causes=causes)


CAUSES = st.lists(
    st.builds(native, st.sampled_from("abcd"), st.integers(-9, 9).filter(bool))
    | st.builds(
        lambda name, new: Cause(CauseKind.PYTHON, name, 20, new, where="torch/x.py"),
        st.sampled_from("pq"),
        st.integers(20, 30),
    ),
    max_size=4,
    unique_by=lambda cause: (cause.kind, cause.name),
)
CASES = st.lists(st.tuples(st.integers(-99, 99), CAUSES, st.sampled_from(Verdict)), max_size=8).map(
    lambda drawn: [
        case(f"case {place}", change, *causes, verdict=verdict)
        for place, (change, causes, verdict) in enumerate(drawn)
    ]
)


def labels(found: SharedCauses) -> list[tuple[list[str], list[str]]]:
    """The causes and the cases of each group, by their names."""
    return [
        (
            [shared.causes[0].name for shared in group.causes],
            [difference.key.label[0] for difference in group.differences],
        )
        for group in found.groups
    ]


def test_cases_that_share_a_cause_are_one_group() -> None:
    """The largest change first; what only one case has stays with it."""
    small, large = case("small", 40, FORWARD), case("large", 120, FORWARD, CONTIGUOUS)
    found = shared_causes([small, large, case("other", 9, native("f", 9))])

    assert [(["Linear.forward"], ["large", "small"])] == labels(found)
    assert (40, 120) == (found.groups[0].least, found.groups[0].most)
    assert {small.key: (0,), large.key: (0,)} == found.places
    assert found.has(large.key, FORWARD)
    assert not found.has(large.key, CONTIGUOUS)


def test_causes_of_exactly_the_same_cases_are_one_group() -> None:
    """Functions that people can open come first."""
    causes = (FORWARD, CONTIGUOUS, native("f", 30))

    assert [(["Linear.forward", "aten::contiguous", "f"], ["b", "a"])] == labels(
        shared_causes([case("a", 40, *causes), case("b", 41, *causes)])
    )


def test_the_same_function_may_have_moved_in_its_file() -> None:
    """Its line is no part of what it is."""
    moved = attrs.evolve(FORWARD, line=140)

    assert 1 == len(shared_causes([case("a", 1, FORWARD), case("b", 1, moved)]).groups)


def test_small_changes_beside_large_ones_are_shared_with_no_one() -> None:
    """A tenth of the largest native change is the least that leads."""
    changed = case("a", 110, native("large", 100), native("just", 10), native("small", 9))

    assert ["large", "just"] == [cause.name for cause in leading_causes(changed)]


def test_cases_that_did_not_change_take_part_in_nothing() -> None:
    """What moved in them is below what is reported."""
    same = [case(name, 2, native("f", 2), verdict=Verdict.SAME) for name in "ab"]

    assert SharedCauses() == shared_causes(same)


@given(CASES)
def test_no_changed_case_is_lost(cases: list[Difference]) -> None:
    """Each is in a group for each cause that it shares, and otherwise alone; no other case is."""
    found = shared_causes(cases)
    changed = [case for case in cases if is_changed(case)]
    for mine in cases:
        groups = [group for group in found.groups if mine in group.differences]
        assert [found.groups[place] for place in found.places.get(mine.key, ())] == groups
        shares = {
            cause.identity
            for cause in leading_causes(mine)
            for other in changed
            if mine in changed
            and other is not mine
            and cause.identity in {theirs.identity for theirs in leading_causes(other)}
        }
        assert shares == {cause.causes[0].identity for group in groups for cause in group.causes}


@given(CASES)
def test_the_largest_group_comes_first(cases: list[Difference]) -> None:
    """By the instructions that its cases changed by; so do the cases of each."""
    groups = shared_causes(cases).groups
    totals = [group.total for group in groups]
    assert sorted(totals, reverse=True) == totals
    for group in groups:
        changes = [abs(difference.change or 0) for difference in group.differences]
        assert sorted(changes, reverse=True) == changes
        assert sum(changes) == group.total


@given(CASES)
def test_a_group_has_its_causes_in_each_of_its_cases(cases: list[Difference]) -> None:
    """In the order of the cases; no two groups have the same cases, or one cause."""
    groups = shared_causes(cases).groups
    for group in groups:
        assert len(group.differences) > 1
        for cause in group.causes:
            assert len(cause.causes) == len(group.differences)
            for changed, mine in zip(group.differences, cause.causes, strict=True):
                assert mine in changed.causes
                assert mine.identity == cause.causes[0].identity
                assert cause.least <= mine.change <= cause.most
    assert len({tuple(changed.key for changed in group.differences) for group in groups}) == len(
        groups
    )
    identities = [cause.causes[0].identity for group in groups for cause in group.causes]
    assert len(set(identities)) == len(identities)


@given(CASES, st.randoms(use_true_random=False))
def test_groups_do_not_depend_on_the_order_of_cases(
    cases: list[Difference], chance: random.Random
) -> None:
    """Their members do not."""
    members = []
    for _ in range(2):
        groups = shared_causes(cases).groups
        members.append({frozenset(case.key for case in group.differences) for group in groups})
        chance.shuffle(cases)

    assert members[0] == members[1]
