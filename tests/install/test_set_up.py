"""What set-up asks pip for."""

import platform
import tomllib
from pathlib import Path

import pytest

from scripts import set_up

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("found", "chosen"), [(0, "torch==2.13.0+cpu"), (1, "torch==2.13.0")])
def test_a_cpu_build_is_taken_where_pip_finds_one(found: int, chosen: str) -> None:
    """Otherwise pip chooses among the builds of that version."""

    def pip(*args: str, quiet: bool) -> int:
        assert quiet is True
        assert "--dry-run" == args[1]
        assert "torch==2.13.0+cpu" == args[-1]
        return found

    assert chosen == set_up.chosen_torch("torch==2.13.0", pip)


@pytest.mark.parametrize(("machine", "said"), [("x86_64", True), ("aarch64", False)])
def test_a_large_download_is_announced(
    monkeypatch: pytest.MonkeyPatch, machine: str, said: bool
) -> None:
    """With the ways around it; only where there is one."""
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: machine)
    remark = set_up.remark("torch==2.13.0")

    assert said == ("several GB" in remark)
    assert said == ("BUILD=" in remark)


def test_an_extra_brings_those_that_it_names() -> None:
    """An extra may name another of the same project."""
    project = {
        "name": "mine",
        "dependencies": ["attrs>=23.2", "torch>=1.13"],
        "optional-dependencies": {"docs": ["mkdocs"], "dev": ["mine[docs]", "pytest>=8"]},
    }

    assert ["attrs>=23.2", "torch>=1.13"] == list(set_up.requirements(project))
    assert ["mkdocs", "pytest>=8"] == list(set_up.requirements(project, "dev"))


def test_everything_that_is_needed_to_build_and_develop_is_pinned() -> None:
    """An open range resolves to something else tomorrow."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    needed = [*set_up.requirements(project), *set_up.requirements(project, "dev")]

    def normalised(requirement: str) -> str:
        return str(set_up.name_of(requirement)).replace("_", "-")

    assert set() == set(map(normalised, needed)) - set(map(normalised, pins))
