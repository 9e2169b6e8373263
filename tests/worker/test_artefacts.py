"""What is made for cases, and of which files."""

import json
import sys
from pathlib import Path

import torch

from tests.process import ROOT, called

SOURCE = """\
import ctypes, json
import mine_alone
ctypes.CDLL({library!r})
width = json.load(open({data!r}))
open({written!r}, "w").close()

def save(path):
    import torch
    torch.save(width, path)
"""
RUN = """\
import json, sys
from worker.artefacts import artefact
case = {"artefact_source": sys.argv[1], "artefact": sys.argv[2], "num_threads": 1}
print(json.dumps(artefact({"case": case}, None)))
"""


def test_an_artefact_names_the_files_that_it_was_made_of(tmp_path: Path) -> None:
    """Modules, data and libraries; not what making it wrote, nor what torch has."""
    of_torch = Path(torch.__file__).parent
    module, data, library = (tmp_path / name for name in ("mine_alone.py", "n.json", "own.so"))
    module.write_text("X = 1")
    data.write_text("7")
    library.write_bytes((of_torch / "lib" / "libc10.so").read_bytes())
    (tmp_path / "made").mkdir()
    made, written = str(tmp_path / "made" / "artefact.pt"), str(tmp_path / "log")
    source = SOURCE.format(library=str(library), data=str(data), written=written)
    command = [sys.executable, "-B", "-c", RUN, source, made]
    answer = called(command, variables={"PYTHONPATH": f"{ROOT}:{tmp_path}"}).stdout

    read = json.loads(answer)["read"]
    assert {str(path) for path in (module, data, library)} <= {*read}
    assert not [path for path in read if path == written or path.startswith(str(of_torch))]
