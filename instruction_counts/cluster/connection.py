"""Finding Dask's scheduler: by its address, or in a cluster that a YAML file describes."""

import contextlib
import functools
import importlib
import inspect
import ipaddress
import logging
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import attrs

from instruction_counts.domain.bounds import Bounds
from instruction_counts.domain.errors import UsageError
from instruction_counts.reading.structure import Text, read_as, strict_converter

_SUFFIXES = {".yaml", ".yml"}
_EXAMPLE = "An example:\n  cluster: LocalCluster\n  options: {n_workers: 2, threads_per_worker: 1}"
_INSTALL = "pip install 'instruction-counts[cluster]'"


@attrs.frozen
class ClusterFile:
    """A cluster to be made."""

    cluster: Text
    """A class of ``distributed``, or one with its module: ``dask_jobqueue.SLURMCluster``."""
    options: dict[str, Any] = attrs.field(factory=dict)
    """What the class is given."""
    workers: Annotated[int, Bounds(0, 100_000)] = 0
    """How many workers are asked for; 0 leaves it to the options."""


def is_cluster(lanes: str) -> bool:
    """Whether ``--lanes`` names a scheduler or a file, and no kind of lanes."""
    return "://" in lanes or Path(lanes).suffix in _SUFFIXES


@functools.cache
def connected(lanes: str, timeout_s: float = 20) -> Any:
    """A client of the scheduler; one for each, until the program ends.

    Raises:
        DataError, ValidationError: the file is missing, or holds something else.
        UsageError: Dask is not installed, there is no such cluster, nobody answers, or the
            connection would not be encrypted, or has no certificates.
    """
    try:
        from distributed import Client, Security  # noqa: PLC0415 - an extra, and slow to import
        from distributed.comm import resolve_address  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(f"--lanes {lanes} needs Dask, which is not installed", _INSTALL) from error
    is_file = "://" not in lanes
    if not is_file:
        _require_encryption(lanes)
    if lanes.startswith("tls://"):
        _require_certificates(lanes, Security())
    target = _made(Path(lanes)) if is_file else lanes
    try:
        if not is_file:
            resolve_address(lanes)  # what it refuses, a client would wait for when it is deleted
        return Client(
            target,
            timeout=timeout_s,
            set_as_default=False,
            name="instruction-counts",
            direct_to_workers=True,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"no scheduler of Dask answers at {lanes}: {error}",
            "Start one, and its workers:  dask scheduler     dask worker ADDRESS",
        ) from error


def _require_certificates(lanes: str, security: Any) -> None:
    """Refuse those that are not there, or of another form.

    Raises:
        UsageError: the connection could not be encrypted.
    """
    remedy = "Name a CA, a certificate and its key to Dask: docs/how-to/cluster.md"
    try:
        context = security.get_connection_args("client")["ssl_context"]
    except OSError as error:
        files = [security.tls_ca_file, security.tls_client_cert, security.tls_client_key]
        named = ", ".join(name for name in files if name)
        raise UsageError(
            f"{lanes} is encrypted, and {named} cannot be used: {error}", remedy
        ) from error
    if context is None:
        raise UsageError(f"{lanes} is encrypted, and no certificates are configured", remedy)


def _made(path: Path) -> Any:
    """The cluster of a file."""
    found = read_as(path, ClusterFile, strict_converter(), _EXAMPLE)
    module, _, name = found.cluster.rpartition(".")
    try:
        kind = getattr(importlib.import_module(module or "distributed"), name)
    except (ImportError, AttributeError) as error:
        remedy = f"Name a class of distributed, or install its package. {_EXAMPLE}"
        raise UsageError(f"{path}: there is no cluster {found.cluster}: {error}", remedy) from error
    try:
        with _deaf_to_interrupts():
            # What it logs when it fails is raised, too.
            quiet = {"silence_logs": logging.CRITICAL}
            taken = inspect.signature(kind).parameters
            given = {name: value for name, value in quiet.items() if name in taken}
            cluster = kind(**{**given, **found.options})
        _require_encryption(cluster.scheduler_address)
        if found.workers:
            cluster.scale(found.workers)
    except UsageError:
        cluster.close()
        raise
    except Exception as error:
        cause: BaseException = error  # Dask wraps it, several times
        while cause.__cause__ is not None:
            cause = cause.__cause__
        message = f"{path}: {found.cluster} cannot be made: {type(cause).__name__}: {cause}"
        raise UsageError(message, "Its options are those of its own documentation.") from error
    return cluster


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """What starts meanwhile ignores Ctrl-C, which a terminal sends to all; it ends with this."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _require_encryption(address: str) -> None:
    """Refuse what could be read, and answered, by others in the network.

    Raises:
        UsageError: the connection would not be encrypted, and leaves the machine.
    """
    parts = urlsplit(address)
    if parts.scheme in {"tls", "inproc"} or _is_loopback(parts.hostname or ""):
        return
    raise UsageError(
        f"{address} is not encrypted, and whoever can reach it could run code there",
        "Use tls://… with certificates of your own: docs/how-to/cluster.md",
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
