"""Expansion: exactly the cases that were asked for, with exactly the code that they need."""

import string
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.core.api import (
    ExpectedTensor,
    GroupedBenchmark,
    GroupedModules,
    GroupedSetup,
    GroupedStmts,
    Operator,
    TimerArgs,
)
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import AutogradMode, Case, Label, Language, RuntimeMode

PYTHON, CPP = Language.PYTHON, Language.CPP
EAGER, JIT = RuntimeMode.EAGER, RuntimeMode.JIT
FORWARD, BACKWARD = AutogradMode.FORWARD, AutogradMode.FORWARD_BACKWARD

SETUP = GroupedSetup(
    "import math\nx = torch.ones((1,))\nw = torch.ones((1,), requires_grad=True)",
    "auto x = torch::ones({1});\nauto w = torch::ones({1});\nw.set_requires_grad(true);",
    "#include <cmath>",
)
STMTS = GroupedStmts(
    "\n    a = torch.relu(x)\n    y = a * w\n",
    "auto a = torch::relu(x);\nauto y = a * w;",
    SETUP,
    signature="f(x, w) -> y",
    torchscript=True,
    autograd=True,
    num_threads=(1, 2),
)
MODULE = GroupedModules(
    "model = torch.nn.Linear(1, 1)",
    "auto model = torch::nn::Linear(1, 1);",
    GroupedSetup("x = torch.ones((1,))", "auto x = torch::ones({1});"),
    signature="f(x) -> y",
    torchscript=True,
    autograd=True,
)


def identity(case: Case) -> tuple[Any, ...]:
    """What tells a case from every other."""
    labels = case.autolabels
    return case.label, labels.runtime, labels.autograd, labels.language, case.num_threads


def only(group: GroupedBenchmark, *modes: object) -> Case:
    """The one case of a group at one thread in the given modes."""
    (case,) = (case for case in materialize({("a",): group}) if identity(case)[1:] == (*modes, 1))
    return case


# The code of each mode

JIT_CALL = (
    "std::vector<torch::jit::IValue> ivalue_inputs"
    "{torch::jit::IValue(x), torch::jit::IValue(w)};\n"
    "auto y = jit_model.forward(ivalue_inputs);"
)
STMTS_CODE = {
    (EAGER, FORWARD, PYTHON): "a = torch.relu(x)\ny = a * w",
    (EAGER, FORWARD, CPP): "auto a = torch::relu(x);\nauto y = a * w;",
    (EAGER, BACKWARD, PYTHON): "a = torch.relu(x)\ny = a * w\ny.backward()",
    (EAGER, BACKWARD, CPP): "auto a = torch::relu(x);\nauto y = a * w;\ny.backward();",
    (JIT, FORWARD, PYTHON): "y = jit_model(x, w)",
    (JIT, FORWARD, CPP): JIT_CALL,
    (JIT, BACKWARD, PYTHON): "y = jit_model(x, w)\ny.backward()",
    (JIT, BACKWARD, CPP): f"{JIT_CALL}\ny.toTensor().backward();",
}
PY_LOAD = """\
import math
x = torch.ones((1,))
w = torch.ones((1,), requires_grad=True)

jit_model = torch.jit.load("@ARTEFACT_PATH@")

# The profiling executor specialises during the first calls.
for _ in range(3):
    jit_model(x, w)"""
CPP_LOAD = """\
auto x = torch::ones({1});
auto w = torch::ones({1});
w.set_requires_grad(true);

auto jit_model = torch::jit::load("@ARTEFACT_PATH@");

// The profiling executor specialises during the first calls.
for (int warm_up_call = 0; warm_up_call < 3; warm_up_call++) {
    std::vector<torch::jit::IValue> warm_up_inputs{torch::jit::IValue(x), torch::jit::IValue(w)};
    jit_model.forward(warm_up_inputs);
}"""
STMTS_SETUP = {
    (EAGER, PYTHON): SETUP.py_setup,
    (EAGER, CPP): SETUP.cpp_setup,
    (JIT, PYTHON): PY_LOAD,
    (JIT, CPP): CPP_LOAD,
}
GLOBAL_SETUP = {
    (EAGER, PYTHON): "",
    (JIT, PYTHON): "",
    (EAGER, CPP): "#include <cmath>",
    (JIT, CPP): "#include <vector>\n#include <torch/script.h>\n#include <cmath>",
}


@pytest.mark.parametrize("modes", STMTS_CODE)
def test_the_code_of_each_mode_is_exactly_this(modes: Any) -> None:
    """Statement or scripted call, the loaded model, and the headers of TorchScript."""
    args, place = only(STMTS, *modes).timer_args, (modes[0], modes[2])
    expected = STMTS_CODE[modes], STMTS_SETUP[place], GLOBAL_SETUP[place]
    assert expected == (args.stmt, args.setup, args.global_setup)


OF_STMTS = (
    "import torch\n\nimport math\n\n"
    "def f(x, w):\n    a = torch.relu(x)\n    y = a * w\n    return y\n\n"
    "jit_model = torch.jit.script(f)\n"
)


@pytest.mark.parametrize(
    ("group", "autograd", "language", "expected"),
    [
        *((STMTS, *modes, OF_STMTS) for modes in product([FORWARD, BACKWARD], Language)),
        # One that works in place returns nothing.
        (
            GroupedStmts("x += y", signature="f(x, y) -> None", torchscript=True),
            *(FORWARD, PYTHON),
            "import torch\n\ndef f(x, y):\n    x += y\n\njit_model = torch.jit.script(f)\n",
        ),
        # The setup's imports are found as Python finds them.
        (
            GroupedStmts(
                "y = x",
                setup=GroupedSetup(
                    "from math import (\n    cos,\n    sin,\n)\nx = torch.ones((1,))"
                ),
                signature="f(x) -> y",
                torchscript=True,
            ),
            *(FORWARD, PYTHON),
            (
                "import torch\n\nfrom math import cos, sin\n\n"
                "def f(x):\n    y = x\n    return y\n\njit_model = torch.jit.script(f)\n"
            ),
        ),
        # A module is made as in the eager case, inputs first.
        (
            MODULE,
            *(FORWARD, PYTHON),
            (
                "import torch\n\nx = torch.ones((1,))\nmodel = torch.nn.Linear(1, 1)\n\n"
                "jit_model = torch.jit.script(model)\n"
            ),
        ),
    ],
)
def test_the_source_of_a_scripted_case_is_exactly_this(
    group: GroupedBenchmark, autograd: AutogradMode, language: Language, expected: str
) -> None:
    """It takes the inputs, returns the output, and is the same for every scripted case."""
    assert expected == only(group, JIT, autograd, language).model_source


@pytest.mark.parametrize("py_setup", ["import", "x = (", "x\0"])
def test_a_setup_that_is_no_python_is_left_to_the_run(py_setup: str) -> None:
    """The interpreter under test shows the line; expansion goes on."""
    setup = GroupedSetup(py_setup)
    group = GroupedStmts("y = x", setup=setup, signature="f(x) -> y", torchscript=True)
    assert py_setup in only(group, JIT, FORWARD, PYTHON).timer_args.setup


# Which cases there are

NAMES = st.text(string.ascii_lowercase, min_size=2, max_size=5).map("v_{}".format)
THREADS = st.integers(1, 8) | st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True).map(
    tuple
)
LABELS = st.lists(st.sampled_from(["a", "b c", "d/e"]), min_size=1, max_size=3).map(tuple)


@st.composite
def groups(draw: st.DrawFn) -> GroupedBenchmark:
    """A valid group of statements or of modules."""
    args, output = draw(st.lists(NAMES, max_size=3, unique=True)), draw(NAMES)
    has_python, has_cpp = draw(st.sampled_from([(True, True), (True, False), (False, True)]))
    kwargs = {
        "signature": f"f({', '.join(args)}) -> {output}",
        "torchscript": has_python and draw(st.booleans()),
        "autograd": draw(st.booleans()),
        "num_threads": draw(THREADS),
    }
    if draw(st.booleans()):
        return GroupedModules(
            "model = make()" if has_python else None,
            "auto model = make();" if has_cpp else None,
            **kwargs,
        )
    return GroupedStmts(
        f"{output} = g({', '.join(args)})" if has_python else None,
        f"auto {output} = g({', '.join(args)});" if has_cpp else None,
        **kwargs,
    )


EXPLICIT = st.builds(
    TimerArgs, st.just("x"), num_threads=THREADS, language=st.sampled_from(Language)
)
DEFINITIONS = st.dictionaries(LABELS, groups() | EXPLICIT, min_size=1, max_size=4)


def asked_for(label: Label, benchmark: GroupedBenchmark | TimerArgs) -> list[tuple[Any, ...]]:
    """The identities that one benchmark stands for."""
    threads = benchmark.num_threads
    counts = threads if isinstance(threads, tuple) else (threads,)
    if isinstance(benchmark, TimerArgs):
        modes = (RuntimeMode.EXPLICIT, AutogradMode.EXPLICIT, benchmark.language)
        return [(label, *modes, count) for count in counts]
    runtimes = [EAGER, JIT] if "torchscript" in benchmark.runtimes else [EAGER]
    autograds = [FORWARD, BACKWARD] if benchmark.autograd else [FORWARD]
    stmts = {PYTHON: benchmark.py_fwd_stmt, CPP: benchmark.cpp_fwd_stmt}
    languages = [language for language, stmt in stmts.items() if stmt is not None]
    return list(product([label], runtimes, autograds, languages, counts))


@given(DEFINITIONS)
def test_a_definition_gives_exactly_the_cases_that_it_asks_for(definition: Any) -> None:
    """In the order of its labels, and then of its modes; no two are the same."""
    expected = [case for label, group in definition.items() for case in asked_for(label, group)]
    assert expected == [identity(case) for case in materialize(definition)]
    assert len(expected) == len(set(expected))


# A whole file


def _with_gradient(**arguments: Any) -> GroupedBenchmark:
    return GroupedStmts(
        "y = x * w",
        "auto y = x * w;",
        GroupedSetup("x = w = g = torch.ones(3)", "auto x = torch::ones(3), w = x, g = x;"),
        signature="f(x, w) -> y",
        torchscript=True,
        autograd=True,
        **arguments,
    )


def test_the_backward_pass_starts_from_the_gradient_that_is_named() -> None:
    """An output that is no scalar needs one."""
    group = _with_gradient(gradient="g")
    modes = product([EAGER, JIT], [BACKWARD], [PYTHON, CPP])
    stmts = [only(group, *mode).timer_args.stmt for mode in modes]
    expected = ["y.backward(g)", "y.backward(g);", "y.backward(g)", "y.toTensor().backward(g);"]
    assert expected == [stmt.splitlines()[-1] for stmt in stmts]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("metadata", {"operator": "mul"}),
        ("subject", Operator("torch.mul")),
        ("expected", (ExpectedTensor("y", (2,)),)),
    ],
)
def test_every_case_carries_what_its_definition_states(field: str, value: Any) -> None:
    """In every mode, for each number of threads, and for explicit cases too."""
    cases = materialize(
        {
            ("mul",): _with_gradient(**{field: value}),
            ("explicit",): TimerArgs("x", num_threads=(1, 2), **{field: value}),
        }
    )
    assert [getattr(case, field) for case in cases] == [value] * 10


# Devices


@pytest.mark.parametrize(
    ("benchmark", "device", "setups"),
    [
        (
            GroupedStmts(
                *("x + x", "x + x;"),
                GroupedSetup("x = torch.ones(2).to(device)", "auto x = torch::ones({2}, device);"),
                device="cuda",
            ),
            "cuda",
            [
                'device = "cuda"\nx = torch.ones(2).to(device)',
                "const torch::Device device(torch::kCUDA);\nauto x = torch::ones({2}, device);",
            ],
        ),
        (TimerArgs("x", "x = 1", device="cuda"), "cuda", ['device = "cuda"\nx = 1']),
        # What was counted before there were devices is still the same code.
        (GroupedStmts("x", setup=GroupedSetup("x = 1")), None, ["x = 1"]),
    ],
    ids=["group", "explicit", "no device"],
)
def test_code_on_a_device_knows_it_by_a_variable(
    benchmark: GroupedBenchmark | TimerArgs, device: str | None, setups: list[str]
) -> None:
    """In both languages, and before anything of the setup; so one text serves each device."""
    cases = materialize({("a",): benchmark})

    assert setups == [case.timer_args.setup for case in cases]
    assert {device} == {case.timer_args.device for case in cases}


def test_a_group_on_several_devices_has_cases_on_each_whose_labels_end_in_it() -> None:
    """Nothing else tells them apart in reports."""
    cases = materialize({("a",): GroupedStmts("x", "x;", device=("cpu", "cuda"))})

    assert [
        (("a", "cpu"), PYTHON, "cpu"),
        (("a", "cpu"), CPP, "cpu"),
        (("a", "cuda"), PYTHON, "cuda"),
        (("a", "cuda"), CPP, "cuda"),
    ] == [(case.label, case.autolabels.language, case.timer_args.device) for case in cases]


@pytest.mark.parametrize("first", [("a", "cpu"), ("a/cpu",)])
def test_labels_that_read_the_same_are_refused(first: Label) -> None:
    """No command could tell them apart; a slash alone is a part of a label like any other."""
    same = {first: STMTS, ("a",): GroupedStmts("x", device=("cpu", "cuda"))}
    with pytest.raises(DefinitionError) as caught:
        materialize(same)

    assert ("a/cpu", ("a", "cpu")) == (caught.value.found, caught.value.label)


def test_a_scripted_model_is_made_on_the_device() -> None:
    """The source of the artefact has the variable, too."""
    group = GroupedModules(
        "model = torch.nn.Linear(1, 1).to(device)",
        setup=GroupedSetup("x = torch.ones(1, device=device)"),
        signature="f(x) -> y",
        torchscript=True,
        device="cuda",
    )
    case = only(group, JIT, FORWARD, PYTHON)

    assert 'device = "cuda"' in str(case.model_source)
