"""A PostgreSQL server for tests, which can be stopped and started."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

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
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        initialise = ("-A", "trust", "-U", "postgres", "--no-sync", "--locale=C", "-E", "UTF8")
        self._run("initdb", *initialise)

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
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off"
        self._run("pg_ctl", "-w", "-t", "300", "-o", options, "-l", f"{self.folder}/log", "start")

    def stop(self) -> None:
        """Stop it at once, with all connections, as far as it runs."""
        self._run("pg_ctl", "-m", "immediate", "stop", check=False)

    def _run(self, program: str, *args: str, check: bool = True) -> None:
        subprocess.run(
            [self._programs / program, "-D", f"{self.folder}/data", *args],
            user=self._user,
            cwd=self.folder,
            check=check,
            stdout=subprocess.DEVNULL,
            timeout=600,
        )
