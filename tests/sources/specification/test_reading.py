"""Specifications: what they give, and every mistake with its place."""

import contextlib
import hashlib
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.core.facts import ExpectedTensor
from instruction_counts.core.types import Case, Language
from instruction_counts.domain.errors import ValidationError
from instruction_counts.sources.definitions import load
from instruction_counts.sources.specification.expansion import read_specification

EMPTY = hashlib.sha256(b"").hexdigest()
HEAD = "version: 1\nbenchmarks:\n"
ONE = f"{HEAD}  - {{id: a, statement: x}}\n"
TWO_SHAPES = """\
version: 1
name: two
benchmarks:
  - id: matmul
    label: "Two/{ID} {shape} {dtype}"
    inputs: {x: {shape: [[32, 128], [1, 64]]}}
    setup:
      python: w = torch.ones({x.shape[1]}, 4)
      cpp: "auto w = torch::ones({{x.shape[1]}, 4});"
    statement: {python: y = x @ w, cpp: "auto y = x.matmul(w);"}
    expected: {y: {shape: ["{x.shape[0]}", 4], sum: 2, tolerance: 0.5}}
"""


def written(folder: Path, text: str) -> Path:
    """A specification in a file; its path."""
    path = folder / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def problem(folder: Path, text: str) -> str:
    """What is said of a specification with mistakes: line, path, found and expected of each."""
    path = written(folder, text)
    with pytest.raises(ValidationError) as caught:
        read_specification(path)
    texts = []
    for found in caught.value.problems:
        place = f"{path}:{found.line}:{found.column}: $"
        texts.append(str(found).replace(place, f"{found.line}: ").replace(": .", ": ", 1))
    return "\n".join(texts)


def cases(folder: Path, text: str) -> list[Case]:
    """The cases in Python of a specification."""
    found = load(str(written(folder, text)))
    return [case for case in found if case.autolabels.language is Language.PYTHON]


# What it gives


def test_one_entry_gives_a_case_on_each_of_its_devices(tmp_path: Path) -> None:
    """Its inputs are moved there, and its code knows it by a variable."""
    text = "inputs: {x: {shape: [2]}}, setup: 'w = x.to(device)', statement: x + w"
    found = cases(tmp_path, f"{HEAD}  - {{id: a, {text}, device: [cpu, cuda]}}\n")

    assert {("spec", "a", "cpu"): "cpu", ("spec", "a", "cuda"): "cuda"} == {
        case.label: case.timer_args.device for case in found
    }
    assert (
        'device = "cuda"\ntorch.manual_seed(0)\nx = torch.randn([2]).to(device)\nw = x.to(device)'
    ) == found[1].timer_args.setup


def test_each_shape_is_a_case_with_its_placeholders(tmp_path: Path) -> None:
    """In the label, the code and what is expected; other braces of code stay there.

    C++ is full of them, and Python has sets; a name that no input has is no placeholder.
    """
    spec = load(str(written(tmp_path, TWO_SHAPES)))
    (unlike,) = cases(tmp_path, HEAD + "  - {id: a, statement: 'y = {shape} | {name}'}\n")

    assert [
        (("Two", "1 32x128 float32"), "x = torch.randn([32, 128])", "w = torch.ones(128, 4)"),
        ("auto x = torch::randn({32, 128});", "auto w = torch::ones({128, 4});"),
        (("Two", "2 1x64 float32"), "x = torch.randn([1, 64])", "w = torch.ones(64, 4)"),
    ] == [
        (case.label, *case.timer_args.setup.splitlines()[1:])
        if case.autolabels.language is Language.PYTHON
        else tuple(case.timer_args.setup.splitlines()[1:])
        for case in spec[:3]
    ]
    assert (ExpectedTensor("y", (32, 4), sum=2.0, tolerance=0.5),) == spec[0].expected
    assert "y = {shape} | {name}" == unlike.timer_args.stmt


def test_numbers_of_json_are_read_as_json_writes_them(tmp_path: Path) -> None:
    """1e-06, which is a text in YAML; the label begins with the name of the file."""
    entry = {"id": "a", "statement": "y = 1", "expected": {"y": {"sum": 1e3, "tolerance": 1e-6}}}
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({"version": 1, "benchmarks": [entry]}))
    case = load(str(path))[0]

    assert (ExpectedTensor("y", sum=1000.0, tolerance=1e-6),) == case.expected
    assert ("spec", "a") == case.label


@pytest.mark.parametrize(
    ("label", "inputs", "labels"),
    [
        # By the first shape, or a number where that is not enough.
        ("", "x: {shape: [2]}", ["spec/a"]),
        ("", "x: {shape: [[2], [3]]}", ["spec/a/2", "spec/a/3"]),
        ("", "x: {shape: [2], dtype: [float32, int64]}", ["spec/a/1", "spec/a/2"]),
        ("", "x: {shape: [2]}, z: {shape: [[2], [3]]}", ["spec/a/1", "spec/a/2"]),
        # Each shape meets each dtype, numbered one after the other.
        (
            "label: '{ID} {shape} {x.dtype}', ",
            "x: {shape: [[2], []], dtype: [float32, int64]}",
            ["1 2 float32", "2 2 int64", "3 scalar float32", "4 scalar int64"],
        ),
    ],
)
def test_labels_tell_shapes_and_dtypes_apart(
    tmp_path: Path, label: str, inputs: str, labels: list[str]
) -> None:
    """Also where none is stated."""
    text = f"{HEAD}  - {{id: a, {label}statement: y = x, inputs: {{{inputs}}}}}\n"

    assert labels == ["/".join(case.label) for case in cases(tmp_path, text)]


@pytest.mark.parametrize(
    ("stated", "options"),
    [("true", ""), ("{fullgraph: true, dynamic: null}", ", fullgraph=True, dynamic=None")],
)
def test_a_statement_is_compiled_with_the_arguments_that_are_stated(
    tmp_path: Path, stated: str, options: str
) -> None:
    """Or with those that are usual."""
    entry = "  - {id: a, statement: y = 1, signature: f() -> y, compiled: %s}\n"
    _, compiled = cases(tmp_path, HEAD + entry % stated)

    assert compiled.timer_args.setup.endswith(f"compiled = torch.compile(f{options})")


def test_a_statement_is_exported_with_the_dimensions_that_vary(tmp_path: Path) -> None:
    """As a definition states them."""
    entry = "  - {id: a, statement: y = x, signature: f(x) -> y, inputs: {x: {shape: [2]}}, "
    varying = "exported: {dynamic_shapes: {x: [0]}}}\n"
    _, exported = cases(tmp_path, HEAD + entry + varying)

    assert exported.model_source is not None
    assert exported.model_source.endswith("inputs, dynamic_shapes = f, (x,), {'x': (0,)}\n")


ADD = HEAD + "  - {{id: a, label: '{{ID}} {{dtype}}', operator: torch.add, inputs: {{{inputs}}}}}\n"


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ("other: {shape: [3]}", ["input = torch.randn([128, 128])", "other = torch.randn([3])"]),
        # A dtype is that of all inputs, as an option is.
        (
            "input: {shape: [128, 1], dtype: [float64, int64]}",
            [
                "input = torch.randn([128, 1], dtype=torch.float64)",
                "other = torch.randn([128, 128], dtype=torch.float64)",
                "input = torch.randint(0, 10, [128, 1])",
                "other = torch.randint(0, 10, [128, 128])",
            ],
        ),
    ],
)
def test_an_operator_has_the_inputs_that_are_stated(
    tmp_path: Path, inputs: str, expected: list[str]
) -> None:
    """What an input does not state, and one that is not named, are as in the entry."""
    found = cases(tmp_path, ADD.format(inputs=inputs))
    setups = {case.label: case.timer_args.setup for case in found}
    assert expected == [
        line for text in setups.values() for line in text.splitlines() if "rand" in line
    ]


def test_an_entry_of_several_operators_needs_no_label(tmp_path: Path) -> None:
    """They are numbered."""
    found = cases(tmp_path, f"{HEAD}  - {{id: a, operator: 'torch.log*'}}\n")

    assert {("spec", "a", "1"), ("spec", "a", "2")} < {case.label for case in found}


# Models


def model_entry(sha256: str) -> str:
    """An entry with a model file."""
    return (
        f"{HEAD}  - id: net\n    model: {{file: net.pt, sha256: '{sha256}'}}\n"
        "    inputs: {x: {shape: [2, 3]}}\n"
    )


def test_a_model_is_loaded_from_its_file(tmp_path: Path) -> None:
    """Its checksum is part of the definition: another file is another case."""
    (tmp_path / "net.pt").write_bytes(b"a model")
    digest, other = (hashlib.sha256(text).hexdigest() for text in (b"a model", b"another model"))
    (case,) = cases(tmp_path, model_entry(digest))

    loaded = f'model = torch.jit.load("{tmp_path / "net.pt"}")  # sha256 {digest}'
    assert loaded in case.timer_args.setup
    assert "y = model(x)" == case.timer_args.stmt
    (tmp_path / "net.pt").write_bytes(b"another model")
    said = problem(tmp_path, model_entry(digest))
    assert said.startswith("4: benchmarks[0].model.sha256\n")
    assert f"expected  the checksum of net.pt: {other}" in said


def test_a_model_in_another_folder_is_the_same_case(tmp_path: Path) -> None:
    """A baseline holds in every checkout."""
    text = model_entry(hashlib.sha256(b"a model").hexdigest()) + "    label: net\n"
    found = []
    for name in ("a", "another"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "net.pt").write_bytes(b"a model")
        (tmp_path / name / "spec.yaml").write_text(text, encoding="utf-8")
        found.append([case.definition_hash for case in load(str(tmp_path / name / "spec.yaml"))])

    assert found[0] == found[1]


# Mistakes

MISTAKES = """\
version: 1
nmae: mistakes
timeout: -1
builds: [{name: base, python: nowhere/bin/python}]
benchmarks:
  - id: shapes
    statement: y = x
    inputs:
      x: {shape: [32, wide], dtype: float23}
  - {id: nothing}
  - id: both
    statement: y = 1
    operator: torch.add
  - id: shown
    statement: y = 1
    torchscrpt: true
    compiled: {bakend: eager}
    exported: {x: [0]}
reporters:
  - {directory: 1}
  - {mail: me}
"""
PLACES = [
    ("2: nmae", 'a field "nmae"', "did you mean name?"),
    ("3: timeout", "-1 (int)", "a duration: 90 (seconds)"),
    ("4: builds[0].python", '"nowhere/bin/python"', "the path of an interpreter"),
    ("9: benchmarks[0].inputs.x.shape[1]", '"wide"', "a whole number, at least 0"),
    ("9: benchmarks[0].inputs.x.dtype", '"float23"', "did you mean float32?"),
    ("10: benchmarks[1]", "none of them", "exactly one of statement, model and operator"),
    ("11: benchmarks[2]", "statement and operator", "exactly one of statement, model and operator"),
    ("16: benchmarks[3].torchscrpt", 'a field "torchscrpt"', "did you mean torchscript?"),
    (
        "17: benchmarks[3].compiled",
        "{'bakend': 'eager'} (dict)",
        "fullgraph, dynamic, backend, mode",
    ),
    ("18: benchmarks[3].exported", "{'x': [0]} (dict)", "the dimensions that vary"),
    ("20: reporters[0].directory", "1 (int)", "a non-empty string"),
    ("21: reporters[1].mail", 'a field "mail"', "one of directory, database"),
]
IN_ENTRIES = """\
version: 1
benchmarks:
  - id: placeholders
    label: "Bad/{shpe}"
    statement: y = x
    inputs: {x: {shape: [2]}}
  - id: code
    statement: "y = x + {x.shape[1]}"
    inputs: {x: {shape: [2]}}
  - id: signature
    statement: y = 1
    signature: f() - y
  - {id: unknown, operator: torch.matmull}
  - {id: right, statement: y = 1}
"""
PLACES_IN_ENTRIES = [
    ("4: benchmarks[0].label", "{shpe}", "one of {ID}, {shape}, {dtype}"),
    ("8: benchmarks[1].statement", "{x.shape[1]}", "{x.shape[0]}"),
    ("12: benchmarks[2].signature", '"f() - y"', '"f(a, b, …) -> output"'),
    ("13: benchmarks[3].operator", "No operator matches 'torch.matmull'. Near:", "operators list"),
]


@pytest.mark.parametrize(("text", "places"), [(MISTAKES, PLACES), (IN_ENTRIES, PLACES_IN_ENTRIES)])
def test_every_mistake_is_reported_with_its_place(
    tmp_path: Path, text: str, places: list[tuple[str, str, str]]
) -> None:
    """All of the form of a file at once, or else all of what its entries become."""
    message = [part for part in problem(tmp_path, text).split("\n") if part]
    blocks = dict(zip(message[::3], zip(message[1::3], message[2::3], strict=True), strict=True))

    assert [place for place, _, _ in places] == sorted(blocks, key=lambda at: int(at.split(":")[0]))
    for place, found, expected in places:
        assert f"  found     {found}" in blocks[place][0]
        assert expected in blocks[place][1]


MISTAKES_IN_ENTRIES = [
    ("{id: a/b, statement: x}", "a name of letters"),
    ("{id: a, statement: x, inputs: {x y: {shape: [2]}}}", "the name of a variable"),
    ("{id: a, statement: x, num_threads: [1, 1]}", "a thread count"),
    ("{id: a, statement: x, autograd: true}", "autograd=True needs it"),
    ("{id: a, statement: x, inputs: {x: {shape: [[2], [3]]}}, label: b}", "a unique label"),
    ("{id: a, operator: torch.add, signature: f() -> y}", "the operator's entry defines it"),
    (
        "{id: a, statement: x, inputs: {x: {shape: [[2], [3]]}, y: {shape: [[1], [2], [3]]}}}",
        "the same number of shapes",
    ),
    ("{id: a, statement: {}}", "no statement in either language"),
    ("{id: a, operator: torch.add, inputs: {x: {shape: [3]}}}", 'torch.add has no tensor "x"'),
    ("{id: a, operator: torch.cat, inputs: {tensors: {shape: [3]}}}", 'no tensor "tensors"'),
    (
        "{id: a, operator: torch.add, inputs: {input: {shape: [3], distribution: ones}}}",
        "shape and dtype",
    ),
    (
        (
            "{id: a, operator: torch.add, inputs: "
            "{input: {shape: [3], dtype: int8}, other: {shape: [3], dtype: bool}}}"
        ),
        "one dtype, or one list",
    ),
    (
        "{id: a, statement: x, inputs: {x: {shape: [2], distribution: {index_of: [x, 0]}}}}",
        "integers: [low, high]; index_of works only for operators",
    ),
    (
        (
            "{id: a, statement: x, inputs: "
            "{x: {shape: [2], dtype: [float32, int64], requires_grad: true}}}"
        ),
        "inputs.x.requires_grad\n  found     True (bool)\n  expected  false: only float16",
    ),
    ("{id: a, statement: x, label: '/'}", "a label"),
    ("{id: a, statement: x, label: 'c {'}", "label\n  found     {\n  expected  one of {ID}"),
    ("{id: a, statement: x}, {id: a, statement: y}", '"a" again\n  expected  unique ids'),
    ("{id: a, model: {file: net.pt, sha256: abc}}", "64 hexadecimal digits"),
    (f"{{id: a, model: {{file: net.pt, sha256: '{'0' * 64}'}}}}", "found     No such file"),
    (
        f"{{id: a, model: {{file: /dev/null, sha256: {EMPTY}}}, inputs: {{y: {{shape: []}}}}}}",
        'inputs.y\n  found     "y"\n  expected  another name',
    ),
    (
        f"{{id: a, statement: x, expected: {{y: {{shape: ['{'1' * 5000}']}}}}}}",
        "a size, or a placeholder",
    ),
    # What means something else in either language, or in the code that is added.
    *(
        (
            f"{{id: a, statement: s, inputs: {{{name}: {{shape: [2]}}}}}}",
            f'2: benchmarks[0].inputs.{name}\n  found     "{name}"\n  expected  another name',
        )
        for name in ("class", "torch", "model", "template", "not_eq")
    ),
]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((f"version: 1\nbenchmarks: [{entry}]\n", said) for entry, said in MISTAKES_IN_ENTRIES),
        # Around the entries.
        (f"{ONE}reporters: [{{database: a.db}}, {{database: b.db}}]", "one database"),
        (
            f"{ONE}reporters: [[screen]]",
            "reporters[0]\n  found     ['screen'] (list)\n  expected  screen, or a map",
        ),
        (f"{ONE}reporters: [{{screen: false}}]", "one of directory, database"),
        (f"{ONE}seed: {2**63}", "a whole number of at most 64 bits"),
        ("version: 1\nbenchmarks: []\n", "at least one benchmark"),
        ("version: 2\nbenchmarks: [{id: a}]\n", "1, the only supported version"),
        ("version: !!python/object:os.system {}\nbenchmarks: []\n", "a plain value"),
    ],
)
def test_a_mistake_is_reported_at_its_place(tmp_path: Path, text: str, said: str) -> None:
    """One message, and no traceback; whatever it is, nothing of it is executed."""
    assert said in problem(tmp_path, text)


WHOLE = f"""\
version: 1
name: all fields
builds: [{{name: base, python: {sys.executable}, env: {{A: "1"}}}}, {{name: b, source_cmd: c}}]
timeout: 2.5
seed: 3
benchmarks:
  - id: matmul
    label: "Two/{{ID}} {{shape}} {{x.dtype}}"
    inputs: {{x: {{shape: [[32, 128], [1, 64]], dtype: [float32], requires_grad: true}}}}
    setup: {{python: "w = {{x.shape[1]}}", cpp: "auto w = 1;"}}
    global_setup: "#include <vector>"
    statement: {{python: y = x @ w, cpp: "auto y = x.matmul(w);"}}
    signature: f(x, w) -> y
    torchscript: true
    autograd: true
    gradient: g
    num_threads: [1, 2]
    expected: {{y: {{shape: ["{{x.shape[0]}}", 4], dtype: float32, sum: 2, tolerance: 0.5}}}}
  - {{id: add, operator: torch.add, inputs: {{input: {{shape: [3], distribution: ones}}}}}}
  - {{id: net, model: {{file: net.pt, sha256: "{"0" * 64}"}}}}
reporters: [screen, {{directory: results}}, {{database: a.db}}]
"""
ODD = st.sampled_from(
    ["null", "[]", "{}", "[[1]]", "{a: b}", "true", "-1", "0", ".inf", "1" * 400, "'{x}'", "'{'"]
    + ['"\\0"', "''", "'*'", "'~a/b'", "'/'", "x" * 5000, "!!binary aGk=", "2020-01-01", "&a [*a]"]
    + [f"!!{tag} x" for tag in ("bool", "int", "float", "timestamp", "set", "map", "omap")]
)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """The specification with all fields, and something else in place of some of its values."""
    lines = WHOLE.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        number = draw(st.integers(0, len(lines) - 1))
        values = [*re.finditer(r"[^][{}:,\s]+|\[[^][]*\]|\{[^{}]*\}", lines[number])]
        if values:
            begin, end = draw(st.sampled_from(values)).span()
            lines[number] = lines[number][:begin] + draw(ODD) + lines[number][end:]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a test."""
    return tmp_path_factory.mktemp("damaged")


@given(text=damaged())
def test_whatever_a_specification_holds_it_is_read_or_refused(folder: Path, text: str) -> None:
    """Without a traceback."""
    path = written(folder, text)
    with contextlib.suppress(ValidationError):
        load(str(path))
