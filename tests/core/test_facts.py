"""What a definition states beside the code of its cases."""

from __future__ import annotations

import json

import pytest

from instruction_counts.core.facts import (
    Layer,
    Model,
    Operator,
    Subject,
    Use,
    subject_values,
)


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (None, None),
        (Model("Net"), {"kind": "model", "name": "Net"}),
        (
            Layer("add", (Use("Net", "a.b", 2),)),
            {
                "kind": "layer",
                "type": "add",
                "uses": [{"model": "Net", "path": "a.b", "count": 2}],
            },
        ),
        (
            Operator("torch.add", "arithmetic", "typical", {"input": (2, 3)}, "float32", 7),
            {
                "kind": "operator",
                "name": "torch.add",
                "category": "arithmetic",
                "variant": "typical",
                "shapes": {"input": [2, 3]},
                "dtype": "float32",
                "seed": 7,
                "no_cpp": "",
            },
        ),
    ],
)
def test_a_subject_has_values_that_json_knows(
    subject: Subject | None, expected: dict[str, object] | None
) -> None:
    """With its kind first."""
    values = subject_values(subject)

    assert json.dumps(expected) == json.dumps(values)


@pytest.mark.parametrize(
    "subject", [Operator("torch.add", shapes={"x": (2,)}), Layer("add", (Use("A", "b"),))]
)
def test_a_subject_can_be_a_key(subject: Subject) -> None:
    """Cases and records are hashed with it."""
    assert 1 == len({subject, subject})
