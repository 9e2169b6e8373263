"""Files on the command line: paths, which need not exist yet."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(path_type=Path, dir_okay=False)
