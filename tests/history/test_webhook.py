"""Alerts over HTTP, against a server on the loopback."""

from __future__ import annotations

import contextlib
import http.server
import threading
import time
from collections.abc import Iterator

import attrs
import pytest

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.history.webhook import Webhook

pytestmark = pytest.mark.faults


class Receiver(http.server.ThreadingHTTPServer):
    """Answers from a list, the last one again and again, and remembers what it got."""

    answers: list[int]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = [200]
        self.got: list[tuple[dict[str, str], str]] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class Handler(http.server.BaseHTTPRequestHandler):
    """Takes a POST."""

    server: Receiver

    def do_POST(self) -> None:
        """Remember and answer."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.got.append((dict(self.headers), body))
        answers = self.server.answers
        code = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(code)
        if code == 302:
            self.send_header("Location", self.server.url + "/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server of this test."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def hook(receiver: Receiver, token: str = "") -> Webhook:
    """A webhook that does not wait long."""
    return Webhook(receiver.url, token, wait_s=0.001, timeout_s=5)


def test_an_alert_arrives_with_its_id_and_the_token(receiver: Receiver) -> None:
    """As JSON."""
    hook(receiver, "secret").send("a1", '{"x": 1}')
    ((headers, body),) = receiver.got

    assert '{"x": 1}' == body
    assert "Bearer secret" == headers["Authorization"]
    assert "a1" == headers["Idempotency-Key"]
    assert "application/json" == headers["Content-Type"]


def test_without_a_token_none_is_sent(receiver: Receiver) -> None:
    """Not even an empty one."""
    hook(receiver).send("a1", "{}")

    assert "Authorization" not in receiver.got[0][0]


@pytest.mark.parametrize("code", [500, 503, 429, 408])
def test_what_may_pass_is_tried_again(code: int, receiver: Receiver) -> None:
    """With the same id."""
    receiver.answers = [code, code, 200]
    hook(receiver).send("a1", "{}")

    assert ["a1"] * 3 == [headers["Idempotency-Key"] for headers, _ in receiver.got]


@pytest.mark.parametrize(("code", "tries"), [(401, 1), (404, 1), (302, 1), (500, 4)])
def test_what_does_not_pass_is_reported(code: int, tries: int, receiver: Receiver) -> None:
    """A redirect would take the token elsewhere."""
    receiver.answers = [code]
    with pytest.raises(DataError, match=f"HTTP {code}"):
        hook(receiver, "secret").send("a1", "{}")

    assert tries == len(receiver.got)


class Endless(http.server.BaseHTTPRequestHandler):
    """Answers for ever: the head of an answer byte by byte, or its body."""

    def do_POST(self) -> None:
        """Answer until the other side is gone."""
        is_slow = self.path == "/slow"
        with contextlib.suppress(OSError):
            if not is_slow:
                self.send_response(200)
                self.end_headers()
            else:
                self.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
            while True:
                self.wfile.write(b"x" if is_slow else b"x" * 100_000)
                time.sleep(0.01 if is_slow else 0)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def endless() -> Iterator[str]:
    """A server that never comes to an end."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_answer_without_an_end_is_an_answer(endless: str) -> None:
    """Its body says nothing that matters, and is not read."""
    Webhook(f"{endless}/endless").send("a1", "{}")


def test_an_answer_that_drips_takes_no_longer_than_any_other(endless: str) -> None:
    """The limit is for all of it, not for each byte."""
    with pytest.raises(DataError, match=r"no whole answer within 0\.3 s"):
        Webhook(f"{endless}/slow", wait_s=0.001, timeout_s=0.3).send("a1", "{}")


def test_a_server_that_is_not_there_is_reported(receiver: Receiver) -> None:
    """After some tries; the address without its path, which can be a secret."""
    dead = attrs.evolve(hook(receiver), url="http://127.0.0.1:9/secret")
    with pytest.raises(DataError, match=r"127\.0\.0\.1:9 did not accept alerts") as caught:
        dead.send("a1", "{}")

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "ftp://a/b", "a.example", "https://", "http://["),
        *("https://a.example:99999/", "https://a.example:port/"),
    ],
)
def test_what_is_no_url_of_the_web_is_refused(url: str) -> None:
    """Before anything is measured."""
    with pytest.raises(UsageError, match="Expected a URL that begins with https://"):
        Webhook(url)


UNSENDABLE = pytest.mark.parametrize("end", ["\n", "\r\nX: y", " ", "\u20ac", "\xfc", "\0"])


@UNSENDABLE
def test_a_token_that_cannot_be_sent_is_refused(end: str) -> None:
    """When it is read, with where it comes from; it is not repeated."""
    with pytest.raises(
        UsageError, match="Expected ASCII without spaces or line breaks in INSTRUCTION_COUNTS_TOKEN"
    ) as caught:
        Webhook("https://a.example/", f"secret{end}")

    assert "secret" not in str(caught.value)


@UNSENDABLE
def test_a_url_that_cannot_be_sent_is_refused(end: str) -> None:
    """Its path can be a secret, too."""
    with pytest.raises(UsageError, match="Expected a URL in ASCII") as caught:
        Webhook(f"https://a.example/secret{end}")

    assert "secret" not in str(caught.value)


def test_a_request_that_cannot_be_written_is_a_failed_delivery() -> None:
    """Nothing of it is in the message, nor in what led to it: a traceback would show that."""
    # The host is ASCII, and says that it stands for letters which it does not.
    hook = Webhook("https://xn--a/secret", "secret")
    with pytest.raises(DataError, match="cannot build a request") as caught:
        hook.send("a1", "{}")

    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__ is True


def test_a_password_in_the_url_is_refused() -> None:
    """It would stand in the list of processes."""
    with pytest.raises(UsageError, match="INSTRUCTION_COUNTS_TOKEN"):
        Webhook("https://me:secret@a.example/")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_what_goes_to_the_loopback_passes_no_proxy(
    host: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would read the token."""
    monkeypatch.setenv("http_proxy", receiver.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    elsewhere = attrs.evolve(hook(receiver, "secret"), url=f"http://{host}:9/runs")
    with pytest.raises(DataError, match="did not accept alerts"):
        elsewhere.send("a1", "{}")

    assert not receiver.got


@pytest.mark.parametrize("host", ["a.example", "127.0.0.1.example", "10.0.0.1", "[2001:db8::1]"])
@pytest.mark.parametrize("token", ["", "secret"])
def test_nothing_goes_over_http_to_another_machine(host: str, token: str) -> None:
    """Anybody on the way could read it."""
    with pytest.raises(UsageError, match="Expected https://: over http://") as caught:
        Webhook(f"http://{host}/hook", token)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.2", "[::1]"])
def test_a_token_goes_over_http_to_the_loopback(host: str) -> None:
    """However it is called."""
    assert "secret" == Webhook(f"http://{host}:8000/hook", "secret").token


def test_the_token_is_not_shown() -> None:
    """Where values are printed."""
    assert "secret" not in repr(Webhook("https://a.example/", "secret"))
