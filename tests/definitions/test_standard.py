"""The standard suite as data: its labels and the forms and modes that it covers."""

from benchmarks import foreign
from definitions.standard import BENCHMARKS
from instruction_counts.core.api import GroupedBenchmark
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import AutogradMode, Language, RuntimeMode

CASES = materialize(BENCHMARKS)
GROUPS = {
    label: group for label, group in BENCHMARKS.items() if isinstance(group, GroupedBenchmark)
}
TOP_LEVEL = [
    *("Empty", "Pointwise", "Comparison", "Data movement", "Random", "Reduction", "Indexing"),
    *("Metadata and views", "Join and split", "Sort and search", "MatMul", "nn Functional"),
    *("nn Modules", "Losses", "Mesoscale", "Training", "Optimizers", "InferenceMode"),
    "Dispatcher",
]


def test_no_two_cases_have_the_same_identity_or_code() -> None:
    """Results would be mixed up, or measure nothing new."""
    for identities in ([case.key for case in CASES], [case.definition_hash for case in CASES]):
        assert len(set(identities)) == len(identities)


def test_the_top_level_labels_are_the_known_ones_in_their_order() -> None:
    """Reports list the labels in this order, and people filter by these names."""
    assert TOP_LEVEL == list(dict.fromkeys(case.label[0] for case in CASES))


def test_a_label_is_stable() -> None:
    """Its parts are joined with slashes, and a number would move when a line is added above."""
    labels = {case.label for case in CASES}

    assert ("Pointwise", "Math", "add", "Tensor-Scalar") in labels
    assert not any("/" in part for label in labels for part in label)
    assert not any(label[-1].startswith("Case:") for label in labels)


def test_every_form_and_mode_is_covered() -> None:
    """Modules, statements and a line of a block; TorchScript and autograd widely."""
    groups = GROUPS.values()

    assert any(group.py_model_setup for group in groups)
    assert any(group.signature and not group.py_model_setup for group in groups)
    assert "x[1:3]" == GROUPS["Indexing", "Read", "Slice"].py_fwd_stmt
    assert sum("torchscript" in group.runtimes for group in groups) >= 30
    assert sum(group.autograd for group in groups) >= 8
    modes = {mode for case in CASES for mode in case.key.modes}
    sets_of_their_own = {RuntimeMode.COMPILED, RuntimeMode.EXPORTED}
    assert {*Language, *RuntimeMode, *AutogradMode} - sets_of_their_own <= modes
    # Nothing asks for more than two cores.
    assert {1, 2} == {case.num_threads for case in CASES}


def test_it_has_nothing_of_the_foreign_set() -> None:
    """The program may have been tuned to its statements; selections cannot be mixed up either."""
    others = materialize(foreign.BENCHMARKS)
    stmts, foreign_stmts = (
        {" ".join(case.timer_args.stmt.split()) for case in cases} for cases in (CASES, others)
    )

    assert set() == stmts & foreign_stmts
    assert set() == {case.label for case in CASES} & {case.label for case in others}
