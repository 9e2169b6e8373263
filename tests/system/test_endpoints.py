"""What may be sent, and where to."""

from __future__ import annotations

import pytest

from instruction_counts.system.endpoints import (
    check_token,
    check_token_name,
    check_url,
    is_loopback,
)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *(("localhost", True), ("LOCALHOST", True), ("127.0.0.1", True), ("::1", True)),
        *(("example.org", False), ("192.168.0.1", False), ("localhost.example.org", False)),
    ],
)
def test_only_this_machine_is_a_loopback(host: str, expected: bool) -> None:
    """By name and by address."""
    assert expected is is_loopback(host)


@pytest.mark.parametrize(
    "url", ["https://example.org/runs?a=1", "http://localhost:8000/", "http://[::1]/x"]
)
def test_a_url_that_keeps_its_content_private_is_accepted(url: str) -> None:
    """What stays on this machine cannot be read in transit."""
    check_url(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://example.org/", "can be read in transit"),
        ("ftp://example.org/", "begins with https://"),
        ("https://", "begins with https://"),
        ("https://a:99999/", "begins with https://"),
        ("https://me:secret@example.org/", "without a password"),
        ("https://ex ample.org/secret", "ASCII without spaces"),
        ("https://exämple.org/secret", "ASCII without spaces"),
    ],
)
def test_any_other_url_is_refused(url: str, expected: str) -> None:
    """Without repeating what can hold a secret."""
    with pytest.raises(ValueError, match=expected) as caught:
        check_url(url)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["AWS_SECRET", "MY_INSTRUCTION_COUNTS_TOKEN", "a b", ""])
def test_a_variable_that_is_not_there_to_be_sent_is_refused(name: str) -> None:
    """A specification of somebody else could name any."""
    check_token_name("INSTRUCTION_COUNTS_TOKEN_RUNS")
    with pytest.raises(ValueError, match="no others are sent"):
        check_token_name(name)


@pytest.mark.parametrize("token", ["two words", "line\n", "é"])
def test_a_token_that_no_request_can_hold_is_refused(token: str) -> None:
    """With the name of its variable, and nothing of itself."""
    check_token("", "NAME")
    check_token("abc-123", "NAME")
    with pytest.raises(ValueError, match="ASCII without spaces or line breaks in NAME") as caught:
        check_token(token, "NAME")

    assert token not in str(caught.value)
