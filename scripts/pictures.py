"""Makes the pictures of README and docs from real output: ``python -m scripts.pictures``.

Takes some minutes. ``docs/images`` gets one SVG for each command, or for those that are named
(``python -m scripts.pictures run``). ``explain`` needs the runs before it. The second
build has one more Python function around ``torch.mm``.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from benchmarks.injected import wrapped

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
WIDTH = 100

# Without its web fonts: a page must not ask other hosts for anything.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)

EAGER = ("--language", "python", "--runtime", "eager", "--autograd", "forward")
COMMANDS = {
    "run": ("run", "--only", "Pointwise/Math/add", "--no-times"),
    "compare": ("compare", "base", "new", "--build", "builds.yaml", "--only", "MatMul/*", *EAGER),
    "explain": ("explain", "2:base", "2:new", "MatMul/mm", *EAGER, "--limit", "6"),
}


def main() -> None:
    """Measures in a folder and a database of their own."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        new = wrapped("new", sys.executable, folder, ["mm"])
        builds = [
            {"name": "base", "python": sys.executable},
            {"name": "new", "python": sys.executable, "env": dict(new.env)},
        ]
        (folder / "builds.yaml").write_text(yaml.safe_dump({"builds": builds}), encoding="utf-8")
        for title, arguments in COMMANDS.items():
            if sys.argv[1:] and title not in sys.argv[1:]:
                continue
            text = Text.from_ansi(_output(arguments, folder))
            (IMAGES / f"{title}.svg").write_text(_svg(text, arguments), encoding="utf-8")


def _output(arguments: tuple[str, ...], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "main.py"), *arguments],
        cwd=folder,
        env=os.environ
        | {
            "FORCE_COLOR": "1",
            "COLUMNS": str(WIDTH),
            "TERM": "xterm-256color",
            "INSTRUCTION_COUNTS_DB": str(folder / "runs.db"),
            "PYTHONPATH": str(ROOT),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,  # `compare` exits with 3, as it finds the change
    )
    assert done.stdout, arguments
    return done.stdout.rstrip()


def _svg(text: Text, arguments: tuple[str, ...]) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(text, highlight=False)
    shown = " ".join(f"'{word}'" if "*" in word else word for word in arguments)
    return console.export_svg(
        title=f"python main.py {shown}", theme=MONOKAI, code_format=FORMAT, unique_id="picture"
    )


if __name__ == "__main__":
    main()
