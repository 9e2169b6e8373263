"""``runs merge``: the shards of a run become the run."""

from pathlib import Path

import click

from instruction_counts.cli.help import Command
from instruction_counts.cli.options import EXISTING_FILE
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.report.run import run_document
from instruction_counts.session.merging import merge
from instruction_counts.storage.json_files import read_json


@click.command("merge", cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=EXISTING_FILE)
@output_options()
def merge_files(files: tuple[Path, ...], outputs: Outputs) -> None:
    """Put the JSON files of all shards of a run together, as one run; --output saves it.

    Example:
      python main.py runs merge shard-*.json --output run.json
    """
    whole = merge([(str(file), read_json(file)) for file in files])
    outputs.write(run_document(whole), whole)
