"""Help that fits a screen: options in groups, and the rare ones only with ``--help-all``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

import click

from instruction_counts.system.program import program_name

_GROUPS = {
    "Statements": (
        *("setup", "cpp", "cpp_stmt", "cpp_setup", "global_setup"),
        *("backward", "gradient", "runtimes", "signature", "threads"),
    ),
    "Cases and builds": (
        *("definitions", "operators", "only", "language", "runtime", "autograd"),
        *("listing", "build", "build_cmd"),
    ),
    "Measuring": ("jobs", "no_counts", "no_times", "time_budget", "layouts"),
    "Verdicts": ("min_effect", "limits", "fail_on", "previous"),
    "Results": ("output", "form", "limit", "resume", "on_step", "db", "save", "save_file"),
    "Options": (),
    "Advanced": (
        *("operators_file", "shape", "dtype", "inputs"),
        *("autograd", "num_threads", "engine", "allocator", "pin_isa", "cores", "timeout_s"),
        *("no_counts", "gradient", "signature"),
        *("skip_unavailable", "callgrind_out", "resources", "allow_different", "db"),
    ),
}
"""The options of each group, by the names of their parameters; others are just options.

What few people need is advanced: shown where there is room for it, and by ``--help-all``.
"""
_ROOM = 12
"""A command with no more options shows all of them."""
_COLUMN = 25
"""So wide are the names of options; longer ones have a line of their own."""
_END = re.compile(r"\.(?: |$)|  \[")
_FINAL_STOP = re.compile(r"\.(?=$|  \[)")
_ALL = "instruction_counts.help_all"


class _Copied(click.Command):
    """Its examples call the program by its name, so that they can be copied."""

    def get_help(self, ctx: click.Context) -> str:
        """The whole help."""
        return super().get_help(ctx).replace("python main.py", program_name())


class Command(_Copied):
    """A command with grouped help."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, and ``--help-all``, which is shown where there is more to show."""
        shown = _HELP_ALL if _advanced(self.params) else _HELP_SAME
        return [*super().get_params(ctx), shown]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, group by group; their texts begin in one column."""
        brief, advanced = not ctx.meta.get(_ALL), _advanced(self.params)
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in _GROUPS}
        for param in self.get_params(ctx):
            group = "Advanced" if param in advanced else _group(param)
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            is_left_out = brief and advanced and (param in advanced or param.name == "help")
            if record is not None and not is_left_out:
                groups[group].append((record[0], _FINAL_STOP.sub("", record[1])))
        widths = [len(names) for rows in groups.values() for names, _ in rows]
        column = min(max(widths, default=0), _COLUMN)
        room = formatter.width - column - 4
        for title, rows in groups.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(
                        [
                            (f"{names:<{column}}", _brief(text, room) if brief else text)
                            for names, text in rows
                        ],
                        _COLUMN,
                    )


class Group(_Copied, click.Group):
    """A group of such commands; a mistyped name is answered with the nearest one."""

    command_class = Command

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, and ``--help-all``, which has no more to show."""
        return [*super().get_params(ctx), _HELP_SAME]

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

    def summary(self, ctx: click.Context, name: str) -> str:
        """What a command does: the whole of its first sentence."""
        command = self.get_command(ctx, name)
        return " ".join(((command and command.help) or "").partition("\n\n")[0].split())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with their summaries."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.summary(ctx, name)) for name in self.list_commands(ctx)]
            )


def _brief(text: str, room: int) -> str:
    """As much of the help of an option as fits into ``room``, at least its first sentence."""
    sentence = _END.split(text, maxsplit=1)[0]
    default = re.search(r"  (\[default: [^;\]]*)", text)
    with_default = f"{sentence}  {default[1]}]" if default is not None else sentence
    return next((version for version in (text, with_default) if len(version) <= room), sentence)


def _show_all(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    del param
    if value:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _help_all(*, hidden: bool) -> click.Option:
    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        hidden=hidden,
        callback=_show_all,
        help="Show all options, also those that few people need.",
    )


_HELP_ALL, _HELP_SAME = _help_all(hidden=False), _help_all(hidden=True)


def _advanced(params: Iterable[click.Parameter]) -> list[click.Parameter]:
    """The options that help leaves out, unless it is asked for all."""
    options = [param for param in params if isinstance(param, click.Option)]
    if len(options) <= _ROOM:
        return []
    return [option for option in options if option.name in _GROUPS["Advanced"]]


def _group(param: click.Parameter) -> str:
    return next((name for name, names in _GROUPS.items() if param.name in names), "Options")
