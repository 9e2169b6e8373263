"""The code that we write around what the user wrote: calls of a module, and the backward pass."""

from __future__ import annotations

from core.labels import Language
from core.signature import Signature


def call_model(signature: Signature, language: Language) -> str:
    """The statement that calls ``model``."""
    args = ", ".join(signature.args)
    if language is Language.PYTHON:
        return f"{assign(signature, language)}model({args})"
    return f"{assign(signature, language)}model->forward({args});"


def with_backward(stmt: str, tensor: str, language: Language, gradient: str = "") -> str:
    """``stmt``, followed by the backward pass from ``tensor``.

    ``gradient`` names the gradient of the output; a scalar needs none.
    """
    end = ";" if language is Language.CPP else ""
    return f"{stmt}\n{tensor}.backward({gradient}){end}"


def assign(signature: Signature, language: Language) -> str:
    """What precedes a call to keep its output."""
    keyword = "auto " if language is Language.CPP else ""
    return "" if signature.output is None else f"{keyword}{signature.output} = "
