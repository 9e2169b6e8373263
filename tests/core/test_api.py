"""The constructors: what they derive, and every mistake that a definition can hold."""

import contextlib
import enum
import math
from collections.abc import Callable
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

NAMED_STMTS = {"py_stmt": "y = x + x", "cpp_stmt": "auto y = x + x;", "signature": "f(x) -> y"}
MODELS = {
    "py_model_setup": "model = torch.nn.ReLU()",
    "cpp_model_setup": "auto model = torch::nn::ReLU();",
    "signature": "f(x) -> y",
}
ONE = "at least one"
NO_LINE = "no benchmark in either block"
THREADS = "an int from 1 to 2,147,483,647, or a tuple of distinct ones"
VERBS = {"torchscript": "script", "compiled": "compile", "exported": "export"}
COMPILED = "True, False, or a mapping with some of fullgraph, dynamic, backend, mode"
EXPORTED = 'True, False, or the dimensions that vary: {"dynamic_shapes": {"x": (0,)}}'
COMMON = (
    "setup, signature, torchscript, compiled, exported, autograd, num_threads, device, gradient, "
    "metadata, runtimes, subject, expected"
)
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


def module(**fields: Any) -> GroupedModules:
    """Modules in both languages, but for ``fields``."""
    return GroupedModules(**{**MODELS, **fields})


@pytest.mark.parametrize(
    ("group", "python", "cpp"),
    [
        # A blank statement is as good as none, and a language without a module has none.
        (GroupedStmts("x", ""), "x", None),
        (GroupedStmts(" \n", "x;"), None, "x;"),
        (module(cpp_model_setup=None), "y = model(x)", None),
        (module(py_model_setup=None), None, "auto y = model->forward(x);"),
        (module(signature="f(a, b) -> y"), "y = model(a, b)", "auto y = model->forward(a, b);"),
        # One without an output is called for its effect.
        (module(signature="f() -> None"), "model()", "model->forward();"),
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


MISTAKES = [
    (GroupedSetup, {"py_setup": 1}, "py_setup", "1 (int)", "text"),
    (GroupedSetup, {"global_setup": ["a"]}, "global_setup", "['a'] (list)", "text"),
    *((GroupedSetup, {"paths": paths}, "paths", None, None) for paths in (None, ["/a"], {"/a": 1})),
    # Statements
    (GroupedStmts, {"cpp_stmt": " \n"}, "py_stmt", "no statement in either language", ONE),
    (GroupedStmts, {"py_stmt": 1}, "py_stmt", "1 (int)", "text"),
    *(
        (
            *(GroupedStmts, {**NAMED_STMTS, "py_stmt": None, flag: True}),
            *("py_stmt", "nothing", f"a Python statement to {verb}"),
        )
        for flag, verb in VERBS.items()
    ),
    *(
        (
            *(GroupedStmts, {"py_stmt": "x", flag: True}),
            *("signature", "nothing", f'"f(a, b, …) -> output": {flag}=True needs it'),
        )
        for flag in (*VERBS, "autograd")
    ),
    (
        *(GroupedStmts, {"py_stmt": "x += 1", "signature": "f(x) -> None", "autograd": True}),
        *("signature", '"f(x) -> None"', "an output, which autograd=True runs backward from"),
    ),
    (
        *(GroupedStmts, {**NAMED_STMTS, "exported": {"dynamic_shapes": {"w": [0]}}}),
        *("exported", '"w"', "an argument of the signature: x"),
    ),
    (
        *(GroupedStmts, {**NAMED_STMTS, "py_stmt": "yy = x", "torchscript": True}),
        *("py_stmt", '"yy = x"', "code that defines `y`"),
    ),
    (
        *(GroupedStmts, {**NAMED_STMTS, "cpp_stmt": "x + x;", "autograd": True}),
        *("cpp_stmt", '"x + x;"', "code that defines `y`"),
    ),
    (GroupedStmts, {**NAMED_STMTS, "torchscript": 1}, "torchscript", "1 (int)", "True or False"),
    (
        *(GroupedStmts, {"py_stmt": "x", "setup": Inputs.SMALL}),
        *("setup", None, "a GroupedSetup (its .value)"),
    ),
    (GroupedStmts, {"py_stmt": "x", "num_threads": 0}, "num_threads", "0 (int)", THREADS),
    (GroupedStmts, {"py_stmt": "x", "num_threads": True}, "num_threads", "True (bool)", THREADS),
    (GroupedStmts, {"py_stmt": "x", "num_threads": (1, [2])}, "num_threads", None, THREADS),
    (GroupedStmts, {"py_stmt": "x", "num_threads": 2**63}, "num_threads", None, THREADS),
    (GroupedStmts, {"py_stmt": "x\n'\ud800'"}, "py_stmt", r"'\ud800' in line 2", "text in UTF-8"),
    (GroupedSetup, {"global_setup": "//\udcff"}, "global_setup", r"'\udcff' in line 1", None),
    (
        *(GroupedStmts, {"py_stmt": "x", "num_thread": 2}, "GroupedStmts", '"num_thread=…"'),
        f"one of py_stmt, cpp_stmt, {COMMON}; did you mean num_threads?",
    ),
    # What torch does not take
    *(
        (GroupedStmts, {**NAMED_STMTS, "compiled": asked}, "compiled", None, COMPILED)
        for asked in (1, "inductor", {"speed": True}, {"fullgraph": "yes"}, {"backend": None})
    ),
    *(
        (GroupedStmts, {**NAMED_STMTS, "exported": asked}, "exported", None, EXPORTED)
        for asked in (
            *(1, {}, {"x": (0,)}),
            *({"dynamic_shapes": {"x": 0}}, {"dynamic_shapes": {"x": [-1]}}),
        )
    ),
    # Modules
    (
        *(GroupedModules, {"py_model": "x"}, "GroupedModules", '"py_model=…"'),
        f"one of py_model_setup, cpp_model_setup, {COMMON}; did you mean py_model_setup?",
    ),
    (
        *(GroupedModules, {"signature": "f(x) -> y"}),
        *("py_model_setup", "no model in either language", ONE),
    ),
    (
        *(GroupedModules, {"py_model_setup": "model = 1"}),
        *("signature", "nothing", '"f(a, b, …) -> output": it says how to call the module'),
    ),
    (
        *(GroupedModules, {**MODELS, "py_model_setup": "net = f()"}),
        *("py_model_setup", '"net = f()"', "code that defines `model`"),
    ),
    (
        *(GroupedModules, {**MODELS, "py_model_setup": None, "torchscript": True}),
        *("py_model_setup", "nothing", "a Python model to script"),
    ),
    # Variants
    (GroupedVariants, {"py_block": "# @Setup\nx = 1"}, "py_block", NO_LINE, "at least one line"),
    (
        *(GroupedVariants, {"py_block": "# @Global_Setup\nx = 1\n# @a\nx"}),
        *("py_block", '"x = 1"', "no global setup: only C++ has one"),
    ),
    (GroupedVariants, {"py_block": "# @\nx"}, "py_block", '"# @"', "a label after the @"),
    (GroupedVariants, {"py_block": None}, "py_block", "None (NoneType)", None),
    (GroupedVariants, {"cpp_block": "x;\n\udcff"}, "cpp_block", r"'\udcff' in line 2", None),
    (GroupedVariants, {"py_block": "x", "num_threads": 0}, "num_threads", "0 (int)", THREADS),
    # Explicit cases
    (TimerArgs, {"stmt": "  \n "}, "stmt", '""', "a statement"),
    (TimerArgs, {"stmt": "x", "global_setup": "y"}, "global_setup", '"y"', "nothing: C++ only"),
    (TimerArgs, {"stmt": "x", "num_threads": (1, 1)}, "num_threads", None, THREADS),
    (TimerArgs, {"stmt": "x\nbreak"}, "stmt", '"break"', "code to repeat: 'break' outside loop"),
    (
        *(TimerArgs, {"stmt": "x", "setup": "return"}, "setup", '"return"'),
        "code to repeat: 'return' outside function",
    ),
    (TimerArgs, {"stmt": "x", "device": "gpu"}, "device", '"gpu"', "one of cpu, cuda, or None"),
    # What happens once
    (GroupedOnce, {"py_stmt": "x", "imports": "torch"}, "imports", '"torch"', None),
    (GroupedOnce, {"py_stmt": "x", "imports": ("torch", 1)}, "imports", None, None),
    (GroupedOnce, {"py_stmt": "x", "imports": ("torch; x",)}, "imports", None, None),
    (GroupedOnce, {"py_stmt": "x", "imports": ("torch.fx",)}, "imports", None, None),
    (TimerArgs, {"stmt": "x", "imports": ()}, "imports", None, '("torch",): it is warm'),
    (
        *(TimerArgs, {"stmt": "x", "kind": "once", "language": "c++"}),
        *("language", '"C++"', "Python: it runs once"),
    ),
    # Devices
    (GroupedStmts, {"py_stmt": "x", "device": ("cpu", "cpu")}, "device", None, None),
    (GroupedStmts, {"py_stmt": "x", "device": ()}, "device", None, None),
    (GroupedStmts, {"py_stmt": "x", "device": ("cpu", [])}, "device", None, None),
    (GroupedVariants, {"py_block": "x", "device": "gpu"}, "device", '"gpu"', None),
    # Gradients and metadata
    (GroupedStmts, {**NAMED_STMTS, "gradient": "g"}, "gradient", '"g"', None),
    (GroupedStmts, {**NAMED_STMTS, "gradient": "g + 1", "autograd": True}, "gradient", None, None),
    (GroupedStmts, {"py_stmt": "x", "metadata": [1]}, "metadata", None, None),
    (GroupedStmts, {"py_stmt": "x", "metadata": {1: 2}}, "metadata", None, None),
    (GroupedStmts, {"py_stmt": "x", "metadata": {"a": math.nan}}, "metadata", None, None),
]


@pytest.mark.parametrize(("build", "kwargs", "field", "found", "expected"), MISTAKES)
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
