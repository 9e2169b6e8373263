"""The standard suite as data: its size, its labels and the forms and modes that it covers."""

from __future__ import annotations

import enum
import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from core.api import GroupedBenchmark
from core.expand import materialize
from core.types import AutogradMode, Language, RuntimeMode
from definitions.standard import BENCHMARKS

ROOT = Path(__file__).resolve().parents[2]
CASES = materialize(BENCHMARKS)
GROUPS = {
    label: group for label, group in BENCHMARKS.items() if isinstance(group, GroupedBenchmark)
}
TOP_LEVEL = [
    "Empty",
    "Pointwise",
    "Comparison",
    "Data movement",
    "Random",
    "Reduction",
    "Indexing",
    "Metadata and views",
    "Join and split",
    "Sort and search",
    "MatMul",
    "nn Functional",
    "nn Modules",
    "Losses",
    "Mesoscale",
    "Training",
    "Optimizers",
    "InferenceMode",
    "Dispatcher",
]


def test_the_suite_has_at_least_250_cases() -> None:
    """A suite that lost cases by accident is noticed."""
    assert len(CASES) >= 250


def test_no_two_cases_have_the_same_identity() -> None:
    """Results are stored by what the title shows, so two equal titles would mix them up."""
    titles = [case.title for case in CASES]

    assert len(set(titles)) == len(titles)


def test_no_two_cases_run_the_same_code() -> None:
    """A case that repeats another one measures nothing new."""
    hashes = [case.definition_hash for case in CASES]

    assert len(set(hashes)) == len(hashes)


def test_the_top_level_labels_are_the_known_ones_in_their_order() -> None:
    """Reports list the labels in this order, and people filter by these names."""
    assert list(dict.fromkeys(case.label[0] for case in CASES)) == TOP_LEVEL


def test_a_label_has_no_slash() -> None:
    """The parts of a label are joined with slashes where it is shown."""
    assert [case.label for case in CASES if any("/" in part for part in case.label)] == []


def test_a_label_does_not_depend_on_the_position_of_a_line() -> None:
    """A numbered label would move when a line is added above it."""
    assert [case.label for case in CASES if case.label[-1].startswith("Case:")] == []


def test_addition_is_filed_under_pointwise_math() -> None:
    """The path of a well-known case stays as it is."""
    assert ("Pointwise", "Math", "add", "Tensor-Scalar") in BENCHMARKS


def test_the_suite_has_modules() -> None:
    """`GroupedModules` makes groups with a model."""
    assert any(group.py_model_setup for group in GROUPS.values())


def test_the_suite_has_grouped_statements() -> None:
    """`GroupedStmts` makes groups with a signature and no model."""
    assert any(group.signature and not group.py_model_setup for group in GROUPS.values())


def test_the_suite_has_variants() -> None:
    """`GroupedVariants` is the only form that makes this label, a line of a block."""
    assert GROUPS["Indexing", "Read", "Slice"].py_fwd_stmt == "x[1:3]"


def test_at_least_30_groups_are_scripted() -> None:
    """TorchScript is covered widely."""
    assert sum(group.torchscript for group in GROUPS.values()) >= 30


def test_at_least_8_groups_run_backward() -> None:
    """Autograd is covered widely."""
    assert sum(group.autograd for group in GROUPS.values()) >= 8


@pytest.mark.parametrize("mode", [*Language, *RuntimeMode, *AutogradMode], ids=str)
def test_every_mode_is_present(mode: enum.Enum) -> None:
    """Both languages, every runtime, forward with and without backward, and explicit cases."""
    modes = {mode for case in CASES for mode in attrs.astuple(case.autolabels, recurse=False)}

    assert mode in modes


def test_one_and_two_threads_are_present() -> None:
    """Nothing asks for more than two cores."""
    assert {case.num_threads for case in CASES} == {1, 2}


def test_importing_the_suite_does_not_import_torch() -> None:
    """Listing and filtering work without torch, and at once."""
    script = "import sys, definitions.standard; print('torch' in sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert printed.strip() == "False"
