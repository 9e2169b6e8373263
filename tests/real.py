"""What is measured for real: with Valgrind, a compiler and torch, on servers made for a test."""

import contextlib
import io
import json
import shutil
import sysconfig
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from instruction_counts import cli
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.api import GroupedSetup, GroupedStmts, TimerArgs
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import AutogradMode, AutoLabels, Case, Language, RuntimeMode
from instruction_counts.domain.outcomes import Failure, Instructions, Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.cpp.compiler import HEADERS, Compiler
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork import ForkEngine
from instruction_counts.system.cache import Cache
from tests.cores import lent

NEEDS_VALGRIND = pytest.mark.skipif(not shutil.which("valgrind"), reason="Valgrind is missing")
NEEDS_VALGRIND_AND_COMPILER = pytest.mark.skipif(
    not (shutil.which("valgrind") and shutil.which("g++")), reason="Valgrind or g++ is missing"
)


def cache_with_shared_headers(folder: Path) -> Cache:
    """A cache in an empty ``folder``, but for torch's precompiled headers: each takes a minute."""
    cache, shared = Cache(folder), Cache().root / HEADERS
    shared.mkdir(mode=0o700, exist_ok=True)
    (cache.root / HEADERS).symlink_to(shared)
    return cache


def stated(stmt: str, setup: str = "", **more: Any) -> Case:
    """A case that is stated as it is, in Python unless ``more`` names another language."""
    (case,) = materialize({("a",): TimerArgs(stmt, setup, **more)})
    return case


def grouped(
    runtime: RuntimeMode = RuntimeMode.JIT,
    autograd: AutogradMode = AutogradMode.FORWARD,
    stmt: str = "y = (x * w).sum()",
    language: Language = Language.PYTHON,
) -> Case:
    """A case in one of its modes, which is TorchScript where no other is said."""
    setup = GroupedSetup(
        "x = torch.ones(4)\nw = torch.ones(4, requires_grad=True)",
        "auto x = torch::ones({4}); auto w = torch::ones({4}, torch::requires_grad());",
    )
    group = GroupedStmts(
        *(stmt, "auto y = (x * w).sum();", setup, "f(x, w) -> y"), torchscript=True, autograd=True
    )
    modes = AutoLabels(runtime, autograd, language)
    (case,) = (case for case in materialize({("a",): group}) if case.autolabels == modes)
    return case


def counts_of(outcome: Outcome) -> Instructions:
    """The instructions of a case that was counted."""
    assert outcome.instructions is not None, outcome.failure
    return outcome.instructions


def failure_of(outcome: Outcome) -> Failure:
    """Why a case was not measured."""
    assert outcome.failure is not None
    return outcome.failure


def measured(
    facts: BuildFacts, cache: Cache, orders: Mapping[str, WorkOrder], *, keeps_servers: bool = False
) -> dict[str, Outcome]:
    """What becomes of each order, one after the other, on a fork engine of their own."""
    profile = Profile(keeps_servers=keeps_servers, min_run_time_s=0.01)
    outcomes = {}
    with contextlib.closing(ForkEngine(facts, Compiler(facts, cache), profile, print)) as engine:
        for name, order in orders.items():
            with tempfile.TemporaryDirectory() as folder, lent(1) as cores:
                outcomes[name] = engine.measure(order, cores, Path(folder))
    return outcomes


def reported(folder: Path, *command: str | Path) -> tuple[int, str, dict[str, Any]]:
    """A command that uses a database in ``folder``: its exit code, what it prints, and its JSON."""
    output = folder / "reported.json"
    where = ("--db", str(folder / "runs.db"), "--output", str(output))
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        code = cli.main([*map(str, command), *where])
    return code, stream.getvalue(), json.loads(output.read_text(encoding="utf-8"))


def lock_file(folder: Path) -> Path:
    """A lock file of one package, by which an environment finds this one's torch, and its wheel."""
    about = "tiny-1.dist-info"
    files = {
        "tiny.py": "def main():\n    print('tiny')\n",
        "tiny.pth": "\n".join({sysconfig.get_path(name) for name in ("purelib", "platlib")}),
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1\nRequires-Dist: big\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "[console_scripts]\ntiny = tiny:main\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD"))
    with zipfile.ZipFile(folder / "tiny-1-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    path = folder / "tiny.txt"
    path.write_text(f"--no-index\n--find-links {folder}\ntiny==1\n")
    return path
