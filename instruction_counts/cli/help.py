"""Help that fits a screen: options in groups, and the rare ones only with ``--help-all``."""

import re
from collections.abc import Iterable
from typing import Any

import click

from instruction_counts.system.program import program_name

_GROUPS = {
    "Statements": ("setup", "is_cpp", "global_setup"),
    "Cases and builds": (
        *("definitions", "operators", "only", "languages", "runtimes", "signature"),
        *("language", "autograd", "listing", "build", "build_cmd"),
    ),
    "Measuring": ("jobs", "counts", "times", "time_budget", "layouts", "device"),
    "Verdicts": ("min_effect", "limits", "fail_on", "previous"),
    "Results": ("output", "form", "limit", "resume", "on_step", "site", "db"),
    "Options": (),
    "Advanced": (
        *("operators_file", "shape", "dtype", "inputs", "devices"),
        *("autograds", "num_threads", "engine", "allocator", "compiler", "pin_isa", "cores"),
        *("timeout_s", "lanes", "shard", "balance", "counts", "metrics", "signature"),
        *("machine", "callgrind_out", "allow_different", "db"),
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


class Command(click.Command):
    """A command with grouped help, whose examples stand as they were written."""

    def __init__(self, name: str, *, help: str | None = None, **more: Any) -> None:  # noqa: A002
        # By this character click knows what it must not reflow.
        text = re.sub(r"(?m)^( *)(?=Examples?:$)", "\\1\b\n\\1", help or "")
        super().__init__(name, help=text, **more)

    def get_help(self, ctx: click.Context) -> str:
        """The whole help; its examples call the program by its name, so that they can be copied."""
        return super().get_help(ctx).replace("python main.py", program_name())

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, and ``--help-all``, which is shown where there is more to show."""
        show_all = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            hidden=not _advanced(self.params),
            callback=_show_all,
            help="Show all options, also those that few people need.",
        )
        return [*super().get_params(ctx), show_all]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, group by group; their texts begin in one column."""
        brief, advanced = not ctx.meta.get(_ALL), _advanced(self.params)
        titles = {name: title for title in reversed(_GROUPS) for name in _GROUPS[title]}
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in _GROUPS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None and not (brief and param in advanced):
                group = "Advanced" if param in advanced else titles.get(param.name, "Options")
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


class Group(click.Group, Command):
    """A group of such commands, with the whole of their first sentences."""

    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with what they do; none is imported for that."""
        known = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(400)) for name, command in known])


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


def _advanced(params: Iterable[click.Parameter]) -> list[click.Parameter]:
    """The options that help leaves out, unless it is asked for all."""
    options: list[click.Parameter] = [of for of in params if isinstance(of, click.Option)]
    advanced = [option for option in options if option.name in _GROUPS["Advanced"]]
    return advanced if len(options) > _ROOM else []
