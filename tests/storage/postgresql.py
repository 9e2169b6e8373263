"""A PostgreSQL server for tests, which can be stopped and started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

import psycopg
import pytest


def programs() -> Path:
    """Where the programs of a PostgreSQL server are; skips the test where there are none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    path = str(found[-1]) if found else shutil.which("initdb")
    if path is None:
        pytest.skip("there is no PostgreSQL server here (Debian: apt-get install postgresql)")
    return Path(path).resolve().parent


class Server:
    """A server on a socket in a folder of its own, running from the start of a ``with``."""

    def __init__(self) -> None:
        self._programs = programs()
        # A server refuses to be root's.
        self._user = None if os.getuid() else "postgres"
        self.folder = tempfile.mkdtemp(prefix="instruction-counts-")
        self._data = f"{self.folder}/data"
        self._process: subprocess.Popen[bytes] | None = None
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        initialise = [self._programs / "initdb", "-D", self._data, "-A", "trust", "-U", "postgres"]
        subprocess.run(
            [*initialise, "--no-sync", "--locale=C", "-E", "UTF8"],
            user=self._user,
            cwd=self.folder,
            check=True,
            capture_output=True,
            timeout=600,
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    @property
    def url(self) -> str:
        """Its database."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        serve = [self._programs / "postgres", "-D", self._data, "-k", self.folder]
        self._process = subprocess.Popen(
            [*serve, "-c", "listen_addresses=", "-c", "fsync=off"],
            user=self._user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 300
        while not self._answers():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop it at once, with all connections, as far as it runs."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(300)
            self._process = None

    def _answers(self) -> bool:
        try:
            psycopg.connect(host=self.folder, user="postgres", dbname="postgres").close()
        except psycopg.OperationalError:
            return False
        return True
