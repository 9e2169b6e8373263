"""Values of a notebook as code: what comes out on the other side is equal, or is refused."""

from __future__ import annotations

import math
import pickle
import re
import types
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.errors import UsageError
from instruction_counts.notebook.free_names import FreeNames, free_names
from instruction_counts.notebook.values import MAX_BYTES, MAX_DEPTH, code_of, expression_of

ANY_TEXT = st.text(st.characters(categories=None))
HASHABLE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | ANY_TEXT
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)
PLAIN = st.recursive(
    HASHABLE,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.sets(HASHABLE, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4)
    ),
    max_leaves=20,
)


def made(code: str) -> dict[str, Any]:
    """What the code of a setup makes, where nothing else is known."""
    namespace: dict[str, Any] = {}
    exec(compile(code, "<setup>", "exec"), namespace)  # noqa: S102 - it is our own
    del namespace["__builtins__"]
    return namespace


def passed(**namespace: Any) -> dict[str, Any]:
    """The variables as another process gets them."""
    return made(code_of(FreeNames(tuple(namespace), ()), namespace))


def exactly(value: object) -> object:
    """The value in a form that is equal only if every bit and every order is."""
    match value:
        case float():
            return "float", "nan" if math.isnan(value) else value.hex()
        case complex():
            return "complex", exactly(value.real), exactly(value.imag)
        case list() | tuple():
            return type(value).__name__, [exactly(item) for item in value]
        case set():
            return "set", sorted(repr(exactly(item)) for item in value)
        case dict():
            return "dict", [(exactly(key), exactly(item)) for key, item in value.items()]
    return type(value).__name__, value


@given(PLAIN)
def test_plain_data_survives(value: object) -> None:
    """Negative zeros, infinities, lone surrogates and the order of dictionaries, too."""
    assert exactly(value) == exactly(passed(value=value)["value"])


@given(PLAIN)
def test_the_code_of_a_value_is_one_line(value: object) -> None:
    """A setup is indented where it runs, and its lines are counted."""
    code = expression_of(value)

    assert 1 == len(code.splitlines())
    assert code.isascii()


@pytest.mark.parametrize(
    "value",
    [10**5000, -(10**5000), float("-inf"), -0.0, complex(-0.0, math.inf), {1.5: {()}}],
    ids=lambda value: type(value).__name__,
)
def test_numbers_survive_at_their_limits(value: object) -> None:
    """A decimal integer of that length could not be read."""
    assert exactly(value) == exactly(passed(value=value)["value"])


def test_names_of_built_in_functions_may_be_taken() -> None:
    """The code uses none of them by name."""
    taken = {"float": math.nan, "complex": 1j, "bytearray": torch.ones(1), "set": set()}

    assert list(taken) == list(passed(**taken))


DTYPES = [
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.bool),
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.complex128),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)], ids=str)
def test_tensors_survive(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """In each bit, also those of nan."""
    tensor = (torch.randn(shape) * 50).to(dtype)

    found = passed(x=tensor)["x"]

    assert (tensor.dtype, tensor.shape, tensor.stride()) == (
        found.dtype,
        found.shape,
        found.stride(),
    )
    assert (
        tensor.reshape(-1).view(torch.uint8).tolist()
        == found.reshape(-1).view(torch.uint8).tolist()
    )
    assert not found.requires_grad


def test_a_tensor_keeps_its_layout_in_memory() -> None:
    """A transposed one costs something else."""
    tensor = torch.arange(24.0).reshape(4, 6)[:, ::2].t()

    found = passed(x=tensor)["x"]

    assert tensor.stride() == found.stride()
    assert torch.equal(tensor, found)
    assert found._base is None


def test_a_leaf_asks_for_its_gradient_there_too() -> None:
    """Or a backward pass would fail."""
    found = passed(x=torch.ones(2, requires_grad=True))["x"]

    assert found.requires_grad
    assert found.is_leaf


def test_a_collection_may_hold_tensors() -> None:
    """As plain data does."""
    found = passed(x=[torch.ones(2), {"a": torch.zeros(1)}])["x"]

    assert [1, 1] == found[0].tolist()
    assert [0] == found[1]["a"].tolist()


def test_two_names_of_an_object_stay_that() -> None:
    """A statement may write into one and read the other."""
    tensor = torch.ones(2)

    found = passed(x=tensor, y=tensor)

    assert found["x"] is found["y"]


def test_a_module_is_imported() -> None:
    """With the modules below it that the code names."""
    names = free_names("", ["np.ones(torch.nn.functional.relu)", "F.relu"])
    namespace = {"np": np, "torch": torch, "F": torch.nn.functional}

    code = code_of(names, namespace)

    assert [
        "import numpy as np",
        "import torch",
        "__import__('torch.nn')",
        "__import__('torch.nn.functional')",
        "import torch.nn.functional as F",
    ] == code.split("; ")
    assert namespace == made(code)


def test_imports_and_values_are_a_line_each() -> None:
    """A setup of one's own begins on the next, where an error says so."""
    code = code_of(free_names("", ["x + np.y + z"]), {"x": 1, "np": np, "z": 2})

    assert ["import numpy as np", "x = 1; z = 2"] == code.splitlines()


def test_a_name_that_the_notebook_has_not_is_left_out() -> None:
    """It may be a built-in function; if not, running the statement says so."""
    assert "x = 1" == code_of(free_names("", ["print(x, q)"]), {"x": 1})


Point = namedtuple("Point", "x y")  # noqa: PYI024 - an old one is a tuple, too
CYCLE: list[Any] = []
CYCLE.append(CYCLE)
GRAPH = torch.ones(2, requires_grad=True) + 1
with torch.inference_mode():
    INFERENCE = torch.ones(2)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.nn.Linear(2, 2), r"\(torch.nn.modules.linear.Linear\) .* only plain data, imported"),
        (torch.nn.Parameter(torch.ones(1)), r"\(torch.nn.parameter.Parameter\)"),
        (exactly, r"\(builtins.function\)"),
        (Point, r"\(builtins.type\)"),
        (Point(1, 2), r"test_values.Point\)"),
        (OrderedDict(a=1), r"\(collections.OrderedDict\)"),
        (np.float64(1.5), r"\(numpy.float64\)"),
        (types.ModuleType("nowhere"), "no import finds"),
        ([1, {"a": object()}], r"\(builtins.list\)"),
        (CYCLE, f"nested more than {MAX_DEPTH} levels deep"),
        ("x" * MAX_BYTES, "larger than 1 MiB"),
        (torch.ones(MAX_BYTES // 4 + 1), "larger than 1 MiB"),
        ([torch.ones(MAX_BYTES // 8)] * 3, "larger than 1 MiB"),
        (torch.ones(2).to_sparse(), "its layout is sparse_coo"),
        (torch.ones(2, device="meta"), "it is on meta"),
        (GRAPH, r"has a graph \(grad_fn\)"),
        (INFERENCE, "inference mode"),
        (torch.ones(1).expand(3), "its elements share memory"),
        (torch.ones(2, dtype=torch.complex64).conj(), "lazily"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else type(value).__name__,
)
def test_anything_else_is_refused(value: object, message: str) -> None:
    """The error names the variable and its type, and says what to do."""
    with pytest.raises(UsageError, match=message) as caught:
        code_of(FreeNames(("mine",), ()), {"mine": value})

    assert '"mine" of the notebook' in caught.value.message
    assert "--setup" in caught.value.remedy


def test_what_is_as_large_as_allowed_is_passed() -> None:
    """By the bytes of the tensor, not by its code."""
    tensor = torch.ones(MAX_BYTES // 4)

    assert torch.equal(tensor, passed(x=tensor)["x"])


def test_shared_parts_do_not_explode() -> None:
    """A list that holds itself twice, many times over, is found to be too large at once."""
    value: list[Any] = []
    for _ in range(MAX_DEPTH - 1):
        value = [value, value]

    with pytest.raises(UsageError, match="larger than 1 MiB"):
        passed(value=value)


def test_a_set_has_the_same_code_in_every_process() -> None:
    """Its order differs with the seed of the hashes."""
    assert "{'a', 'b', 'c'}" == expression_of({"c", "a", "b"})


def test_nothing_is_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading what was pickled runs any code."""
    for name in ("dumps", "loads", "dump", "load"):
        monkeypatch.setattr(pickle, name, None)

    assert not re.search("pickle", code_of(FreeNames(("x",), ()), {"x": torch.ones(2)}))
