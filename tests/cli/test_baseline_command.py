"""``baseline``, called as the console script calls it, on files; and the examples for CI."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from instruction_counts.domain.outcomes import Failure, FailureKind, Outcome, Status
from instruction_counts.gate.baseline import Head, read_baseline
from tests.builders import counted, side
from tests.cli.program import Program
from tests.cli.workplace import Workplace
from tests.fakes import failed

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
LIMITS = Workplace.LIMITS
HEAD = Head.of(side())
BASE = {"tight": 1000, "loose": 1000, "same": 1000}


@pytest.fixture
def place(tmp_path: Path, program: Program) -> Workplace:
    """With an accepted baseline."""
    made = Workplace(tmp_path, program)
    made.accept(BASE)
    return made


# Accepting


def test_a_baseline_is_made_and_updated(place: Workplace) -> None:
    """It shows what it changes, and why."""
    shown = place.accept({**BASE, "tight": 1500})
    counts = {
        case.key.label[1]: case.instructions
        for case in read_baseline(place.baseline).cases.values()
    }

    assert {**BASE, "tight": 1500} == counts
    assert "1,000  1,500    +500  +50.00%" in shown
    assert "why  worse; exact difference" in shown


def test_only_what_is_selected_is_accepted(place: Workplace) -> None:
    """The rest of the file stays, to the letter."""
    before = place.baseline.read_text().splitlines()
    place.accept(dict.fromkeys(BASE, 2000), "--only", "*/tight")
    changed = [
        line
        for line, other in zip(before, place.baseline.read_text().splitlines(), strict=True)
        if line != other
    ]

    assert ['"tight"'] == [line.split(", ")[1].removesuffix("]") for line in changed]


def test_a_dry_run_writes_nothing(place: Workplace) -> None:
    """And shows the same."""
    before = place.baseline.read_text()
    shown = place.accept({**BASE, "tight": 1500}, "--dry-run")

    assert before == place.baseline.read_text()
    assert "1,000  1,500" in shown
    assert f"Nothing was written: {place.baseline}" in shown


def test_a_run_with_failed_cases_is_not_accepted(place: Workplace) -> None:
    """It is an error, with its remedy."""
    file = place.run_file({"tight": failed()})

    assert 1 == place.call("accept", place.baseline, file)
    assert "exclude them with --only" in place.shown


def test_cases_that_the_run_lacks_are_reported(place: Workplace) -> None:
    """They stay, unless they are to be dropped."""
    stays = place.accept({"tight": 1000})
    dropped = place.accept({"tight": 1000}, "--prune")

    assert "Not in the run, and kept (--prune drops them): 2 cases" in stays
    assert "Not in the run, and dropped: 2 cases" in dropped
    assert 1 == len(read_baseline(place.baseline).cases)


def test_cases_that_were_not_counted_are_reported_and_stay(place: Workplace) -> None:
    """Nothing says that they are gone."""
    shown = place.accept({**BASE, "tight": Outcome(Status.SKIPPED)}, "--prune")

    assert "Not counted in the run, and kept: 1 case" in shown
    assert 3 == len(read_baseline(place.baseline).cases)


# Checking


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"tight": 500}, 0),
        ({"tight": 1050}, 0),
        ({"tight": 1500}, 3),
        ({"loose": 1500}, 0),
        ({"added": 1}, 0),
        ({"tight": Outcome(Status.SKIPPED)}, 0),
        ({"tight": failed()}, 4),
        ({"tight": failed(), "same": 1500}, 3),
    ],
)
def test_one_exit_code_says_all(
    changes: dict[str, int | Outcome], code: int, place: Workplace
) -> None:
    """Wins pass, soft limits are reported, hard ones fail, and so do cases that fail."""
    assert code == place.check({**BASE, **changes}, place.limits)


def test_without_limits_whatever_got_worse_fails(place: Workplace) -> None:
    """As in `compare`."""
    assert 3 == place.check({**BASE, "loose": 1010})


@pytest.mark.parametrize(("option", "code"), [("never", 0), ("regression", 0), ("any", 3)])
def test_it_can_be_chosen_what_fails(option: str, code: int, place: Workplace) -> None:
    """Limits, whatever got worse, or nothing."""
    assert code == place.check({**BASE, "loose": 1500}, place.limits, "--fail-on", option)


@pytest.mark.parametrize(
    ("facts", "args", "code"),
    [
        ({"torch": "2.14.0"}, [], 0),
        ({"libc": "glibc-2.41"}, [], 1),
        ({"libc": "glibc-2.41"}, ["--allow-different"], 0),
        ({"allocator": "steady"}, ["--allow-different"], 1),
    ],
)
def test_other_conditions_are_refused(
    facts: dict[str, str], args: list[str], code: int, place: Workplace
) -> None:
    """Some can be allowed."""
    assert code == place.check(BASE, *args, **facts)


def test_each_condition_that_differs_is_named(place: Workplace) -> None:
    """With both of its values."""
    place.check(BASE, libc="glibc-2.41", python="3.13.1")

    assert "C library: glibc-2.36 in the baseline, glibc-2.41 now" in place.shown
    assert "Python: 3.11.7 in the baseline, 3.13.1 now" in place.shown


def test_cases_without_a_baseline_are_shown(place: Workplace) -> None:
    """They are not silently unguarded."""
    place.check({**BASE, "added": 1})

    assert "NOT GUARDED" in place.shown
    assert "1 not guarded" in place.shown


def test_a_part_of_a_baseline_can_be_checked(place: Workplace) -> None:
    """What is not selected is not missing."""
    assert 0 == place.check({**BASE, "tight": 9000}, "--only", "*/same")
    assert "PASSES: 1 case\n" in place.shown


def test_what_failed_fails_until_it_is_within_its_limit(place: Workplace) -> None:
    """A check hands that on to the next one."""
    state = place.folder / "check.json"
    codes = []
    for count in (1100, 1104, 1106, 1101, 1100, 1101):
        where = [f"--previous={state}", f"--output={state}"]
        changed = {**BASE, "tight": counted(count, exact=False, spread=5)}
        codes.append(place.check(changed, place.limits, *where))

    assert [0, 0, 3, 3, 0, 0] == codes


def test_a_crash_in_between_launders_nothing(place: Workplace) -> None:
    """What failed before it fails after it."""
    state = place.folder / "check.json"
    where = [f"--previous={state}", f"--output={state}"]
    above, near = (counted(count, exact=False, spread=5) for count in (1106, 1101))

    assert [3, 4, 3] == [
        place.check({**BASE, "tight": counts}, place.limits, *where)
        for counts in (above, failed(), near)
    ]


def test_a_skipped_case_is_reported_as_not_guarded(place: Workplace) -> None:
    """With the reason, everywhere; there were too few cores, say."""
    refused = Failure(FailureKind.REFUSED, "needs 64 contiguous cores, and this run has 2")
    files = [place.folder / name for name in ("c.md", "junit.xml")]
    options = [f"--output={file}" for file in files]
    place.check({**BASE, "tight": Outcome(Status.SKIPPED, failure=refused)}, *options)
    shown = [place.shown, *(path.read_text() for path in files)]

    assert "PASSES: 3 cases; 1 not guarded" in place.shown
    assert all("skipped: needs 64 contiguous cores" in text for text in shown)


def test_a_check_is_written_for_people_and_for_machines(place: Workplace) -> None:
    """Markdown, JSON and JUnit XML."""
    files = [place.folder / name for name in ("c.md", "c.json", "junit.xml")]
    options = [f"--output={file}" for file in files]
    place.check({**BASE, "tight": 1500}, place.limits, *options)
    suite = ET.fromstring(files[2].read_text())[0]  # noqa: S314 - it was written here

    assert files[0].read_text().startswith("**FAILS: 1 of 3 cases")
    assert json.loads(files[1].read_text())["fails"] is True
    assert "1" == suite.get("failures")


LONG = "x" * 250
"""A name that no file system takes, with what is written beside the file for a moment."""


@pytest.mark.parametrize(
    "option", [f"--output={LONG}.md", "--output=c.xlsx", "--output=no/c.md", "--output=no/j.xml"]
)
def test_a_file_that_cannot_be_written_is_refused_first(option: str, place: Workplace) -> None:
    """Before anything is measured."""
    assert 1 == place.check(BASE, option)


def test_a_baseline_that_cannot_be_written_is_an_error(place: Workplace) -> None:
    """As everywhere."""
    assert 1 == place.call("accept", place.folder / f"{LONG}.json", place.run_file(BASE))
    assert "cannot be written" in place.shown


def test_counts_cannot_be_left_out_of_a_check(place: Workplace) -> None:
    """Nothing would be left to check, and all would pass."""
    assert 1 == place.check(BASE, "--no-counts")
    assert "--no-counts leaves nothing to check" in place.shown


def test_a_check_of_times_alone_does_not_pass(place: Workplace) -> None:
    """A run without counts says nothing of what a baseline holds."""
    assert 1 == place.check(dict.fromkeys(BASE, Outcome(Status.OK)))
    assert "nothing was compared" in place.shown


def test_a_run_and_a_build_are_one_too_many(place: Workplace) -> None:
    """It is not clear what is to be checked."""
    assert 1 == place.check(BASE, "--build", f"new={sys.executable}")


# Showing and linting


def test_a_baseline_is_shown(place: Workplace) -> None:
    """Its build and its cases."""
    assert 0 == place.call("show", place.baseline, "--only", "*/tight")
    assert ["libc", "glibc-2.36"] in [line.split() for line in place.shown.splitlines()]
    assert place.shown.endswith("1 case\n")


def test_doubts_have_an_exit_code(place: Workplace) -> None:
    """A pattern that matches nothing is one."""
    path = place.folder / "limits.yaml"
    path.write_text("limits: [{only: Nix, hard: 1%}]\ndefault: {hard: 0.5%}")

    assert 1 == place.call("lint", place.baseline, f"--gate={path}")
    assert "a pattern matches no case: 1\n  Nix" in place.shown


# Comparing


@pytest.mark.parametrize(("args", "code"), [([], 3), (["--gate"], 0), (["--fail-on", "never"], 0)])
def test_compare_takes_limits_too(args: list[str], code: int, place: Workplace) -> None:
    """And JUnit files."""
    base = Path(place.run_file(BASE)).rename(place.folder / "base.json")
    new = place.run_file({**BASE, "loose": 1500})
    given = [place.limits if arg == "--gate" else arg for arg in args]
    junit = place.folder / "junit.xml"

    assert code == place.program("compare", base, new, *given, "--output", junit).code
    assert junit.is_file()


# The examples


def steps() -> list[str]:
    """The shell steps of the example workflow that use the program on files."""
    workflow = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text())
    runs = [step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step]
    return [run for run in runs if "instruction-counts baseline" in run or "SUMMARY" in run]


def shell(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script, as a runner of GitHub runs it."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={
            **os.environ,
            "PATH": path,
            "INSTRUCTION_COUNTS_DB": str(folder / "runs.db"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("count", "code", "verdict"), [(1000, 0, "PASSES"), (1500, 3, "FAILS")])
def test_the_steps_of_the_example_workflow_work(
    count: int, code: int, verdict: str, place: Workplace
) -> None:
    """They are run as they stand there, on a run in a file."""
    place.run_file({**BASE, "tight": count})
    assert place.limits
    check, summary = steps()
    codes = [
        shell(command, place.folder, CHECK="run.json").returncode for command in (check, summary)
    ]

    assert [code, 0] == codes
    assert (place.folder / "summary.md").read_text().startswith(f"**{verdict}")
    assert {"check.json", "comment.md", "junit.xml"} <= {
        path.name for path in place.folder.iterdir()
    }


def test_the_hook_checks_before_a_push(place: Workplace) -> None:
    """It is installed as a file of the repository's own, and stops what fails."""
    subprocess.run(["git", "init", "-q", str(place.folder)], check=True)
    hook = shlex.quote(str(EXAMPLES / "pre-push"))
    codes = []
    for count in (1000, 1500):
        place.run_file({**BASE, "tight": count})
        done = shell(hook, place.folder, INSTRUCTION_COUNTS_ARGS="run.json")
        codes.append(done.returncode)
    place.baseline.unlink()
    codes.append(shell(hook, place.folder).returncode)

    assert [0, 3, 0] == codes
    assert 0 == shell(f"bash -n {hook}", place.folder).returncode


_TINY = """\
from core.api import GroupedStmts

BENCHMARKS = {"same": GroupedStmts("x = 1", None), "lowered": GroupedStmts("x = 2", None)}
"""


def test_the_workflow_that_refreshes_a_baseline_accepts_what_it_measured(
    place: Workplace,
) -> None:
    """Its step is run as it stands there, on a run that was measured before."""
    workflow = yaml.safe_load((EXAMPLES / "refresh-baseline.yml").read_text())
    step = next(
        step["run"]
        for step in workflow["jobs"]["refresh"]["steps"]
        if "accept" in step.get("run", "")
    )
    measuring, accepting = step.splitlines()
    place.run_file({**BASE, "tight": 1500})
    done = shell(accepting, place.folder)

    assert measuring == "instruction-counts run $RUN --no-times --output run.json"
    assert 0 == done.returncode
    assert '"instructions": 1500' in place.baseline.read_text()


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("valgrind"), reason="Valgrind is missing")
def test_the_example_workflow_measures(place: Workplace) -> None:
    """Without a run, its check measures; a count that is too low fails it, and no other does."""
    (place.folder / "tiny.py").write_text(_TINY)
    (place.folder / "limits.yaml").write_text(LIMITS)
    run = "instruction-counts run --definitions tiny.py --no-times --output run.json"
    measured = shell(run, place.folder)
    accepted = shell(
        "rm baseline.json; instruction-counts baseline accept baseline.json run.json", place.folder
    )
    text = place.baseline.read_text()
    case = next(case for case in json.loads(text)["cases"] if case["label"] == ["lowered"])
    lower = {**case, "instructions": 1, "layers": {}}
    place.baseline.write_text(text.replace(json.dumps(case), json.dumps(lower)))
    arguments = "--definitions tiny.py --no-times --layouts 0 --time-budget 1h"
    checked = shell(steps()[0], place.folder, CHECK=arguments)
    cases = json.loads((place.folder / "check.json").read_text())["cases"]

    assert [0, 0, 3] == [done.returncode for done in (measured, accepted, checked)]
    verdicts = {case["label"][0]: case["verdict"] for case in cases}
    assert {"same": "same", "lowered": "worse"} == verdicts
