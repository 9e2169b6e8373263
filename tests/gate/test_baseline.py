"""The baseline file: what is in it, that it lasts, and what a check makes of it."""

import itertools
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.verdicts.comparison import compare
from instruction_counts.analysis.verdicts.difference import Reason, Verdict
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.effects import Noise
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.executed import (
    CudaCalls,
    CudaKind,
    Executed,
    OperatorCalls,
    PythonFunction,
)
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.gate.baseline import (
    Baseline,
    BaselineCase,
    Head,
    KeptExecution,
    read_baseline,
    to_json,
    verified_against,
)
from instruction_counts.report.causes import texts
from tests.builders import FORWARD, counted, cpp, executing, key, side

HEAD = Head.of(side())

EXECUTED = st.builds(
    Executed,
    st.none()
    | st.lists(
        st.builds(PythonFunction, line=st.integers(0, 9), bytecodes=st.integers(1, 10**6)),
        max_size=6,
    ).map(tuple),
    st.dictionaries(
        st.tuples(st.text(max_size=3), st.booleans()), st.integers(1, 9), max_size=4
    ).map(lambda calls: tuple(OperatorCalls(*key, number) for key, number in calls.items())),
    st.sampled_from(["", "3.11"]),
    st.none()
    | st.dictionaries(
        st.tuples(st.sampled_from(CudaKind), st.text(max_size=3)), st.integers(1, 9), max_size=4
    ).map(lambda calls: tuple(CudaCalls(*key, number) for key, number in calls.items())),
)
CASES = st.builds(
    lambda key, layers, noise, **fields: BaselineCase(
        **attrs.asdict(key, recurse=False),
        **fields,
        instructions=(count := sum(layers.values())),
        layers=layers,
        **{name: count * share // 10 for name, share in noise.items()},
    ),
    layers=st.dictionaries(st.sampled_from(Layer), st.integers(1, 10**12)),
    noise=st.fixed_dictionaries(dict.fromkeys(["spread", "layout_spread"], st.integers(0, 10))),
    key=st.builds(
        CaseKey,
        label=st.lists(st.text(max_size=5), min_size=1, max_size=3).map(tuple),
        num_threads=st.integers(1, 4),
    ),
    definition_hash=st.text(max_size=16),
    exact=st.booleans(),
    metrics=st.builds(Amounts, st.dictionaries(st.just("allocations"), st.integers(0, 10**6))),
    layouts=st.integers(0, 9),
    executed=st.builds(KeptExecution.of, st.none() | EXECUTED),
)


def baseline(count: int, **fields: Any) -> Baseline:
    """A baseline of one case, that layouts did not move; ``fields`` replace those of the case."""
    case = BaselineCase.of(cpp("add", outcome=counted(count)), [Noise(layouts=4)])
    return Baseline(HEAD, {case.key: attrs.evolve(case, **fields)})


def _read(text: str) -> Baseline:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        return read_baseline(Path(stream.name))


def edited(*changes: Mapping[str, Any]) -> str:
    """The file of a baseline of one case for each of these changes to it."""
    data = json.loads(to_json(baseline(100)))
    data["cases"] = [{**data["cases"][0], **changed} for changed in changes]
    return json.dumps(data)


NOTHING: dict[str, Any] = {"python": "", "functions": None, "operators": {}, "backward": {}}
"""What an iteration of a case executed."""


@given(EXECUTED)
def test_a_baseline_knows_what_was_executed(made: Executed) -> None:
    """All but lines, which say nothing of it."""
    kept = KeptExecution.of(made)

    assert kept is not None
    assert made.digests == kept.executed.digests
    assert kept == KeptExecution.of(kept.executed)


@given(st.lists(CASES, max_size=4))
def test_a_baseline_comes_back_from_its_file(cases: list[BaselineCase]) -> None:
    """Whatever its cases are called."""
    made = Baseline(HEAD, {case.key: case for case in cases})

    assert made == _read(to_json(made))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<<<<<<< HEAD", "1:1: $\n  found     Expecting value\n  expected  JSON"),
        ('{"baseline_version": 2}', "$.baseline_version\n  found     2 (int)\n  expected  1,"),
        # As after a merge that took both sides.
        (edited({}, {"spread": 1}), "unique cases"),
        (
            edited({"instructions": 99}),
            "layers\n  found     100\n  expected  layers that add up to 99",
        ),
        (
            edited({"spread": -1}),
            "spread\n  found     -1 (int)\n  expected  a whole number, at least 0",
        ),
        (
            edited({"spread": 99_999_999}),
            "$.cases[0].spread\n  found     99999999 (int)\n  expected  at most 100, the count",
        ),
        (edited({"layout_spread": 101}), "$.cases[0].layout_spread\n  found     101 (int)"),
        (edited({"layers": {"magic": 100}}), "$.cases[0].layers.magic"),
        (
            edited({"executed": {**NOTHING, "operators": {"aten::mm": 0}}}),
            'operators["aten::mm"]\n  found     0 (int)\n  expected  a whole number, at least 1',
        ),
    ],
    ids=itertools.count(),
)
@pytest.mark.faults
def test_what_is_no_baseline_or_was_edited_wrongly_is_named_with_its_place(
    text: str, message: str
) -> None:
    """And how to make the file anew."""
    with pytest.raises(DataError) as caught:
        _read(text)

    assert message in str(caught.value)
    assert "baseline accept" in str(caught.value)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_run_compared_with_itself_as_baseline_says_what_two_runs_say(
    before: int, after: int
) -> None:
    """A baseline changes no verdict: it is a side like any other."""
    base, new = (side(cpp("add", outcome=counted(count))) for count in (before, after))
    kept = Baseline(HEAD, {key("add"): BaselineCase.of(base.records[key("add")])})
    said = [
        [(case.verdict, case.reason, case.noise, case.change) for case in compared.differences]
        for compared in (compare(base, new), kept.compared(new, "b.json"))
    ]

    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"torch": "2.14", "torch_git": "f00", "cpu": "Another", "valgrind": "4"}, []),
        ({"machine": "aarch64"}, ["architecture!"]),
        ({"profile_version": 9}, ["hermetic profile!"]),
        ({"libc": "glibc-3"}, ["C library"]),
        ({"python": "3.13", "implementation": "PyPy"}, ["Python", "implementation"]),
        ({"counted_capability": "DEFAULT"}, ["instruction set of the counts"]),
        ({"counted_capability": ""}, []),
    ],
)
def test_what_changes_counts_without_torch_is_an_obstacle(
    changes: dict[str, Any], names: list[str]
) -> None:
    """Some of it can be allowed; what is marked here cannot."""
    made = Baseline(attrs.evolve(HEAD, counted_capability="AVX2"), baseline(1).cases)
    found = made.obstacles(side(**{"counted_capability": "AVX2", **changes}))

    assert names == [disagreement.name + "!" * disagreement.prevents for disagreement in found]


def test_a_change_is_explained_by_layer() -> None:
    """Without the old run; the parts add up to the change."""
    old = cpp("add", outcome=counted(100, {"kernels": 60, "tensor": 40}))
    kept = Baseline(HEAD, {key("add"): BaselineCase.of(old)})
    new = side(cpp("add", outcome=counted(125, {"kernels": 90, "dispatcher": 35})))
    (found,) = kept.compared(new, "b.json").differences

    assert ("-40 tensor", "+35 dispatcher", "+30 kernels") == texts(found.causes)


MM = OperatorCalls("aten::mm", backward=False, calls=1)
EDITED = attrs.evolve(FORWARD, line=140, digest="bb", bytecodes=30)
MUL = OperatorCalls("aten::mul", backward=True, calls=2)


@pytest.mark.parametrize(
    ("count", "executed", "reason", "causes"),
    [
        (
            *(1100, Executed((EDITED,), (MM,), "3.11"), Reason.PYTHON_DIFFERS),
            ("torch/nn/modules/linear.py:140 Linear.forward  20 → 30 bytecodes", "+100 kernels"),
        ),
        (
            *(1100, Executed((FORWARD,), (MM, MUL), "3.11"), Reason.OPERATORS_DIFFER),
            ("+2 aten::mul (backward)", "+100 kernels"),
        ),
        # Lines are not kept.
        (
            *(1000, Executed((attrs.evolve(FORWARD, line=7),), (MM,), "3.11")),
            *(Reason.IDENTICAL, ()),
        ),
        # Bytecodes of another Python say nothing.
        (1100, Executed((EDITED,), (MM,), "3.13"), Reason.EXACT_DIFFERENCE, ("+100 kernels",)),
    ],
)
def test_a_check_names_what_is_executed_that_was_not(
    count: int, executed: Executed, reason: Reason, causes: tuple[str, ...]
) -> None:
    """As a comparison does, and so it needs no other layouts for its verdict."""
    base, new = (
        cpp("add", outcome=executing(*each))
        for each in ((1000, Executed((FORWARD,), (MM,), "3.11")), (count, executed))
    )
    kept = _read(to_json(Baseline(HEAD, {base.key: BaselineCase.of(base)})))
    (found,) = kept.compared(side(new), "b.json").differences

    assert (reason, causes) == (found.reason, texts(found.causes))
    assert found.verified is (reason in {Reason.PYTHON_DIFFERS, Reason.OPERATORS_DIFFER})


@pytest.mark.parametrize(
    ("outcome", "noises", "expected"),
    [
        # In instructions, rounded up.
        (counted(1000, spread=2), [Noise(0.0031, 0.0, 0), Noise(0.0, 0.0125, 4)], (4, 4, 13)),
        # A baseline that accepts its own case stays as it is.
        (counted(25), [Noise(0.0, 7 / 25, 2)], (0, 2, 7)),
        # No more than the count, so that it can be read, whatever disturbed a window.
        (counted(50, spread=8_000), [Noise(1.0, 1.0, 4)], (50, 4, 50)),
    ],
)
def test_what_is_known_of_noise_is_kept(
    outcome: Outcome, noises: list[Noise], expected: tuple[int, int, int]
) -> None:
    """What windows or servers disagree by, and what layouts move; the floor is the larger."""
    case = BaselineCase.of(cpp("add", outcome=outcome), noises)

    assert expected == (case.spread, case.layouts, case.layout_spread)
    assert case.layout_spread == case.noise_floor


@pytest.mark.parametrize(
    ("moved", "counts", "verdict", "change"),
    [
        (0, (110, 110, 110), Verdict.WORSE, 10),
        (0, (110, 100, 110), Verdict.AMBIGUOUS, 10),
        (10, (150, 150, 150), Verdict.WORSE, 50),
        # They have to lie beyond its range by more than either side moves.
        (10, (118, 120, 122), Verdict.AMBIGUOUS, 20),
        (0, (90, 90, 90), Verdict.BETTER, -10),
        # How far the baseline reaches decides whether it is a change, not how large it is.
        (10, (131, 131), Verdict.WORSE, 31),
        (10, (131, 131, 131, 131), Verdict.WORSE, 31),
    ],
)
def test_suspects_are_judged_with_the_layouts_that_the_baseline_remembers(
    moved: int, counts: tuple[int, ...], verdict: Verdict, change: int
) -> None:
    """By a baseline that layouts moved so far, on counts in so many of new."""
    kept = baseline(100, layout_spread=moved)
    new = side(cpp("add", outcome=counts[0]))
    compared = kept.compared(new, "b.json")
    (found,) = verified_against(compared, kept, [{key("add"): n} for n in counts[1:]]).differences

    assert (verdict, change, True) == (found.verdict, found.change, found.verified)
