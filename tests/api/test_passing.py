"""Variables of a program as code: what comes out on the other side is equal, or is refused."""

import dataclasses
import enum
import functools
import importlib
import math
import multiprocessing
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Generic, NewType, ParamSpec, TypeVar

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.api.beside import modules_beside
from instruction_counts.api.passing import MAX_INLINE, _plain, code_of
from instruction_counts.domain.errors import UsageError
from tests.api.elsewhere import evaluated, made

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


def passed(folder: Path, **values: Any) -> Any:
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
HOOKED = torch.ones(2, requires_grad=True)
HOOKED.register_hook(lambda gradient: gradient)


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
    "make",
    [
        lambda: torch.ones(2).to(torch.float8_e4m3fn),
        lambda: torch.ones(2, dtype=torch.uint16),
        lambda: torch.ones(2, device="meta"),
        lambda: torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged),
    ],
    ids=["float8", "uint16", "meta", "nested"],
)
def test_tensors_of_any_kind_that_torch_saves_are_passed(
    make: Callable[[], torch.Tensor], tmp_path: Path
) -> None:
    """Also such as have no memory, or none that is like that of the others."""
    tensor = make()
    found = passed(tmp_path, x=tensor)["x"]

    assert (tensor.dtype, tensor.device) == (found.dtype, found.device)
    assert tensor.is_nested == found.is_nested


def test_values_that_share_something_share_it_there_too(tmp_path: Path) -> None:
    """Parameters of a model, the memory of a view, and a list.

    Two names of an object stay that: a statement may write into one and read the other. So does a
    cycle, without expression.
    """
    model, x = Net(), torch.zeros(3)
    notes: list[int] = []
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    values = {**globals(), "part": x[1:], "x": x, "optimizer": optimizer, "model": model}
    values |= {"alone": torch.ones(2), "notes": notes, "named": OrderedDict(notes=notes)}
    values |= {"again": values["alone"], "cycle": CYCLE}
    values |= {"pair": (notes, notes)}
    stmt = "alone, model, optimizer, x, part, notes, named, again, cycle, pair"
    found = made(code_of("", [stmt], values, tmp_path))
    found["x"][1] = 5
    found["notes"].append(7)

    assert found["optimizer"].param_groups[0]["params"][0] is next(found["model"].parameters())
    assert [5, 0] == found["part"].tolist()
    assert [7] == found["named"]["notes"]
    assert found["again"] is found["alone"]
    assert found["cycle"][0] is found["cycle"]
    assert found["pair"][0] is found["pair"][1]
    alone = made(code_of("", ["notes, pair"], values, tmp_path))
    assert alone["pair"][0] is alone["notes"]


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


def scaled_by(factor: int) -> Any:
    """Makes a closure."""
    return lambda x: x * factor


def counter() -> tuple[Any, Any]:
    """Two functions of one variable; one of them knows itself."""
    number: Any = 0

    def more(times: int = 1) -> Any:
        nonlocal number
        number += 1
        return more(times - 1) if times else None

    return more, lambda: number


@torch.no_grad()
def unrecorded(x: Any) -> Any:
    """A library wraps it."""
    return x.requires_grad_() * 2


@functools.cache
def countdown(n: int) -> int:
    """It calls itself, by its name."""
    return n and countdown(n - 1)


def counting(start: int = SCALE) -> int:
    """It changes what it reads."""
    global SCALE  # noqa: PLW0603
    SCALE += start
    return SCALE


@dataclasses.dataclass
class Pair:
    """It has no function that is written here."""

    left: int
    right: int = SCALE


class Slotted:
    """It has no dictionary, and a cached property in a class that has one."""

    __slots__ = ("__hidden", "left")

    def __init__(self) -> None:
        self.left, self.__hidden = 1, 2

    def hidden(self) -> int:
        """What its class alone can read."""
        return self.__hidden


class Asked:
    """It notes how often it was saved."""

    times = 0

    def __getstate__(self) -> dict[str, int]:
        """As it is by now."""
        self.times += 1
        return {"times": self.times}


class OneMore:
    """A descriptor that keeps another value than it is given, under its own name."""

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, found: Any, _: object = None) -> Any:
        return vars(found)[self._name]

    def __set__(self, found: Any, value: int) -> None:
        vars(found)[self._name] = value + 1


class Limited:
    """It has a descriptor."""

    size = OneMore()


class Aliased(enum.Enum):
    """Two names of one member."""

    ONE = 1
    FIRST = 1  # noqa: PIE796 - it is about that


class Lazy:
    """What it computes is kept."""

    @functools.cached_property
    def once(self) -> int:
        """It is kept with a lock."""
        return SCALE


PARAMETERS = ParamSpec("PARAMETERS")
UserId = NewType("UserId", int)


class Twice(torch.autograd.Function):
    """Its ``apply`` is a method of torch."""

    @staticmethod
    def forward(_: Any, x: Any) -> Any:
        """Of the function."""
        return x * 2


def uses_operators(x: Any) -> Any:
    """A module that is no file."""
    return torch.ops.aten.relu(x)


class Meta(type):
    """The class of a class."""


class Made(metaclass=Meta):
    """It has a class of the program."""

    size = 3


class Mode(enum.IntEnum):
    """It makes something else of what its body says."""

    ONE = 1


Kind = TypeVar("Kind")


class Held(Generic[Kind]):
    """Its method is called like a function that it calls, and gets a default later."""

    def doubled(self, x: Any, by: int = 1) -> Any:
        """Of the same name."""
        return doubled(x) * by


class Net(torch.nn.Module):
    """A model of the program itself."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(2, 1)

    def forward(self, x: Any) -> Any:
        """As models do."""
        return doubled(self.inner(x))


class Wide(Net):
    """Derived from what is called otherwise since."""


DERIVED = Wide


class Wide(Net):  # type: ignore[no-redef]
    """Another one."""

    def forward(self, _: Any) -> Any:
        """Does something else."""
        return "second"


def again() -> str:
    """It is defined again below."""
    return "first"


FIRST = again


def again() -> str:  # type: ignore[no-redef]
    """The second of this name."""
    return "second"


@functools.singledispatch
def chosen(value: object) -> object:
    """What it does depends on what is registered."""
    return value


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Callable[[str, str], str]]:
    """Evaluates what is passed, in a process that knows nothing of this one."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield lambda setup, expression: pool.submit(evaluated, setup, expression).result()


@pytest.mark.parametrize(
    "stmt",
    [
        "doubled(3)",
        "again() + old()",
        "thrice(2), closure.func(2), named(4)",
        "unrecorded(torch.ones(2)), wrapped(torch.ones(2)), mapped(torch.ones(2))",
        "countdown(3), pair[0](2)",
        "counting(), counting()",
        "Pair(1), dataclasses.astuple(pair[1]), Mode.ONE, Mode(1)",
        "Held[int]().doubled(2), held.doubled(2), Made.size, type(Made).__name__",
        "model(torch.ones(1, 2)), method(torch.ones(1, 2)), derived(torch.ones(1, 2))",
        "derived.forward.__func__.__qualname__, hooked(torch.ones(1, 2))",
        "slotted.left, slotted.hidden(), hasattr(slotted, '__dict__'), Slotted().left",
        "Lazy().once, UserId(3), twice(torch.ones(2)), uses_operators(torch.ones(2))",
        "tagged.scale, tagged, more(2), so_far(), limited.size, limited.size",
    ],
)
def test_what_the_program_defines_is_passed_as_it_is(
    stmt: str, tmp_path: Path, elsewhere: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what it reads, wrappers and defaults, whatever its name means by now."""
    monkeypatch.setitem(globals(), "SCALE", 3)
    monkeypatch.setattr(Held.doubled, "__defaults__", (5,))
    model, hooked = Net(), Net()
    hooked.register_forward_hook(lambda *_: 7)
    values = {**globals(), "model": model, "method": model.forward, "derived": DERIVED()}
    values |= {"hooked": hooked, "old": FIRST, "pair": [countdown, Pair(1)], "held": Held()}
    values |= {"thrice": lambda x: x * 3, "closure": functools.partial(scaled_by(SCALE))}
    values |= {"named": scaled_by(2), "mapped": torch.vmap(scaled)}
    values |= {"wrapped": torch.no_grad()(doubled), "slotted": Slotted(), "twice": Twice.apply}
    values["tagged"] = tagged = torch.ones(2)
    tagged.scale = 2  # type: ignore[attr-defined]
    values["more"], values["so_far"] = counter()
    values["limited"] = limited = Limited()
    limited.size = 5
    passed_on = code_of("", [stmt], values, tmp_path)

    assert repr(eval(stmt, values)) == elsewhere(passed_on, stmt)  # noqa: S307 - our own


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Modules that lie where no other process finds them, and what they define."""
    texts = {
        "beside.py": "from beside_package import layers\nBY = 2\nclass Model: by = 4\n",
        "beside_package/__init__.py": "import threading\nLOCK = threading.Lock()\n",
        "beside_package/layers.py": "import beside\ndef twice(x): return beside.BY * x\n",
        "beside_namespace/sizes.py": "SMALL = [1]\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    before = {*sys.modules}
    module = importlib.import_module("beside")
    sizes = importlib.import_module("beside_namespace.sizes")
    found = {"beside": module, "twice": module.layers.twice, "model": module.Model()}
    found |= {"__name__": __name__, "__file__": __file__, "sizes": sizes}
    yield {**found, "doubled": lambda: module.layers.twice(sizes.SMALL)}
    for name in {*sys.modules} - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    "stmt", ["twice(3)", "model.by", "beside.layers.twice(beside.BY)", "sizes.SMALL", "doubled()"]
)
def test_modules_are_found_where_the_program_found_them(
    stmt: str, beside: dict[str, Any], tmp_path: Path, elsewhere: Callable[[str, str], str]
) -> None:
    """What they define is made there as they make it, a lock for example."""
    passed_on = code_of("", [stmt], beside, tmp_path, modules_beside())

    assert repr(eval(stmt, beside)) == elsewhere(passed_on, stmt)  # noqa: S307 - our own


def test_attributes_of_an_object_are_where_its_class_puts_them(
    tmp_path: Path, elsewhere: Callable[[str, str], str]
) -> None:
    """Not in a dictionary, where looking them up costs more."""
    passed_on = code_of("", ["pair"], {**globals(), "pair": Pair(1)}, tmp_path)
    in_a_dictionary = "dict in map(type, __import__('gc').get_referents(pair))"

    assert "(False, 1)" == elsewhere(passed_on, f"{in_a_dictionary}, pair.left")


def test_an_object_is_asked_once_what_it_consists_of(
    tmp_path: Path, elsewhere: Callable[[str, str], str]
) -> None:
    """What it does then, it does to the program."""
    asked = Asked()
    passed_on = code_of("", ["asked"], {**globals(), "asked": asked}, tmp_path)

    assert 1 == asked.times
    assert "1" == elsewhere(passed_on, "asked.times")


def test_what_a_library_wraps_is_wrapped_by_that_of_the_build(
    tmp_path: Path, elsewhere: Callable[[str, str], str]
) -> None:
    """What would be measured else, is the code that the program has."""
    makes = "__import__('torch.utils._contextlib').utils._contextlib.context_decorator.__code__"
    found = f"any(each is unrecorded.__code__ for each in {makes}.co_consts)"

    assert "True" == elsewhere(code_of("", ["unrecorded"], globals(), tmp_path), found)


def compiled_in_place() -> torch.nn.Module:
    """A module that knows it."""
    module = torch.nn.Linear(2, 2)
    module.compile()
    return module


def with_hooks() -> torch.optim.Optimizer:
    """An optimizer; the first one takes seconds to make."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=1)
    optimizer.register_step_pre_hook(lambda *_: None)
    return optimizer


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: (n for n in ""),
            r"\(builtins.generator\) cannot be passed on: cannot pickle 'generator'",
        ),
        (lambda: [torch.ones(2, requires_grad=True) + 1], r"has a graph \(grad_fn\)"),
        (lambda: INFERRED, "made in inference mode"),
        (lambda: HOOKED, "a tensor has hooks"),
        (compiled_in_place, "it was compiled in place"),
        (with_hooks, "or has hooks"),
        (lambda: torch.compile(abs), "torch.compile made it"),
        (lambda: torch.compile(torch.nn.Linear(2, 2)), "torch.compile made it"),
        (lambda: np.ones((4, 4))[:, ::2], "an array is not contiguous"),
        (lambda: np.frombuffer(b"12345678"), "an array is read-only"),
        (lambda: memoryview(bytearray(2)), "a view of memory"),
        (lambda: types.ModuleType("nowhere"), "cannot be imported"),
        (lambda: chosen, "cannot pickle"),
        (lambda: Aliased.ONE, "an Enum has aliases"),
        (lambda: PARAMETERS, "PARAMETERS is found by its name alone"),
    ],
    ids=[
        *("generator", "graph", "inference", "hooks", "compiled", "stepped", "function"),
        *("optimized", "numpy", "read-only", "view", "module", "dispatch", "enum", "name"),
    ],
)
def test_anything_else_is_refused(make: Callable[[], object], message: str, tmp_path: Path) -> None:
    """The error names the variable and its type, and says what to do."""
    beside = {**globals(), "mine": make(), "other": Net()}
    with pytest.raises(UsageError, match=message) as caught:
        code_of("", ["other, mine"], beside, tmp_path)

    assert '"mine"' in caught.value.message
    assert "setup" in caught.value.remedy


def test_what_cannot_be_saved_together_is_named_together(tmp_path: Path) -> None:
    """Each alone could."""
    values = {"x": torch.ones(2, dtype=torch.complex64)}
    values["parts"] = torch.view_as_real(values["x"])

    with pytest.raises(UsageError, match=r'"x" .* and "parts" .* cannot be passed on: '):
        code_of("", ["x, parts"], values, tmp_path)


def test_a_class_of_a_library_that_the_program_patched_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that measures imports it as it is."""
    monkeypatch.setattr(torch.nn.Linear, "forward", doubled)

    with pytest.raises(UsageError, match=r"Linear\.forward was set by this program"):
        code_of("", ["layer(1)"], {**globals(), "layer": torch.nn.Linear(2, 2)}, tmp_path)


def test_a_function_of_a_library_under_a_name_that_means_another_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing there says where it is; what the name means now is another function."""
    relu = torch.nn.functional.relu
    monkeypatch.setattr(torch.nn.functional, "relu", torch.relu)

    with pytest.raises(UsageError, match="relu is not what torch"):
        code_of("", ["relu"], {"relu": relu}, tmp_path)
