"""Answers one question, in the interpreter of the build that is asked.

It is started with the path of a request and the path of its answer, both JSON, and the name of a
module in this folder. The key ``question`` of the request names a function of that module: it
takes the request and returns the answer. What is in this folder needs the standard library, and
torch inside functions, and nothing else of this project. It runs on Python 3.9 and later.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

_PACKAGE = "instruction_counts_worker"


def main() -> int:
    """Answer the one question that the request file holds."""
    request_path, answer_path, name = sys.argv[1:]
    _load_folder()
    module = importlib.import_module(f"{_PACKAGE}.{name}")
    refusal = importlib.import_module(f"{_PACKAGE}.installed").RefusalError
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    try:
        answer = {"status": "ok", **getattr(module, request["question"])(request)}
    except refusal as error:
        answer = {"status": "failed", "message": error.message, "hint": error.hint}
    Path(answer_path).write_text(json.dumps(answer, allow_nan=False), encoding="utf-8")
    return 0


def _load_folder() -> None:
    """Make this folder a package whose name nobody else has.

    A model of the user may import modules that are called like the files here. So the folder, which
    older Pythons put there, does not stay on the path either.
    """
    folder = Path(__file__).parent
    sys.path[:] = [path for path in sys.path if Path(path) != folder]
    package = ModuleType(_PACKAGE)
    package.__path__ = [str(folder)]
    sys.modules[_PACKAGE] = package


if __name__ == "__main__":
    sys.exit(main())
