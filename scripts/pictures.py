"""Makes the pictures of README from a real run: ``make pictures``.

``images/linear.json.gz`` is a part of the comparison that the tutorial makes. What a terminal
shows of it becomes an SVG for each command.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "images"
WIDTH = 92

# Without its web fonts: a page must not ask other hosts for anything.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)

RUN = "linear.json.gz"
COMMANDS = {
    "compare": ["compare", RUN],
    "explain": ["explain", RUN, "nn Modules/Linear", "--by", "python", "--by", "layer"],
}


def main(images: Path = IMAGES) -> None:
    """Write a picture for each command."""
    for title, arguments in COMMANDS.items():
        (images / f"{title}.svg").write_text(_svg(_output(arguments), title), encoding="utf-8")


def _output(arguments: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "main.py"), *arguments],
        cwd=IMAGES,
        env=os.environ
        | {
            "COLUMNS": str(WIDTH),
            "FORCE_COLOR": "1",
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
        },
        stdout=subprocess.PIPE,
        text=True,
        check=False,  # `compare` exits with 3, as it finds the change
    )
    assert done.stdout, arguments
    return done.stdout.rstrip()


def _svg(output: str, title: str) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(output), highlight=False)
    return console.export_svg(
        title=f"python main.py {title} …", theme=MONOKAI, code_format=FORMAT, unique_id=title
    )


if __name__ == "__main__":
    main()
