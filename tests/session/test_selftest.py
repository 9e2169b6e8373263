"""Whether counts are exact: the rounds, the chosen cases, and what is told and kept of them."""

from __future__ import annotations

import functools
import io
import json
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from rich.console import Console

from core.types import AutogradMode, Case, Language, RuntimeMode
from instruction_counts.builds.hermetic import sourced_environment, work_folder
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.noise import Noise, fingerprint_hash
from instruction_counts.domain.outcomes import Instructions, Outcome, Status
from instruction_counts.report.selftest import percent, summary, table
from instruction_counts.session.selftest import (
    CaseNoise,
    _anchored,
    _arranged,
    conditions,
    floors,
    noise_of,
    representative,
)
from instruction_counts.sources.definitions import STANDARD, load
from instruction_counts.storage.noise import keep_noises, noise_file, read_noises, store_noises
from tests.fakes import FACTS, FINGERPRINT, failed, make_case, together

A, B = make_case("a"), make_case("b", stmt="x - y")
C = make_case("c", language=Language.CPP)


def counted(per_run: int, *, exact: bool = True) -> Outcome:
    """A case that was counted."""
    return Outcome(Status.OK, instructions=Instructions(per_run, exact, windows=()))


def noise(
    *repeats: int | None, layouts: tuple[int | None, ...] = (), case: Case = A, agree: bool = True
) -> CaseNoise:
    """What the rounds said of a case."""
    return CaseNoise(case, repeats, layouts, agree)


# Rounds


def test_four_things_must_not_matter() -> None:
    """Each has a round of its own, beside the first."""
    assert [
        (False, False, False),
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ] == [(one.another_directory, one.busy, bool(one.variables)) for one in conditions(0)]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_layouts_come_after_what_must_not_matter(count: int) -> None:
    """Each of them different from the one that is measured in."""
    assert [0, 0, 0, 0, *range(1, count + 1)] == [one.layout for one in conditions(count)]


def test_every_round_has_a_title_of_its_own() -> None:
    """Who waits sees how far it is."""
    titles = [one.title for one in conditions(3)]

    assert len(titles) == len(set(titles))


def place() -> tuple[str, str, str]:
    """Where the program works, where its temporary files go, and what its processes inherit."""
    return str(Path.cwd()), tempfile.gettempdir(), os.environ.get("TMPDIR", "")


ELSEWHERE = next(one for one in conditions(0) if one.another_directory)


def test_another_directory_is_one_with_a_path_of_another_length() -> None:
    """For the program and its temporary files: what is inherited of either is longer."""
    before = place()
    with _arranged(ELSEWHERE, ()):
        differ = [len(now) != len(then) for now, then in zip(place(), before, strict=True)]

    assert ([True] * 3, before) == (differ, place())


def test_the_folders_of_counted_processes_have_paths_of_one_length() -> None:
    """Wherever the program is started from: a longer one moves what lies behind it."""
    usual = work_folder()
    with _arranged(ELSEWHERE, ()):
        elsewhere = work_folder()
    for folder in (usual, elsewhere):
        folder.rmdir()

    assert len(str(usual)) == len(str(elsewhere))


def test_a_command_of_a_build_is_run_where_the_program_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may name files there."""
    (tmp_path / "env.sh").write_text("export FOUND=yes\n")
    facts = attrs.evolve(FACTS, build=Build("a", source_cmd=". ./env.sh"))
    monkeypatch.chdir(tmp_path)
    build = _anchored(facts).build
    monkeypatch.chdir("/")

    assert "yes" == sourced_environment(build)["FOUND"]


# Representative cases


@pytest.fixture(scope="module")
def standard() -> tuple[Case, ...]:
    """The standard suite."""
    return load(STANDARD)


def test_every_top_label_is_represented_in_its_languages(standard: tuple[Case, ...]) -> None:
    """Each is another part of torch."""

    def covered(cases: tuple[Case, ...]) -> set[tuple[str, Language]]:
        return {(str(case.label[0]), case.autolabels.language) for case in cases}

    assert covered(standard) == covered(representative(standard))


def test_every_mode_is_represented(standard: tuple[Case, ...]) -> None:
    """Each takes another way through torch."""
    expected = {case.autolabels for case in standard if case.num_threads == 1}

    assert expected == {case.autolabels for case in representative(standard)}


def test_there_are_about_forty(standard: tuple[Case, ...]) -> None:
    """Few enough for several rounds."""
    assert 35 <= len(representative(standard)) <= 50


def test_they_keep_the_order_of_the_suite(standard: tuple[Case, ...]) -> None:
    """No case stands twice."""
    chosen = set(representative(standard))

    assert tuple(case for case in standard if case in chosen) == representative(standard)


def test_cases_of_several_threads_are_left_out() -> None:
    """Their counts depend on the scheduler."""
    assert (A,) == representative([make_case("a", num_threads=2), A, make_case("a", stmt="z")])


def test_few_cases_represent_themselves() -> None:
    """As many as there are ways through torch."""
    scripted = make_case("a", runtime=RuntimeMode.JIT)
    backward = make_case("a", autograd=AutogradMode.FORWARD_BACKWARD)

    assert (A, scripted, backward) == representative([A, scripted, backward])


# What the rounds say


def test_rounds_are_gathered_by_case() -> None:
    """Repeats and layouts apart."""
    rounds = [{A: counted(10), B: counted(7)}, {A: counted(10), B: counted(8)}]
    layouts = [{A: counted(12), B: counted(7)}]

    assert (
        CaseNoise(A, (10, 10), (12,), windows_agree=True),
        CaseNoise(B, (7, 8), (7,), windows_agree=True),
    ) == noise_of([A, B], rounds, layouts)


def test_a_failed_round_has_no_count() -> None:
    """It has no windows either."""
    (one,) = noise_of([A], [{A: counted(10)}, {A: failed()}], [])

    assert CaseNoise(A, (10, None), (), windows_agree=False) == one


def test_windows_agree_if_they_do_in_every_round() -> None:
    """One that varies is enough to know better."""
    (one,) = noise_of([A], [{A: counted(10)}, {A: counted(10, exact=False)}], [])

    assert not one.windows_agree


@pytest.mark.parametrize(
    ("repeats", "repeated"),
    [((5, 5, 5), True), ((5, 6, 5), False), ((5, None), False), ((None, None), False)],
)
def test_a_count_repeated_if_all_rounds_agree(
    repeats: tuple[int | None, ...], repeated: bool
) -> None:
    """A round without a count agrees with none."""
    assert repeated == noise(*repeats).repeated


@pytest.mark.parametrize(
    ("repeats", "expected"),
    [((100, 100), 0.0), ((90, 100), 0.1), ((100, None, 80), 0.2), ((0, 0), 0.0), ((0, 1), 1.0)],
)
def test_noise_is_the_spread_of_what_had_to_agree(
    repeats: tuple[int | None, ...], expected: float
) -> None:
    """As a share of the largest count."""
    assert expected == pytest.approx(noise(*repeats).noise)


@pytest.mark.parametrize(
    ("layouts", "expected"), [((), 0.0), ((100, 100), 0.0), ((100, 80), 0.2), ((None, 90), 0.1)]
)
def test_the_layout_spread_is_that_over_all_layouts(
    layouts: tuple[int | None, ...], expected: float
) -> None:
    """The one that is measured in is one of them."""
    assert expected == pytest.approx(noise(100, 70, layouts=layouts).layout_spread)


# The table


def shown(*noises: CaseNoise) -> list[list[str]]:
    """The table, row by row, with its heads."""
    columns = table(noises).columns
    return [
        [str(one.header) for one in columns],
        *([str(cell) for cell in row] for row in zip(*(one.cells for one in columns), strict=True)),
    ]


def test_a_case_that_repeated_is_called_the_same() -> None:
    """With its count."""
    assert [A.title, "12,345", "same", "agree"] == shown(noise(12_345, 12_345))[1]


def test_a_case_that_did_not_repeat_shows_by_how_much() -> None:
    """As a share of its count."""
    assert [A.title, "1,000", "0.1000%", "vary"] == shown(noise(1000, 999, agree=False))[1]


@pytest.mark.parametrize("repeats", [(None, 5), (5, None), (None, None)])
def test_a_case_that_failed_in_a_round_says_so(repeats: tuple[int | None, ...]) -> None:
    """It must not look like one without noise."""
    assert "failed" in shown(noise(*repeats, agree=False))[1]


def test_layouts_have_a_column_where_there_were_some() -> None:
    """And none otherwise."""
    heads = [shown(noise(5, 5, layouts=layouts))[0] for layouts in [(), (6,)]]

    assert [[], ["layouts"]] == [head[4:] for head in heads]


def test_markup_in_a_label_is_left_alone() -> None:
    """``x[red]`` is code."""
    stream = io.StringIO()
    Console(file=stream, width=200).print(table([noise(5, 5, case=make_case("x[red]"))]))

    assert "x[red]" in stream.getvalue()


# The summary


def test_each_language_has_its_shares() -> None:
    """Those that repeat, and those whose windows agree."""
    noises = [noise(5, 5), noise(1000, 999, case=B, agree=False), noise(5, 5, case=C)]

    assert [
        ["Python: 1 of 2 repeat to the instruction", "(noise floor of the others: 0.1000%)", "1"],
        ["C++: 1 of 1 repeat to the instruction", "(noise floor of the others: 0)", "1"],
    ] == [re.split(r" (?=\()|; windows agree in ", line) for line in summary(noises)]


def test_layouts_are_summed_up_by_their_spread() -> None:
    """As many as there were, with the one that is measured in."""
    layouts = [(10_000, 10_000), (10_000, 9_999), (10_000, 9_996), (10_000, 9_900)]
    noises = [noise(10_000, 10_000, layouts=one) for one in layouts]

    assert (
        "  over 3 layouts: 25% within 0, 50% within 0.01%, 75% within 0.05%, 75% within 0.1%;"
        " worst 1.0000%"
    ) == list(summary(noises))[1]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0"), (0.5, "50.0000%"), (0.000001, "0.0001%"), (4e-8, "0.0001%"), (1e-30, "0.0001%")],
)
def test_a_spread_that_is_there_is_shown(share: float, text: str) -> None:
    """However small: nothing but 0 is none."""
    assert text == percent(share)


# What is kept


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where noise is kept."""
    return tmp_path / "folder" / "noise.json"


def stored(path: Path) -> dict[str, dict[str, float]]:
    """What is kept of the build at hand: noise and layout spread by title."""
    builds = json.loads(path.read_text())["builds"]
    cases = builds.get(fingerprint_hash(FINGERPRINT), {}).values()
    return {one["case"]: {"noise": one["noise"], "spread": one["layout_spread"]} for one in cases}


def test_noise_is_kept_by_case(path: Path) -> None:
    """With its layout spread."""
    store_noises(
        FACTS.fingerprint, floors([noise(100, 90, layouts=(80,)), noise(5, 5, case=B)]), path
    )

    assert {
        A.title: {"noise": 0.1, "spread": 0.2},
        B.title: {"noise": 0.0, "spread": 0.0},
    } == stored(path)


def test_the_larger_noise_stays(path: Path) -> None:
    """Of the same case, whichever was found first; the others are not touched."""
    store_noises(FACTS.fingerprint, floors([noise(100, 90), noise(5, 5, case=B)]), path)
    store_noises(FACTS.fingerprint, floors([noise(100, 80)]), path)
    store_noises(FACTS.fingerprint, floors([noise(100, 95)]), path)

    assert {A.title: 0.2, B.title: 0.0} == {key: one["noise"] for key, one in stored(path).items()}


def test_each_build_has_its_own(path: Path) -> None:
    """Another torch has other noise."""
    other = attrs.evolve(FACTS, fingerprint=attrs.evolve(FINGERPRINT, torch="1.13.1"))
    store_noises(FACTS.fingerprint, floors([noise(100, 90)]), path)
    store_noises(other.fingerprint, floors([noise(100, 50)]), path)

    assert 0.1 == stored(path)[A.title]["noise"]


def test_each_code_has_its_own(path: Path) -> None:
    """A case that was changed is another."""
    changed = make_case("a", stmt="x - y")
    store_noises(FACTS.fingerprint, floors([noise(100, 90), noise(100, 50, case=changed)]), path)

    assert 2 == len(json.loads(path.read_text())["builds"][fingerprint_hash(FINGERPRINT)])


@pytest.mark.parametrize("repeats", [(None, None), (5, None), (None, 5)])
def test_nothing_is_kept_of_a_case_that_failed(path: Path, repeats: tuple[int | None, ...]) -> None:
    """It is not known to have no noise."""
    store_noises(FACTS.fingerprint, floors([noise(*repeats)]), path)

    assert {} == stored(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ("\udcff", "cannot be read"),
        ("[]", "another version"),
        ('{"version": 3, "builds": {}}', "another version"),
        ('{"version": 1}', "cannot be read"),
        ('{"version": 1, "builds": []}', "cannot be read"),
        ('{"version": 1, "builds": {"b": {"c": {"case": "a", "noise": NaN}}}}', "cannot be read"),
        ('{"version": 1, "builds": {"b": {"c": {"case": "a", "noise": 1e999}}}}', "cannot be read"),
        (f'{{"version": 1, "builds": {"[" * 10_000}', "cannot be read"),
    ],
)
def test_a_damaged_file_is_named(path: Path, content: str, message: str) -> None:
    """With the remedy; it is not overwritten."""
    path.parent.mkdir()
    path.write_text(content, errors="surrogateescape")

    with pytest.raises(DataError, match=message) as caught:
        store_noises(FACTS.fingerprint, floors([noise(5, 5)]), path)

    assert f"{path}" in str(caught.value)


def test_what_is_found_at_the_same_time_is_all_kept(path: Path) -> None:
    """Neither of two programs writes over what the other one found."""
    cases = [[make_case(f"{x} {n}", stmt=f"{x} + {n}") for n in range(20)] for x in "ab"]

    def store(mine: list[Case]) -> None:
        for case in mine:
            store_noises(FINGERPRINT, floors([noise(100, 90, case=case)]), path)

    together(*(functools.partial(store, mine) for mine in cases))

    assert {case.title for mine in cases for case in mine} == set(stored(path))


def test_a_folder_that_takes_no_noise_is_named() -> None:
    """With the remedy."""
    with pytest.raises(DataError, match=r"/proc/absent/noise\.json cannot be written: ") as caught:
        store_noises(FINGERPRINT, floors([noise(5, 5)]), Path("/proc/absent/noise.json"))

    assert "Make /proc/absent writable." == caught.value.remedy


def test_noise_that_cannot_be_kept_is_told_and_nothing_ends() -> None:
    """There are results to show."""
    notes: list[str] = []
    keep_noises(FINGERPRINT, floors([noise(5, 5)]), notes.append, Path("/proc/absent/noise.json"))

    (note,) = notes
    assert note.startswith("What was found of noise is not kept: /proc/absent/noise.json cannot be")


def test_noise_that_is_kept_is_not_talked_about(path: Path) -> None:
    """It is what everybody expects."""
    notes: list[str] = []
    keep_noises(FINGERPRINT, floors([noise(5, 5)]), notes.append, path)

    assert ([], [A.title]) == (notes, list(stored(path)))


def test_what_is_kept_can_be_read(path: Path) -> None:
    """With the number of layouts that it was seen in."""
    found = floors([noise(100, 90, layouts=(80, 85))])
    store_noises(FACTS.fingerprint, found, path)

    assert {fingerprint_hash(FINGERPRINT): found} == read_noises(path)


def test_of_an_older_file_the_layouts_are_not_known(path: Path) -> None:
    """Version 1 did not tell how many there were."""
    path.parent.mkdir()
    case = {"case": "a", "noise": 0.1, "layout_spread": 0.2}
    path.write_text(json.dumps({"version": 1, "builds": {"b": {"c": case}}}))

    assert {"b": {"c": Noise("a", 0.1, 0.2, 0)}} == read_noises(path)


def test_the_file_belongs_to_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has builds of their own."""
    monkeypatch.delenv("XDG_DATA_HOME")
    assert Path.home() in noise_file().parents


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda one: one, True),
        (lambda one: attrs.evolve(one, torch="other"), False),
        (lambda one: attrs.evolve(one, allocator="other"), False),
        (lambda one: attrs.evolve(one, aslr_off=False), False),
    ],
)
def test_a_fingerprint_has_a_short_name(change: Callable[..., object], same: bool) -> None:
    """Another for all that may change a count."""
    changed = change(FINGERPRINT)

    assert same == (fingerprint_hash(FINGERPRINT) == fingerprint_hash(changed))  # type: ignore[arg-type]
