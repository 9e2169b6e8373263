"""What a statement uses beside instructions, as the worker finds it with a real torch."""

from typing import Any

import pytest
import torch

from worker.main import MeasurementError
from worker.resources import flops_in
from worker.resources import resources as used

# 4,000 bytes each
SETUP = "x, y = torch.ones(1000), torch.ones(1000)\nw = torch.ones(1000, requires_grad=True)\n"
MATRICES = "a, b, c = torch.ones(10, 20), torch.ones(20, 30), torch.ones(0, 20)\n"


def resources(stmt: str, setup: str = SETUP) -> dict[str, Any]:
    """What a Python statement uses."""
    case = {"stmt": stmt, "setup": setup, "num_threads": torch.get_num_threads()}
    shim: Any = None
    found: dict[str, Any] = used({"case": case}, shim)
    return {**found["metrics"], "reason": found["reason"]}


def test_code_of_a_case_has_no_future_statement_of_the_worker() -> None:
    """What reads its annotations finds types, and no texts."""
    found = resources("f.__annotations__['a'](1)", "def f(a: int): pass")

    assert found["reason"] == ""


# Memory


@pytest.mark.parametrize(
    ("stmt", "allocated", "peak"),
    [
        ("x.add_(y)", 0, 0),
        ("x + y", 4000, 4000),
        ("x + y\nx + y", 8000, 4000),
        ("z = x + y\nv = x + y", 8000, 8000),
        ("z = x + y\nz = None\nz = x + y", 8000, 4000),
    ],
)
def test_what_is_allocated_is_distinguished_from_what_is_held(
    stmt: str, allocated: int, peak: int
) -> None:
    """What was freed can be had again."""
    # What a run before left is not freed in the next: every run makes its results anew.
    found = resources(stmt, SETUP + "z = torch.ones(5000)")

    assert allocated == found["tensor_bytes"]
    assert peak == found["peak_bytes"]


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        ("a @ b", 2 * 10 * 20 * 30),
        ("torch.relu(a @ b)", 2 * 10 * 20 * 30),
        ("c @ b", 0),
        ("a + a", None),
    ],
)
def test_operations_are_those_that_torch_has_a_formula_for(stmt: str, expected: int | None) -> None:
    """Nothing to compute is distinguished from nothing known."""
    found = resources(stmt, MATRICES)

    assert expected == found["flops"]
    assert "" == found["reason"]


def test_a_torch_that_counts_no_operations_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old ones do not."""
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.flop_counter", None)

    with pytest.raises(MeasurementError, match="does not count floating point operations"):
        flops_in(lambda: None)


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        ("x + y", 3 * 4000),
        ("x + x", 2 * 4000),
        ("z = x + y", 3 * 4000),
        ("x.add_(y)", 3 * 4000),
        ("x[0] = 1", 2 * 4000),
        ("torch.add(x, y, out=x)", 3 * 4000),
        ("z = x", 4000),
        ("z = x.view(10, 100).t()", 4000),
        ("torch.ones(10)", 40),
        ("'x'", 0),
        ("(w * x).sum().backward()", 4 * 4000),  # a gradient is added to
    ],
)
def test_tensors_are_moved_that_are_named_or_made(stmt: str, expected: int) -> None:
    """Each once, however often it is used; what is changed is read and written."""
    assert expected == resources(stmt)["moved_bytes"]


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        ("x = [torch.ones(10), {'k': torch.ones(5)}]", 60),
        ("x = torch.nn.Linear(10, 2)", 4 * (20 + 2)),
        ("b = torch.ones(100); x = [b, b.t(), b[:10], b[5:]]", 400),
        ("b = torch.ones(100); x = [b[:10], b[10:20], b[:10]]", 80),
        ("x = torch.ones(1).expand(1000, 1000)", 4),
        ("x = torch.ones(100, dtype=torch.uint8)", 100),
        ("with torch.inference_mode(): x = torch.ones(10)", 40),
        ("x = 3", 0),
    ],
)
def test_memory_that_is_shared_counts_once(setup: str, expected: int) -> None:
    """Wherever the tensors are kept, and however they are laid out."""
    assert expected == resources("x", setup)["moved_bytes"]


# What cannot be known


def test_a_part_that_cannot_be_known_leaves_the_others() -> None:
    """With the reason; a statement that fails is a failure, before anything is looked at."""
    found = resources("x + x", "x = torch.ones(10).to_mkldnn()")

    assert (None, None) == (found["moved_bytes"], found["flops"])
    assert "NotImplementedError: Cannot access storage of OpaqueTensorImpl" == found["reason"]
    with pytest.raises(ZeroDivisionError):
        resources("1 / 0")
