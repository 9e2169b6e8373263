"""Makes the pictures of README from a real run: ``make pictures``.

``images/linear.json.gz`` is a part of the comparison that the tutorial makes. What a terminal
shows of it becomes an SVG for each command, and the flame graph of a page a PNG, by a Chromium that
is installed.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
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


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def main(images: Path = IMAGES) -> None:
    """Write a picture for each command, and one of a flame graph where there is a Chromium."""
    for title, arguments in COMMANDS.items():
        (images / f"{title}.svg").write_text(_svg(_output(arguments), title), encoding="utf-8")
    if CHROMIUM is None:
        print("no flame graph: there is no Chromium (apt-get install chromium)")
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        _output(["explain", RUN, "nn Modules/Linear", "--output", str(page)])
        photograph(page, "#flame", images / "flame.png")


def photograph(page: Path, element: str, picture: Path) -> None:
    """A picture of the first such element of a page that holds an SVG."""
    with sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # root has none
        browser = started.chromium.launch(executable_path=CHROMIUM, args=arguments)
        shown = browser.new_page(viewport={"width": 900, "height": 900})
        shown.goto(page.as_uri())
        shown.locator(f"{element} svg").first.wait_for()
        shown.locator(element).first.screenshot(path=picture, animations="disabled")
        browser.close()


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
