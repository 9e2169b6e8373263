"""The folder of a site: what changed is written, and nothing of anybody else is touched."""

import json
from pathlib import Path

import pytest

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.system.site_folder import MANIFEST, Changes, check_site_folder, site_folder


def update(folder: Path, **texts: str) -> Changes:
    """Make these the pages of the folder; each is made of its text alone."""
    files = [(f"cases/{name}.html", text, lambda text=text: text) for name, text in texts.items()]
    with site_folder(folder) as site:
        return site.update(frozenset(name for name, *_ in files), files)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A site of two pages."""
    update(tmp_path / "site", a="1", b="1")
    return tmp_path / "site"


def test_only_what_changed_is_written_and_what_is_gone_is_removed(folder: Path) -> None:
    """A file that was written by hand meanwhile shows which were left alone."""
    (folder / "cases" / "a.html").write_text("mine")

    assert Changes(written=2, removed=1, files=3) == update(folder, a="1", c="1", d="1")
    assert "mine" == (folder / "cases" / "a.html").read_text()
    assert {"a.html", "c.html", "d.html"} == {path.name for path in (folder / "cases").iterdir()}


def test_a_file_that_was_deleted_comes_back(folder: Path) -> None:
    """Whatever the manifest says of it."""
    (folder / "cases" / "a.html").unlink()

    assert 1 == update(folder, a="1", b="1").written


def test_files_of_others_are_never_touched(folder: Path) -> None:
    """Nor are folders in which some lie."""
    (folder / "CNAME").write_text("example.org")
    (folder / "cases" / "notes.txt").write_text("mine")
    update(folder)

    assert {MANIFEST, "CNAME", "cases"} == {
        path.name for path in folder.iterdir() if not path.name.startswith(".")
    }
    assert ["notes.txt"] == [path.name for path in (folder / "cases").iterdir()]


def test_a_file_of_another_in_the_place_of_a_page_is_refused(folder: Path) -> None:
    """Before anything is written."""
    (folder / "cases" / "c.html").write_text("mine")

    with pytest.raises(UsageError, match=r"cases/c\.html is not a file of the site"):
        update(folder, a="2", c="1")
    assert "1" == (folder / "cases" / "a.html").read_text()


def test_a_folder_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    """Nothing is written through a link."""
    (tmp_path / "elsewhere").mkdir()
    update(tmp_path / "site")
    (tmp_path / "site" / "cases").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UsageError, match="cases is not a file of the site"):
        update(tmp_path / "site", a="1")


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    """Those of a checkout that are hidden are no reason."""
    (tmp_path / ".git").touch()
    check_site_folder(tmp_path)
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(UsageError, match=r"contains other files, such as thesis\.tex"):
        update(tmp_path, a="1")


@pytest.mark.parametrize("name", ["../outside.html", "/etc/hosts", "a/b/c.html", ".git/config"])
def test_a_manifest_leads_nowhere_else(name: str, folder: Path) -> None:
    """One from elsewhere may not have files removed."""
    (folder / MANIFEST).write_text(json.dumps({"version": 1, "files": {name: "1"}}))

    with pytest.raises(DataError, match="is not the name of a file of a site"):
        update(folder)


def test_an_interrupted_update_goes_on(folder: Path) -> None:
    """What it wrote is known for ours, and what it had found is not lost."""

    def stop() -> str:
        raise KeyboardInterrupt

    files = [("cases/a.html", "2", lambda: "2"), ("cases/d.html", "1", stop)]
    with site_folder(folder) as site:
        site.remembered("cause", lambda: "slow")
        with pytest.raises(KeyboardInterrupt):
            site.update(frozenset(name for name, *_ in files), files)

    with site_folder(folder) as site:
        assert "slow" == site.remembered("cause", lambda: "asked again")
    assert Changes(written=1, removed=1, files=2) == update(folder, a="2", d="1")


def test_what_is_not_asked_for_is_forgotten(folder: Path) -> None:
    """So that a manifest does not grow for ever."""
    with site_folder(folder) as site:
        site.keep("old", 1)
        site.update(frozenset(), [])
    update(folder)

    with site_folder(folder) as site:
        assert 2 == site.remembered("old", lambda: 2)


def test_one_process_at_a_time_publishes(folder: Path) -> None:
    """The other is told."""
    with site_folder(folder), pytest.raises(UsageError, match="another process is publishing"):
        update(folder, a="2")
