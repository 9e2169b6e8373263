"""What the machine is short of, and the remedy: causes of errors that may come up anywhere."""

import errno
import os
from pathlib import Path

from instruction_counts.domain.errors import UsageError

_NO_ROOM = "Free some space there; for temporary files: df -h /tmp /dev/shm"
_REMEDIES = {
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EROFS: "Make it writable, or choose another place.",
    errno.EAGAIN: "Stop other processes, or raise the limit: ulimit -u; in a container, pids.max",
    errno.ENOMEM: "Stop other processes, or raise the limit: ulimit -v",
    errno.EFBIG: "Raise the limit: ulimit -f",
    errno.EMFILE: "Raise the limit: ulimit -n",
    errno.ENFILE: "Stop other processes, or raise the limit: sysctl fs.file-max",
}

_OF_FILES = {
    errno.EACCES: "Change its permissions or those of its folder, or name another one.",
    errno.ENAMETOOLONG: "Name another one.",
    errno.ELOOP: "It is a link that leads to itself. Name another one.",
}
"""What is wrong with a file that was named: no shortage, so no other program is asked for it."""
_OF_PYTHON = {
    "start new thread": ("no further thread can be started", _REMEDIES[errno.EAGAIN]),
    "home directory": ("this user has no home", "Set HOME to a folder of your own."),
}
"""By words of a RuntimeError."""


def shortage_in(text: str) -> tuple[str, str]:
    """What another program says that the machine is short of, with the remedy; or two empty."""
    of_memory = dict.fromkeys(("MemoryError", "std::bad_alloc"), _REMEDIES[errno.ENOMEM])
    of_system = {os.strerror(number): remedy for number, remedy in _REMEDIES.items()}
    known = (of_system | of_memory).items()
    return next(((words, remedy) for words, remedy in known if words in text), ("", ""))


def shortage(error: BaseException) -> UsageError | None:
    """The error for the user where the machine is short of something; None for all else."""
    if isinstance(error, MemoryError):
        return UsageError("there is not enough memory", _REMEDIES[errno.ENOMEM])
    if isinstance(error, RuntimeError):
        known = (said for words, said in _OF_PYTHON.items() if words in str(error))
        return next((UsageError(*said) for said in known), None)
    if isinstance(error, UnicodeEncodeError) and error.encoding != "utf-8":
        problem = f"{error.object} cannot be named in the locale's encoding, {error.encoding}"
        return UsageError(problem, "Set PYTHONUTF8=1, or a locale with UTF-8: LC_ALL=C.UTF-8")
    if not isinstance(error, OSError):
        return None
    if error.errno == errno.ENOENT:
        return _missing_folder(error)
    number, named = error.errno or 0, error.filename2 or error.filename
    remedy = _REMEDIES.get(number) or (_OF_FILES.get(number) if named else None)
    place = f": {named}" if named else ""
    return None if remedy is None else UsageError(f"{error.strerror}{place}", remedy)


def _missing_folder(error: OSError) -> UsageError | None:
    """The same where a folder is missing that every process has; None for all other files."""
    if "temporary directory" in str(error):
        return UsageError(
            "there is no folder for temporary files", "Make /tmp writable, or set TMPDIR."
        )
    try:
        Path.cwd()
    except FileNotFoundError:
        return UsageError("the current folder was deleted", "Change to another one: cd")
    return None
