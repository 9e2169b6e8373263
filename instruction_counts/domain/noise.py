"""Noise floors: what moves a count without any change of code, and how that is known."""

from __future__ import annotations

import enum

import attrs

from instruction_counts.domain.bounds import Count, Share


@attrs.frozen
class Noise:
    """What was seen to move the count of a case on a build without any change of code.

    It belongs to the record that it was measured for, and is stored and exported with it.
    """

    server_spread: Share = 0.0
    """Relative spread over fresh servers of one layout."""
    layout_spread: Share = 0.0
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
