"""What the catalogue script makes of torch's names and sources."""

from pathlib import Path
from typing import Any

import pytest
import torch

from worker.catalogue import count_calls, is_public, plain, python_sources
from worker.catalogue import public_operators as answer_to_public_operators


@pytest.fixture(scope="module")
def operators() -> dict[str, dict[str, Any]]:
    """The public operators of the installed torch, by name."""
    return {operator["name"]: operator for operator in answer_to_public_operators({})["operators"]}


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("torch.add", "add"),
        ("torch.nn.functional.conv2d", "conv2d"),
        ("torch.nn.functional.cross_entropy", "cross_entropy_loss"),
        ("torch.linalg.norm", "linalg_norm"),
        ("torch.special.erf", "special_erf"),
        ("torch.sparse.mm", "_sparse_mm"),
        ("torch.Tensor.add_", "add_"),
    ],
)
def test_an_operator_has_its_native_name(
    operators: dict[str, dict[str, Any]], name: str, native: str
) -> None:
    """As the dispatcher knows it."""
    assert native == operators[name]["native"]


def test_what_is_no_public_operator_is_left_out(operators: dict[str, dict[str, Any]]) -> None:
    """What takes no tensor, is composed of several, private or deprecated."""
    names = {
        *("can_cast", "manual_seed", "autocast", "sym_max", "_assert_async", "chain_matmul", "ger"),
        *("unique", "nn.functional.has_torch_function", "linalg.LinAlgError", "Tensor.backward"),
        *("Tensor.numpy", "Tensor.__add__", "Tensor.T", "Tensor.matrix_power"),
    }

    assert not {f"torch.{name}" for name in names} & operators.keys()


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (None, True),
        ("Adds.\n:func:`torch.add` is deprecated in favor of", False),
        ("This function is deprecated", False),
        ("The argument alpha is deprecated", True),
        ("x (Tensor): Deprecated, see radd` is deprecated", True),
    ],
)
def test_what_is_deprecated_says_so_itself(doc: str | None, expected: bool) -> None:
    """Not what has a deprecated argument, or speaks of another function."""

    def function() -> None: ...

    function.__doc__ = doc

    assert expected is is_public("add", function)


@pytest.mark.parametrize(
    ("text", "namespace"),
    [
        ("torch.norm(x)", "torch"),
        ("torch.linalg.norm(x)", "torch.linalg"),
        ("linalg.norm(x)", "torch.linalg"),
        ("F.norm(x)", "torch.nn.functional"),
        ("x.norm(2)", "torch.Tensor"),
        ("f(x).norm(2)", "torch.Tensor"),
        ("mytorch.norm(x)", "torch.Tensor"),
        ("a.F.norm(x)", "torch.Tensor"),
        (f"{'x' * 100}.torch.norm(x)", "torch.Tensor"),
    ],
)
def test_a_call_counts_where_it_is_looked_up(text: str, namespace: str) -> None:
    """A method, unless torch's name stands before it."""
    others = ["torch.norm", "norm(x)", "x.norm = 3", ".5(x)"]

    assert {(namespace, "norm"): 3} == count_calls(iter([f"{text} {text}", text, *others]))


def test_tests_and_what_programs_wrote_are_no_sources(tmp_path: Path) -> None:
    """Neither tells what people use."""
    for name in ("a.py", "b/c.py", "testing/d.py", "b/test/e.py", "b/generated/f.py", "g.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)

    assert ["a.py", "b/c.py"] == list(python_sources(tmp_path))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), ([1, 2.5], [1, 2.5]), (float("nan"), "nan"), (torch.float32, "torch.float32")],
)
def test_a_default_is_plain_or_its_text(value: Any, expected: Any) -> None:
    """Whatever it is."""
    assert expected == plain(value)
