"""``bisect``: the builds between which a case changed."""

from __future__ import annotations

import functools
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

import attrs
import click

from core.types import Case
from instruction_counts.analysis.comparison import Comparison
from instruction_counts.analysis.sides import Side, side_of
from instruction_counts.builds.configured import find_interpreter, parse_build, read_builds
from instruction_counts.builds.probing import probe
from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.format_option import format_option
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.merging import merged
from instruction_counts.cli.min_effect import min_effect_option
from instruction_counts.cli.options import definitions_options, mode_options, store_option
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.noise import Noises, fingerprint_hash
from instruction_counts.domain.selection import Selection, select
from instruction_counts.history.bisection import bisect
from instruction_counts.history.candidates import Candidates, is_regression
from instruction_counts.report import history as report
from instruction_counts.report.comparison import title_of
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.comparing import ComparedBuilds
from instruction_counts.sources.definitions import Definitions, load
from instruction_counts.storage.noise import read_noises
from instruction_counts.storage.store import Store

_NAMED = 12
COMMIT = "{commit}"
"""What stands for the commit in a build command."""


@click.command("bisect", cls=Command)
@click.argument("label")
@definitions_options
@mode_options
@click.option(
    "--build",
    "build",
    multiple=True,
    metavar="NAME=PYTHON",
    help="Interpreter or virtual environment. Repeatable, the oldest first.",
)
@click.option(
    "--builds",
    "config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="YAML file of builds, the oldest first.",
)
@click.option(
    "--commits",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Commits, one per line, the oldest first. - is stdin.",
)
@click.option(
    "--build-cmd",
    metavar="COMMAND",
    help="Shell command that makes the build of {commit}. The last line that it prints is the "
    "interpreter or virtual environment.",
)
@click.option("--thorough", is_flag=True, help="Also search between builds that do not differ.")
@click.option("--fresh", is_flag=True, help="Do not use stored counts.")
@click.option(
    "--layouts",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    metavar="K",
    help="Memory layouts in which changes are verified. 0 only measures once more.",
)
@min_effect_option
@format_option("each change with its verdict, counts and causes")
@measuring_options
@store_option
def command(
    label: str,
    definitions: Definitions | None,
    modes: Selection,
    build: tuple[str, ...],
    config: Path | None,
    commits: TextIO | None,
    build_cmd: str | None,
    thorough: bool,
    fresh: bool,
    layouts: int,
    min_effect: Effect,
    form: str,
    measuring: MeasurementSettings,
    db: str | None,
) -> int:
    """Find the builds between which a case changed: worse, better, or with other results.

    LABEL is a glob that leaves one case. Builds are given in order, the oldest first.
    Exits with 3 if the case got worse.

    \b
    Examples:
      python main.py bisect MatMul/mm --language python --runtime eager --builds nightlies.yaml
      git log --reverse --format=%H v1..v2 > commits
      python main.py bisect MatMul/mm --language python --runtime eager \\
        --commits commits --build-cmd './make_venv {commit}'

    \f
    Only the builds that a bisection needs are measured. Stored counts are used again, and broken
    builds are skipped.
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if not measuring.counts:
        raise UsageError("--no-counts leaves nothing to bisect by", "Drop it.")
    definitions, _, measuring, db = merged(definitions, (), measuring, db)
    selection = attrs.evolve(modes, only=(label,))
    case = _only_case(definitions, selection)
    makers = _makers(build, config, commits, build_cmd)
    # Times decide nothing, and take longer than counts.
    measuring = attrs.evolve(measuring, times=False)
    with Store.open(db) as store:
        lab = StoreLab(definitions, selection, measuring, store, layouts, None if fresh else case)
        candidates = Candidates(list(makers.values()), case.key, lab, min_effect)
        result = bisect(len(makers), candidates, thorough=thorough)
    names = list(makers)
    if form == "json":
        console.write(report.bisection_to_json(result, names, candidates))
    else:
        for text in report.bisection(result, names, candidates):
            console.render(text)
    if result.ends is None:
        console.error("Fewer than two builds can be measured.")
        return ExitCode.ERROR
    found = [candidates.difference(one.before, one.after) for one in result.changes]
    return ExitCode.REGRESSION if any(map(is_regression, found)) else ExitCode.OK


@attrs.define
class StoreLab:
    """Measures builds as `compare` does, and takes what is known from the store; a `Lab`."""

    definitions: Definitions
    selection: Selection
    measuring: MeasurementSettings
    store: Store
    layouts: int
    case: Case | None = None
    """The one case whose stored counts may be used; None measures everything anew."""
    _last: ComparedBuilds | None = None

    def known(self, build: Build) -> Side | None:
        """See `Lab`.

        A build is known by its name and its fingerprint: two builds of one commit with different
        patches have the same fingerprint.
        """
        facts = probe(build)
        if self.case is None:
            return None
        with_engine = fingerprint_hash(self.measuring.fingerprint(facts))
        key = self.case.key
        for one in reversed(self.store.counts([key])):
            if (
                (one.build, one.engine) == (build.name, self.measuring.engine)
                and one.definition_hash == self.case.definition_hash
                and one.instructions is not None
                and fingerprint_hash(one.fingerprint) == with_engine
            ):
                console.note(f"{build.name}: known from run {one.run_id}")
                run = self.store.load(one.run_id)
                title = f"run {one.run_id}, {build.name}"
                side = side_of(run, build.name, title)
                return attrs.evolve(side, records={key: side.records[key]})
        return None

    def measure(self, builds: Sequence[Build]) -> Mapping[str, Side]:
        """See `Lab`."""
        cases = select(load(self.definitions), self.selection)
        runner = BuildRunner.of(builds, self.measuring, console, self.store)
        self._last = ComparedBuilds(runner, cases)
        measured = self._last.measure()
        if measured.interrupted:
            raise KeyboardInterrupt
        return measured.sides

    def check(self, comparison: Comparison) -> Comparison:
        """See `Lab`."""
        assert self._last is not None, "something was measured"
        if not (self.layouts and comparison.suspects):
            return comparison
        checked = self._last.verify(comparison, self.layouts)
        if checked.interrupted:
            raise KeyboardInterrupt
        return checked.comparison

    def noises(self) -> Noises:
        """See `Lab`."""
        return read_noises()


def made_build(command: str, commit: str, made: dict[str, str]) -> Build:
    """The build that a build command makes of a commit; ``made`` holds where others are.

    Raises:
        BuildError: the command fails, or there is no interpreter where it says.
        UsageError: it made two builds in one place.
    """
    console.note(f"Making {commit}")
    text = command.replace(COMMIT, shlex.quote(commit))
    done = subprocess.run(
        ["/bin/bash", "-c", text],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        errors="replace",
    )
    if done.returncode:
        raise BuildError(
            f"{commit}: the build command ends with {done.returncode}", f"Try it: {text}"
        )
    printed = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    if not printed:
        raise BuildError(
            f"{commit}: the build command prints nothing",
            "Its last line has to be an interpreter or a virtual environment.",
        )
    python = find_interpreter(commit, printed[-1])
    other = made.setdefault(python, commit)
    if other != commit:
        raise UsageError(
            f"the build command made {other} and {commit} in one place: {python}",
            "Let it make a virtual environment for each commit: two builds are compared "
            "side by side.",
        )
    return Build(commit, python)


def _makers(
    texts: Sequence[str], config: Path | None, commits: TextIO | None, build_cmd: str | None
) -> dict[str, Callable[[], Build]]:
    """What makes each build, by its name and in order.

    Raises:
        UsageError: the options contradict each other, or name fewer than two builds.
    """
    makers: list[tuple[str, Callable[[], Build]]] = []
    if commits is not None or build_cmd is not None:
        if commits is None or build_cmd is None or texts or config is not None:
            raise UsageError(
                "builds are either given, or made of commits",
                "Give --build or --builds; or both --commits and --build-cmd.",
            )
        if COMMIT not in build_cmd:
            raise UsageError(f"--build-cmd does not say {COMMIT}", "It stands for the commit.")
        made: dict[str, str] = {}
        makers += [
            (name, functools.partial(made_build, build_cmd, name, made)) for name in _lines(commits)
        ]
    else:
        builds = read_builds(config) if config is not None else ()
        makers += [(one.name, functools.partial(_same, one)) for one in builds]
        makers += [(_name(text), functools.partial(parse_build, text)) for text in texts]
    names = [name for name, _ in makers]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f'two builds are called "{twice}"', "Give each a name of its own.")
    if len(makers) < 2:
        raise UsageError(
            "a bisection needs at least two builds", "Give --build, --builds or --commits."
        )
    return dict(makers)


def _name(text: str) -> str:
    name, separator, _ = text.partition("=")
    if not separator or not name:
        raise UsageError(
            f'--build "{text}" is not NAME=PYTHON', "For example: new=.venv/bin/python"
        )
    return name


def _same(build: Build) -> Build:
    return build


def _lines(stream: TextIO) -> list[str]:
    try:
        texts = [line.partition("#")[0].strip() for line in stream]
    except UnicodeDecodeError as error:
        raise UsageError(f"--commits {stream.name} is no text", "One commit a line.") from error
    return [text for text in texts if text]


def _only_case(definitions: Definitions, selection: Selection) -> Case:
    cases = select(load(definitions), selection)
    if len(cases) == 1:
        return cases[0]
    found = [f"  {title_of(case.key)}" for case in cases]
    listed = "\n".join([*found[:_NAMED], *(["  …"] if len(found) > _NAMED else [])])
    raise UsageError(
        f"{len(cases)} cases match '{selection.only[0]}':\n{listed}",
        "Narrow it: a longer LABEL, --language, --runtime, --autograd or --num-threads.",
    )
