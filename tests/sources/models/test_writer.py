"""The definition file that models become."""

import ast
import sys
from pathlib import Path

import attrs
import pytest

from instruction_counts.core.facts import Layer, Model, Use
from instruction_counts.core.types import AutogradMode, Case, RuntimeMode
from instruction_counts.sources.definitions import load
from instruction_counts.sources.models.layers import (
    LayerInput,
    ModelLayer,
    ModelTrace,
    Result,
    TraceMode,
    unique_layers,
)
from instruction_counts.sources.models.writer import definition_file, labels
from tests.process import called
from tests.sources.models.made import ADD, CONV, make_trace

STRIDED = attrs.evolve(
    ADD,
    type="aten.softmax.int",
    call='torch.pad(x, "a \\"quoted\\" word")',
    inputs=(LayerInput("x", (2, 3), "float32", (1, 4)),),
)
TRACES = [
    make_trace("Net", (CONV, "features.0"), (ADD, ""), (CONV, "features.0"), (STRIDED, "a")),
    make_trace("Other", (CONV, "c"), is_local=False),
]


def written(*traces: ModelTrace, mode: TraceMode | None = None, folder: Path = Path("gen")) -> str:
    """The file of these models."""
    command = ["models:Net", "--input", "x=1:int64<5"]
    return definition_file(traces, unique_layers(traces), mode or TraceMode(), command, folder)


def cases(tmp_path: Path, content: str) -> tuple[Case, ...]:
    """The cases of that file."""
    path = tmp_path / "generated.py"
    path.write_text(content)
    return load(str(path))


def test_the_head_says_how_to_write_it_again() -> None:
    """As a command for the shell; models are called what their users like."""
    head = ast.get_docstring(ast.parse(written(make_trace('a"""b\\n"', (ADD, ""))))) or ""

    assert head.startswith('The unique layers of a"""b\\n": 1 for 1 calls.')
    assert head.endswith("instruction-counts generate models:Net --input 'x=1:int64<5'")


def test_the_file_is_formatted(tmp_path: Path) -> None:
    """The formatter has nothing to do."""
    path = tmp_path / "generated.py"
    path.write_text(written(*TRACES))
    config = Path(__file__).parents[3] / "pyproject.toml"
    ruff = [sys.executable, "-m", "ruff", "format", "--config", str(config), "--diff", str(path)]
    done = called(ruff)

    assert (0, "") == (done.returncode, done.stdout)


def test_each_layer_becomes_a_case_with_its_uses_and_is_built_again(tmp_path: Path) -> None:
    """As does each model. It is seeded, and without a graph for a gradient that nobody asks for.

    Strides are kept.
    """
    found = cases(tmp_path, written(*TRACES))
    conv, *_, strided = (case.timer_args.setup for case in found[2:])

    uses = Use("Net", "features.0", 2), Use("Other", "c", 1)
    assert [Model("Net", calls=4), Model("Other", calls=1), Layer("Conv2d", uses)] == [
        case.subject for case in found[:3]
    ]
    assert (
        "torch.manual_seed(0)\n"
        "torch.set_grad_enabled(False)\n"
        "x = torch.rand((1, 3, 8, 8))\n\n"
        "model = torch.nn.Conv2d(3, 4, (3, 3), stride=(2, 2), bias=False).eval()"
    ) == conv
    assert "x = torch.rand((10,)).as_strided((2, 3), (1, 4))" in strided


def test_layers_and_models_are_made_on_the_cpu_and_moved(tmp_path: Path) -> None:
    """Inputs before they are strided or get a gradient, and the gradient of the output."""
    mode = TraceMode(backward=True, device="cuda")
    inputs = tuple(attrs.evolve(tensor, needs_grad=True) for tensor in ADD.inputs)
    backward = make_trace("Net", (attrs.evolve(ADD, inputs=inputs), ""))
    made = cases(tmp_path, written(*TRACES, backward, mode=mode))
    code = "\n".join(case.timer_args.setup for case in made)

    assert {"cuda"} == {case.timer_args.device for case in made}
    assert [] == [line for line in code.splitlines() if "torch.rand" in line and "to(" not in line]
    assert "bias=False).eval().to(device)" in code
    assert "x = torch.rand((10,)).to(device).as_strided((2, 3), (1, 4))" in code
    assert "a = torch.rand((2, 2)).to(device).requires_grad_()" in code
    assert "gradient = torch.ones((2, 2)).to(device)" in code


@pytest.mark.parametrize("runtime", [RuntimeMode.COMPILED, RuntimeMode.EXPORTED])
def test_layers_and_models_have_other_runtimes_where_that_is_asked_for(
    tmp_path: Path, runtime: RuntimeMode
) -> None:
    """Beside their eager equivalents."""
    eager, both = (
        cases(tmp_path, written(make_trace("Net", (CONV, "")), mode=mode))
        for mode in (TraceMode(), TraceMode(runtimes=(runtime.option, runtime.option)))
    )

    assert eager == tuple(case for case in both if case.autolabels.runtime is RuntimeMode.EAGER)
    assert {case.label for case in eager} == {
        case.label for case in both if case.autolabels.runtime is runtime
    }


@pytest.mark.parametrize(
    ("layer", "stmt", "setup"),
    [
        # A gradient that the model does not compute is not counted.
        (attrs.evolve(CONV, has_parameters=False, is_frozen=True), "", ").requires_grad_(False)"),
        # The part of an output that has a gradient is picked.
        (
            attrs.evolve(CONV, result=Result("[0]", (2,), "float32")),
            *("y = model(x)[0]\ny.backward(gradient)", "gradient = torch.ones((2,))"),
        ),
        # An index flows nowhere.
        (attrs.evolve(CONV, result=Result("", (2,), "int64")), "", ".eval()"),
    ],
)
def test_a_layer_has_the_backward_pass_that_it_has_in_the_model(
    tmp_path: Path, layer: ModelLayer, stmt: str, setup: str
) -> None:
    """Or none."""
    content = written(make_trace("Net", (layer, "")), mode=TraceMode(backward=True))
    last = cases(tmp_path, content)[-1]

    assert (AutogradMode.FORWARD_BACKWARD if stmt else AutogradMode.FORWARD) == (
        last.autolabels.autograd
    )
    assert stmt in {"", last.timer_args.stmt}
    assert last.timer_args.setup.endswith(setup)


def test_a_local_factory_is_found_from_where_the_file_lies(tmp_path: Path) -> None:
    """The text of the file names no folder of this machine, and none for what is installed."""
    content = written(*TRACES, folder=Path.cwd() / "generated")
    (whole,) = (case for case in cases(tmp_path, content) if case.label == ("Whole models", "Net"))

    assert str(Path.cwd()) not in content
    assert f"sys.path.insert(0, '{tmp_path.parent}')" in whole.timer_args.setup
    assert "sys.path" not in written(TRACES[1])


def test_a_model_in_another_folder_is_the_same_case(tmp_path: Path) -> None:
    """A baseline holds in every checkout."""
    content = written(make_trace("Net", (ADD, "")), folder=tmp_path)
    found = []
    for name in ("one", "another/below"):
        (tmp_path / name).mkdir(parents=True)
        found.append([case.definition_hash for case in cases(tmp_path / name, content)])

    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["a@b@c", "{net}", 'a"\'"""b', "#n: 1!r", "é 3", "a\\b\nc"])
def test_a_folder_may_have_signs_that_code_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each comes back as it was."""
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / name)
    found = cases(tmp_path, written(make_trace("Net", (ADD, "")), folder=tmp_path))[0]

    assert f"sys.path.insert(0, {str(tmp_path / name)!r})" in found.timer_args.setup


def test_an_exported_program_keeps_its_mode(tmp_path: Path) -> None:
    """It has neither train() nor eval()."""
    exported = make_trace("Net", (ADD, ""), has_mode=False)
    whole = cases(tmp_path, written(exported))[0]

    assert "model = models.Net()" in whole.timer_args.setup.splitlines()


@pytest.mark.parametrize(
    ("names", "call"),
    [(["", ""], "model(x, a)"), (["", "x"], "model(x, x=a)"), (["model"], "model(model=x)")],
)
def test_an_input_has_a_variable_of_its_own(tmp_path: Path, names: list[str], call: str) -> None:
    """Whatever its argument is called."""
    inputs = tuple(LayerInput(name, (2,), "float32") for name in names)
    case = cases(tmp_path, written(make_trace("Net", (ADD, ""), inputs=inputs)))[0]

    assert f"y = {call}" == case.timer_args.stmt


def test_a_layer_is_called_by_what_makes_it() -> None:
    """Its arguments and the shapes that go in; two of one name are numbered."""
    words = LayerInput("x", (1, 2), "int64", (1, 1), 5)
    layers = [CONV, ADD, attrs.evolve(CONV, is_frozen=True), attrs.evolve(CONV, inputs=(words,))]
    layers.append(attrs.evolve(CONV, training=True))

    conv = "3, 4, (3, 3), stride=(2, 2), bias=False"
    assert [
        ("Models", "Conv2d", f"{conv} · 1x3x8x8"),
        ("Models", "add", "add(a, b) · 2x2, 2x2"),
        ("Models", "Conv2d", f"{conv} · frozen · 1x3x8x8"),
        ("Models", "Conv2d", f"{conv} · 1x2 int64 strided"),
        ("Models", "Conv2d", f"{conv} · 1x3x8x8 (2)"),
    ] == labels(layers)
