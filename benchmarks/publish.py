"""How long it takes to publish a history, how large it is, and what one more build costs.

    python -m benchmarks.publish     (about 5 minutes, and 600 MB in the folder for temporary files)

Made-up runs of 300 cases on 60 builds are stored; in each build some of the cases change. They are
published to an empty folder, then again after one more build. Figures only; nothing is asserted.
"""

import argparse
import random
import tempfile
from pathlib import Path

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.scale import program
from benchmarks.scale_records import changed, fingerprint, made_up
from instruction_counts.domain.records import Record, Run
from instruction_counts.storage.store import Store


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--builds", type=int, default=60)
    parser.add_argument("--changes", type=int, default=15, help="cases that change in each build")
    parser.add_argument("--folder", type=Path, help="keep database and site there")
    args = parser.parse_args()
    table = Table("what", "wanted", "got")
    with tempfile.TemporaryDirectory() as name:
        folder = args.folder or Path(name)
        draw = random.Random(1)  # noqa: S311 - nothing here is secret
        records = [made_up(number, draw) for number in range(args.cases)]
        with Store(folder / "runs.db") as store:
            for build in range(args.builds):
                records = stored(store, records, build, args.changes, draw)
            publish = ("publish", str(folder / "site"), "--db", str(folder / "runs.db"))
            table.add_row("from nothing", "under 90 s", program(*publish).got)
            files = [file for file in (folder / "site").rglob("*") if file.is_file()]
            size_mib = sum(file.stat().st_size for file in files) / 2**20
            table.add_row("its size", "under 60 MB", f"{size_mib:.1f} MiB, {len(files):,} files")
            table.add_row("with nothing new", "", program(*publish).got)
            stored(store, records, args.builds, args.changes, draw)
            table.add_row("one more build", "under 10 s", program(*publish).got)
    Console().print(table)


def stored(
    store: Store, records: list[Record], build: int, changes: int, draw: random.Random
) -> list[Record]:
    """Store a run of a build in which so many cases changed; its records."""
    drawn = {*draw.sample(range(len(records)), changes if build else 0)}
    found = [changed(record) if at in drawn else record for at, record in enumerate(records)]
    of_build = attrs.evolve(fingerprint(), torch_git=f"{build:040x}")
    day = f"2026-{1 + build // 28:02}-{1 + build % 28:02}T03:04:05+00:00"
    store.import_run(Run("0", "fork", {"default": of_build}, tuple(found), day))
    return found


if __name__ == "__main__":
    main()
