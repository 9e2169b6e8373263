"""Cases as they are defined: their identity and their code."""

from __future__ import annotations

from collections.abc import Iterator

from core.facts import expected_values, subject_values
from core.types import Case


def as_json(case: Case) -> dict[str, object]:
    """Identity fields and code, with the keys that result files have."""
    return {
        **case.key.as_values,
        "definition_hash": case.definition_hash,
        "stmt": case.timer_args.stmt,
        "setup": case.timer_args.setup,
        "global_setup": case.timer_args.global_setup,
        "metadata": dict(case.metadata),
        "subject": subject_values(case.subject),
        "expected": expected_values(case.expected),
    }


def code_of(case: Case) -> Iterator[tuple[str, str]]:
    """Each part of the code of a case that is not empty, with its name."""
    args = case.timer_args
    yield "definition", case.definition_hash
    for name, code in (
        ("TorchScript model (made inside the build)", case.model_source),
        ("global setup", args.global_setup),
        ("setup", args.setup),
        ("statement", args.stmt),
    ):
        if code:
            yield name, code
