"""The constructors: what they derive, and every mistake that a definition can hold."""

import contextlib
import enum
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.core.api import (
    ExpectedTensor,
    GroupedBenchmark,
    GroupedModules,
    GroupedOnce,
    GroupedSetup,
    GroupedStmts,
    GroupedVariants,
    Layer,
    Model,
    Operator,
    TimerArgs,
    Use,
)
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.types import Language

ONE = "at least one"
NO_LINE = "no benchmark in either block"
THREADS = "an int from 1 to 2,147,483,647, or a tuple of distinct ones"
VERBS = {"torchscript": "script", "compiled": "compile", "exported": "export"}
COMPILED = "True, False, or a mapping with some of fullgraph, dynamic, backend, mode"
DEFINES_Y, OF_SIGNATURE = "code that defines `y`", "an argument of the signature: x"
EXPORTED = 'True, False, or the dimensions that vary: {"dynamic_shapes": {"x": (0,)}}'
COMMON = (
    "setup, signature, torchscript, compiled, exported, autograd, num_threads, device, gradient, "
    "metadata, runtimes, subject, expected"
)
STATED = partial(GroupedStmts, "x")
NAMED = partial(
    GroupedStmts, py_stmt="y = x + x", cpp_stmt="auto y = x + x;", signature="f(x) -> y"
)
NAMED_MODEL = partial(
    GroupedModules,
    py_model_setup="model = torch.nn.ReLU()",
    cpp_model_setup="auto model = torch::nn::ReLU();",
    signature="f(x) -> y",
)
EXPLICIT = partial(TimerArgs, "x")
ANY_VALUE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(),
    st.lists(st.integers()), st.tuples(st.integers(), st.text()), st.sampled_from(Language),
)  # fmt: skip


class Inputs(enum.Enum):
    """Shared inputs, as definition files keep them."""

    SMALL = GroupedSetup("x = 1")


@pytest.mark.parametrize("field", ["py_setup", "cpp_setup", "global_setup"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1", "x = 1"),
        ("    x = 1\n    y = 2", "x = 1\ny = 2"),
        ("\n    if x:\n        y = 2\n\n    z = 3\n    ", "if x:\n    y = 2\n\nz = 3"),
        ("   \n", ""),
    ],
)
def test_the_texts_of_a_setup_are_dedented(field: str, text: str, expected: str) -> None:
    """Code reads the same wherever it stands in the file."""
    setup = GroupedSetup(**{field: text})
    assert expected == getattr(setup, field)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"py_stmt": "x + y", "signature": "f(x, y) -> z"},
        {"py_stmt": "z = x", "cpp_stmt": "x;", "signature": "f(x) -> z", "torchscript": True},
        {"py_stmt": "x = x + 1", "signature": "f(x) -> x", "autograd": True},
    ],
)
def test_a_mode_asks_only_for_what_it_uses(kwargs: Any) -> None:
    """Only the scripted statement and what runs backward must name the output."""
    assert isinstance(GroupedStmts(**kwargs), GroupedBenchmark)


@pytest.mark.parametrize(
    ("group", "python", "cpp"),
    [
        # A blank statement is as good as none, and a language without a module has none.
        (GroupedStmts("x", ""), "x", None),
        (GroupedStmts(" \n", "x;"), None, "x;"),
        (NAMED_MODEL(cpp_model_setup=None), "y = model(x)", None),
        (NAMED_MODEL(py_model_setup=None), None, "auto y = model->forward(x);"),
        (
            NAMED_MODEL(signature="f(a, b) -> y"),
            "y = model(a, b)",
            "auto y = model->forward(a, b);",
        ),
        # One without an output is called for its effect.
        (NAMED_MODEL(signature="f() -> None"), "model()", "model->forward();"),
    ],
)
def test_a_group_has_the_statements_of_its_languages(
    group: GroupedBenchmark, python: str | None, cpp: str | None
) -> None:
    """A module is called with the inputs, and its answer gets the name of the output."""
    assert python == group.py_fwd_stmt
    assert cpp == group.cpp_fwd_stmt


def test_timer_args_have_the_defaults_of_a_timer() -> None:
    """Only the statement must be given; ``pass`` is Python."""
    expected = ("x", "pass", "", 1, Language.PYTHON, {}, None, (), "warm loop", None, ("torch",))
    assert expected == attrs.astuple(TimerArgs("\n    x"), recurse=False)
    assert "" == TimerArgs("x;", language=Language.CPP).setup


def test_what_happens_once_is_an_explicit_case_of_its_kind() -> None:
    """Only what is written of it is kept; the modules that are there before it are part of it."""
    case = GroupedOnce("import torch", "import os", imports=("numpy",))

    assert TimerArgs("import torch", "import os", kind="once", imports=("numpy",)) == case
    assert GroupedOnce("x") == TimerArgs("x", kind="once")


MISTAKES: Mapping[Callable[..., object], Sequence[tuple[Any, ...]]] = {
    GroupedSetup: [
        ({"py_setup": 1}, "py_setup", "1 (int)", "text"),
        ({"global_setup": ["a"]}, "global_setup", "['a'] (list)", "text"),
        ({"global_setup": "//\udcff"}, "global_setup", r"'\udcff' in line 1"),
        *(({"paths": paths}, "paths") for paths in (None, ["/a"], {"/a": 1})),
    ],
    GroupedStmts: [
        ({"cpp_stmt": " \n"}, "py_stmt", "no statement in either language", ONE),
        ({"py_stmt": 1}, "py_stmt", "1 (int)", "text"),
        ({"py_stmt": "x\n'\ud800'"}, "py_stmt", r"'\ud800' in line 2", "text in UTF-8"),
        (
            {"py_stmt": "x += 1", "signature": "f(x) -> None", "autograd": True},
            *("signature", '"f(x) -> None"', "an output, which autograd=True runs backward from"),
        ),
    ],
    STATED: [
        *(
            ({flag: True}, "signature", "nothing", f'"f(a, b, …) -> output": {flag}=True needs it')
            for flag in (*VERBS, "autograd")
        ),
        ({"setup": Inputs.SMALL}, "setup", None, "a GroupedSetup (its .value)"),
        ({"num_threads": 0}, "num_threads", "0 (int)", THREADS),
        ({"num_threads": True}, "num_threads", "True (bool)", THREADS),
        *(({"num_threads": number}, "num_threads", None, THREADS) for number in ((1, [2]), 2**63)),
        (
            *({"num_thread": 2}, "GroupedStmts", '"num_thread=…"'),
            f"one of py_stmt, cpp_stmt, {COMMON}; did you mean num_threads?",
        ),
        *(({"device": device}, "device") for device in (("cpu", "cpu"), (), ("cpu", []))),
        *(({"metadata": stated}, "metadata") for stated in ([1], {1: 2}, {"a": math.nan})),
    ],
    NAMED: [
        *(
            ({"py_stmt": None, flag: True}, "py_stmt", "nothing", f"a Python statement to {verb}")
            for flag, verb in VERBS.items()
        ),
        ({"exported": {"dynamic_shapes": {"w": [0]}}}, "exported", '"w"', OF_SIGNATURE),
        ({"py_stmt": "yy = x", "torchscript": True}, "py_stmt", '"yy = x"', DEFINES_Y),
        ({"cpp_stmt": "x + x;", "autograd": True}, "cpp_stmt", '"x + x;"', DEFINES_Y),
        ({"torchscript": 1}, "torchscript", "1 (int)", "True or False"),
        # What torch does not take
        *(
            ({"compiled": asked}, "compiled", None, COMPILED)
            for asked in (1, "inductor", {"speed": True}, {"fullgraph": "yes"}, {"backend": None})
        ),
        *(({"exported": asked}, "exported", None, EXPORTED) for asked in (1, {}, {"x": (0,)})),
        *(
            ({"exported": {"dynamic_shapes": {"x": sizes}}}, "exported", None, EXPORTED)
            for sizes in (0, [-1])
        ),
        ({"gradient": "g"}, "gradient", '"g"'),
        ({"gradient": "g + 1", "autograd": True}, "gradient"),
    ],
    GroupedModules: [
        (
            *({"py_model": "x"}, "GroupedModules", '"py_model=…"'),
            f"one of py_model_setup, cpp_model_setup, {COMMON}; did you mean py_model_setup?",
        ),
        ({"signature": "f(x) -> y"}, "py_model_setup", "no model in either language", ONE),
        (
            *({"py_model_setup": "model = 1"}, "signature", "nothing"),
            '"f(a, b, …) -> output": it says how to call the module',
        ),
    ],
    NAMED_MODEL: [
        (
            *({"py_model_setup": "net = f()"}, "py_model_setup", '"net = f()"'),
            "code that defines `model`",
        ),
        (
            *({"py_model_setup": None, "torchscript": True}, "py_model_setup", "nothing"),
            "a Python model to script",
        ),
    ],
    GroupedVariants: [
        ({"py_block": "# @Setup\nx = 1"}, "py_block", NO_LINE, "at least one line"),
        (
            *({"py_block": "# @Global_Setup\nx = 1\n# @a\nx"}, "py_block", '"x = 1"'),
            "no global setup: only C++ has one",
        ),
        ({"py_block": "# @\nx"}, "py_block", '"# @"', "a label after the @"),
        ({"py_block": None}, "py_block", "None (NoneType)"),
        ({"cpp_block": "x;\n\udcff"}, "cpp_block", r"'\udcff' in line 2"),
        ({"py_block": "x", "num_threads": 0}, "num_threads", "0 (int)", THREADS),
        ({"py_block": "x", "device": "gpu"}, "device", '"gpu"'),
    ],
    TimerArgs: [
        ({"stmt": "  \n "}, "stmt", '""', "a statement"),
        ({"stmt": "x\nbreak"}, "stmt", '"break"', "code to repeat: 'break' outside loop"),
    ],
    EXPLICIT: [
        ({"global_setup": "y"}, "global_setup", '"y"', "nothing: C++ only"),
        ({"num_threads": (1, 1)}, "num_threads", None, THREADS),
        ({"setup": "return"}, "setup", '"return"', "code to repeat: 'return' outside function"),
        ({"device": "gpu"}, "device", '"gpu"', "one of cpu, cuda, or None"),
        ({"imports": ()}, "imports", None, '("torch",): it is warm'),
        ({"kind": "once", "language": "c++"}, "language", '"C++"', "Python: it runs once"),
    ],
    partial(GroupedOnce, "x"): [
        ({"imports": "torch"}, "imports", '"torch"'),
        *(
            ({"imports": (*imports,)}, "imports")
            for imports in (["torch", 1], ["torch; x"], ["torch.fx"])
        ),
    ],
}


@pytest.mark.parametrize(
    ("build", "kwargs", "field", "found", "expected"),
    [(build, *row, *[None] * (4 - len(row))) for build, rows in MISTAKES.items() for row in rows],
)
def test_a_mistake_names_its_field_and_what_was_found(
    build: Callable[..., object],
    kwargs: dict[str, Any],
    field: str,
    found: str | None,
    expected: str | None,
) -> None:
    """Every mistake is one error with data: the field, what it holds, what it should hold."""
    with pytest.raises(DefinitionError) as caught:
        build(**kwargs)
    error = caught.value
    assert field == error.field
    assert found in {None, error.found}
    assert expected in {None, error.expected}


@pytest.mark.parametrize(
    ("build", "fields"),
    [
        (GroupedSetup, ("py_setup", "cpp_setup", "global_setup")),
        (
            GroupedStmts,
            ("py_stmt", "cpp_stmt", "setup", "signature", "torchscript", "autograd", "num_threads"),
        ),
        (GroupedModules, ("py_model_setup", "cpp_model_setup", "signature", "autograd")),
        (GroupedVariants, ("py_block", "cpp_block", "num_threads")),
        (TimerArgs, ("stmt", "setup", "global_setup", "num_threads", "language")),
    ],
)
@given(data=st.data())
@settings(max_examples=50)
def test_values_of_any_type_are_accepted_or_a_definition_error(
    build: Callable[..., object], fields: tuple[str, ...], data: st.DataObject
) -> None:
    """A wrong type anywhere is one clear error, never another exception."""
    kwargs = {field: data.draw(ANY_VALUE, label=field) for field in fields}
    with contextlib.suppress(DefinitionError):
        assert build(**kwargs) is not None


@pytest.mark.parametrize(
    ("stated", "field"),
    [
        ({"subject": "torch.add"}, "subject"),
        ({"subject": Operator("")}, "subject.name"),
        ({"subject": Operator("a", category=1)}, "subject.category"),
        ({"subject": Operator("a", shapes={1: (2,)})}, "subject.shapes"),
        ({"subject": Operator("a", shapes={"x": (-1,)})}, "subject.shapes"),
        ({"subject": Operator("a", dtype="")}, "subject.dtype"),
        ({"subject": Layer("add", [Use("Net", "a")])}, "subject.uses"),
        ({"subject": Layer("add", (Use("", "a"),))}, "subject.uses[0].model"),
        ({"subject": Layer("add", (Use("Net", "a"), Use("Net", None)))}, "subject.uses[1].path"),
        ({"subject": Layer("add", (Use("Net", "a", 0),))}, "subject.uses[0].count"),
        ({"subject": Model("Net", calls=-1)}, "subject.calls"),
        ({"expected": [ExpectedTensor("y")]}, "expected"),
        ({"expected": (ExpectedTensor("y"), "z")}, "expected"),
        ({"expected": (ExpectedTensor("y"), ExpectedTensor("y"))}, "expected"),
        ({"expected": (ExpectedTensor(""),)}, "expected[0].name"),
        ({"expected": (ExpectedTensor("y"), ExpectedTensor("z", [2]))}, "expected[1].shape"),
        ({"expected": (ExpectedTensor("y", (2.0,)),)}, "expected[0].shape"),
        ({"expected": (ExpectedTensor("y", sum=float("nan")),)}, "expected[0].sum"),
        ({"expected": (ExpectedTensor("y", sum=10**400),)}, "expected[0].sum"),
        ({"expected": (ExpectedTensor("y", tolerance=-1),)}, "expected[0].tolerance"),
    ],
)
def test_a_mistake_in_what_is_stated_names_its_field(stated: dict[str, Any], field: str) -> None:
    """In groups and explicit cases alike."""
    for build in (GroupedStmts, TimerArgs):
        with pytest.raises(DefinitionError) as caught:
            build("x", **stated)
        assert field == caught.value.field


@pytest.mark.parametrize("count", [-1, 0, 1.0])
def test_how_often_a_layer_is_used_is_a_number_with_a_bound(count: Any) -> None:
    """Which is said."""
    with pytest.raises(DefinitionError, match=r"expected  an int of at least 1$"):
        GroupedStmts("x", subject=Layer("add", (Use("Net", "a", count),)))
