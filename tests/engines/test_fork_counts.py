"""What several lanes share, and files of Callgrind for people."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from instruction_counts.engines.fork_counts import Once, callgrind_name
from tests.fakes import make_case


def test_a_value_is_made_once_for_all_who_ask() -> None:
    """The others wait for the first, who makes it."""
    made, everybody = list[str](), threading.Barrier(4)

    def make(key: str, text: str) -> str:
        made.append(key)
        time.sleep(0.2)  # while the others ask
        return f"{key} {text}"

    once = Once(make)

    def ask(_: int) -> object:
        everybody.wait(60)
        return once.get("a", "value")

    with ThreadPoolExecutor(4) as threads:
        assert ["a value"] * 4 == list(threads.map(ask, range(4)))
    assert ["a"] == made
    assert "b value" == once.get("b", "value")


def test_what_fails_is_tried_again() -> None:
    """As a case that is retried expects."""
    numbers = iter([0, 1])
    once = Once(lambda key: key / next(numbers))
    with pytest.raises(ZeroDivisionError):
        once.get(7)

    assert 7 == once.get(7)


def test_a_case_has_a_file_name_that_people_can_read() -> None:
    """And that differs where only the code or the build does."""
    names = [
        callgrind_name(make_case("a / b", "[0, 0]", stmt=stmt), build)
        for stmt in ("x", "y")
        for build in ("old build", "old-build")
    ]

    assert names[0].startswith("callgrind.out.a-b-0-0-Python-Eager-Forward.old-build.")
    assert len(set(names)) == 4
