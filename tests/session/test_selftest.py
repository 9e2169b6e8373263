"""Whether counts are exact: the rounds, the chosen cases, and what is kept of them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import attrs
import pytest

from core.types import AutogradMode, Case, Language, RuntimeMode
from instruction_counts.builds.hermetic import sourced_environment
from instruction_counts.domain.build import Build
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Instructions, Outcome, Status
from instruction_counts.session.selftest import (
    CaseNoise,
    Round,
    _anchored,
    _arranged,
    conditions,
    floors,
    noise_of,
    representative,
    run_of,
)
from instruction_counts.sources.definitions import STANDARD, load
from instruction_counts.system.folders import WorkFolder
from tests.fakes import FACTS, FINGERPRINT, failed, make_case

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
    ] == [
        (condition.another_directory, condition.busy, bool(condition.variables))
        for condition in conditions(0)
    ]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_layouts_come_after_what_must_not_matter(count: int) -> None:
    """Each of them different from the one that is measured in."""
    assert [0, 0, 0, 0, *range(1, count + 1)] == [
        condition.layout for condition in conditions(count)
    ]


def test_every_round_has_a_title_of_its_own() -> None:
    """Who waits sees how far it is."""
    titles = [condition.title for condition in conditions(3)]

    assert len(titles) == len(set(titles))


def place() -> tuple[str, str, str]:
    """Where the program works, where its temporary files go, and what its processes inherit."""
    return str(Path.cwd()), tempfile.gettempdir(), os.environ.get("TMPDIR", "")


ELSEWHERE = next(condition for condition in conditions(0) if condition.another_directory)


def test_another_directory_is_one_with_a_path_of_another_length() -> None:
    """For the program and its temporary files: what is inherited of either is longer."""
    before = place()
    with _arranged(ELSEWHERE, ()):
        differ = [len(now) != len(then) for now, then in zip(place(), before, strict=True)]

    assert [True] * 3 == differ
    assert before == place()


def test_the_folders_of_counted_processes_have_paths_of_one_length() -> None:
    """Wherever the program is started from: a longer one moves what lies behind it."""
    with WorkFolder() as usual, _arranged(ELSEWHERE, ()), WorkFolder() as elsewhere:
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
    (noise,) = noise_of([A], [{A: counted(10)}, {A: failed()}], [])

    assert CaseNoise(A, (10, None), (), windows_agree=False) == noise


def test_windows_agree_if_they_do_in_every_round() -> None:
    """One that varies is enough to know better."""
    (noise,) = noise_of([A], [{A: counted(10)}, {A: counted(10, exact=False)}], [])

    assert not noise.windows_agree


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


# What is kept


def test_noise_is_kept_by_case() -> None:
    """With its layout spread, and the number of layouts that it was seen in."""
    found = floors([noise(100, 90, layouts=(80,)), noise(5, 5, case=B)])

    assert {A.key: Noise(0.1, 0.2, 1), B.key: Noise()} == found


@pytest.mark.parametrize("repeats", [(None, None), (5, None), (None, 5)])
def test_nothing_is_kept_of_a_case_that_failed(repeats: tuple[int | None, ...]) -> None:
    """It is not known to have no noise."""
    assert {} == floors([noise(*repeats)])


def test_the_first_round_is_a_run_that_knows_its_noise() -> None:
    """A case whose noise is not known has none with it."""
    first = Round({A: counted(100), B: failed()}, FINGERPRINT)
    run = run_of("default", first, floors([noise(100, 90), noise(None, 5, case=B)]), "/packages")

    assert {"default": FINGERPRINT} == run.builds
    assert {"default": "/packages"} == run.package_folders
    assert [Noise(0.1), None] == [record.noise for record in run.cases]
