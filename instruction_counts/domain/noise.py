"""Noise floors: what moves a count without any change of code, and how that is known."""

from __future__ import annotations

import enum

import attrs

from instruction_counts.domain.bounds import Count, Share


def _is_share(_: object, field: attrs.Attribute[float], value: float) -> None:
    if not 0 <= value <= 1:  # NaN is not, either
        raise ValueError(f"{field.name} is {value}, and should be a share of a count")


@attrs.frozen
class Noise:
    """What was seen to move the count of a case on a build without any change of code.

    It belongs to the record that it was measured for, and is stored and exported with it.
    """

    server_spread: Share = attrs.field(default=0.0, validator=_is_share)
    """Relative spread over fresh servers of one layout."""
    layout_spread: Share = attrs.field(default=0.0, validator=_is_share)
    """Relative spread over layouts."""
    layouts: Count = 0
    """In how many further layouts it was counted; 0 says that nothing is known of layouts."""


class Origin(enum.Enum):
    """Where a noise floor comes from."""

    WINDOWS = "windows"
    """The windows of a count disagree."""
    SERVERS = "servers"
    """Fresh servers were seen to disagree."""
    LAYOUTS = "layouts"
    """Memory layouts were seen to move the count."""
    ASSUMED = "assumed"
    """The case was counted in one layout: it is what layouts usually move."""
