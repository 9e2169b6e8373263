"""The one form of a run: everything comes back from each place, and nothing impossible is read."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from instruction_counts.core.facts import ExpectedTensor, Layer, Model, Operator, Use
from instruction_counts.domain.errors import DataError, ValidationError
from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import (
    CallCost,
    FunctionCost,
    FunctionCosts,
    Machine,
    Output,
    TensorValue,
)
from instruction_counts.domain.records import ChangedFiles, Run
from instruction_counts.storage.json_files import from_json, to_json
from tests.fakes import OK, failed, make_record, make_run
from tests.storage.values import JSON, RUNS, WHOLE

MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def changed(change: Callable[[dict[str, Any]], Any], run: Run | None = None) -> str:
    """The text of a file that was changed by hand."""
    data = json.loads(to_json(run or EXAMPLE))
    change(data)
    return json.dumps(data)


def below(*place: str | int) -> Callable[[dict[str, Any], Any], None]:
    """What puts a value into a place of the first case."""

    def put(data: dict[str, Any], value: Any) -> None:
        *above, last = ("cases", 0, *place)
        inner: Any = data
        for key in above:
            inner = inner[key]
        inner[last] = value

    return put


EXECUTED = Executed(
    (PythonFunction("a.py", 1, "f", "aa", 5),), (OperatorCalls("aten::add", False, 2),), "3.11"
)
FULL = attrs.evolve(
    OK,
    functions=FunctionCosts(
        5,
        (FunctionCost("lib", "f.cpp", "f", 44_485, 44_495), FunctionCost("lib", "g.cpp", "g", 10)),
        (CallCost(0, 1, 5, 10),),
    ),
    output=Output("d1", (TensorValue("z", (1, 2), "float32", "d2", 0, "AAAAAAAA8D8="),)),
    metrics=Amounts({"peak_bytes": 3000, "seconds": 1.5, "bytecodes": 5, "operator_calls": 2}),
    resources_reason="why",
    executed=EXECUTED,
    executed_digests=EXECUTED.digests,
)
EXAMPLE = attrs.evolve(
    make_run(
        attrs.evolve(
            make_record("a", "b", outcome=FULL),
            metadata={"op": ["add", {"n": 1.5}]},
            subject=Operator("torch.add", "arithmetic", "typical", {"input": (2, 3)}, "float32"),
            expected=(ExpectedTensor("z", (1, 2), "float32", 1.0),),
            noise=Noise(0.1, 0.2, 3),
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


@MANY
@given(RUNS)
@example(WHOLE)
@example(EXAMPLE)
def test_a_run_comes_back_from_json_as_it_was(run: Run) -> None:
    """To the last digit and character."""
    assert run == from_json(to_json(run), "file")


def test_a_field_that_a_file_does_not_have_is_as_by_default() -> None:
    """One that is added later can be read from files and databases that were written before."""
    text = changed(lambda data: data["cases"][0]["outcome"].pop("executed_digests"))

    assert from_json(text, "earlier.json").cases[0].outcome.executed_digests is None


LARGE = 2**63


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        ("label", [], "at least one string"),
        ("label[1]", 3, "a string"),
        ("num_threads", True, "a whole number"),
        ("num_threads", 0, "at least 1"),
        ("language", "Rust", "one of python, c++"),
        ("runtime", "jit", "one of eager, torchscript, compiled, explicit"),
        ("metadata", [], "a mapping"),
        ("subject", "add", "a mapping"),
        ("subject.kind", [], "one of operator, layer, model"),
        ("subject.kind", "tensor", "one of operator, layer, model"),
        ("subject.shapes.input", 2, "a list"),
        ("expected[0].sum", "1", "a number"),
        ("noise.server_spread", 1.5, "at most 1"),
        ("outcome", [], "a mapping"),
        ("outcome.status", "fine", "one of ok, failed"),
        ("outcome.duration_s", -1.0, "at least 0"),
        ("outcome.duration_s", 10**400, "a number"),
        ("outcome.metrics.flops", "2", "a number"),
        ("outcome.metrics.flops", LARGE, "64 bits"),
        ("outcome.executed.functions.bytecodes[0]", LARGE, "64 bits"),
        ("outcome.executed.operators.backward[0]", 0, "true or false"),
        ("outcome.instructions.per_run", LARGE, "64 bits"),
        ("outcome.instructions.windows[0].runs", 0, "at least 1"),
        ("outcome.times.values_s[0]", "x", "a number"),
        ("outcome.times.values_s[1]", -1, "at least 0"),
        ("outcome.times.median_s", 0, "more than 0"),
        ("outcome.times.median_bounds_s", [1.0], ""),
        ("outcome.functions.costs", [], "a mapping"),
        ("outcome.functions.costs.inclusive[0]", 1.5, "a whole number"),
        ("outcome.functions.costs.function[0]", None, "a string"),
        ("outcome.functions.calls.callee[0]", 2, "a position in costs, less than 2"),
        ("outcome.functions.calls.caller[0]", -1, "at least 0"),
        ("outcome.functions.calls.calls[0]", LARGE, "64 bits"),
        ("outcome.output.tensors[0].sample", "AAA", "eight bytes in base64"),
        ("outcome.output.tensors[0].sample", "AAAA", "eight bytes in base64"),
        ("outcome.output.tensors[0].sample", "é", "eight bytes in base64"),
    ],
)
def test_what_is_wrong_or_impossible_is_refused_with_its_place(
    place: str, value: Any, expected: str
) -> None:
    """Each in one line, by the field as the file spells it; never a traceback."""
    steps = [
        int(step) if step.isdecimal() else step
        for step in place.replace("[", ".").replace("]", "").split(".")
    ]
    with pytest.raises(ValidationError) as caught:
        from_json(changed(lambda data: below(*steps)(data, value)), "bad.json")

    (problem,) = caught.value.problems
    assert (f"$.cases[0].{place}", "bad.json") == (problem.path, problem.file)
    assert expected in problem.expected
    assert "measure again" in caught.value.remedy


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.update(more=1), '$.more\n  found     a field "more"'),
        (lambda data: data.update(cases={}), "$.cases\n"),
        (lambda data: data["cases"].append("text"), "$.cases[3]\n"),
        (lambda data: data["cases"][1].update(more=1), '$.cases[1].more\n  found     a field "mor'),
        (lambda data: data["cases"][1].pop("outcome"), 'expected  a field "outcome"'),
        (lambda data: data["changed_files"]["default"].pop("number"), "$.changed_files.default\n"),
        (
            lambda data: data["cases"][0]["outcome"]["functions"]["costs"]["file"].pop(),
            "$.cases[0].outcome.functions.costs\n",
        ),
    ],
)
def test_what_is_missing_or_too_much_is_named(
    change: Callable[[dict[str, Any]], Any], said: str
) -> None:
    """With the name of the file in front."""
    with pytest.raises(ValidationError) as caught:
        from_json(changed(change), "bad.json")

    assert caught.value.message.startswith("bad.json: $")
    assert said in caught.value.message


def places_in(value: Any, above: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The way to each value in a document."""
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
    lower = [way for key, value in inner for way in places_in(value, (*above, key))]
    return [above, *lower] if above else lower


VALUES = st.sampled_from(
    [
        *(None, True, -1, 0, 1, 2**70, 10**400, -0.5, 0.0, 1.5, 1e300),
        *("", "zz", "0" * 16, "AAA", "AAAAAAAA8D8=", "fork", "ok", "python", "exception"),
        *([], [0], [-1], [[]], ["a"], [None], [0, 0, 0, 0], {}, {"more": 1}, {"a": {}}),
    ]
)
NO_VERSION = [way for way in places_in(json.loads(to_json(EXAMPLE))) if way != ("schema_version",)]


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(NO_VERSION), VALUES | JSON, st.sampled_from(["replace", "remove", "add"]))
def test_whatever_is_changed_by_hand_is_refused_or_means_what_it_says(
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

    again = to_json(run)
    assert run == from_json(again, "again.json")
    if how == "replace" and "{" not in json.dumps(value):  # of what is missing there are defaults
        assert data == json.loads(again)
    for record in run.cases:
        for tensor in record.outcome.output.tensors if record.outcome.output else ():
            assert len(base64.b64decode(tensor.sample)) % 8 == 0


# Hostile files


def nested(depth: int) -> str:
    """A file whose metadata are nested so deep."""
    text = changed(lambda data: below("metadata")(data, "DEEP"))
    return text.replace('"DEEP"', '{"a":' * depth + "1" + "}" * depth)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"schema_version": ' + "[" * 10_000,
        *map(nested, [501, 900, 5000]),
    ],
)
@pytest.mark.faults
def test_a_file_that_is_nested_too_deep_is_refused(text: str) -> None:
    """It names the file, and ends in no traceback."""
    with pytest.raises(DataError, match=r"^deep\.json"):
        from_json(text, "deep.json")


def test_what_can_be_read_can_be_written() -> None:
    """A run that was taken in can always be given back."""
    run = from_json(nested(500), "deep.json")

    assert run == from_json(to_json(run), "again.json")


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "9" * 5000])
@pytest.mark.parametrize(
    "put",
    [
        below("outcome", "duration_s"),
        below("outcome", "times", "values_s", 0),
        below("metadata", "op"),
    ],
)
def test_a_number_that_nobody_can_calculate_with_is_refused(
    put: Callable[[dict[str, Any], Any], None], number: str
) -> None:
    """Wherever it stands."""
    text = changed(lambda data: put(data, "NUMBER")).replace('"NUMBER"', number)
    with pytest.raises(DataError, match=r"^bad\.json"):
        from_json(text, "bad.json")


def test_a_name_that_is_there_twice_is_refused() -> None:
    """Readers would differ in which of the two counts."""
    text = to_json(EXAMPLE).replace('"stmt": ', '"label": ["other"], "stmt": ', 1)
    with pytest.raises(DataError, match=r'bad\.json is not JSON: the name "label" is there twice'):
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
    text = changed(lambda data: below("stmt")(data, "TEXT")).replace("TEXT", stored)

    assert read == from_json(text, "file").cases[0].stmt


@given(st.text(st.characters(), max_size=8))
def test_every_text_is_read_as_one_that_files_take(words: str) -> None:
    """Halves of pairs are all that is replaced."""
    text = changed(lambda data: below("stmt")(data, words))
    whole = json.loads(json.dumps(words)).encode(errors="replace").decode()

    assert whole == from_json(text, "file").cases[0].stmt


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_no_json_is_not_written(value: float) -> None:
    """It names the case."""
    record = make_record("a", outcome=attrs.evolve(OK, duration_s=value))
    with pytest.raises(DataError, match="a holds a number that JSON does not know"):
        to_json(make_run(record))
