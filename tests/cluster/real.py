"""A scheduler of Dask and its workers, in processes of their own, and the command that uses them.

Their engine is that of `tests.cluster.slow_engine`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs

from instruction_counts.system.cache import VARIABLE
from tests.cluster import slow_engine
from tests.process import ROOT
from tests.waiting import comes_true

_WATCH = """
import pathlib, sys, time
from distributed import Client
client = Client(sys.argv[1], timeout=60)
while True:
    number = len(client.scheduler_info(n_workers=-1)["workers"])
    pathlib.Path("there").write_text(f"{number}")
    time.sleep(0.1)
"""


@attrs.define
class Cluster:
    """A scheduler, and the workers that a test starts."""

    folder: Path
    variables: dict[str, str] = attrs.field(factory=dict)
    """What all processes have in their environment, beside what this one has."""
    inside: Sequence[str] = ()
    """A command that starts the scheduler and the controller elsewhere."""
    address: str = ""
    processes: list[subprocess.Popen[bytes]] = attrs.field(factory=list)

    def start(self, *command: str | Path, **variables: str) -> subprocess.Popen[bytes]:
        """A process, whose output goes to the log."""
        known = {"PYTHONPATH": str(ROOT), slow_engine.NOTED: str(self.noted)}
        known |= {slow_engine.HOLD: str(self.hold), **self.variables}
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                env={**os.environ, **known, **variables},
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def schedule(self, *options: str, host: str = "127.0.0.1") -> None:
        """Start the scheduler."""
        file = self.folder / "scheduler.json"
        place = ("--host", host, "--port", "0", "--scheduler-file", str(file))
        dask = (*self.inside, sys.executable, "-m", "dask", "scheduler")
        self.start(*dask, *place, "--no-dashboard", *options)
        assert comes_true(lambda: file.exists() and file.read_text().endswith("}"))
        self.address = json.loads(file.read_text())["address"]

    def close(self) -> None:
        """End all of them."""
        for process in self.processes:
            process.kill()
            process.wait()

    def worker(
        self, inside: Sequence[str] = (), nanny: str = "--no-nanny", **variables: str
    ) -> subprocess.Popen[bytes]:
        """A worker with a lane for each of two cores."""
        dask = (*inside, sys.executable, "-m", "dask", "worker", self.address)
        options = ("--nthreads", "2", "--no-dashboard", nanny, "--preload", slow_engine.__file__)
        return self.start(*dask, *options, **variables)

    def wait_for(self, number: int) -> None:
        """Until the scheduler has so many workers."""
        there = self.folder / "there"
        if not there.exists():
            self.start(*self.inside, sys.executable, "-c", _WATCH, self.address)
        assert comes_true(lambda: there.exists() and there.read_text() == f"{number}")

    def command(self, *args: str | Path) -> subprocess.Popen[bytes]:
        """The program, which knows the engine, and takes cases in the order of their definition.

        How long a case takes is kept in the cache, and those that take long would come first.
        """
        options = ("--engine", "slow", "--lanes", self.address, "--jobs", "2", "--no-times")
        program = (*self.inside, sys.executable, slow_engine.__file__)
        return self.start(*program, *args, *options, **{VARIABLE: str(self.folder / "cache")})

    @property
    def noted(self) -> Path:
        """Where workers write what they measure."""
        return self.folder / "noted"

    @property
    def hold(self) -> Path:
        """While it is there, cases named so are not finished."""
        return self.folder / "hold"

    @property
    def log(self) -> Path:
        """What all of them print."""
        return self.folder / "log"

    def measured(self) -> list[list[str]]:
        """The process, the case, the build and the core of each measurement that began."""
        if not self.noted.exists():
            return []
        return [line.split() for line in self.noted.read_text().splitlines()]

    def held(self) -> list[str]:
        """The processes that began a case that is held, once for each."""
        return [process for process, case, *_ in self.measured() if case.startswith("held")]


def certificates(folder: Path) -> dict[str, str]:
    """Variables by which Dask encrypts, with a certificate that signs itself."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=instruction-counts", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    names = {"CA_FILE": certificate}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        names |= {f"{role}__CERT": certificate, f"{role}__KEY": key}
    return {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(at) for name, at in names.items()}
