"""``publish``: the history of all cases as a static site, for any host of files."""

import re
from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.history_command import history_options
from instruction_counts.cli.options import case_options, option, store_option
from instruction_counts.domain.errors import UsageError
from instruction_counts.report.format import plural
from instruction_counts.report.site import Site
from instruction_counts.session.histories import HistoryRequest, publication_of
from instruction_counts.storage.store import Store
from instruction_counts.system.site_folder import site_folder

FOLDER = click.Path(path_type=Path, file_okay=False)


def publish_to(folder: Path, store: Store, asked: HistoryRequest, url: str = "") -> str:
    """Bring the site in ``folder`` up to date, and say what changed.

    Without a ``url``, the address of the site is the last one that was given.

    Raises:
        UsageError: there is nothing to publish, or the folder is not one of a site.
        DataError: the database or the manifest of the site cannot be read.
    """
    with site_folder(folder) as kept:
        found = publication_of(asked, store)
        url = url or kept.remembered("url", str)
        kept.keep("url", url)
        site = Site(found, kept.remembered, url)
        changes = kept.update(site.names(), site.pages())
    removed = f", {changes.removed:,} removed" if changes.removed else ""
    number = plural(changes.files, "file")
    return f"Published to {folder}: {number}, {changes.written:,} written{removed}."


def _address(url: str) -> str:
    if not re.match(r"https?://[^/]", url):
        raise UsageError(f"--url {url} is no address", "For example: https://example.org/counts")
    return f"{url.rstrip('/')}/"


@click.command("publish", cls=Command)
@click.argument("folder", metavar="DIR", type=FOLDER)
@history_options(case_options)
@option(
    "--url",
    "URL",
    "Address of the site, for the links of its feed  [default: the last one]",
    callback=lambda _context, _option, url: _address(url) if url else "",
)
@store_option
def publish_command(folder: Path, asked: HistoryRequest, url: str, db: str | None) -> None:
    """Write the history of stored runs as a static site, or bring one up to date.

    DIR gets an overview with the newest builds and steps, a page for each case and each pair of
    neighbouring builds, a search, and a feed. Nothing is measured; only files that changed are
    written, and other files are never touched.

    Examples:
      python main.py publish site
      python main.py publish site --tag 'nightly-*' --since 2026-01-31
    """
    with Store(db, must_exist=True) as store:
        console.line(publish_to(folder, store, asked, url))
