"""Help that fits a screen: options in groups, and the rare ones only with ``--help-all``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from instruction_counts.system.program import program_name

_GROUPS = {
    "Statements": (
        *("setup", "cpp", "cpp_stmts", "cpp_setup", "global_setup"),
        *("with_backward", "gradient", "runtimes", "signature", "threads"),
    ),
    "Cases and builds": (
        *("definitions", "operators", "only", "language", "runtime", "autograd"),
        *("listing", "build", "commits", "build_cmd"),
    ),
    "Measuring": ("jobs", "no_counts", "no_times", "time_budget", "layouts"),
    "Verdicts": ("min_effect", "limits_file", "fail_on", "previous"),
    "Results": ("output", "form", "limit", "resume", "on_step", "db", "save", "save_file"),
}
"""The options of each group, by the names of their parameters; others are just options."""

_ADVANCED = frozenset(
    {
        *("operators_file", "shape", "dtype", "inputs", "seed"),
        *(
            "autograd",
            "num_threads",
            "engine",
            "allocator",
            "pin_isa",
            "cores",
            "timeout_s",
            "retries",
            "no_counts",
        ),
        *("gradient", "signature"),
        *("skip_unavailable", "callgrind_out", "resources", "allocations", "allow_different", "db"),
    }
)
"""What few people need: shown where there is room for it, and by ``--help-all``."""

_ROOM = 12
"""A command with no more options shows all of them."""
_COLUMN = 25
"""So wide are the names of options; longer ones have a line of their own."""
_END = re.compile(r"\.(?: |$)|  \[")
_FINAL_STOP = re.compile(r"\.(?=$|  \[)")
_ALL = "instruction_counts.help_all"


class Command(click.Command):
    """A command with grouped help; its examples call the program by its name."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, and ``--help-all`` where there is more to show."""
        params = super().get_params(ctx)
        return [*params, _help_all()] if _hidden(self.params) else params

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What the command does, with examples that can be copied."""
        _write_text(self, ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, group by group."""
        everything = ctx.meta.get(_ALL, False)
        hidden = _hidden(self.params)
        groups: dict[str, list[tuple[str, str]]] = {
            name: [] for name in (*_GROUPS, "Options", "Advanced")
        }
        left_out = () if everything else (*hidden, *([self.get_help_option(ctx)] if hidden else []))
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if row is not None and param not in left_out:
                names, text = row
                row = names, _FINAL_STOP.sub("", text)
                groups["Advanced" if param in hidden else _group(param)].append(row)
        _write_groups(groups, formatter, brief=not everything)


class Group(click.Group):
    """A group of such commands; a mistyped name is answered with the nearest one."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0].lower(), known, n=1)
            hint = f' Did you mean "{near[0]}"?' if near else f" There are: {', '.join(known)}."
            ctx.fail(f'There is no command "{args[0]}".{hint}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, each with the whole of its first sentence."""
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, _first(command)) for name, command in found.items() if command is not None]
            )

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What the commands are for, with examples that can be copied."""
        _write_text(self, ctx, formatter)


def _first(command: click.Command) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _write_text(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """The docstring of a command; what follows a form feed is only for ``--help-all``."""
    before, text = command.help, command.help or ""
    text = text.replace("\f", "") if ctx.meta.get(_ALL) else text.partition("\f")[0]
    command.help = text.replace("python main.py", program_name())
    try:
        click.Command.format_help_text(command, ctx, formatter)
    finally:
        command.help = before


def _write_groups(
    groups: Mapping[str, Sequence[tuple[str, str]]], formatter: click.HelpFormatter, *, brief: bool
) -> None:
    """The groups that are not empty; their texts begin in one column."""
    widths = (len(names) for rows in groups.values() for names, _ in rows)
    column = min(max(widths, default=0), _COLUMN)
    for title, rows in groups.items():
        if not rows:
            continue
        with formatter.section(title):
            room = formatter.width - formatter.current_indent - column - 2
            formatter.write_dl(
                [
                    (f"{names:<{column}}", _brief(text, room) if brief else text)
                    for names, text in rows
                ],
                _COLUMN,
            )


def _brief(text: str, room: int) -> str:
    """As much of the help of an option as fits into ``room``, at least its first sentence."""
    sentence = _END.split(text, maxsplit=1)[0]
    default = re.search(r"  (\[default: [^;\]]*)", text)
    with_default = f"{sentence}  {default[1]}]" if default is not None else sentence
    return next((version for version in (text, with_default) if len(version) <= room), sentence)


def _help_all() -> click.Option:
    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_all,
        help="Show all options, also those that few people need.",
    )


def _show_all(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    del param
    if value:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _hidden(params: Iterable[click.Parameter]) -> list[click.Parameter]:
    """The options that help leaves out, unless it is asked for all."""
    options = [param for param in params if isinstance(param, click.Option)]
    if len(options) <= _ROOM:
        return []
    return [option for option in options if option.name in _ADVANCED]


def _group(param: click.Parameter) -> str:
    return next((name for name, names in _GROUPS.items() if param.name in names), "Options")
