"""Runtimes that are registered from outside."""

import pickle
from collections.abc import Iterator

import pytest

from instruction_counts.core.api import GroupedSetup, GroupedStmts
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.runtimes import Runtime, register, unregister
from instruction_counts.core.types import Language, RuntimeMode


@pytest.fixture
def fused() -> Iterator[Runtime]:
    """A runtime for Python alone, as long as a test runs."""
    runtime = Runtime(RuntimeMode.new("FUSED", "Fused"), (Language.PYTHON,))
    register(runtime)
    yield runtime
    unregister(runtime)


def test_a_mode_is_itself_after_a_round_trip(fused: Runtime) -> None:
    """By its value, as results hold it, and pickled; a typing error in a file is no mode."""
    assert fused.mode is RuntimeMode("Fused")
    assert fused.mode is pickle.loads(pickle.dumps(fused.mode))  # noqa: S301 - our own
    with pytest.raises(ValueError, match="is not a valid RuntimeMode"):
        RuntimeMode("Unheard of")


def test_a_runtime_is_registered_once_and_needs_a_signature(fused: Runtime) -> None:
    """One of both would be hidden, and the inputs would not be known."""
    with pytest.raises(ValueError, match="registered already"):
        register(fused)
    with pytest.raises(DefinitionError, match=f'runtime "{fused.mode.option}" needs it'):
        GroupedStmts("y = x", runtimes=("fused",))


@pytest.mark.parametrize("runtimes", [("unheard",), ("eager",), ("explicit",), "torchscript"])
def test_a_group_asks_for_runtimes_that_there_are(runtimes: object) -> None:
    """Eager is always there, and explicit cases are written out."""
    with pytest.raises(DefinitionError, match="a tuple of torchscript"):
        GroupedStmts("y = x", signature="f(x) -> y", runtimes=runtimes)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["torchscript", "compiled", "exported"])
def test_a_runtime_with_a_flag_can_be_asked_for_by_name(name: str) -> None:
    """The flag is short for it."""
    by_flag, by_name = (
        GroupedStmts("y = x", None, GroupedSetup("x = 1"), "f(x) -> y", **asked)
        for asked in ({name: True}, {"runtimes": (name,)})
    )

    assert by_flag == by_name
