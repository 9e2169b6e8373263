"""The verdict on a case: what counts as a change, and what as noise."""

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.difference import (
    Difference,
    Layouts,
    Program,
    Reason,
    Verdict,
    is_suspect,
    judge,
    judge_verified,
    noise_floor,
)
from instruction_counts.core.types import Language, RuntimeMode
from instruction_counts.domain.effects import MIN_EFFECT, Effect, Noise, Origin
from instruction_counts.domain.executed import ExecutedDigests
from instruction_counts.domain.metrics import BYTECODES, LAUNCHES, OPERATOR_CALLS
from instruction_counts.domain.outcomes import (
    Instructions,
    Outcome,
    Output,
    Status,
    TensorValue,
    Window,
)
from instruction_counts.domain.records import Record
from tests.builders import counted, cpp, key
from tests.fakes import failed

KEY = key("add")
STEADY = Noise(0.0, 0.0, 4)
COUNT = st.integers(1, 10**9)
ANY = Effect(0.0, 1)
AMBIGUOUS = Verdict.AMBIGUOUS, Reason.LAYOUT_ONLY
SAME = ExecutedDigests("op", "by", "co", "3.11", "cu")
PYTHON_DIFFERS = attrs.evolve(SAME, bytecodes="x", code="x")


def record(count: int, *, spread: int = 0, **changes: Any) -> Record:
    """A case that cost ``count`` instructions, exactly where windows do not spread."""
    return cpp("add", **{"outcome": counted(count, exact=not spread, spread=spread), **changes})


def judged(base: int, new: int, **options: Any) -> Difference:
    """The verdict on two counts of a case that no layout moves."""
    return judge(KEY, record(base, noise=STEADY), record(new), **options)


def said(difference: Difference) -> tuple[Verdict, Reason]:
    """The verdict and its reason."""
    return difference.verdict, difference.reason


# Two counts


@given(COUNT, COUNT)
def test_a_better_case_is_worse_the_other_way_round(base: int, new: int) -> None:
    """Unless it is one of those that say the same in both directions; equal counts are the same."""
    there, back = (judged(*pair, min_effect=ANY).verdict for pair in ((base, new), (new, base)))
    opposite = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}

    assert back == opposite.get(there, there)
    assert (Verdict.SAME, Reason.IDENTICAL) == said(judged(base, base))


@pytest.mark.parametrize(
    ("base", "new", "spread", "expected", "suspect"),
    [
        (10_000, 10_000, 0, (Verdict.SAME, Reason.IDENTICAL), False),
        (10_000, 10_100, 0, (Verdict.WORSE, Reason.EXACT_DIFFERENCE), True),
        (10_100, 10_000, 0, (Verdict.BETTER, Reason.EXACT_DIFFERENCE), True),
        # The minimum effect has to be reached in relative and in absolute terms.
        (1_000_000, 1_000_499, 0, (Verdict.SAME, Reason.BELOW_MIN_EFFECT), False),
        (1_000_000, 1_000_500, 0, (Verdict.WORSE, Reason.EXACT_DIFFERENCE), True),
        (1000, 1002, 0, (Verdict.SAME, Reason.BELOW_MIN_EFFECT), False),
        (1000, 1003, 0, (Verdict.WORSE, Reason.EXACT_DIFFERENCE), True),
        # What windows disagree by is noise; a change beyond it is none to the instruction.
        (1000, 1080, 80, (Verdict.SAME, Reason.WITHIN_NOISE), True),
        (1000, 1081, 80, (Verdict.WORSE, Reason.BEYOND_NOISE), True),
    ],
)
def test_a_change_of_interest_is_better_or_worse(
    base: int, new: int, spread: int, expected: tuple[Verdict, Reason], suspect: bool
) -> None:
    """It is a suspect, whatever is said of it before it is counted again: layouts may tell."""
    difference = judge(KEY, record(base, spread=spread, noise=STEADY), record(new))

    assert expected == said(difference)
    assert suspect is is_suspect(difference, MIN_EFFECT)
    assert (new - base, (new - base) / base) == (difference.change, difference.relative)


@pytest.mark.parametrize(
    ("new", "spread", "held", "runs", "expected"),
    [
        (110_001, 0, True, 5, (Verdict.WORSE, Reason.FAR_BEYOND_LAYOUTS)),
        (89_999, 0, True, 5, (Verdict.BETTER, Reason.FAR_BEYOND_LAYOUTS)),
        (110_000, 0, True, 5, (Verdict.WORSE, Reason.EXACT_DIFFERENCE)),
        (110_001, 0, False, 5, (Verdict.WORSE, Reason.EXACT_DIFFERENCE)),
        (110_001, 1, True, 5, (Verdict.WORSE, Reason.BEYOND_NOISE)),
        # How far memory moves first runs is not known.
        (110_001, 0, True, 1, (Verdict.WORSE, Reason.EXACT_DIFFERENCE)),
    ],
)
def test_what_memory_never_moved_a_case_by_is_certain(
    new: int, spread: int, held: bool, runs: int, expected: tuple[Verdict, Reason]
) -> None:
    """Where it is held still, and the windows agree. But chance might have: it is counted again."""
    windows = (Window(runs, runs * new),) * 3
    outcome = attrs.evolve(counted(new), instructions=Instructions(new, True, windows))
    difference = judge(KEY, record(100_000, spread=spread), record(new, outcome=outcome), held=held)

    assert expected == said(difference)
    assert difference.verified is (expected[1] is Reason.FAR_BEYOND_LAYOUTS)
    assert is_suspect(difference, MIN_EFFECT)


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (110_002, (Verdict.WORSE, Reason.FAR_BEYOND_LAYOUTS)),
        (109_999, (Verdict.WORSE, Reason.BEYOND_LAYOUTS)),
        (99_000, (Verdict.AMBIGUOUS, Reason.LAYOUT_ONLY)),  # each process draws another number
    ],
)
def test_a_large_change_is_certain_where_every_count_is_as_far(
    last: int, expected: tuple[Verdict, Reason]
) -> None:
    """No fresh server could say anything else."""
    far = judge(KEY, record(100_000), record(110_002), held=True)
    found = judge_verified(far, Layouts((100_000,) * 3, (110_002, 110_002, last)))

    assert expected == said(found)
    assert found.is_certain is (expected[1] is Reason.FAR_BEYOND_LAYOUTS)


@pytest.mark.parametrize(
    ("language", "noise", "change", "verdict"),
    [
        # What layouts were seen to move.
        (Language.CPP, Noise(0.0, 0.01, 4), 1010, Verdict.AMBIGUOUS),
        (Language.CPP, Noise(0.0, 0.01, 4), 1011, Verdict.WORSE),
        # What they usually do, which is more for Python; zero spread of no layouts says nothing.
        (Language.CPP, None, 10, Verdict.AMBIGUOUS),
        (Language.CPP, Noise(0.0, 0.0, 0), 10, Verdict.AMBIGUOUS),
        (Language.CPP, None, 11, Verdict.WORSE),
        (Language.PYTHON, None, 100, Verdict.AMBIGUOUS),
        (Language.PYTHON, None, 101, Verdict.WORSE),
    ],
)
def test_what_layouts_move_is_ambiguous(
    language: Language, noise: Noise | None, change: int, verdict: Verdict
) -> None:
    """A single layout cannot tell a change from another layout."""
    asked = attrs.evolve(KEY, language=language)
    new = record(100_000 + change, noise=noise)
    difference = judge(asked, record(100_000), new, min_effect=ANY)

    assert verdict is difference.verdict
    assert (difference.reason is Reason.NOT_VERIFIED) is (verdict is Verdict.AMBIGUOUS)


@pytest.mark.parametrize(
    ("spread", "noise", "expected"),
    [
        (0, None, (Origin.ASSUMED, 1)),
        (0, Noise(0.0, 0.001, 4), (Origin.LAYOUTS, 11)),
        (0, Noise(0.002, 0.001, 4), (Origin.SERVERS, 22)),
        (90, Noise(0.002, 0.001, 4), (Origin.WINDOWS, 90)),
    ],
)
def test_a_noise_floor_says_where_it_comes_from(
    spread: int, noise: Noise | None, expected: tuple[Origin, int]
) -> None:
    """The largest of what is known of the case, of its larger count."""
    difference = judge(KEY, record(10_000, spread=spread), record(11_000, noise=noise))

    assert expected == (difference.noise_origin, difference.noise)


FIRST_RUNS = (Window(1, 100_000),) * 3


@pytest.mark.parametrize(
    ("runtime", "windows", "noise"),
    [
        (RuntimeMode.EAGER, (), 101),
        (RuntimeMode.COMPILED, (), 404),
        (RuntimeMode.EAGER, FIRST_RUNS, 1414),
    ],
    ids=["warm", "compiled", "first runs"],
)
def test_what_layouts_are_assumed_to_move_depends_on_the_kind_of_case(
    runtime: RuntimeMode, windows: tuple[Window, ...], noise: int
) -> None:
    """What Dynamo or a first run looks up, processes differ by; in Python, whatever it is."""
    key = attrs.evolve(KEY, language=Language.PYTHON, runtime=runtime)
    base, new = (Instructions(n, exact=True, windows=windows) for n in (100_000, 101_000))

    assert noise == noise_floor(base, new, key, [])[0]


BAD, SKIPPED = record(1, outcome=failed()), record(1, outcome=Outcome(Status.SKIPPED))


@pytest.mark.parametrize(
    ("base", "new", "reason"),
    [
        (None, record(1), (Verdict.ADDED, Reason.ONLY_IN_NEW)),
        # A gate would pass what only has no baseline.
        (None, BAD, (Verdict.FAILED, Reason.FAILED_IN_NEW)),
        (record(1), None, (Verdict.MISSING, Reason.ONLY_IN_BASE)),
        (record(1), BAD, (Verdict.FAILED, Reason.FAILED_IN_NEW)),
        (BAD, record(1), (Verdict.FAILED, Reason.FAILED_IN_BASE)),
        (BAD, BAD, (Verdict.FAILED, Reason.FAILED_IN_BOTH)),
        (BAD, SKIPPED, (Verdict.FAILED, Reason.FAILED_IN_BASE)),
        (record(1), SKIPPED, (Verdict.INCOMPARABLE, Reason.SKIPPED)),
        (
            record(1),
            record(1, definition_hash="0" * 16),
            (Verdict.INCOMPARABLE, Reason.DEFINITION_CHANGED),
        ),
        (
            record(1),
            record(1, outcome=Outcome(Status.OK)),
            (Verdict.INCOMPARABLE, Reason.NOT_COUNTED),
        ),
    ],
)
def test_a_case_that_cannot_be_compared_says_why(
    base: Record | None, new: Record | None, reason: tuple[Verdict, Reason]
) -> None:
    """It is a row, and never the end of a comparison; counting it again would not help."""
    difference = judge(KEY, base, new)

    assert reason == said(difference)
    assert not is_suspect(difference, MIN_EFFECT)


def test_fingerprints_and_outputs_decide_before_counts() -> None:
    """Another allocator, say; and faster because wrong is not better."""
    outputs = (
        Output("i", (TensorValue("z", shape, "float32", "d", 0, ""),)) for shape in ((2,), (3,))
    )
    wrong = judge(KEY, *(record(0, outcome=counted(9, output=output)) for output in outputs))

    assert (Verdict.INCOMPARABLE, Reason.OUTPUT_DIFFERS) == said(wrong)
    assert (Verdict.INCOMPARABLE, Reason.FINGERPRINT_DIFFERS) == said(
        judged(1000, 10, comparable=False)
    )


# Several layouts


@given(st.lists(COUNT, min_size=4, max_size=4), st.permutations(range(4)))
def test_the_same_counts_in_other_layouts_are_no_change(counts: list[int], order: Any) -> None:
    """Two builds of the same code differ by which layout they happen to have."""
    other = [counts[place] for place in order]
    layouts = Layouts(tuple(counts[1:]), tuple(other[1:]))
    difference = judge_verified(judged(counts[0], other[0]), layouts, ANY)

    assert difference.verdict in {Verdict.SAME, Verdict.AMBIGUOUS}


MOVED = (10_000, 10_050, 10_100, 10_020)


@pytest.mark.parametrize(
    ("base", "new", "edge", "expected"),
    [
        # Where layouts move neither side, it is exact.
        ((10_000,) * 4, (11_000,) * 4, None, (Verdict.WORSE, Reason.EXACT_DIFFERENCE, 0, 1000)),
        ((11_000,) * 4, (10_000,) * 4, None, (Verdict.BETTER, Reason.EXACT_DIFFERENCE, 0, -1000)),
        # Although every count of new is above every count of base.
        (MOVED, (10_200,) * 4, None, (*AMBIGUOUS, 100, 165)),
        (MOVED, (10_201,) * 4, None, (Verdict.WORSE, Reason.BEYOND_LAYOUTS, 100, 166)),
        ((10_201,) * 4, MOVED, None, (Verdict.BETTER, Reason.BEYOND_LAYOUTS, 100, -166)),
        # In all other layouts the change is gone: the median, the first layout included.
        (
            *((10_000,) * 4, (10_300, *(10_000,) * 3), None),
            (Verdict.SAME, Reason.BELOW_MIN_EFFECT, 300, 0),
        ),
        # Base is known to reach further than it was counted: that makes no change, and hides one.
        ((10_000,) * 4, (10_100,) * 4, 10_060, (*AMBIGUOUS, 60, 100)),
    ],
)
def test_a_change_has_to_be_beyond_what_layouts_move_either_side_by(
    base: tuple[int, ...], new: tuple[int, ...], edge: int | None, expected: tuple[Any, ...]
) -> None:
    """In every layout; else it stays open."""
    layouts = Layouts(base[1:], new[1:], edge=edge)
    difference = judge_verified(judged(base[0], new[0]), layouts)

    assert expected == (*said(difference), difference.noise, difference.change)
    assert Origin.LAYOUTS is difference.noise_origin


HIT, CHEAP = 50_000, 10_000
"""What a run costs, of which each so manieth costs more, by windows with and without such a one."""


def in_windows(*pairs: tuple[int, int], spread: int = 40_000) -> Record:
    """A case with the first count, which is not exact, and these windows: runs and instructions."""
    short = min(count for runs, count in pairs if runs == 4)
    per_run = (min(count for runs, count in pairs if runs == 8) - short) // 4
    return of_windows(per_run, *(Window(*pair) for pair in pairs), spread=spread)


def of_windows(count: int, *windows: Window, exact: bool = False, spread: int = 40_000) -> Record:
    """A case with that count, from these windows."""
    return record(0, outcome=Outcome(Status.OK, Instructions(count, exact, windows, spread)))


@pytest.mark.parametrize(
    ("base", "new", "is_change"),
    [
        # A short and a long window without it, and one with it.
        (in_windows((4, 40_000), (8, 80_000), (8, 240_000)), record(HIT), False),
        (record(HIT), in_windows((4, 40_000), (8, 80_000), (8, 240_000)), False),
        # Each long one has it, and no short one does: what a run costs is not known.
        (in_windows((4, 40_000), (8, 240_000), (8, 240_000)), record(CHEAP), False),
        (in_windows((4, 40_000), (8, 240_000), spread=39_999), record(CHEAP), True),
        # Windows say which costs there are, and this is none of them.
        (in_windows((4, 40_000), (8, 80_000), (8, 240_000)), record(CHEAP + 100), True),
        # A baseline has no windows.
        (of_windows(HIT), record(CHEAP), False),
        (of_windows(HIT, exact=True), record(CHEAP), True),
        # Of first runs, each is a count.
        (of_windows(HIT, Window(1, HIT), Window(1, CHEAP)), record(CHEAP), False),
        (of_windows(HIT, Window(1, HIT), Window(1, CHEAP)), record(CHEAP + 100), True),
    ],
)
def test_what_windows_of_one_side_disagree_by_is_no_change(
    base: Record, new: Record, is_change: bool
) -> None:
    """What happens at each so many calls is in the same windows in all layouts."""
    layouts = Layouts(*((_per_run(side),) * 3 for side in (base, new)))
    difference = judge_verified(judge(KEY, base, new), layouts)

    assert is_change is (difference.verdict in {Verdict.BETTER, Verdict.WORSE})
    assert is_change or (Reason.WITHIN_NOISE, Origin.WINDOWS, 40_000) == (
        *(difference.reason, difference.noise_origin, difference.noise),
    )


def _per_run(side: Record) -> int:
    counted = side.outcome.instructions
    assert counted is not None
    return counted.per_run


@pytest.mark.parametrize(
    ("steady_change", "digests", "last", "expected"),
    [
        # In functions that layouts do not move, or move by less.
        (51, None, 10_020, (Verdict.WORSE, Reason.STEADY_PART, 51)),
        (-51, None, 10_020, (Verdict.BETTER, Reason.STEADY_PART, -51)),
        # Too small to be of interest.
        (2, None, 10_020, (*AMBIGUOUS, 45)),
        # The same program, each function of which costs what layouts make of it.
        (0, SAME, 10_020, (Verdict.SAME, Reason.LAYOUT_FUNCTIONS, 45)),
        # What is executed is not known, or what functions cost.
        (0, None, 10_020, (*AMBIGUOUS, 45)),
        (None, SAME, 10_020, (*AMBIGUOUS, 45)),
        # Every count of new lies above every count of base.
        (0, SAME, 10_090, (*AMBIGUOUS, 70)),
    ],
)
def test_what_layouts_move_hides_no_other_change(
    steady_change: int | None, digests: ExecutedDigests | None, last: int, expected: tuple[Any, ...]
) -> None:
    """The whole counts of both sides overlap, or nearly do."""
    layouts = Layouts((10_030, 10_070, 9_990), (10_080, last, 10_110), steady_change=steady_change)
    sides = [
        record(0, outcome=counted(count, executed_digests=digests), noise=STEADY)
        for count in (10_000, 10_040 if last == 10_020 else 10_075)
    ]
    difference = judge_verified(judge(KEY, *sides), layouts)

    assert expected == (*said(difference), difference.effect)


def test_where_counts_range_further_than_memory_moves_any_no_single_function_is_a_change() -> None:
    """Chance may move each of them."""
    layouts = Layouts((11_000, 10_030, 9_990), (10_080, 10_020, 10_110), steady_change=51)
    difference = judge_verified(judged(10_000, 10_040), layouts)

    assert (AMBIGUOUS, 1_010) == (said(difference), difference.noise)


# What both sides executed, exact metrics, and wall times


def unjudged(base: Record | None, new: Record | None) -> Difference:
    """Two sides of a case, whatever is said of their counts."""
    return Difference(KEY, base, new, Verdict.SAME, Reason.IDENTICAL)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Program.SAME),
        ({"bytecodes": "x", "code": "x"}, Program.PYTHON_DIFFERS),
        # Python first: operators follow from it.
        ({"bytecodes": "x", "code": "x", "operators": "x"}, Program.PYTHON_DIFFERS),
        ({"operators": "x"}, Program.OPERATORS_DIFFER),
        # The same code, more or less of it: where objects lie can decide that.
        ({"bytecodes": "x"}, Program.UNKNOWN),
        ({"bytecodes": "x", "operators": "x"}, Program.UNKNOWN),
        # The same bytecodes of other code.
        ({"code": "x"}, Program.UNKNOWN),
        ({"python": "3.13", "bytecodes": "x"}, Program.UNKNOWN),
        ({"python": "3.13", "operators": "x"}, Program.OPERATORS_DIFFER),
        ({"cuda": "x"}, Program.CUDA_DIFFERS),
        # A side that does not know what is asked of CUDA, such as an older one.
        ({"cuda": ""}, Program.SAME),
    ],
)
def test_digests_tell_what_differs(changes: dict[str, str], expected: Program) -> None:
    """Of what either side executed; a case may be new, or its engine unable to tell."""
    base, new, unknown = (
        record(0, outcome=counted(1, executed_digests=digests))
        for digests in (SAME, attrs.evolve(SAME, **changes), None)
    )

    assert expected is unjudged(base, new).program
    assert {Program.UNKNOWN} == {unjudged(other, new).program for other in (None, unknown)}


def guarded(number: int | None, code: str = "d1") -> Record:
    """A case with so many guards, and an amount that is not judged."""
    metrics = {"peak_bytes": number or 0, "guards": number}
    return cpp("add", outcome=counted(1, metrics=metrics), definition_hash=code)


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        (guarded(2), guarded(3), [("guards", 2, 3, "worse")]),
        (guarded(3), guarded(2), [("guards", 3, 2, "better")]),
        (guarded(2), guarded(2), []),
        (guarded(2), guarded(None), []),
        (guarded(2), guarded(3, "d2"), []),
        (guarded(2), None, []),
    ],
)
def test_a_metric_that_differs_on_the_same_code_is_a_change(
    base: Record, new: Record | None, expected: list[tuple[str, int, int, str]]
) -> None:
    """Both sides have to know it."""
    assert expected == [
        (change.metric.name, change.base, change.new, change.verdict)
        for change in unjudged(base, new).metrics
    ]


def by_program(
    program: ExecutedDigests, new: int, *, more: int = 6_000, spread: int = 0, held: bool = False
) -> Difference:
    """The verdict on a case of 100,000 that executes ``more`` bytecodes and operators in new."""
    records = [
        cpp(
            "add",
            outcome=counted(
                count,
                exact=not spread,
                spread=spread,
                metrics={metric.name: executed for metric in (BYTECODES, OPERATOR_CALLS, LAUNCHES)},
                executed_digests=digests,
            ),
            noise=Noise(layout_spread=0.01, layouts=4),
        )
        for count, executed, digests in ((100_000, 100_000, SAME), (new, 100_000 + more, program))
    ]
    return judge(KEY, *records, held=held)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (PYTHON_DIFFERS, Reason.PYTHON_DIFFERS),
        (attrs.evolve(SAME, operators="x"), Reason.OPERATORS_DIFFER),
        (attrs.evolve(SAME, cuda="x"), Reason.CUDA_DIFFERS),
    ],
)
@pytest.mark.parametrize(
    ("new", "spread", "verdict", "is_open"),
    [
        # No layout adds a bytecode, and windows never disagree about one; but instructions may.
        (102_000, 0, Verdict.WORSE, False),
        (100_080, 0, Verdict.WORSE, True),
        (100_080, 500, Verdict.WORSE, True),
        # More is executed in fewer instructions: layout moved some of them.
        (99_920, 0, Verdict.AMBIGUOUS, True),
        # Beyond noise, counts tell which way it goes; layouts may still have done it.
        (90_000, 0, Verdict.BETTER, True),
    ],
)
def test_another_program_is_a_change(
    program: ExecutedDigests, reason: Reason, new: int, spread: int, verdict: Verdict, is_open: bool
) -> None:
    """Layouts cannot have done it: what goes both ways, or is within noise, has to be verified."""
    difference = by_program(program, new, spread=spread)

    assert (verdict, reason) == said(difference)
    assert (not is_open, is_open) == (difference.verified, is_suspect(difference, MIN_EFFECT))


@pytest.mark.parametrize(("new", "spread"), [(100_080, 0), (100_080, 500), (99_000, 0)])
def test_one_bytecode_does_not_say_which_way_noise_goes(new: int, spread: int) -> None:
    """It costs a few instructions, of which nobody would hear; noise may be a thousand times it."""
    difference = by_program(PYTHON_DIFFERS, new, more=1, spread=spread)
    found = judge_verified(difference, Layouts((100_000, 100_500), (100_080, 100_700)))

    expected = Verdict.AMBIGUOUS, Reason.PYTHON_DIFFERS
    assert (expected, expected) == (said(difference), said(found))
    assert is_suspect(difference, MIN_EFFECT)


ANOTHER_WAY = attrs.evolve(SAME, bytecodes="x")


@pytest.mark.parametrize(
    ("stmt", "program"), [("", Program.UNKNOWN), ("other()", Program.PYTHON_DIFFERS)]
)
def test_a_baseline_that_has_no_statement_may_have_taken_another_way(
    stmt: str, program: Program
) -> None:
    """The same code may execute more of itself; that of two statements beside each other, not."""
    found = by_program(ANOTHER_WAY, 102_000)
    assert found.base is not None
    judged = judge(KEY, attrs.evolve(found.base, stmt=stmt), found.new)

    assert program is judged.program
    assert judged.verified is (program is Program.PYTHON_DIFFERS)


@pytest.mark.parametrize(
    ("program", "new", "more", "expected", "is_open"),
    [
        # It executes more in far fewer instructions: it may have left native code out.
        (PYTHON_DIFFERS, 80_000, 6_000, (Verdict.BETTER, Reason.FAR_BEYOND_LAYOUTS), True),
        # A loop over a set of objects may have found what it looks for sooner.
        (ANOTHER_WAY, 80_000, 6_000, (Verdict.BETTER, Reason.EXACT_DIFFERENCE), True),
        # Native code may be another one.
        (SAME, 100_080, 0, (Verdict.AMBIGUOUS, Reason.NOT_VERIFIED), True),
        # What is of interest is for the user to say.
        (PYTHON_DIFFERS, 100_010, 1, (Verdict.SAME, Reason.BELOW_MIN_EFFECT), False),
    ],
)
def test_counts_say_what_is_executed_cannot(
    program: ExecutedDigests, new: int, more: int, expected: tuple[Verdict, Reason], is_open: bool
) -> None:
    """Where all that is known to depend on memory is held still."""
    difference = by_program(program, new, more=more, held=True)

    assert expected == said(difference)
    assert is_open is is_suspect(difference, MIN_EFFECT)


@pytest.mark.parametrize(
    ("steady_change", "verdict"), [(None, Verdict.WORSE), (20, Verdict.AMBIGUOUS)]
)
def test_layouts_do_not_hide_another_program(steady_change: int | None, verdict: Verdict) -> None:
    """They were counted before it was clear which way it goes; functions say how far it does."""
    difference = by_program(PYTHON_DIFFERS, 99_920)
    layouts = Layouts((100_000, 100_500), (100_080, 100_700), steady_change=steady_change)
    found = judge_verified(difference, layouts)

    assert (verdict, Reason.PYTHON_DIFFERS) == said(found)
