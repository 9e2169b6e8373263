"""Records the first minute with the program for the tutorial: ``make recording``.

The commands are typed one after the other in a folder like a clone, where no server runs yet. What
they print, and how long they take, becomes a block of the page.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = ROOT / "docs" / "tutorial"
PAGE = TUTORIAL / "first-measurement.md"
COMMANDS = (
    'python main.py time "x + y" -s "x = torch.ones(4, 4); y = x + 1" --no-times',
    'python main.py time "x + y" "torch.add(x, y)" -s "x = torch.ones(4, 4); y = x + 1" --no-times',
    (
        "python main.py compare .venv patched --only 'nn Modules/Linear' --runtime eager --no-times"
        " --language python"
    ),
)
"""The first starts servers, the second finds them; ``patched`` is the build of the next page."""

_BLOCK = re.compile(
    r"(<!-- not typed: recorded by `make recording` -->\n```console\n)(.*?)(```\n)", re.DOTALL
)
_TYPED = re.compile(
    r"^\$ (?P<command>.*?)  # (?P<seconds>[0-9.]+) s\n(?P<output>.*?)(?=^\$ |\Z)",
    re.MULTILINE | re.DOTALL,
)
_FIRST_SH = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@attrs.frozen
class Typed:
    """A command, what it printed, and from its start to its end how long it took."""

    command: str
    output: str
    seconds: float

    @property
    def text(self) -> str:
        """As the page shows it."""
        return f"$ {self.command}  # {self.seconds:.1f} s\n{self.output}\n"


def main() -> None:
    """Record, and put it into the page."""
    with tempfile.TemporaryDirectory() as folder:
        recording = record(Path(folder))
    block = "\n".join(typed.text for typed in recording)
    page = PAGE.read_text(encoding="utf-8")
    text = _BLOCK.sub(lambda found: f"{found[1]}{block}{found[3]}", page)
    PAGE.write_text(text, encoding="utf-8")


def recorded() -> tuple[Typed, ...]:
    """What the page holds."""
    found = _BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None, f"{PAGE} has no recording"
    return tuple(
        Typed(one["command"], one["output"].rstrip("\n"), float(one["seconds"]))
        for one in _TYPED.finditer(found[2])
    )


def record(folder: Path) -> tuple[Typed, ...]:
    """Type the commands in ``folder``, which becomes like a clone with a second build."""
    for name in ("main.py", "definitions"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "runtime").mkdir(mode=0o700)
    made = _FIRST_SH.search((TUTORIAL / "first-comparison.md").read_text(encoding="utf-8"))
    assert made is not None, "the tutorial does not say how to make the second build"
    _type(made[1], folder)
    try:
        return tuple(_timed(command, folder) for command in COMMANDS)
    finally:
        _type("python main.py servers stop", folder)


def _timed(command: str, folder: Path) -> Typed:
    begin = time.perf_counter()
    output = _type(command, folder)
    return Typed(command, output.rstrip(), time.perf_counter() - begin)


def _type(command: str, folder: Path) -> str:
    """What a command prints; a comparison exits with 3, as it is made to find something."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={
            **os.environ,
            "COLUMNS": "100",
            "INSTRUCTION_COUNTS_DB": str(folder / "runs.db"),
            "INSTRUCTION_COUNTS_KEEP_SERVERS": "10m",
            "INSTRUCTION_COUNTS_RUNTIME": str(folder / "runtime"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    expected = 3 if " compare " in command else 0
    assert expected == done.returncode, (command, done.returncode, done.stdout)
    return done.stdout


def stable(recording: Sequence[Typed]) -> list[tuple[str, list[str]]]:
    """What a recording says on any machine: commands, and lines without numbers and columns."""
    return [(typed.command, [*_stable_lines(typed.output)]) for typed in recording]


def _stable_lines(output: str) -> Iterator[str]:
    for line in output.splitlines():
        if line.startswith("most in"):  # which functions of libraries, is of the machine
            return
        text = re.sub(r"[\w.,+-]*\d[\w.,+%-]*", "N", line)
        yield re.sub(r"[\s─█]+", " ", text).strip()


if __name__ == "__main__":
    main()
