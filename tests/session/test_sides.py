"""What BASE and NEW can be, and stored runs whose database is opened late, or never."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.session.sides import (
    LazyStore,
    find_whole_run,
    keys_of,
    named_sides,
    read_side,
    read_sides,
    stored_number,
)
from instruction_counts.storage.store import Store
from instruction_counts.system.program import DATABASE_VARIABLE
from tests.builders import file_of
from tests.fakes import BUILD, make_record, make_run

ONE = make_run(make_record("a"))
TWO = make_run(
    *(
        make_record(label, build=build)
        for label, build in (("a", "old"), ("b", "old"), ("a", "new"))
    ),
    builds=("old", "new"),
)


@pytest.fixture
def none(tmp_path: Path) -> Iterator[LazyStore]:
    """No store, of which nobody who names a file wants to hear; it is not made."""
    with LazyStore(tmp_path / "none.db") as runs:
        yield runs
    assert not (tmp_path / "none.db").exists()


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[LazyStore]:
    """Three runs, of which two have tags."""
    with LazyStore(tmp_path / "runs.db") as runs:
        for run, tag in ((TWO, ""), (TWO, "tag"), (ONE, "nightly")):
            number = runs.opened().import_run(run)
            if tag:
                runs.opened().tag(number, tag)
        yield runs


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with one run of one build."""
    return Path(file_of(ONE, tmp_path / "before.json"))


def interpreter_in(environment: Path) -> Path:
    """A file in the place of the interpreter of an environment."""
    python = environment / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    return python


@pytest.mark.parametrize(
    ("name", "after", "title"),
    [
        ("before.json", "", "before.json"),
        ("before.json", ":default", "before.json:default"),
        ("a:b.json", "", "a:b.json"),
    ],
)
def test_a_file_is_a_side(name: str, after: str, title: str, file: Path, none: LazyStore) -> None:
    """Called by its name, which is tried with and without what follows the colon."""
    side = read_side(f"{file.rename(file.with_name(name))}{after}", none)

    assert (title, 1, None) == (side.title, len(side.records), side.run_id)


@pytest.mark.parametrize(
    ("text", "title", "labels", "number"),
    [
        ("nightly", "nightly", "a", 3),
        ("1:old", "run 1, old", "ab", 1),
        ("1:new", "run 1, new", "a", 1),
        ("tag:new", "tag:new", "a", 2),
        ("last", "run 3", "a", 3),
    ],
)
def test_a_stored_run_is_a_side(
    text: str, title: str, labels: str, number: int, stored: LazyStore
) -> None:
    """By its number or tag; a build is named after a colon, where it has several."""
    side = read_side(text, stored)

    assert (title, number) == (side.title, side.run_id)
    assert [(label,) for label in labels] == [key.label for key in side.records]


def test_a_build_may_be_called_like_a_branch(stored: LazyStore) -> None:
    """A file is what stands before the colon, if one is meant."""
    run = stored.opened().import_run(make_run(builds=("feature/x", "y", "z")))

    assert f"run {run}, feature/x" == read_side(f"{run}:feature/x", stored).title
    assert [f"run {run}, y"] == [each.title for each in read_sides([f"{run}:y"], stored)]


def test_a_single_run_of_two_builds_is_two_sides(file: Path, stored: LazyStore) -> None:
    """Of any other, one build has to be named."""
    (old, new), (one,) = (read_sides([text], stored) for text in ("1", "1:old"))
    file_of(make_run(builds=("x", "y", "z")), file)

    assert [("run 1, old", 2), ("run 1, new", 1)] == [
        (each.title, len(each.records)) for each in (old, new)
    ]
    assert "run 1, old" == one.title
    with pytest.raises(UsageError, match="several builds: x, y, z"):
        read_sides([str(file)], stored)


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("1", "several builds: old, new", "Name one of them: 1:old"),
        ("1:other", "no build of that name", "It has: old, new"),
        ("1:", "no build of that name", "It has: old, new"),
        *(
            (text, "neither a JSON file nor a stored run", "Stored runs and their tags:")
            for text in ("nothing", "9", "a:b", ":", "")
        ),
    ],
)
def test_a_run_that_is_not_there_is_named(
    text: str, message: str, remedy: str, stored: LazyStore
) -> None:
    """With where to look, or what could be meant."""
    with pytest.raises(UsageError, match=message) as caught:
        read_side(text, stored)

    assert remedy == caught.value.remedy


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gone.json", "there is no file gone.json\n"),
        ("gone.json.gz:new", "there is no file gone.json.gz\n"),
        ("results/gone", "there is no file results/gone\n"),
        ("nightly", ".*no such database"),
        # It is there, and to say that it is not would be wrong.
        ("/tmp", "/tmp is a folder without bin/python, and no file"),  # noqa: S108 - not used
        ("/dev/null", "/dev/null is a device or a pipe, and no file"),
    ],
)
def test_what_is_not_there_is_named_without_a_store(
    text: str, message: str, none: LazyStore
) -> None:
    """A file by its name; a run by the database that was named for it."""
    with pytest.raises(UsageError, match=f"^{message}"):
        read_side(text, none)


def test_a_run_is_not_there_where_no_option_names_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the default is not made for it; nor where it is empty."""
    monkeypatch.setenv(DATABASE_VARIABLE, str(tmp_path / "runs.db"))
    for is_made in (False, True):
        if is_made:
            Store(tmp_path / "runs.db").close()
        with LazyStore(None) as runs:
            with pytest.raises(UsageError, match="no last run: none is stored"):
                read_side("last", runs)
            with pytest.raises(UsageError, match='"a" is neither a JSON file nor'):
                read_side("a", runs)
        assert is_made is (tmp_path / "runs.db").exists()


def test_what_is_here_needs_no_database(none: LazyStore, file: Path, here: Path) -> None:
    """No run of one that is yet to be made can have its name, too."""
    file.rename("nightly")
    python = interpreter_in(here / "new")
    side, build = named_sides(["nightly", "new"], [], none)

    assert ("nightly", str(python)) == (side.title, build.python)


def test_a_name_that_a_run_has_and_a_file_here_is_refused(
    stored: LazyStore, file: Path, here: Path
) -> None:
    """Whichever it were, the other may be meant; as a path it can be the file alone."""
    file.rename("nightly")
    interpreter_in(here / "tag")

    with pytest.raises(UsageError, match="nightly is in the working directory, and names run 3"):
        read_side("nightly", stored)
    with pytest.raises(UsageError, match="tag is in the working directory, and names run 2"):
        named_sides(["tag", "3"], [], stored)
    assert "nightly" == read_side("./nightly", stored).title


def test_a_build_has_the_cases_of_the_definitions(file: Path, none: LazyStore) -> None:
    """A side that was measured has what it holds, whatever they say."""
    file.with_name("cases.py").write_text(
        "from core.api import GroupedStmts\nBENCHMARKS = {('b',): GroupedStmts('x', None)}\n"
    )
    sides = read_side(str(file), none), BUILD

    assert {("a",), ("b",)} == {key.label for key in keys_of(sides, f"{file.parent}/cases.py")}


def test_a_whole_run_is_no_build_of_one(file: Path, stored: LazyStore) -> None:
    """Nobody deletes a run who names a part of it; a file is not stored."""
    assert [2, 1, 3] == [stored_number(text, stored) for text in ("tag", "1", "last")]
    assert file == find_whole_run(str(file), stored)
    with pytest.raises(UsageError, match="1:old is one build of a run\\n  Name the run: 1"):
        stored_number("1:old", stored)
    with pytest.raises(UsageError, match="is a file, and not a stored run"):
        stored_number(str(file), stored)
