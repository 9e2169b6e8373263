"""What the wheel's build hook makes of a module's imports."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """The hook, which is no module of a package."""
    spec = importlib.util.spec_from_file_location("wheel_hook", ROOT / "scripts" / "wheel_hook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from core.api import A\n", "from instruction_counts.core.api import A\n"),
        ("    from core.api import A\n", "    from instruction_counts.core.api import A\n"),
        ("from core import api\n", "from instruction_counts.core import api\n"),
        ("import core\n", "from instruction_counts import core\n"),
    ],
)
def test_the_core_is_imported_from_inside(hook: ModuleType, before: str, after: str) -> None:
    """Wherever in a module it is imported, and in each form that this code base uses."""
    assert after == hook.inside(before)


@pytest.mark.parametrize(
    "text",
    [
        "from cores import a\n",
        "import core_api\n",
        "# from core.api import A\n",
        "a = 'core.api'\n",
    ],
)
def test_everything_else_stays(hook: ModuleType, text: str) -> None:
    """Other names, comments and texts."""
    assert text == hook.inside(text)
