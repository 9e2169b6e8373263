"""What gets a server ready for what torch compiles, without torch."""

import contextvars
import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType, SimpleNamespace

import pytest

from tests.process import called
from worker.compiled import forget_settings

USUAL, ANOTHER, MINE = (contextvars.ContextVar[int](name) for name in ("a", "b", "mine"))
CACHED = contextvars.ContextVar[int]("torch.config._cache")


def test_settings_that_are_as_usual_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what torch keeps of them; nothing of anybody else's, and no setting that was made."""
    config = ModuleType("config")
    config._config = {  # type: ignore[attr-defined]
        variable.name: SimpleNamespace(user_override=variable, default=1)
        for variable in (USUAL, ANOTHER)
    }
    monkeypatch.setitem(sys.modules, "config", config)

    def found() -> dict[str, int]:
        for variable, value in ((USUAL, 1), (ANOTHER, 2), (MINE, 3), (CACHED, 4)):
            variable.set(value)
        forget_settings()
        names = (USUAL, ANOTHER, MINE, CACHED)
        return {each.name: each.get() for each in names if each in contextvars.copy_context()}

    with ThreadPoolExecutor(1) as other_thread:  # which keeps what it has then
        assert {"b": 2, "mine": 3} == other_thread.submit(found).result()


def test_names_by_chance_are_the_same_in_each_process_until_it_begins() -> None:
    """Then they are by chance again, for whoever draws them in a case."""
    code = (
        "import uuid; from worker.compiled import _held_still\n"
        "wake = _held_still(); alike = [uuid.uuid4() for _ in range(2)]; wake()\n"
        "print(*alike, uuid.uuid4())"
    )
    first, second = (called([sys.executable, "-c", code]).stdout.split() for _ in range(2))

    assert first[:2] == second[:2]
    assert 4 == len({*first, *second})
