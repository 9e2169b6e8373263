"""The one form of a run: everything comes back, and nothing impossible is read."""

import base64
import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.domain.errors import DataError, ValidationError
from instruction_counts.domain.outcomes import Details
from instruction_counts.storage.json_files import keep, read_json
from tests.builders import to_json
from tests.fakes import make_record, make_run
from tests.storage.values import WHOLE, from_json

RUN = make_run(make_record("a"), make_record("b"))


def changed(change: Callable[[dict[str, Any]], Any]) -> str:
    """The text of a file with something in every field that was changed by hand."""
    data = json.loads(to_json(WHOLE))
    change(data)
    return json.dumps(data)


def put(data: Any, way: Iterable[str | int], value: Any) -> None:
    """Put a value into a place of a document."""
    *above, last = way
    for key in above:
        data = data[key]
    data[last] = value


def spelled(text: str, *way: str | int) -> str:
    """A file whose first case has this value in a place, as JSON spells it."""
    return changed(lambda data: put(data, ("cases", 0, *way), "TEXT")).replace('"TEXT"', text)


def test_each_case_has_a_line_of_its_own() -> None:
    """Large files can be searched and compared line by line."""
    lines = to_json(RUN).splitlines()

    assert 2 == sum(line.startswith('    {"label": ') for line in lines)


def test_a_run_comes_back_as_it_was() -> None:
    """Each field of it, with something else than its default."""
    assert WHOLE == from_json(to_json(WHOLE), "file")
    assert "stored" not in to_json(WHOLE)


def test_a_field_that_a_file_does_not_have_is_as_by_default() -> None:
    """One that is added later can be read from files and databases that were written before."""
    text = changed(lambda data: data["cases"][0]["outcome"].pop("executed_digests"))

    assert from_json(text, "earlier.json").cases[0].outcome.executed_digests is None


# What was changed by hand

LARGE = 2**63


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        ("label", [], "at least one string"),
        ("num_threads", True, "a whole number"),
        ("num_threads", 0, "at least 1"),
        ("runtime", "jit", "one of eager, torchscript, compiled, exported, explicit"),
        ("metadata", [], "a mapping"),
        ("subject", "add", "a mapping"),
        ("subject.kind", "tensor", "one of operator, layer, model"),
        ("expected[0].sum", "1", "a number"),
        ("noise.server_spread", 1.5, "at most 1"),
        ("outcome.duration_s", -1.0, "at least 0"),
        ("outcome.duration_s", 10**400, "a number"),
        ("outcome.metrics.m", "2", "a number"),
        ("outcome.executed.operators.backward[0]", 0, "true or false"),
        ("outcome.instructions.per_run", LARGE, "64 bits"),
        ("outcome.instructions.windows[0].runs", 0, "at least 1"),
        ("outcome.times.median_s", 0, "more than 0"),
        ("outcome.times.median_bounds_s", [1.0], ""),
        ("outcome.functions.calls.callee[0]", 3, "a position in costs, less than 3"),
        ("outcome.functions.calls.caller[0]", -1, "at least 0"),
        ("outcome.functions.calls.calls[0]", LARGE, "64 bits"),
        ("outcome.output.tensors[0].sample", "AAA", "eight bytes in base64"),
        ("outcome.output.tensors[0].sample", "AAAA", "eight bytes in base64"),
    ],
)
def test_what_is_wrong_or_impossible_is_refused_with_its_place(
    place: str, value: Any, expected: str
) -> None:
    """Each in one line, by the field as the file spells it; never a traceback."""
    steps = place.replace("[", ".").replace("]", "").split(".")
    way = ("cases", 0, *(int(step) if step.isdecimal() else step for step in steps))
    with pytest.raises(ValidationError) as caught:
        from_json(changed(lambda data: put(data, way, value)), "bad.json")

    (problem,) = caught.value.problems
    assert (f"$.cases[0].{place}", "bad.json") == (problem.path, problem.file)
    assert expected in problem.expected
    assert "measure again" in caught.value.remedy


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.update(more=1), '$.more\n  found     a field "more"'),
        (lambda data: data["cases"].append(data["cases"][0]), "a case that is not there before"),
        (lambda data: data["cases"][1].update(build="b"), '$.cases[1].build\n  found     "b"'),
        (lambda data: data["cases"][1].update(more=1), '$.cases[1].more\n  found     a field "mor'),
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


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
VALUES = st.sampled_from(
    [
        *(None, True, -1, 0, 1, 2**70, 10**400, -0.5, 0.0, 1.5, 1e300),
        *("", "zz", "0" * 16, "AAA", "AAAAAAAA8D8=", "fork", "ok", "python", "exception"),
        *([], [0], [-1], [[]], ["a"], [None], [0, 0, 0, 0], {}, {"more": 1}, {"a": {}}),
    ]
)
NO_VERSION = [way for way in places_in(json.loads(to_json(WHOLE))) if way != ("schema_version",)]


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(NO_VERSION), VALUES | JSON, st.sampled_from(["replace", "remove", "add"]))
def test_whatever_is_changed_by_hand_is_refused_or_means_what_it_says(
    way: tuple[str | int, ...], value: Any, how: str
) -> None:
    """Any value in place of another, one that is missing, and one that is too much."""
    data = json.loads(to_json(WHOLE))
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


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"schema_version": ' + "[" * 10_000,
        *(spelled('{"a":' * depth + "1" + "}" * depth, "metadata") for depth in (498, 900, 5000)),
    ],
    ids=["list", "version", "498", "900", "5000"],
)
@pytest.mark.faults
def test_a_file_that_is_nested_too_deep_is_refused(text: str) -> None:
    """It names the file, and ends in no traceback."""
    with pytest.raises(DataError, match=r"^deep\.json"):
        from_json(text, "deep.json")


def test_what_can_be_read_can_be_written() -> None:
    """A run that was taken in can always be given back."""
    run = from_json(spelled('{"a":' * 497 + "1" + "}" * 497, "metadata"), "deep.json")

    assert run == from_json(to_json(run), "again.json")


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        (r"\ud800", "?"),
        (r"\ud83d\ude00", "😀"),
        (r"\ud83d\ud83d\ude00", "?😀"),
        (r"\\ud800", r"\ud800"),
        (r"\\\ud800", r"\?"),
    ],
)
def test_half_a_pair_of_surrogates_is_read_as_a_question_mark(stored: str, read: str) -> None:
    """No file and no terminal takes it; all else in a text stays as it is."""
    assert read == from_json(spelled(f'"{stored}"', "stmt"), "file").cases[0].stmt


# Whole files


@pytest.mark.parametrize("version", [0, 2, "1", True, [1], None])
def test_another_schema_version_is_refused(version: Any) -> None:
    """Before anything else of the file is looked at."""
    with pytest.raises(ValidationError, match="1, the only supported version") as caught:
        from_json(json.dumps({"schema_version": version}), "old.json")

    assert ["$.schema_version"] == [problem.path for problem in caught.value.problems]
    assert "measure again" in caught.value.remedy


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "null", "{}"])
def test_what_is_no_run_is_refused(text: str) -> None:
    """Whatever JSON it is."""
    with pytest.raises(ValidationError, match=r"^other\.json: \$\n"):
        from_json(text, "other.json")


@pytest.mark.parametrize("name", ["bomb.json", "bomb.json.gz"])
@pytest.mark.faults
def test_a_file_that_holds_too_much_is_refused(tmp_path: Path, name: str) -> None:
    """What is unpacked counts."""
    path = tmp_path / name
    data = b" " * (3 << 20) + to_json(RUN).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)

    with pytest.raises(DataError, match="a file of at most 2 MiB, unpacked"):
        read_json(path, largest_mib=2)
    assert RUN == read_json(path, largest_mib=4)


# What cannot be stored


def lost() -> Details:
    """As a database that has lost the details of a case."""
    raise DataError("it is gone")


def test_a_run_is_kept_where_somebody_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all details that can still be read; with temporary files, or nowhere, which is said."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    there, gone = RUN.cases
    known = there.without_details(lambda: there.outcome.details)
    path = keep(make_run(known, gone.without_details(lost)))
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/none")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    temporary = keep(RUN)
    monkeypatch.setattr("tempfile.tempdir", "/proc/none")

    assert path is not None
    assert tmp_path / "data" / "instruction-counts" == path.parent
    assert (there, gone.with_details(Details())) == read_json(path).cases
    assert temporary is not None
    assert tmp_path == temporary.parent
    assert keep(RUN) is None
