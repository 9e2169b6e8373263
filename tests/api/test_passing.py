"""Variables of a program as code: what comes out on the other side is equal, or is refused."""

import dataclasses
import enum
import functools
import importlib
import linecache
import math
import types
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.api.passing import MAX_INLINE, _plain, code_of
from instruction_counts.domain.errors import UsageError

ANY_TEXT = st.text(st.characters(categories=None))
HASHABLE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
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
        | st.dictionaries(HASHABLE, inner, max_size=4)
    ),
    max_leaves=20,
)


def made(code: str, stmt: str = "") -> dict[str, Any]:
    """What a setup makes inside a function, as it is executed; nothing else is known there."""
    body = "\n".join(f"    {line}" for line in (*code.splitlines(), stmt, "return locals()"))
    namespace: dict[str, Any] = {}
    exec(compile(f"def run():\n{body}", "<setup>", "exec"), namespace)  # noqa: S102 - our own
    found: dict[str, Any] = namespace["run"]()
    return found


def passed(folder: Path, **values: Any) -> dict[str, Any]:
    """The variables as another process gets them."""
    return made(code_of("", [f"({', '.join(values)},)"], values, folder))


# What code reads


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("x + y", "xy"),
        ("x = x + 1", "x"),
        ("x = 1; x + 1", ""),
        ("x += 1", "x"),
        ("[i + k for i in x for k in i]", "x"),
        ("{i: y for i in x}", "xy"),
        ("[i for i in x]; i", "xi"),
        ("(n := y) + n", "y"),
        ("f = lambda a, b=x: a + b + y", "xy"),
        ("def f(a):\n    z = a + y\n    return z\nf(z)", "yz"),
        ("class A(x):\n    c = y\n    e = c", "xy"),
        ("import x.a; from a import y; x, y", ""),
        ("match x:\n    case [b, *c]: b + c\n    case {'k': d, **e}: d, e", "x"),
        ("async def f():\n    await x", "x"),
        ("x +", ""),
        ("x\0", ""),
    ],
)
def test_names_that_are_read_before_they_are_made_are_passed(
    code: str, names: str, tmp_path: Path
) -> None:
    """Of what is no Python, none."""
    lines = code_of("", [code], dict.fromkeys("xyzike", 1), tmp_path).splitlines()

    assert sorted(f"{name} = 1" for name in names) == sorted(lines)


def test_a_statement_reads_what_its_setup_makes(tmp_path: Path) -> None:
    """And nothing of what another statement makes."""
    values = dict.fromkeys(("x", "y", "base"), 1)

    assert "base = 1\ny = 1" == code_of("x = base", ["x + y", "y = 1", "y"], values, tmp_path)


# Plain data


@given(PLAIN)
def test_plain_data_are_an_expression_of_one_line(value: object) -> None:
    """Types, negative zeros, lone surrogates and the order of dictionaries survive."""
    code = _plain(value)

    assert code.isascii()
    assert 1 == len(code.splitlines())
    assert repr(value) == repr(made(f"value = {code}")["value"])


def test_sets_are_the_same_expression_in_every_process() -> None:
    """Whatever the seed of the hashes; there is no literal for an empty one."""
    assert ["{'a', 'b', 'c'}", "{*()}"] == [_plain({"c", "a", "b"}), _plain(set())]


# What torch saves

CYCLE: list[Any] = []
CYCLE.append(CYCLE)
WITH_GRADIENT = torch.nn.Parameter(torch.ones(2))
WITH_GRADIENT.grad = torch.full((2,), 3.0)
with torch.inference_mode():
    INFERRED = torch.ones(2)


@pytest.mark.parametrize(
    "value",
    [
        math.inf,
        "x" * (MAX_INLINE + 1),
        OrderedDict(a=1),
        np.float64(1.5),
        [1, {"a": np.arange(3).tolist()}],
        torch.float16,
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_data_are_saved(value: object, tmp_path: Path) -> None:
    """By torch, in the folder; the same value in the same file."""
    found = passed(tmp_path, x=value)["x"]

    assert (type(value), value) == (type(found), found)
    passed(tmp_path, x=value)
    assert len([*tmp_path.iterdir()]) < 2


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor([math.nan, 1.5]),
        torch.arange(24.0).reshape(4, 6)[:, ::2].t(),
        torch.ones(2, 0, dtype=torch.bfloat16),
        torch.ones(1).expand(3),
        torch.ones(2, requires_grad=True),
        torch.nn.Parameter(torch.ones(1)),
        WITH_GRADIENT,
        torch.ones(2).to_sparse(),
    ],
    ids=["nan", "strided", "empty", "expanded", "leaf", "parameter", "gradient", "sparse"],
)
def test_tensors_survive(tensor: torch.Tensor, tmp_path: Path) -> None:
    """With their layout in memory: a transposed one costs something else; so does a gradient."""
    (found,) = passed(tmp_path, x=[tensor])["x"]

    assert (type(tensor), tensor.dtype, tensor.layout) == (type(found), found.dtype, found.layout)
    assert (tensor.requires_grad, tensor.is_leaf) == (found.requires_grad, found.is_leaf)
    dense, other = (each.detach().to_dense() for each in (tensor, found))
    assert dense.stride() == other.stride()
    assert torch.equal(dense.nan_to_num(7), other.nan_to_num(7))
    assert repr(tensor.grad) == repr(found.grad)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(2).to(torch.float8_e4m3fn),
        torch.ones(2, dtype=torch.uint16),
        torch.ones(2, device="meta"),
        torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged),
    ],
    ids=["float8", "uint16", "meta", "nested"],
)
def test_tensors_of_any_kind_that_torch_saves_are_passed(
    tensor: torch.Tensor, tmp_path: Path
) -> None:
    """Also such as have no memory, or none that is like that of the others."""
    found = passed(tmp_path, x=tensor)["x"]

    assert (tensor.dtype, tensor.device) == (found.dtype, found.device)
    assert tensor.is_nested == found.is_nested


def test_values_that_share_something_share_it_there_too(tmp_path: Path) -> None:
    """Parameters of a model, the memory of a view, and a list; others have a file of their own.

    Two names of an object stay that: a statement may write into one and read the other. So does a
    cycle, without expression.
    """
    model, x = Net(), torch.zeros(3)
    notes: list[int] = []
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    values = {**globals(), "part": x[1:], "x": x, "optimizer": optimizer, "model": model}
    values |= {"alone": torch.ones(2), "notes": notes, "named": OrderedDict(notes=notes)}
    values |= {"again": values["alone"], "cycle": CYCLE}
    stmt = "alone, model, optimizer, x, part, notes, named, again, cycle"
    found = made(code_of("", [stmt], values, tmp_path))
    found["x"][1] = 5
    found["notes"].append(7)

    assert found["optimizer"].param_groups[0]["params"][0] is next(found["model"].parameters())
    assert [5, 0] == found["part"].tolist()
    assert [7] == found["named"]["notes"]
    assert found["again"] is found["alone"]
    assert found["cycle"][0] is found["cycle"]
    assert f"alone = {code_of('', ['alone'], values, tmp_path).partition(' = ')[2]}" in code_of(
        "", [stmt], values, tmp_path
    )


# Modules, functions and classes


def test_a_module_is_imported(tmp_path: Path) -> None:
    """With the modules below it that the code names."""
    values = {"np": np, "torch": torch, "F": torch.nn.functional}
    stmts = ["np.ones(torch.nn.functional.relu)", "F.relu"]

    code = code_of("", stmts, values, tmp_path)

    assert [
        "import numpy as np",
        "import torch",
        "__import__('torch.nn')",
        "__import__('torch.nn.functional')",
        "import torch.nn.functional as F",
    ] == code.splitlines()
    assert values == made(code)


def test_what_a_library_defines_is_imported(tmp_path: Path) -> None:
    """A function, or a class; an operator, also one of several overloads, cannot be pickled."""
    forward = torch.nn.Module.forward
    values = {"relu": torch.relu, "Layer": torch.nn.Linear, "root": math.sqrt, "nested": forward}
    values |= {"add": torch.ops.aten.add, "add_tensor": torch.ops.aten.add.Tensor}

    assert values == passed(tmp_path, **values)


def test_a_function_of_c_needs_no_torch_to_be_found(tmp_path: Path) -> None:
    """It is imported under its own name; the method of an object has none there."""
    code = code_of("", ["f, g"], {"f": abs, "g": math.sqrt}, tmp_path)

    assert ["from builtins import abs as f", "from math import sqrt as g"] == code.splitlines()
    assert "load" in code_of("", ["f"], {"f": [1].append}, tmp_path)


def test_a_custom_operator_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what its module registers with it; one of the program itself would be without."""
    code = (
        "import torch\n@torch.library.custom_op('mine::twice', mutates_args=())\n"
        "def twice(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n"
    )
    (tmp_path / "with_an_operator.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    twice = importlib.import_module("with_an_operator").twice

    assert twice is passed(tmp_path, twice=twice)["twice"]
    with pytest.raises(UsageError, match="Define it in a module"):
        code_of("", ["twice"], {"__name__": "with_an_operator", "twice": twice}, tmp_path)


SCALE = 2


def doubled(x: Any) -> Any:
    """What a program defines reads what the program has."""
    return scaled(x) * SCALE


def scaled(x: Any) -> Any:
    """Also a function that is defined later."""
    return x


@dataclasses.dataclass
class Pair:
    """It has no function that is written here."""

    left: int
    right: int = SCALE


class Net(torch.nn.Module):
    """A model of the program itself."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(2, 1)

    def forward(self, x: Any) -> Any:
        """As models do."""
        return doubled(self.inner(x))


@pytest.mark.parametrize(
    "stmt", ["doubled(3)", "pair.left + pair.right", "model(torch.ones(1, 2))"]
)
def test_what_the_program_defines_comes_with_its_source(stmt: str, tmp_path: Path) -> None:
    """A function with what it reads; the class of a value, with its decorators; and of a model."""
    values = {**globals(), "pair": Pair(1), "model": Net()}
    found = made(code_of("", [stmt], values, tmp_path), f"y = {stmt}")

    assert repr(eval(stmt, values)) == repr(found["y"])  # noqa: S307 - our own
    assert all(found.get(name) is not values[name] for name in ("doubled", "Pair", "Net"))


def test_a_class_comes_with_what_is_beside_it_and_not_in_the_scope(tmp_path: Path) -> None:
    """Its decorators and bases; also where only a value of it is asked for."""
    values = {"__name__": __name__, "pair": Pair(1)}
    found = made(code_of("", ["pair.left + pair.right"], values, tmp_path))

    assert (1, SCALE) == dataclasses.astuple(found["pair"])


def again() -> str:
    """It is defined again below."""
    return "first"


FIRST = again


def again() -> str:  # type: ignore[no-redef]
    """The second of this name."""
    return "second"


class Patched:
    """It gets another method below."""

    def __init__(self) -> None:
        self.width = 1

    def forward(self) -> int:
        """The first of this name."""
        return 1


Patched.forward = doubled  # type: ignore[method-assign, assignment]


class Aliasing:
    """Its body takes a function."""

    aliased = doubled

    def again(self) -> Any:
        """What makes it known where it is."""
        return self.aliased()


@functools.singledispatch
def chosen(value: object) -> object:
    """What it does depends on what is registered."""
    return value


@chosen.register
def _(value: int) -> int:
    return value + 1


@functools.cache
def countdown(n: int) -> int:
    """It calls itself, by its name."""
    return n and countdown(n - 1)


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        ("again() + old()", "secondfirst"),
        ("old() + again()", "firstsecond"),
        ("down(3) + len(pair)", 2),
    ],
)
def test_a_function_is_the_one_that_its_name_means(
    stmt: str, expected: object, tmp_path: Path
) -> None:
    """Not another that is called so now; also under a second name, and one that is cached."""
    values = {**globals(), "old": FIRST, "down": countdown, "pair": [countdown, 1]}
    found = made(code_of("", [stmt], values, tmp_path), f"y = {stmt}")

    assert expected == found["y"]


def test_a_class_without_code_is_that_of_the_newest_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing in it says where it was defined; a notebook keeps its cells."""
    values = {"dataclasses": dataclasses, "__name__": "__main__"}
    for number, width in enumerate((3, 4)):
        cell = f"@dataclasses.dataclass\nclass Config:\n    width: int = {width}\n"
        name = f"<cell {number}>"
        lines = cell.splitlines(keepends=True)
        monkeypatch.setitem(linecache.cache, name, (len(cell), None, lines, name))
        exec(compile(cell, name, "exec"), values)  # noqa: S102
    found = made(code_of("", ["Config().width"], values, tmp_path), "y = Config().width")

    assert 4 == found["y"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((n for n in ""), r"\(builtins.generator\) cannot be passed on: cannot pickle 'generator'"),
        (lambda: 1, "its source is not a definition"),
        ([torch.ones(2, requires_grad=True) + 1], r"has a graph \(grad_fn\)"),
        (INFERRED, "made in inference mode"),
        (types.ModuleType("nowhere"), "cannot be imported"),
        (type("Net", (Net,), {"__module__": __name__})(), "Net was defined again"),
    ],
    ids=["generator", "lambda", "graph", "inference", "module", "stale"],
)
def test_anything_else_is_refused(value: object, message: str, tmp_path: Path) -> None:
    """The error names the variable and its type, and says what to do."""
    with pytest.raises(UsageError, match=message) as caught:
        code_of("", ["mine"], {**globals(), "mine": value}, tmp_path)

    assert '"mine"' in caught.value.message
    assert "setup" in caught.value.remedy


@pytest.mark.parametrize(
    ("stmt", "message"),
    [
        ("Patched()", "its forward was set later"),
        ("chosen", '"chosen".* registered with it is missing'),
    ],
)
def test_what_was_set_or_registered_later_is_refused(
    stmt: str, message: str, tmp_path: Path
) -> None:
    """It is executed, and the source says nothing of it."""
    with pytest.raises(UsageError, match=message):
        code_of("", [stmt], globals(), tmp_path)


WIDTH, DEVICE = 3, torch.device("cpu")


def on_device(x: Any, device: Any = DEVICE) -> Any:
    """Its default is no plain data."""
    return x.to(device)


def padded(x: Any, width: int = WIDTH, *, by: int = WIDTH, sizes: tuple[int, ...] = (1, 2)) -> Any:
    """Its defaults were taken when it was defined."""
    return x, width, by, sizes


class Padded:
    """So were its attributes, and the defaults of its methods."""

    width = WIDTH
    sizes: tuple[int, ...] = (1, 2)

    def padded(self, by: int = WIDTH) -> int:
        """As a function's."""
        return by


class Mode(enum.IntEnum):
    """It makes something else of what its body says."""

    ONE = 1


class Linear(torch.nn.Linear):
    """Called like what it is derived from."""

    reset = torch.nn.Linear.reset_parameters

    def own(self) -> int:
        """Its own code."""
        return 1


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("padded", "def padded"),
        ("Padded", "width = WIDTH"),
        ("Mode", "ONE = 1"),
        # What its body names was not set later.
        ("Aliasing", "aliased = doubled"),
        # A class is found by its own code, and not by a part of a library that is in it.
        ("Linear", "def own"),
    ],
)
def test_what_a_definition_would_make_again_is_passed(name: str, part: str, tmp_path: Path) -> None:
    """What it reads is as it was."""
    assert part in code_of("", [name], globals(), tmp_path)


@pytest.mark.parametrize(
    ("of", "field", "value", "message"),
    [
        (padded, "__defaults__", (4,), "its default of width has changed"),
        (padded, "__kwdefaults__", {"by": WIDTH, "sizes": (1,)}, "its default of sizes has"),
        (Padded, "width", 4, "its width has changed"),
        (Padded, "sizes", (1, 2, 3), "its sizes has changed"),
        (Padded.padded, "__defaults__", (4,), "its default of by has changed"),
        (Padded, "padded", abs, "its padded has changed"),
    ],
)
def test_a_definition_that_would_make_something_else_now_is_refused(
    of: Any,
    field: str,
    value: object,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The process that measures executes it again."""
    monkeypatch.setattr(of, field, value)
    name = of.__qualname__.partition(".")[0]
    with pytest.raises(UsageError, match=message):
        code_of("", [name], globals(), tmp_path)


def test_a_name_that_a_default_was_taken_from_may_mean_something_else_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default stays."""
    monkeypatch.setitem(globals(), "DEVICE", torch.device("cpu"))  # equal
    assert "on_device" in code_of("", ["on_device"], globals(), tmp_path)
    monkeypatch.setitem(globals(), "DEVICE", torch.device("meta"))
    with pytest.raises(UsageError, match="its default of device has changed"):
        code_of("", ["on_device"], globals(), tmp_path)
    monkeypatch.setitem(globals(), "WIDTH", 30)
    with pytest.raises(UsageError, match="its default of width has changed"):
        code_of("", ["padded"], globals(), tmp_path)


def test_a_class_of_a_library_that_the_program_patched_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that measures imports it as it is."""
    monkeypatch.setattr(torch.nn.Linear, "forward", doubled)

    with pytest.raises(UsageError, match=r"Linear\.forward was set by this program"):
        code_of("", ["layer(1)"], {**globals(), "layer": torch.nn.Linear(2, 2)}, tmp_path)
