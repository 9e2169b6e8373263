"""Bytes of a database that were overwritten: what cannot be read is an error, never a new case."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import attrs
import pytest

from instruction_counts import cli
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.outcomes import Output, TensorValue
from instruction_counts.storage.store import Store
from tests.fakes import OK, failed, make_record, make_run

pytestmark = pytest.mark.faults

_PAGE = 4096
_OUTPUT = Output("d1", (TensorValue("z", (2, 3), "float32", "d2", 1, "AAAA"),), repeatable=False)
RUN = make_run(
    *[make_record("ok", str(number), stmt=f"x + {'y' * 900}{number}") for number in range(20)],
    *[make_record("failed", str(number), outcome=failed()) for number in range(5)],
    make_record("computed", outcome=attrs.evolve(OK, output=_OUTPUT)),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database with a run."""
    path = tmp_path_factory.mktemp("whole") / "runs.db"
    with Store.open(path) as store:
        store.import_run(RUN)
    return path.read_bytes()


def changed_at(content: bytes, place: int, by: bytes) -> bytes:
    """The same with other bytes at a place."""
    return content[:place] + by + content[place + len(by) :]


def is_noticed(path: Path) -> bool:
    """Whether reading the run is an error; otherwise it has to be as it was stored."""
    remedy = None
    try:
        with Store.open(path) as store:
            found = store.load(1)
    except UsageError as error:
        remedy = error.remedy
    if remedy is not None:
        assert remedy
        return True
    assert set(RUN.cases) == set(found.cases)
    assert RUN.builds == found.builds
    return False


@pytest.mark.parametrize("garbage", [bytes(_PAGE), b"\xa5" * _PAGE, None])
def test_a_page_that_was_overwritten_is_noticed_or_not_needed(
    whole: bytes, garbage: bytes | None, tmp_path: Path
) -> None:
    """Each in turn, with zeros, with one byte, and with what another page holds."""
    noticed = 0
    pages = range(1, len(whole) // _PAGE)
    for page in pages:
        other = _PAGE * (page % (len(pages) - 1) + 1)
        by = whole[other : other + _PAGE] if garbage is None else garbage
        path = tmp_path / f"{page}.db"
        path.write_bytes(changed_at(whole, _PAGE * page, by))
        noticed += is_noticed(path)

    assert noticed > len(pages) / 3


@pytest.mark.parametrize("seed", range(60))
def test_random_bytes_change_no_result(whole: bytes, seed: int, tmp_path: Path) -> None:
    """Also where SQLite reads on: counts, names and code are what they were, or it is an error."""
    dice = random.Random(seed)  # noqa: S311 - it is no secret
    path = tmp_path / "runs.db"
    place = dice.randrange(_PAGE, len(whole) - 40)
    path.write_bytes(changed_at(whole, place, dice.randbytes(dice.choice((1, 8, 40)))))

    is_noticed(path)


def damaged(whole: bytes, path: Path, text: bytes = b"x + " + b"y" * 900 + b"7") -> Path:
    """A database in which a byte of a statement is another one, which SQLite cannot notice."""
    assert 1 == whole.count(text)
    path.write_bytes(changed_at(whole, whole.index(text) + 100, b"z"))
    return path


def test_an_error_names_the_run_and_the_case(whole: bytes, tmp_path: Path) -> None:
    """And says how to learn what else is damaged."""
    with (
        Store.open(damaged(whole, tmp_path / "runs.db")) as store,
        pytest.raises(DataError, match="run 1 cannot be read: ok / 7") as caught,
    ):
        store.load(1)

    assert "runs check" == caught.value.command


def test_a_row_that_is_gone_is_an_error(whole: bytes, tmp_path: Path) -> None:
    """Its case would be a new one in comparisons."""
    path = tmp_path / "runs.db"
    path.write_bytes(whole)
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM outcomes WHERE id = 3")
    connection.commit()
    connection.close()
    with Store.open(path) as store, pytest.raises(DataError, match="of its 26 cases 25 are found"):
        store.load(1)


@pytest.mark.parametrize("table", ["windows", "times", "function_costs", "outputs", "failures"])
def test_what_belongs_to_an_outcome_cannot_disappear(
    whole: bytes, tmp_path: Path, table: str
) -> None:
    """A case without windows, or a failure without a reason, is something else."""
    path = tmp_path / "runs.db"
    path.write_bytes(whole)
    connection = sqlite3.connect(path)
    connection.execute(f"DELETE FROM {table}")  # noqa: S608 - one of the above
    connection.commit()
    connection.close()
    with Store.open(path) as store, pytest.raises(DataError, match="it is not what was stored"):
        store.load(1)


def test_a_comparison_with_a_damaged_run_is_an_error(
    whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It calls no case new."""
    path = tmp_path / "runs.db"
    path.write_bytes(whole)
    with Store.open(path) as store:
        store.import_run(RUN)
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM outcomes WHERE id = 3")
    connection.commit()
    connection.close()

    assert 1 == cli.main(["compare", "1", "2", "--db", str(path)])
    assert "of its 26 cases 25 are found" in capsys.readouterr().err


def test_a_check_of_what_is_whole_finds_nothing(
    whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says how much that is."""
    path = tmp_path / "runs.db"
    path.write_bytes(whole)

    assert 0 == cli.main(["runs", "check", "--db", str(path)])
    assert "1 run with 26 cases: no problems found.\n" == capsys.readouterr().out


def test_a_check_names_each_case_that_is_damaged(
    whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Others are not mentioned."""
    path = damaged(whole, tmp_path / "runs.db")

    assert 1 == cli.main(["runs", "check", "1", "--db", str(path)])
    printed = capsys.readouterr()
    assert "run 1: ok / 7: its code is not what was stored\n" == printed.out
    assert printed.err.startswith("1 problem found. Restore a copy")


def test_a_check_reports_what_sqlite_finds(
    whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever page it is, there is no traceback."""
    path = tmp_path / "runs.db"
    codes = []
    for page in range(1, len(whole) // _PAGE, 4):
        path.write_bytes(changed_at(whole, _PAGE * page, b"\xa5" * _PAGE))
        codes.append(cli.main(["runs", "check", "--db", str(path)]))

    assert {1} == set(codes)
    assert "malformed" in capsys.readouterr().out
