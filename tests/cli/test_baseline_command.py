"""``baseline``, called as the console script calls it, on files; and the examples for CI."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import attrs
import pytest

from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.gate.baseline import read_baseline
from instruction_counts.storage.json_files import read_json
from instruction_counts.storage.store import Store
from tests.builders import counted, file_of, run_of
from tests.cli.program import Program
from tests.fakes import FINGERPRINT, failed
from tests.process import EXAMPLES, in_ci, workflow_steps, write_definitions
from tests.real import NEEDS_VALGRIND

LIMITS = 'default: {soft: 1%, hard: 10%}\nlimits: [{only: "*/loose", hard: never}]\n'
LONG = "x" * 250
"""A name that no file system takes, with what is written beside the file for a moment."""
BASE = {"tight": 1000, "loose": 1000, "same": 1000}
OTHER = ("libc", "glibc-2.41")
LEFT_OUT = Outcome.out_of_time(60)


@attrs.define
class Workplace:
    """A folder with a baseline and its limits, and short ways to use them."""

    folder: Path
    program: Program
    shown: str = ""
    """What the last call said."""

    def run_file(self, counts: Mapping[str, int | Outcome], **facts: Any) -> str:
        """A JSON file of a run of C++ cases that cost so much."""
        run = run_of(counts, builds={"default": attrs.evolve(FINGERPRINT, **facts)})
        return file_of(run, self.folder / "run.json")

    @property
    def baseline(self) -> Path:
        """The file."""
        return self.folder / "baseline.json"

    @property
    def limits(self) -> str:
        """The option that names the limits."""
        path = self.folder / "limits.yaml"
        path.write_text(LIMITS)
        return f"--gate={path}"

    def accept(self, counts: Mapping[str, int | Outcome], *args: str, **facts: Any) -> str:
        """Accept a run of these counts; what is shown."""
        file = self.run_file(counts, **facts)
        assert 0 == self.call("accept", self.baseline, file, *args)
        return self.shown

    def check(self, counts: Mapping[str, int | Outcome], *args: str, **facts: Any) -> int:
        """The exit code of a check of these counts."""
        return self.call("check", self.baseline, self.run_file(counts, **facts), *args)

    def call(self, *args: str | Path) -> int:
        """The exit code."""
        database = ["--db", self.folder / "runs.db"] if args[0] in {"accept", "check"} else []
        answer = self.program("baseline", *args, *database)
        self.shown = answer.out + answer.err
        return answer.code


@pytest.fixture
def place(tmp_path: Path, program: Program) -> Workplace:
    """With an accepted baseline."""
    made = Workplace(tmp_path, program)
    made.accept(BASE)
    return made


# Accepting


def test_a_baseline_is_made_and_updated(place: Workplace) -> None:
    """It shows what it changes, and why; nothing of what stays."""
    shown = place.accept({**BASE, "tight": 1500})
    cases = read_baseline(place.baseline).cases.values()

    assert {**BASE, "tight": 1500} == {case.key.label[1]: case.instructions for case in cases}
    assert "1,000  1,500    +500  +50.00%" in shown
    assert "why  worse; exact difference; +500 kernels" in shown
    assert "loose" not in shown


def test_only_what_is_selected_is_accepted(place: Workplace) -> None:
    """The rest of the file stays, to the letter."""
    before = place.baseline.read_text().splitlines()
    place.accept(dict.fromkeys(BASE, 2000), "--only", "*/tight")
    after = place.baseline.read_text().splitlines()
    changed = [line for line, other in zip(before, after, strict=True) if line != other]

    assert ['"tight"'] == [line.split(", ")[1].removesuffix("]") for line in changed]


def test_what_cannot_be_accepted_is_an_error(place: Workplace) -> None:
    """Failed cases, a baseline that cannot be written, and a run in the place of the baseline."""
    assert 1 == place.call("accept", place.baseline, place.run_file({"tight": failed()}))
    assert "leave them out" in place.shown
    assert 1 == place.call("accept", place.folder / f"{LONG}.json", place.run_file(BASE))
    assert "cannot be written" in place.shown
    assert 1 == place.call("accept", "last", place.baseline)
    assert place.shown.endswith(f" baseline accept {place.baseline} last\n")


def test_cases_that_the_run_lacks_stay_unless_they_are_to_be_dropped(place: Workplace) -> None:
    """It says so."""
    stays = place.accept({"tight": 1000})
    place.accept({"tight": 1000}, "--prune")

    assert "Not in the run, and kept (--prune drops them): 2 cases" in stays
    assert 1 == len(read_baseline(place.baseline).cases)


def test_a_stored_run_is_accepted_and_checked(place: Workplace) -> None:
    """By whatever names it."""
    with Store(place.folder / "runs.db") as store:
        store.tag(store.import_run(read_json(Path(place.run_file(BASE)))), "nightly")

    assert 0 == place.call("accept", place.baseline, "last")
    assert 0 == place.call("check", place.baseline, "nightly")


# Checking


@pytest.mark.parametrize(
    ("changes", "args", "code", "said"),
    [
        # What exceeds its hard limit fails, and so do cases that fail.
        ({}, ["LIMITS"], 0, "PASSES: 3 cases"),
        ({"tight": 1500}, ["LIMITS"], 3, "FAILS"),
        ({"loose": 1500}, ["LIMITS"], 0, "PASSES"),
        ({"tight": failed()}, ["LIMITS"], 4, "INCOMPLETE: 3 cases; 1 failed\n"),
        ({"tight": failed(), "same": 1500}, ["LIMITS"], 3, "FAILS"),
        # Without limits whatever got worse fails, as in `compare`; it can be chosen what fails.
        ({"loose": 1010}, [], 3, "FAILS"),
        ({"tight": 1500}, ["LIMITS", "--fail-on", "never"], 0, ""),
        ({"loose": 1500}, ["LIMITS", "--fail-on", "any"], 3, ""),
        # What has no baseline is not silently unguarded; what is not selected is not missing.
        ({"added": 1}, ["LIMITS"], 0, "NOT GUARDED"),
        ({"tight": 9000}, ["--only", "*/same"], 0, "PASSES: 1 case\n"),
        ({}, ["--only", "*/same", "--only", "Grup"], 1, "No case matches 'Grup'. Near: Group"),
        # A run without counts says nothing of what a baseline holds.
        (dict.fromkeys(BASE, Outcome(Status.OK)), [], 1, "nothing was compared"),
        ({}, ["--build", f"new={sys.executable}"], 1, "both a run and a build"),
        ({}, ["--layouts", "60"], 1, "--layouts: nothing is measured"),
        ({}, ["--engine", "timer"], 1, "--engine: nothing is measured"),
        # Other conditions are refused with both values; some can be allowed.
        ({}, [OTHER], 1, "C library: glibc-2.36 in the baseline, glibc-2.41 now"),
        ({}, [OTHER, "--allow-different"], 0, "PASSES"),
        ({}, [("allocator", "steady"), "--allow-different"], 1, "now"),
    ],
)
def test_one_exit_code_says_all(
    changes: dict[str, int | Outcome], args: list[Any], code: int, said: str, place: Workplace
) -> None:
    """And the text says why."""
    facts = dict(arg for arg in args if isinstance(arg, tuple))
    options = [place.limits if arg == "LIMITS" else arg for arg in args if isinstance(arg, str)]

    assert code == place.check({**BASE, **changes}, *options, **facts)
    assert said in place.shown


@pytest.mark.parametrize(
    ("spread", "counts", "codes"),
    [
        (5, (1106, None, 1101, 1100, 1101), [3, 0, 3, 0, 0]),
        # Where a limit is smaller than the noise, it would fail every other time.
        (300, (1500, 1250, 1250, 1100, 1250), [3, 3, 3, 0, 0]),
    ],
)
def test_what_failed_fails_until_it_is_within_its_limit(
    spread: int, counts: Sequence[int | None], codes: list[int], place: Workplace
) -> None:
    """A check hands that on to the next one; what is left out in between launders nothing."""
    state = place.folder / "check.json"
    where = [place.limits, f"--previous={state}", f"--output={state}"]
    outcomes = (
        counted(count, exact=False, spread=spread) if count else LEFT_OUT for count in counts
    )

    assert codes == [place.check({**BASE, "tight": outcome}, *where) for outcome in outcomes]


@pytest.mark.parametrize(("count", "code"), [(1000, 0), (1500, 3)])
def test_what_a_time_budget_left_out_changes_no_exit_code(
    count: int, code: int, place: Workplace
) -> None:
    """It is neither missing nor failed, and listed: on the screen and in files."""
    comment, junit = place.folder / "comment.md", place.folder / "junit.xml"
    (place.folder / "limits.yaml").write_text("default: {hard: 1%}\nfail_on_missing: true\n")
    files = (f"--output={comment}", f"--output={junit}")
    counts = {"tight": count, "loose": LEFT_OUT, "same": LEFT_OUT}
    assert code == place.check(counts, f"--gate={place.folder}/limits.yaml", *files)
    suite = ET.fromstring(junit.read_text())[0]  # noqa: S314 - it was written here
    sentence = "1 of 3 cases measured within 60 s; skipped: 2"

    assert sentence in " ".join(place.shown.split())
    assert "failed in" not in place.shown
    assert f"- {sentence}: Group / loose" in comment.read_text()
    assert ["2", "3"] == [suite.get("skipped"), suite.get("tests")]
    assert (suite.findtext("system-out") or "").startswith(sentence)


# Showing


def test_a_baseline_is_shown(place: Workplace) -> None:
    """Its build, also what is off in it, and its cases."""
    place.accept(BASE, aslr_off=False)
    assert 0 == place.call("show", place.baseline, "--only", "*/tight")
    facts = {" ".join(line.split()) for line in place.shown.splitlines()}

    assert {
        "C library glibc-2.36",
        "address randomisation off False",
        "hermetic profile 1",
        "pinned instruction set none",
    } <= facts
    assert place.shown.endswith("1 case\n")


@pytest.mark.parametrize("command", ["accept", "show"])
def test_a_glob_that_matches_no_case_is_named(command: str, place: Workplace) -> None:
    """Beside one that does, too: what is mistyped would stay as it was."""
    runs = [place.run_file({"tight": 1500})] if command == "accept" else []
    globs = ("--only", "*/tight", "--only", "Grup")

    assert 1 == place.call(command, place.baseline, *runs, *globs)
    assert "No case matches 'Grup'. Near: Group" in place.shown


def test_a_limit_that_matches_no_case_is_named(place: Workplace) -> None:
    """Of the whole baseline: what is not selected is no mistake."""
    path = place.folder / "limits.yaml"
    path.write_text('limits: [{only: Nix, hard: 1%}, {only: "*/loose", hard: 1%}]')
    place.check(BASE, f"--gate={path}", "--only", "*/tight")

    assert f"Limits: no case of {place.baseline} matches Nix\n" in place.shown
    assert "loose" not in place.shown


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


@pytest.mark.parametrize(("count", "code", "verdict"), [(1000, 0, "PASSES"), (1500, 3, "FAILS")])
def test_the_steps_of_the_example_workflow_work(
    count: int, code: int, verdict: str, place: Workplace
) -> None:
    """They are run as they stand there, on a run in a file, which takes no times anew."""
    place.run_file({**BASE, "tight": count})
    assert place.limits
    of_files = ("Check", "Link to the report", "Summary")
    commands = [step["run"] for step in workflow_steps() if step.get("name") in of_files]
    given = {"CHECK": "run.json", "REPORT": "https://example.org/report"}
    stored = (command.replace(" --no-times", "") for command in commands)
    codes = [in_ci(command, place.folder, **given).returncode for command in stored]
    summary = (place.folder / "summary.md").read_text()

    assert [code, 0, 0] == codes
    assert summary.startswith(f"**{verdict}")
    assert summary.endswith("(https://example.org/report)\n")
    assert {"check.json", "comment.md", "junit.xml", "report.html"} <= {
        path.name for path in place.folder.iterdir()
    }


def test_the_comment_of_the_example_workflow_links_to_the_report() -> None:
    """Which is uploaded before, as a page and not in a zip file."""
    steps = workflow_steps()
    at = {step.get("name", step.get("id")): place for place, step in enumerate(steps)}
    upload, link = (steps[at[name]] for name in ("report", "Link to the report"))

    assert {"path": "report.html", "archive": False} == upload["with"]
    assert "${{ steps.report.outputs.artifact-url }}" == link["env"]["REPORT"]
    assert at["Check"] < at["report"] < at["Link to the report"] < at["Comment"]


def test_the_hook_checks_before_a_push(place: Workplace) -> None:
    """It is installed as a file of the repository's own, and stops what fails."""
    subprocess.run(["git", "init", "-q", str(place.folder)], check=True)
    hook = (EXAMPLES / "pre-push").read_text().replace(" --no-times", "")  # of a run in a file
    codes = []
    for count in (1000, 1500):
        place.run_file({**BASE, "tight": count})
        done = in_ci(hook, place.folder, INSTRUCTION_COUNTS_ARGS="run.json")
        codes.append(done.returncode)
    place.baseline.unlink()
    codes.append(in_ci(hook, place.folder).returncode)

    assert [0, 3, 0] == codes


def test_the_workflow_that_refreshes_a_baseline_accepts_what_it_measured(place: Workplace) -> None:
    """Its step is run as it stands there, on a run that was measured before."""
    runs = [step.get("run", "") for step in workflow_steps("refresh-baseline", "refresh")]
    (script,) = (run for run in runs if "baseline accept" in run)
    measuring, accepting = script.splitlines()
    place.run_file({**BASE, "tight": 1500})
    done = in_ci(accepting, place.folder)

    assert measuring == "instruction-counts run $RUN --no-times --output run.json"
    assert 0 == done.returncode
    assert '"instructions": 1500' in place.baseline.read_text()


@pytest.mark.slow
@pytest.mark.thorough
@NEEDS_VALGRIND
def test_the_example_workflow_measures(place: Workplace) -> None:
    """Without a run, its check measures; a count that is too low fails it, and no other does."""
    write_definitions(place.folder, same="x = 1", lowered="x = 2")
    (place.folder / "limits.yaml").write_text(LIMITS)
    run = "instruction-counts run --definitions cases.py --no-times --output run.json"
    measured = in_ci(run, place.folder)
    accepted = in_ci(
        "rm baseline.json; instruction-counts baseline accept baseline.json run.json", place.folder
    )
    text = place.baseline.read_text()
    case = next(case for case in json.loads(text)["cases"] if case["label"] == ["lowered"])
    lower = {**case, "instructions": 1, "layers": {}}
    place.baseline.write_text(text.replace(json.dumps(case), json.dumps(lower)))
    (check,) = (step["run"] for step in workflow_steps() if step.get("name") == "Check")
    arguments = "--definitions cases.py --layouts 0 --time-budget 1h"
    checked = in_ci(check, place.folder, CHECK=arguments)
    cases = json.loads((place.folder / "check.json").read_text())["cases"]

    assert [0, 0, 3] == [done.returncode for done in (measured, accepted, checked)]
    verdicts = {case["label"][0]: case["verdict"] for case in cases}
    assert {"same": "same", "lowered": "worse"} == verdicts
