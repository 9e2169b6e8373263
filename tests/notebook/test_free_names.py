"""What code needs from outside."""

from __future__ import annotations

import pytest

from instruction_counts.notebook.free_names import free_names


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("x + y", ("x", "y")),
        ("x = x + 1", ("x",)),
        ("x = 1; x + 1", ()),
        ("x += 1", ("x",)),
        ("x: int = y", ("y",)),
        ("x: int", ()),
        ("for i in items: total = i", ("items",)),
        ("[i + k for i in rows for k in i]", ("rows",)),
        ("{i: k for i in rows}", ("rows", "k")),
        ("[i for i in rows]; i", ("rows", "i")),
        ("(n := m) + n", ("m",)),
        ("f = lambda a, b=c: a + b + d", ("c", "d")),
        ("def f(a):\n    z = a + g\n    return z\nf(z)", ("g", "z")),
        ("class A(B):\n    c = d", ("B", "d")),
        ("import numpy as np; np.ones(3)", ()),
        ("import torch.nn; torch.ones(3)", ()),
        ("from math import pi; pi", ()),
        ("with open(p) as f: f.read()", ("open", "p")),
        ("try:\n    a\nexcept E as e:\n    e", ("a", "E")),
        ("match a:\n    case [b, *c]: b + c\n    case {'k': d, **e}: d, e", ("a",)),
        ("async def f():\n    await a", ("a",)),
        ("x +", ()),
        ("x\0", ()),
    ],
)
def test_names_that_are_read_before_they_are_made_are_needed(
    code: str, names: tuple[str, ...]
) -> None:
    """In the order in which they are read; of what is no Python, none."""
    assert names == tuple(dict.fromkeys(free_names(code, ()).names))


def test_a_statement_reads_what_its_setup_makes() -> None:
    """And nothing of what another statement makes."""
    found = free_names("x = base", ["x + y", "y = 1", "y"])

    assert ("base", "y") == found.names


def test_chains_of_attributes_begin_in_a_needed_name() -> None:
    """They say which modules below it are meant."""
    found = free_names("import a", ["a.b.c", "torch.nn.functional.relu(x.y)"])

    assert ("torch.nn.functional.relu", "x.y") == found.dotted
