"""Install this checkout and what it needs into the environment of this interpreter.

usage: set_up.py [--torch REQUIREMENT | --without-torch]

Versions are those of constraints.txt. A CPU build of torch is taken where pip finds one; where it
finds none, what will be downloaded is said first. ``--torch`` names another torch for pip (a
version, a path, an address), ``--without-torch`` installs none, for use with builds that exist.
"""

import argparse
import importlib.metadata
import platform
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]

Pip = Callable[..., int]


def pip(*args: str, quiet: bool = False) -> int:
    """Run pip; its exit code. ``quiet`` hides what it prints."""
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run([*PIP, *args], stdout=output, stderr=output, check=False).returncode


def requirements(project: dict[str, object], extra: str | None = None) -> Iterator[str]:
    """What the project needs, or one of its extras, with the extras that this one names."""
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    for line in project["dependencies"] if extra is None else extras[extra]:  # type: ignore[attr-defined]
        own = re.fullmatch(rf"{project['name']}\[(.+)\]", line)
        if own:
            yield from requirements(project, own[1])
        else:
            yield line


def name_of(requirement: str) -> str:
    """The name of the package that a requirement asks for."""
    return re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0].lower()


def chosen_torch(pinned: str, run_pip: Pip = pip) -> str:
    """The CPU build of the pinned version where pip finds one, otherwise the version as it is."""
    cpu = f"{pinned}+cpu"
    found = run_pip("install", "--dry-run", "--no-deps", "--quiet", cpu, quiet=True) == 0
    return cpu if found else pinned


def remark(torch: str) -> str:
    """What to know before ``torch`` is installed; empty where there is nothing to say."""
    if torch.endswith("+cpu") or platform.system() != "Linux" or platform.machine() != "x86_64":
        return ""
    return (
        f"pip finds no CPU build of {torch} for Python {platform.python_version()}. "
        "The build it finds comes with CUDA: several GB.\n"
        "To use another, interrupt this and name one:\n"
        "  make setup TORCH='torch==2.14.1'   a version, the path of a wheel, or its address\n"
        "  make setup BUILD=/path/to/venv     an environment that has torch\n"
        "  PIP_EXTRA_INDEX_URL=… make setup   an index that has CPU builds"
    )


def installed_torch() -> str | None:
    """The version of torch in this environment."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> int:
    """Install; the exit code is pip's."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--torch")
    either.add_argument("--without-torch", action="store_true")
    asked = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    (pinned,) = (pin for pin in pins if name_of(pin) == "torch")
    others = [*requirements(project), *requirements(project, "dev")]
    wanted = [line for line in others if name_of(line) != "torch"]
    if asked.torch:
        wanted.append(asked.torch)
    elif not asked.without_torch:
        torch = pinned if installed_torch() else chosen_torch(pinned)
        if not installed_torch() and remark(torch):
            print(remark(torch), flush=True)
        wanted.append(torch)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write("\n".join(pin for pin in pins if pin != pinned))
        constraints.flush()
        return pip("install", "--quiet", "-c", constraints.name, *wanted) or pip(
            "install", "--quiet", "--no-deps", "-e", str(ROOT)
        )


if __name__ == "__main__":
    sys.exit(main())
