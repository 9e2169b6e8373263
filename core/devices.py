"""Devices: where the tensors of a case are, and how its code knows that."""

from __future__ import annotations

from instruction_counts.core.labels import Language

CPU, CUDA = DEVICES = ("cpu", "cuda")
"""As torch spells them."""


def on_device(setup: str, device: str, language: Language) -> str:
    """A setup that finds the device in a variable ``device``, so that one text serves both."""
    if language is Language.CPP:
        named = f"const torch::Device device(torch::k{device.upper()});"
    else:
        named = f'device = "{device}"'
    return f"{named}\n{setup}" if setup else named
