"""``bisect``: the builds between which a case changed."""

import functools
from collections.abc import Callable
from pathlib import Path

import attrs
import click

from instruction_counts.builds.configured import check_unique, is_build_file, read_builds
from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode, exit_code
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import Asked, series_options, untimed_options
from instruction_counts.cli.options import definitions_options, mode_options, ordered_builds_option
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.report.history import bisection
from instruction_counts.session.bisecting import find_changes
from instruction_counts.session.build_series import listed, maker_of
from instruction_counts.storage.store import Store


@click.command("bisect", cls=Command)
@click.argument("label")
@ordered_builds_option
@series_options(definitions_options, mode_options, untimed_options, required=False)
@output_options()
def bisect_command(
    label: str,
    build: tuple[str, ...],
    listing: str | None,
    build_cmd: str | None,
    outputs: Outputs,
    asked: Asked,
) -> int:
    r"""Find the builds between which a case changed: worse, better, or with other results.

    LABEL is a glob that leaves one case. Builds are given in order, the oldest first. Only those
    that are needed are measured, stored counts are used again, and broken builds are skipped.
    Exits with 3 if the case got worse.

    Examples:
      python main.py bisect MatMul/mm --language c++ --build nightlies.yaml
      python main.py bisect MatMul/mm --build-cmd './make_venv {commit}' \
        --command 'git log --first-parent --reverse --format=%H v1^..v2'
    """
    how = attrs.evolve(asked.how, selection=attrs.evolve(asked.how.selection, only=(label,)))
    makers = _makers(build, listing, build_cmd)
    with Store(asked.db) as store:
        found = find_changes(makers, how, store, console)
    outputs.write(bisection(found))
    if not found.is_conclusive:
        console.error("Fewer than two builds can be measured.")
        return ExitCode.ERROR
    return exit_code(regression=found.is_regression, is_sound=found.is_sound)


def _makers(
    texts: tuple[str, ...], listing: str | None, build_cmd: str | None
) -> dict[str, Callable[[], Build]]:
    """What makes each build, by its name and in order: a broken one is no error."""
    if listing is not None and texts:
        raise UsageError("--build and --command exclude each other", "Drop one.")
    if build_cmd is not None and listing is None:
        raise UsageError("--build-cmd is for commits", "Say which: --command 'git log …'")
    made: dict[str, str] = {}
    makers: list[tuple[str, Callable[[], Build]]] = []
    for text in texts if listing is None else listed(listing):
        if is_build_file(text) and build_cmd is None:
            known = read_builds(Path(text))
            makers += [(build.name, functools.partial(attrs.evolve, build)) for build in known]
        else:
            name = text if build_cmd is not None else text.partition("=")[0]
            makers.append((name, maker_of(text, build_cmd, made, console.note)))
    check_unique([name for name, _ in makers])
    if len(makers) < 2:
        problem, remedy = "a bisection needs at least two builds", "Give --build twice or more"
        if listing is None:
            raise UsageError(problem, f"{remedy}, or --command.")
        remedy = "It has to print a good one, too: git log A..B leaves out A, and A^..B has it."
        raise UsageError(f"{problem}, and --command prints {len(makers)}", remedy)
    return dict(makers)
