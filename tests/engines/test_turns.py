"""Turns: side by side, or alone."""

from __future__ import annotations

import threading

from instruction_counts.engines.turns import Turns


def test_turns_go_side_by_side() -> None:
    """And know of each other."""
    turns = Turns()
    with turns.taken() as first, turns.taken() as second:
        pass

    assert not first.was_alone
    assert not second.was_alone


def test_turns_after_each_other_were_alone() -> None:
    """Nothing overlapped with them."""
    turns = Turns()
    with turns.taken() as first:
        pass
    with turns.taken() as second:
        pass

    assert first.was_alone
    assert second.was_alone


def test_a_turn_that_has_to_be_alone_waits_and_is_waited_for() -> None:
    """Others begin before it or after it."""
    turns, order = Turns(), list[str]()
    begun = threading.Event()

    def take_alone() -> None:
        begun.set()
        with turns.taken(alone=True) as turn:
            order.append("alone")
            thread.start()
            thread.join(0.1)
            assert turn.was_alone

    def take_beside() -> None:
        with turns.taken():
            order.append("after")

    thread = threading.Thread(target=take_beside)
    waiting = threading.Thread(target=take_alone)
    with turns.taken():
        waiting.start()
        begun.wait(300)
        waiting.join(0.1)
        order.append("before")
    waiting.join(300)
    thread.join(300)

    assert ["before", "alone", "after"] == order
