"""Results on disk: JSON and back, and files that are always whole."""

from __future__ import annotations

import base64
import gzip
import json
import os
import stat
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.facts import ExpectedTensor, Layer, Model, Operator, Use
from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.errors import DataError, UsageError, ValidationError
from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import (
    CallCost,
    Failure,
    FailureKind,
    FunctionCost,
    FunctionCosts,
    Instructions,
    Machine,
    Outcome,
    Output,
    Status,
    TensorValue,
    Times,
    Window,
)
from instruction_counts.domain.records import ChangedFiles, Record, Run
from instruction_counts.storage import json_files as export
from instruction_counts.storage.json_files import (
    LARGEST_VARIABLE,
    compressed_parts,
    from_json,
    read_json,
    to_json,
)
from instruction_counts.system.files import write_atomically
from tests.fakes import OK, failed, make_record, make_run
from tests.storage.whole import WHOLE

SCHEMA = json.loads((Path(export.__file__).parent / "schema.json").read_text())

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
COUNT = st.integers(0, 10**15)
SECONDS = st.floats(1e-12, 1e4)
OPTIONAL = st.none() | COUNT
METRICS = st.builds(Amounts, st.dictionaries(TEXT, COUNT | SECONDS, max_size=3))
WINDOWS = st.lists(
    st.builds(Window, st.integers(1, 10**6), COUNT, METRICS), min_size=1, max_size=3
).map(tuple)


@st.composite
def counts(draw: st.DrawFn) -> Instructions:
    """A count that is possible."""
    loop = draw(COUNT)
    per_run = draw(st.integers(-loop, 10**12))
    return Instructions(
        per_run,
        draw(st.booleans()),
        draw(WINDOWS),
        spread=draw(st.integers(0, per_run + loop)),
        loop=loop,
        all_threads_per_run=draw(OPTIONAL),
        varying=draw(st.lists(TEXT, max_size=2).map(tuple)),
    )


TIMES = st.builds(Times.of, st.lists(SECONDS, min_size=1, max_size=7), st.integers(1, 10**9))
COST = st.builds(FunctionCost, TEXT, TEXT, TEXT, COUNT, OPTIONAL)
CALL = st.builds(CallCost, st.integers(0, 2), st.integers(0, 2), COUNT, st.integers())
FUNCTIONS = st.builds(
    FunctionCosts, st.integers(1, 10**6), st.lists(COST, max_size=2).map(tuple)
) | st.builds(
    FunctionCosts,
    st.integers(1, 10**6),
    st.tuples(COST, COST, COST),
    st.lists(CALL, max_size=3).map(tuple),
)
SAMPLE = st.integers(0, 3).flatmap(
    lambda count: st.binary(min_size=8 * count, max_size=8 * count).map(
        lambda data: base64.b64encode(data).decode()
    )
)
OUTPUT = st.builds(
    Output,
    TEXT,
    st.lists(
        st.builds(
            TensorValue, TEXT, st.lists(COUNT, max_size=3).map(tuple), TEXT, TEXT, COUNT, SAMPLE
        ),
        max_size=2,
    ).map(tuple),
    st.booleans(),
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
SHAPE = st.lists(COUNT, max_size=3).map(tuple)
SUBJECT = (
    st.builds(
        *(Operator, TEXT, TEXT, TEXT, st.dictionaries(TEXT, SHAPE, max_size=2)),
        *(st.none() | TEXT, COUNT, TEXT),
    )
    | st.builds(
        Layer,
        TEXT,
        st.lists(st.builds(Use, TEXT, TEXT, st.integers(1, 99)), max_size=2).map(tuple),
    )
    | st.builds(Model, TEXT)
)
EXPECTED = st.builds(
    *(ExpectedTensor, TEXT, st.none() | SHAPE, st.none() | TEXT),
    *(st.none() | st.floats(-1e300, 1e300), st.floats(0, 1e9)),
)
PYTHON_FUNCTION = st.builds(PythonFunction, TEXT, COUNT, TEXT, TEXT, COUNT)
OPERATOR = st.builds(OperatorCalls, TEXT, st.booleans(), COUNT)
EXECUTED = st.builds(
    Executed,
    st.none() | st.lists(PYTHON_FUNCTION, max_size=3).map(tuple),
    st.lists(OPERATOR, max_size=3).map(tuple),
    TEXT,
)
FAILURE = st.builds(Failure, st.sampled_from(FailureKind), TEXT, TEXT, TEXT, TEXT)


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    """An outcome whose costs add up to its count."""
    counted, functions = draw(st.none() | counts()), draw(st.none() | FUNCTIONS)
    if counted is not None and functions is not None:
        rest = counted.per_run * functions.runs - sum(cost.exclusive for cost in functions.costs)
        costs = (*functions.costs, FunctionCost("", "", "the rest", rest))
        functions = attrs.evolve(functions, costs=costs)
    executed = draw(st.none() | EXECUTED)
    return Outcome(
        draw(st.sampled_from(Status)),
        counted,
        draw(st.none() | TIMES),
        functions,
        draw(st.none() | OUTPUT),
        draw(st.none() | FAILURE),
        draw(st.floats(0, 1e6)),
        draw(st.integers(1, 9)),
        draw(METRICS),
        draw(st.none() | TEXT),
        draw(st.none() | SECONDS),
        executed=executed,
        executed_digests=None if executed is None else executed.digests,
    )


RECORD = st.builds(
    Record,
    label=st.lists(TEXT, min_size=1, max_size=4).map(tuple),
    language=st.sampled_from(Language),
    runtime=st.sampled_from(RuntimeMode),
    autograd=st.sampled_from(AutogradMode),
    num_threads=st.integers(1, 64),
    definition_hash=st.text("0123456789abcdef", min_size=16, max_size=16),
    build=TEXT,
    stmt=TEXT,
    setup=TEXT,
    global_setup=TEXT,
    outcome=outcomes(),
    metadata=st.dictionaries(TEXT, JSON, max_size=2),
    subject=st.none() | SUBJECT,
    expected=st.lists(EXPECTED, max_size=2).map(tuple),
    noise=st.none() | st.builds(Noise, st.floats(0, 1), st.floats(0, 1), st.integers(0, 9)),
)
FINGERPRINTS = st.from_type(Fingerprint)
CHANGED_FILES = st.builds(
    ChangedFiles, st.integers(1, 10**6), st.lists(TEXT, min_size=1, max_size=2).map(tuple)
)
RUN = st.builds(
    Run,
    TEXT,
    st.sampled_from(["timer", "fork"]),
    st.dictionaries(TEXT, FINGERPRINTS, max_size=2),
    st.lists(RECORD, max_size=3).map(tuple),
    TEXT,
    st.none() | st.builds(Machine, COUNT, COUNT),
    st.dictionaries(TEXT, CHANGED_FILES, max_size=2),
    st.dictionaries(TEXT, TEXT, max_size=2),
)
MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def changed(change: Callable[[dict[str, Any]], Any], run: Run | None = None) -> str:
    """The text of a file that was changed by hand."""
    data = json.loads(to_json(run or make_run(make_record("a"), make_record("b"))))
    change(data)
    return json.dumps(data)


# JSON


@MANY
@given(RUN)
@example(WHOLE)
def test_a_run_comes_back_from_json_as_it_was(run: Run) -> None:
    """To the last digit and character."""
    assert run == from_json(to_json(run), "file")


@MANY
@given(RUN)
@example(WHOLE)
def test_every_file_fits_the_schema(run: Run) -> None:
    """Whatever was measured, and however it ended."""
    jsonschema.validate(json.loads(to_json(run)), SCHEMA)


def test_the_schema_is_a_schema() -> None:
    """It is valid itself."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    ("definition", "kind"),
    [
        ("fingerprint", Fingerprint),
        ("instructions", Instructions),
        ("times", Times),
        ("output", Output),
        ("machine", Machine),
        ("expected_tensor", ExpectedTensor),
    ],
)
def test_the_schema_names_every_field(definition: str, kind: type[attrs.AttrsInstance]) -> None:
    """A field that is added to the code is added there too."""
    names = {field.alias for field in attrs.fields(kind)}

    assert names == set(SCHEMA["$defs"][definition]["properties"])


@pytest.mark.parametrize(
    "field",
    [
        "label",
        "status",
        "error",
        "instructions",
        "definition_hash",
        "metadata",
        "subject",
        "metrics",
    ],
)
def test_the_schema_requires_the_documented_fields(field: str) -> None:
    """Readers may rely on them."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(changed(lambda data: data["cases"][0].pop(field))), SCHEMA)


def test_each_case_has_a_line_of_its_own() -> None:
    """Large files can be searched and compared line by line."""
    lines = to_json(make_run(make_record("a"), make_record("b"))).splitlines()

    assert 2 == sum(line.startswith('    {"label": ') for line in lines)


@pytest.mark.parametrize("version", [0, 2, "1", True, None, [1]])
def test_another_schema_version_is_refused(version: Any) -> None:
    """Before anything else of the file is looked at."""
    text = changed(lambda data: data.update(schema_version=version, cases="?"))
    with pytest.raises(DataError) as caught:
        from_json(text, "old.json")

    assert (
        f"old.json: schema_version is {version!r}, and this program reads 1",
        True,
    ) == (
        caught.value.message,
        "measure again" in caught.value.remedy,
    )


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "null", "{}"])
def test_a_file_without_a_version_is_refused(text: str) -> None:
    """It was not written by this program."""
    with pytest.raises(DataError, match="schema_version is None"):
        from_json(text, "other.json")


@pytest.mark.parametrize("text", ["", "{", "not json", '{"schema_version": 1'])
def test_text_that_is_no_json_is_refused(text: str) -> None:
    """With the place where it ends to be JSON."""
    with pytest.raises(DataError, match=r"^cut\.json is not JSON: .*\(char \d+\)"):
        from_json(text, "cut.json")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
@pytest.mark.faults
def test_a_file_that_was_cut_is_refused(share: float) -> None:
    """Wherever it ends."""
    text = to_json(make_run(make_record("a"), make_record("b")))
    with pytest.raises(DataError, match="is not JSON"):
        from_json(text[: int(len(text) * share)], "cut.json")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda data: data.pop("cases"), "$.cases\n"),
        (lambda data: data.update(cases={}), "$.cases\n"),
        (lambda data: data.update(cases="text"), "$.cases\n"),
        (lambda data: data.update(more=1), '$.more\n  found     a field "more"'),
        (lambda data: data["cases"].append("text"), "$.cases[2]"),
        (lambda data: data["cases"][1].update(label="text"), "$.cases[1].label"),
        (lambda data: data["cases"][1].update(label=["a", 3]), "$.cases[1].label[1]"),
        (lambda data: data["cases"][1].update(num_threads="2"), "$.cases[1].num_threads"),
        (lambda data: data["cases"][1].update(num_threads=1.5), "$.cases[1].num_threads"),
        (lambda data: data["cases"][1].update(stmt=None), "$.cases[1].stmt"),
        (lambda data: data["cases"][1].update(status="fine"), "$.cases[1].status"),
        (lambda data: data["cases"][1].pop("status"), "$.cases[1].status"),
        (lambda data: data["cases"][1].update(language="Rust"), "$.cases[1].language"),
        (
            lambda data: data["cases"][1].update(more=1),
            '$.cases[1].more\n  found     a field "more"',
        ),
        (lambda data: data["cases"][1].update(error={"kind": "?", "message": ""}), "].error.kind"),
        (lambda data: data["cases"][1]["times"].update(values_s=["x"]), ".times.values_s[0]"),
        (lambda data: data["cases"][1]["instructions"].update(exact="no"), ".instructions.exact"),
        (lambda data: data["cases"][1].update(functions=3), "$.cases[1].functions"),
        (lambda data: data["cases"][1].update(metadata=[]), "$.cases[1].metadata"),
        (lambda data: data["cases"][1].update(subject="add"), "$.cases[1].subject"),
        (lambda data: data["cases"][1].update(subject={"kind": []}), "$.cases[1].subject"),
        (lambda data: data["cases"][1].update(subject={"kind": "model"}), "[1].subject.name"),
        (lambda data: data["cases"][1].update(expected={}), "$.cases[1].expected"),
        (lambda data: data["cases"][1].update(metrics={"flops": "2"}), "].metrics.flops"),
        (lambda data: data.update(machine={"copy_bytes_per_s": 1}), ".matmul_flops_per_s"),
        (lambda data: data["builds"]["default"].pop("torch"), "$.builds.default.torch"),
    ],
)
def test_a_damaged_file_names_the_place(
    change: Callable[[dict[str, Any]], Any], place: str
) -> None:
    """As the file spells it."""
    with pytest.raises(DataError) as caught:
        from_json(changed(change), "bad.json")

    assert (True, True) == (
        caught.value.message.startswith("bad.json: $"),
        place in caught.value.message,
    )


FULL = attrs.evolve(
    OK,
    functions=FunctionCosts(
        5,
        (FunctionCost("lib", "f.cpp", "f", 44_485, 44_495), FunctionCost("lib", "g.cpp", "g", 10)),
        (CallCost(0, 1, 5, 10),),
    ),
    output=Output("d1", (TensorValue("z", (1, 2), "float32", "d2", 0, "AAAAAAAA8D8="),)),
    metrics=Amounts({"peak_bytes": 3000, "seconds": 1.5}),
    resources_reason="why",
)
EXAMPLE = attrs.evolve(
    make_run(
        attrs.evolve(
            make_record("a", "b", outcome=FULL),
            metadata={"op": ["add", {"n": 1.5}]},
            subject=Operator("torch.add", "arithmetic", "typical", {"input": (2, 3)}, "float32"),
            expected=(ExpectedTensor("z", (1, 2), "float32", 1.0),),
        ),
        attrs.evolve(
            make_record("c", outcome=failed()), subject=Layer("add", (Use("Net", "a.b", 2),))
        ),
        attrs.evolve(make_record("d"), subject=Model("Net")),
    ),
    machine=Machine(10**9, 10**10),
    changed_files={"default": ChangedFiles(2, ("/a.py", "/b.py"))},
    package_folders={"default": "/usr/lib/python3/dist-packages"},
)
"""A run with a value in each place of a file."""


def in_case(*place: str | int) -> Callable[[dict[str, Any], Any], None]:
    """What puts a value into a place of the first case."""

    def put(data: dict[str, Any], value: Any) -> None:
        *above, last = ("cases", 0, *place)
        inner: Any = data
        for key in above:
            inner = inner[key]
        inner[last] = value

    return put


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["label"], []),
        (["num_threads"], 0),
        (["definition_hash"], "zz"),
        (["definition_hash"], "0" * 17),
        (["duration_s"], -1.0),
        (["attempts"], 0),
        (["instructions", "windows"], []),
        (["instructions", "windows", 0, "runs"], 0),
        (["instructions", "windows", 0, "instructions"], -1),
        (["times", "values_s"], []),
        (["times", "median_s"], 0),
        (["times", "iqr_s"], -1e-9),
        (["times", "runs"], 0),
        (["functions", "runs"], 0),
        (["functions", "columns"], ["inclusive", "exclusive", "function", "file", "library"]),
        (["functions", "call_columns"], ["callee", "caller", "calls", "instructions"]),
        (["functions", "more"], 1),
        (["functions", "costs", 0, 0], "50"),
        (["functions", "costs", 0, 1], 1.5),
        (["functions", "costs", 0, 2], None),
        (["functions", "costs", 0], [1, 2, "f", "f.cpp"]),
        (["functions", "calls", 0, 1], 2),
        (["functions", "calls", 0, 0], -1),
        (["functions", "calls", 0], [0, 1, True, 10]),
        (["output", "tensors", 0, "shape"], [-1]),
        (["output", "tensors", 0, "nans"], -1),
        (["output", "tensors", 0, "sample"], "AAA"),
        (["output", "tensors", 0, "sample"], "AAAA"),
        (["subject"], {"kind": "tensor"}),
        (["subject"], {"kind": "model", "name": "Net", "more": 1}),
        (["subject", "shapes"], [2, 3]),
        (["subject", "shapes"], {"input": [-1]}),
        (["subject", "seed"], -1),
        (["expected", 0, "shape"], 2),
        (["expected", 0, "sum"], "1"),
        (["expected", 0, "tolerance"], -1),
    ],
)
def test_a_value_that_the_schema_forbids_is_refused(place: list[str | int], value: Any) -> None:
    """With its place."""
    with pytest.raises(DataError) as caught:
        from_json(changed(lambda data: in_case(*place)(data, value), EXAMPLE), "bad.json")

    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    assert f"bad.json: $.cases[0]{path}" in caught.value.message


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda data: data.update(engine=""), '$.engine\n  found     ""'),
        (lambda data: data["machine"].update(copy_bytes_per_s=-1), "$.machine.copy_bytes_per_s"),
        (lambda data: data.pop("machine"), "$.machine\n  found     nothing"),
        (lambda data: data.pop("started_at"), "$.started_at\n  found     nothing"),
        (lambda data: data["cases"][0].pop("times"), "$.cases[0].times\n  found     nothing"),
        (lambda data: data["cases"][0].pop("error"), "$.cases[0].error\n  found     nothing"),
        (lambda data: data["cases"][0].pop("metadata"), "$.cases[0].metadata"),
        (lambda data: data["cases"][0]["functions"].pop("calls"), "$.cases[0].functions.calls"),
        (lambda data: data["cases"][0]["instructions"].pop("spread"), ".instructions.spread"),
        (lambda data: data["builds"]["default"].pop("allocator"), ".default.allocator"),
    ],
)
def test_a_file_of_today_that_breaks_the_schema_is_refused(
    change: Callable[[dict[str, Any]], Any], place: str
) -> None:
    """What files of older versions lack has to be there."""
    with pytest.raises(DataError) as caught:
        from_json(changed(change, EXAMPLE), "bad.json")

    assert place in caught.value.message


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (["instructions", "spread"], 99_999_999, "at most 26,697"),
        (["instructions", "spread"], -1, "a whole number, at least 0"),
        (["instructions", "per_run"], -1, "at least 0"),
        (["instructions", "loop"], -1, "at least 0"),
        (["noise", "server_spread"], 1.5, "a number, at most 1"),
        (["noise", "layout_spread"], 99_999_999, "a number, at most 1"),
        (["noise", "layouts"], -1, "at least 0"),
        (["times", "min_s"], -1e-9, "at least 0"),
        (["functions", "costs", 0, 0], 99_999_999, "costs that add up to 8,899 instructions"),
        (["functions", "costs", 0, 0], 0, "costs that add up to 8,899 instructions"),
        (["runtime"], "jit", "one of eager, torchscript, explicit"),
    ],
)
@pytest.mark.faults
def test_an_impossible_figure_is_refused_by_name(
    place: list[str | int], value: Any, expected: str
) -> None:
    """It would let everything pass, or nothing."""
    noisy = attrs.evolve(EXAMPLE.cases[0], noise=Noise(0.1, 0.2, 3))
    text = changed(lambda data: in_case(*place)(data, value), make_run(noisy))
    with pytest.raises(ValidationError) as caught:
        from_json(text, "bad.json")

    (problem,) = caught.value.problems
    path = "".join(f".{step}" for step in place if isinstance(step, str))
    assert problem.path.startswith(f"$.cases[0]{path}")
    assert expected in problem.expected
    assert "measure again" in caught.value.remedy


def places_in(value: Any, above: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The way to each value in a document."""
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
    below = [way for key, value in inner for way in places_in(value, (*above, key))]
    return [above, *below] if above else below


VALUES = st.sampled_from(
    [
        *(None, True, -1, 0, 1, 2**70, -0.5, 0.0, 1.5, 1e300),
        *("", "zz", "0" * 16, "AAA", "AAAAAAAA8D8=", "fork", "ok", "python", "exception"),
        *([], [0], [-1], [[]], ["a"], [None], [1, 2, "f", "f", "l"], [0, 0, 0, 0]),
        *({}, {"more": 1}, {"a": {}}),
    ]
)
NO_VERSION = [way for way in places_in(json.loads(to_json(EXAMPLE))) if way != ("schema_version",)]


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(NO_VERSION), VALUES | JSON, st.sampled_from(["replace", "remove", "add"]))
def test_what_the_schema_forbids_is_never_read(
    way: tuple[str | int, ...], value: Any, how: str
) -> None:
    """Any value in place of another, one that is missing, and one that is too much."""
    data = json.loads(to_json(EXAMPLE))
    inner = data
    *above, last = way
    for key in above:
        inner = inner[key]
    if how == "remove":
        del inner[last]
    elif how == "replace" or isinstance(inner, list):
        inner[last] = value
    else:
        inner[f"{last}s"] = value
    try:
        run = from_json(json.dumps(data), "changed.json")
    except DataError:
        return

    for document in (data, json.loads(to_json(run))):
        VALIDATOR.validate(document)


def nested(depth: int) -> str:
    """A file whose metadata are nested so deep."""
    text = changed(lambda data: in_case("metadata")(data, "DEEP"), EXAMPLE)
    return text.replace('"DEEP"', '{"a":' * depth + "1" + "}" * depth)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"schema_version": ' + "[" * 10_000, nested(5000)]
)
@pytest.mark.faults
def test_a_file_that_is_nested_too_deep_is_refused(text: str) -> None:
    """It names the file, and ends in no traceback."""
    with pytest.raises(DataError, match=r"^deep\.json"):
        from_json(text, "deep.json")


@pytest.mark.parametrize("depth", range(300, 1000, 20))
def test_what_is_nested_so_deep_that_it_can_be_read_can_be_written(depth: int) -> None:
    """A run that was taken in can always be given back."""
    try:
        run = from_json(nested(depth), "deep.json")
    except DataError:
        return

    assert run == from_json(to_json(run), "again.json")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize(
    "put", [in_case("duration_s"), in_case("times", "values_s", 0), in_case("metadata", "op")]
)
def test_a_number_that_no_float_can_be_is_refused(
    put: Callable[[dict[str, Any], Any], None], number: str
) -> None:
    """Nobody can calculate with it."""
    text = changed(lambda data: put(data, "NUMBER"), EXAMPLE).replace('"NUMBER"', number)
    with pytest.raises(DataError, match=r"^bad\.json"):
        from_json(text, "bad.json")


def test_a_whole_number_that_no_float_can_be_is_no_time() -> None:
    """It is a number of JSON, whose size has no limit."""
    text = changed(lambda data: in_case("duration_s")(data, 10**400), EXAMPLE)
    with pytest.raises(DataError, match=r": \$\.cases\[0\]\.duration_s"):
        from_json(text, "bad.json")


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        (r"\ud800", "?"),
        (r"\uDFFF", "?"),
        (r"\ud83d\ude00", "😀"),
        (r"\ud83d\ud83d\ude00", "?😀"),
        (r"\ude00\ud83d", "??"),
        (r"\\ud800", r"\ud800"),
        (r"\\\ud800", r"\?"),
        (r"\n\u00e9\ud7ff", "\né\ud7ff"),
    ],
)
def test_half_a_pair_of_surrogates_is_read_as_a_question_mark(stored: str, read: str) -> None:
    """No file and no terminal takes it; all else in a text stays as it is."""
    text = changed(lambda data: in_case("stmt")(data, "TEXT"), EXAMPLE).replace("TEXT", stored)

    assert read == from_json(text, "file").cases[0].stmt


@given(st.text(st.characters(), max_size=8))
def test_every_text_is_read_as_one_that_files_take(words: str) -> None:
    """Halves of pairs are all that is replaced."""
    text = changed(lambda data: in_case("stmt")(data, words), EXAMPLE)
    whole = json.loads(json.dumps(words)).encode(errors="replace").decode()

    assert whole == from_json(text, "file").cases[0].stmt


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_no_json_is_not_written(value: float) -> None:
    """A store can hold it, of a file that another version read."""
    record = make_record("a", outcome=attrs.evolve(OK, duration_s=value))
    with pytest.raises(DataError, match="a holds a number that JSON does not know"):
        to_json(make_run(record))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """With the reason of the system."""
    with pytest.raises(DataError, match=r"absent\.json: No such file"):
        read_json(tmp_path / "absent.json")


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    """With what is wrong in it."""
    path = tmp_path / "bytes.json"
    path.write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"bytes\.json is not JSON: .*0xff"):
        read_json(path)


# Files


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
@pytest.mark.faults
def test_a_damaged_compressed_file_is_refused(tmp_path: Path, share: float) -> None:
    """With its name and a remedy, and no traceback."""
    data = b"".join(compressed_parts(make_run(make_record())))
    path = tmp_path / "r.json.gz"
    path.write_bytes(data[: int(share * len(data))] + b"x")

    with pytest.raises(DataError, match=r"r\.json\.gz cannot be unpacked: .*\n.*measure again"):
        read_json(path)


@pytest.mark.parametrize("name", ["bomb.json", "bomb.json.gz"])
@pytest.mark.faults
def test_a_file_that_holds_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Some kB unpack to more than any memory: what is unpacked counts, and the limit is named."""
    path = tmp_path / name
    data = b" " * (3 << 20)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    monkeypatch.setenv(LARGEST_VARIABLE, "2")

    with pytest.raises(DataError, match="holds more than 2 MiB, unpacked") as caught:
        read_json(path)
    assert f"{LARGEST_VARIABLE}=4" in caught.value.remedy


def test_a_larger_file_is_read_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the error says."""
    run = make_run(make_record())
    path = tmp_path / "r.json.gz"
    path.write_bytes(gzip.compress(b" " * (3 << 20) + to_json(run).encode()))
    monkeypatch.setenv(LARGEST_VARIABLE, "4")

    assert run == read_json(path)


@pytest.mark.parametrize("asked", ["0", "many", "-1", "1.5", "9" * 5000])
def test_a_limit_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    """With what it should be."""
    monkeypatch.setenv(LARGEST_VARIABLE, asked)

    with pytest.raises(UsageError, match="a whole number of MiB"):
        read_json(tmp_path / "r.json")


def test_the_same_run_is_compressed_to_the_same_bytes() -> None:
    """No date is in it."""
    run = make_run(make_record())

    assert [*compressed_parts(run)] == [*compressed_parts(run)]


def test_a_reader_always_sees_a_whole_file(tmp_path: Path) -> None:
    """Also one that reads while the file is replaced many times."""
    path = tmp_path / "r.json"
    texts = [to_json(make_run(*[make_record("x" * 500)] * count)) for count in (1, 50)]
    path.write_text(texts[0])
    done = threading.Event()

    def write() -> None:
        for number in range(200):
            write_atomically(path, texts[number % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(path.read_text())
    writer.join()

    assert seen <= set(texts)


def test_nothing_is_left_beside_a_written_file(tmp_path: Path) -> None:
    """The temporary file takes its place."""
    write_atomically(tmp_path / "r.json", "text")

    assert ["r.json"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.faults
def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path) -> None:
    """Nothing else of it is left either."""
    path = tmp_path / "r.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\udc80")

    assert ("old", ["r.json"]) == (path.read_text(), [path.name for path in tmp_path.iterdir()])


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_file_has_the_rights_that_its_user_wants(tmp_path: Path, mask: int, mode: int) -> None:
    """Those of any new file."""
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "r.json", "text")
    finally:
        os.umask(before)

    assert mode == stat.S_IMODE((tmp_path / "r.json").stat().st_mode)
