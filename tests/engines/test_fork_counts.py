"""What several lanes share, and files of Callgrind for people."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from instruction_counts.engines.fork_counts import Once, callgrind_name
from tests.fakes import make_case


def test_a_value_is_made_once_for_all_who_ask() -> None:
    """The others wait for the first, who makes it."""
    made = list[str]()
    everybody = threading.Barrier(4)

    def make(key: str, text: str) -> str:
        made.append(key)
        time.sleep(0.2)  # while the others ask
        return f"{key} {text}"

    once = Once(make)

    def ask(_: int) -> str:
        everybody.wait(60)
        found: str = once.get("a", "value")
        return found

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, range(4)))

    assert ["a value"] * 4 == found
    assert ["a"] == made
    assert "b value" == once.get("b", "value")


def test_what_fails_is_tried_again() -> None:
    """As a case that is retried expects."""
    answers = iter([ZeroDivisionError(), "found"])

    def make(_: object) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    once = Once(make)
    with pytest.raises(ZeroDivisionError):
        once.get("a")

    assert "found" == once.get("a")


def test_a_case_has_a_file_name_that_people_can_read() -> None:
    """And that differs where only the code does."""
    names = [callgrind_name(make_case("a / b", "[0, 0]", stmt=stmt)) for stmt in ("x", "y")]

    assert names[0].startswith("callgrind.out.a-b-0-0-Python-Eager-Forward.")
    assert len(set(names)) == 2
