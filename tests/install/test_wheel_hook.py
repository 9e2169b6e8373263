"""What the wheel's build hook makes of a module's imports."""

from __future__ import annotations

import pytest

from scripts import wheel_hook


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from core.api import A\n", "from instruction_counts.core.api import A\n"),
        ("    from core.api import A\n", "    from instruction_counts.core.api import A\n"),
        ("from core import api\n", "from instruction_counts.core import api\n"),
        ("import core\n", "from instruction_counts import core\n"),
    ],
)
def test_the_core_is_imported_from_inside(before: str, after: str) -> None:
    """Wherever in a module it is imported, and in each form that this code base uses."""
    assert after == wheel_hook.inside(before)


@pytest.mark.parametrize(
    "text",
    [
        "from cores import a\n",
        "import core_api\n",
        "# from core.api import A\n",
        "a = 'core.api'\n",
    ],
)
def test_everything_else_stays(text: str) -> None:
    """Other names, comments and texts."""
    assert text == wheel_hook.inside(text)
