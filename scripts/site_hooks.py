"""What mkdocs asks while it builds the site: the reference of commands is made from the program."""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **_others: Any) -> str:
    """Puts every command with its options in the place of the mark."""
    if MARK not in markdown:
        return markdown
    sys.path.insert(0, str(ROOT))
    from instruction_counts import cli  # noqa: PLC0415 - found once the checkout is on the path

    return markdown.replace(MARK, "\n".join(_sections(cli._main, click.Context(cli._main))))


def _sections(group: click.Group, context: click.Context, path: str = "") -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        own = click.Context(command, info_name=name, parent=context)
        yield from _section(command, own, f"{path}{name}")
        if isinstance(command, click.Group):
            yield from _sections(command, own, f"{path}{name} ")


def _section(command: click.Command, context: click.Context, path: str) -> Iterator[str]:
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    description = inspect.cleandoc(command.help or "").replace("\b", "").partition("Examples:")[0]
    yield f"\n## {path}\n\n```text\n{usage}\n```\n\n{_escaped(description).strip()}\n"
    rows = [
        parameter.get_help_record(context) or (", ".join(parameter.opts), parameter.help or "")
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option) and "--help" not in parameter.opts
    ]
    if rows:
        yield "| option | meaning |\n|---|---|"
        yield from (f"| `{_line(names)}` | {_escaped(_line(text))} |" for names, text in rows)


def _line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_").replace("|", "\\|")
