"""Shards that are merged are the run that one job would have measured; others are refused."""

import functools
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.outcomes import Machine
from instruction_counts.domain.records import ChangedFiles, Record, Run
from instruction_counts.domain.shards import Shard
from instruction_counts.session.merging import merge
from instruction_counts.storage.json_files import read_json
from tests.builders import counted, to_json
from tests.fakes import FINGERPRINT, FakeEngine, failed, make_case
from tests.session.fakes import fake_engines, runner_of

CASES = [make_case("case", str(number)) for number in range(12)]
BUILDS = ("base", "new")
OTHERS = dict.fromkeys(BUILDS, attrs.evolve(FINGERPRINT, cpu="Other", torch="1.0"))


def measured(shard: Shard | None = None, done: Run | None = None) -> Run:
    """A run of all cases on two builds, or of a shard of them; one case fails."""
    script = {case.label: [counted(100 + at)] for at, case in enumerate(CASES)}
    script[CASES[7].label] = [failed()]
    runner = runner_of(*BUILDS)
    cases = [case for case in CASES if shard is None or shard.keeps(case.key)]
    part = None if shard is None else shard.of(CASES, "counts")
    with fake_engines({name: FakeEngine(script) for name in BUILDS}):
        run = runner.run(runner.orders(cases), done=done, shard=part).run
    cases = (
        attrs.evolve(record, outcome=attrs.evolve(record.outcome, duration_s=0))
        for record in run.cases
    )
    return attrs.evolve(run, cases=tuple(cases), started_at="2026-01-02T03:04:05+00:00")


def named(*runs: Run) -> list[tuple[str, Run]]:
    """The runs as if ``a.json``, ``b.json`` and so on held them."""
    return [(f"{chr(ord('a') + place)}.json", run) for place, run in enumerate(runs)]


def test_merged_shards_equal_one_run_of_everything(tmp_path: Path) -> None:
    """In whatever order they are named: failures, builds, costs and the order of cases included."""
    files = []
    for number in (3, 1, 4, 2):
        path = tmp_path / f"{number}.json"
        path.write_text(to_json(measured(Shard(number, 4))))
        files.append(read_json(path))

    assert measured() == merge(named(*files))
    assert all(0 < len(run.cases) < 2 * len(CASES) for run in files)


def test_what_belongs_to_the_whole_run_is_kept() -> None:
    """The first start; what only some shards know; changed files of all of them."""
    first, second = shards_of_two()
    early = "2026-01-01T00:00:00+00:00"
    known = attrs.evolve(FINGERPRINT, caches="held")
    second = attrs.evolve(
        second,
        started_at=early,
        machine=Machine(2, 3),
        builds=dict.fromkeys(BUILDS, known),
        changed_files={"new": ChangedFiles(3, ("a",))},
        package_folders={"base": "/z", "new": "/b"},
    )
    first = attrs.evolve(
        first, changed_files={"new": ChangedFiles(1, ("b",))}, package_folders={"base": "/a"}
    )
    whole = merge(named(first, second))

    assert (early, Machine(2, 3)) == (whole.started_at, whole.machine)
    assert dict.fromkeys(BUILDS, known) == whole.builds
    assert {"new": ChangedFiles(3, ("a", "b"))} == whole.changed_files
    assert {"base": "/a", "new": "/b"} == whole.package_folders
    assert whole.shard is None


@functools.cache
def shards_of_two() -> tuple[Run, Run]:
    """Both halves of a run."""
    return measured(Shard(1, 2)), measured(Shard(2, 2))


def part_of(run: Run, **fields: object) -> Run:
    """The run as another part."""
    return attrs.evolve(run, shard=attrs.evolve(run.shard, **fields))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, _: [a], r"no file contains shard 2/2\n.*too, or .* run --shard 2/2"),
        (lambda a, _: [part_of(a, total=99)], "no file contains shard 2/99 or .* or 11/99 or …"),
        (lambda a, b: [part_of(a, cases=2**62), part_of(b, cases=2**62)], "not the whole"),
        (lambda a, b: [a, b, a], "a.json and c.json are both shard 1/2"),
        (lambda a, b: [a, attrs.evolve(b, shard=None)], "b.json is not a shard"),
        (
            lambda a, b: [a, part_of(b, digest="x")],
            "a.json and b.json are not from one run; .*\n  the cases, their",
        ),
        (lambda a, b: [a, part_of(b, total=3)], "1/2 of 12 cases → 2/3 of 12"),
        (lambda a, b: [a, part_of(b, settings="times")], "measured: counts → times"),
        (lambda a, b: [a, attrs.evolve(b, builds=OTHERS)], "base: CPU A Processor → Other"),
        (lambda a, b: [a, attrs.evolve(b, builds=OTHERS)], "base: torch 2.13.0.cpu → 1.0"),
        (lambda a, b: [a, attrs.evolve(b, tool_version="9")], "version .* → 9"),
        (lambda a, b: [a, attrs.evolve(b, builds={})], "builds base, new → \n"),
    ],
)
def test_what_does_not_fit_is_refused(
    change: Callable[[Run, Run], list[Run]], message: str
) -> None:
    """With the names of the files, what differs, and what can be done."""
    with pytest.raises(UsageError, match=message):
        merge(named(*change(*shards_of_two())))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, _: a[1:], r"a.json contains \d+ results, and not the \d+ of shard 1/2\n"),
        (lambda a, _: a[2:], "run --shard 1/2 --resume a.json --output a.json"),
        (lambda a, _: a[:2] + a[:-2], "a.json contains"),
        (lambda a, b: b[:2] + a[2:], "a.json, b.json: together they are not the whole"),
    ],
)
def test_a_shard_that_lacks_cases_or_was_edited_is_refused(
    change: Callable[..., tuple[Record, ...]], message: str
) -> None:
    """What was interrupted can be resumed."""
    first, second = shards_of_two()
    held = change(first.cases, second.cases)
    with pytest.raises(DataError, match=message):
        merge(named(attrs.evolve(first, cases=held), second))


def test_a_shard_without_cases_has_no_file_and_is_not_missed() -> None:
    """Its job measured nothing; the others have everything."""
    one = Shard(1, 2, dict.fromkeys((case.key for case in CASES), 1))

    assert measured() == merge(named(measured(one)))


def test_an_interrupted_shard_is_resumed_as_the_same_shard_only() -> None:
    """Else its file would hold cases of others, and could not be merged."""
    first, second = shards_of_two()
    rest = attrs.evolve(first, cases=first.cases[:3])

    assert measured() == merge(named(measured(Shard(1, 2), done=rest), second))
    for shard, done in [(Shard(2, 2), rest), (None, rest), (Shard(1, 2), measured())]:
        with pytest.raises(DataError, match="--resume: the file was measured with"):
            measured(shard, done)
