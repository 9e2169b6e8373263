"""The command line: what each command does is in the module of its name."""

import importlib
import os

import click

from instruction_counts import __version__
from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.help import Group
from instruction_counts.cli.surroundings import interrupts, lossy_streams
from instruction_counts.core.errors import DefinitionError
from instruction_counts.domain.errors import UsageError
from instruction_counts.system.program import PROGRAM, program_name
from instruction_counts.system.shortages import shortage

_COMMANDS = {
    "run": "Measure cases: instruction counts and wall times.",
    "time": "Measure one-line statements, and compare them.",
    "compare": "Compare two builds: verdicts on each case, and what caused them.",
    "baseline": "Accept, show and check a baseline file, for CI.",
    "explain": "Show where the instructions of a case go, and which functions changed.",
    "history": "Show the counts of a case over stored runs, and the steps in them.",
    "publish": "Write the history of all cases as a static site.",
    "bisect": "Find the builds between which a case changed.",
    "watch": "Measure each new build, and alert once for each step.",
    "list": "List the selected cases.",
    "operators": "List operators and their coverage; measure one over many sizes.",
    "show": "Show the code of a case as it will be executed.",
    "runs": "List, show, import, merge, tag and delete stored runs.",
    "selftest": "Check that counts repeat on this machine.",
    "servers": "List or stop the servers that stay ready for the next command.",
    "cache": "Show or clear what is kept between runs.",
    "generate": "Split models into their unique layers, as a definition file.",
    "predict": "Add up the layers of a model, and compare with the whole.",
    "env": "Show the fingerprint of a build: what can change its counts.",
}
_MODULES = {
    "show": "list",
    "env": "machine",
    "selftest": "machine",
    "servers": "kept",
    "cache": "kept",
}
"""Commands that share the module of another; the others have one of their own."""


class _Commands(Group):
    """Imports a command when it is used, and runs ``run`` where none is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in self.commands:
            return None
        module = _MODULES.get(cmd_name, cmd_name)
        found = importlib.import_module(f"instruction_counts.cli.{module}_command")
        command: click.Command = getattr(found, f"{cmd_name}_command")
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--help", "--help-all", "-h", "--version"}
        if not args or (args[0].startswith("-") and args[0] not in own):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_Commands,
    commands={name: click.Command(name, short_help=text) for name, text in _COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 success; 1 error, with its remedy; 2 wrong command line; "
    "3 regression; 4 some cases failed or timed out; 130 interrupted, what was finished is kept.",
)
@click.version_option(__version__, prog_name=PROGRAM)
def _main() -> None:
    """What a change to PyTorch costs, down to the single instruction.

    Without a command, the standard suite is measured on the current interpreter (see:
    python main.py run --help).
    """


def main(args: list[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Output that nobody reads, or that cannot be written, ends no command: it goes on, saves its
    files, and its exit code still says what it found.
    """
    if args is None:
        # Numpy's OpenBLAS interrupts a program in which it cannot start its threads.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with interrupts(final=args is None):
        with lossy_streams() as reasons:
            code = _exit_code(args)
        with lossy_streams():  # stderr may lose this, too
            for reason in reasons:
                console.error(f"Part of the output was lost: {reason.strerror}")
        return code or (ExitCode.ERROR if reasons else ExitCode.OK)


def _exit_code(args: list[str] | None) -> int:
    try:
        return int(_main.main(args, prog_name=program_name(), standalone_mode=False) or 0)
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        console.error("Interrupted.")
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (UsageError, DefinitionError) as error:
        console.failure(error)
        return ExitCode.ERROR
    except (OSError, RuntimeError, MemoryError, UnicodeEncodeError) as error:
        explained = shortage(error)
        if explained is None:
            raise
        console.failure(explained)
        return ExitCode.ERROR
