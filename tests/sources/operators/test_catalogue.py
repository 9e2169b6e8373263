"""What a build tells of its operators, and that it is asked but once."""

import os
import sys
from pathlib import Path

import pytest

from instruction_counts.domain.build import Build
from instruction_counts.sources.operators.catalogue import (
    Argument,
    PublicOperator,
    Schema,
    covered,
    load_schemas,
)
from instruction_counts.sources.operators.entries import OperatorEntry
from instruction_counts.system.cache import Cache

FAKE_TORCH = """\
from pathlib import Path
from types import SimpleNamespace as Some

with Path(__file__).with_name("imports").open("a") as stream:
    stream.write("x")

class Made(Some):
    def has_default_value(self):
        return hasattr(self, "default_value")

def made(name, type, kwarg_only=False, **more):
    return Made(name=name, type=type, kwarg_only=kwarg_only, **{"alias_info": None, **more})

def _jit_get_all_schemas():
    odd = made("odd", "float", True, default_value=float("inf"))
    out = made("out", "Tensor", True, alias_info=Some(is_write=True))
    dtype = made("dtype", "int", real_type="ScalarType", default_value=[1, 2])
    add = Some(name="aten::add", overload_name="out", arguments=[odd, out, dtype], returns=[out])
    zero = Some(name="aten::a", overload_name="", arguments=[], returns=[])
    other = Some(name="prims::add", overload_name="", arguments=[], returns=[])
    bare = Some(name="add", overload_name="", arguments=[], returns=[])
    return [add, zero, other, bare, add]

_C = Some(_jit_get_all_schemas=_jit_get_all_schemas)
__version__ = "1.0"
version = Some(git_version="abc")
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package called torch that counts how often it is imported."""
    folder = tmp_path / "path" / "torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(FAKE_TORCH)
    (folder / "_C.so").write_bytes(b"one")
    return folder


@pytest.fixture
def build(package: Path) -> Build:
    """A build with that torch."""
    return Build("made", sys.executable, env={"PYTHONPATH": str(package.parent)})


def imports(package: Path) -> int:
    """How often torch was imported."""
    return len((package / "imports").read_text())


def test_schemas_are_those_of_aten_by_name(build: Build, tmp_path: Path) -> None:
    """Each once, with the types that torch itself tells apart, and what is written to."""
    arguments = (
        Argument("odd", "float", kwarg_only=True, has_default=True, default="inf"),
        Argument("out", "Tensor", kwarg_only=True, is_write=True),
        Argument("dtype", "ScalarType", has_default=True, default=[1, 2]),
    )

    assert {
        "a": [Schema("a", "", (), ())],
        "add": [Schema("add", "out", arguments, ("Tensor",))],
    } == load_schemas(build, Cache(tmp_path / "cache"))


def test_each_torch_is_asked_once(build: Build, package: Path, tmp_path: Path) -> None:
    """And again if it was rebuilt in place, or has another environment: it may preload a library.

    Importing torch takes a second.
    """
    cache = Cache(tmp_path / "cache")
    assert load_schemas(build, cache) == load_schemas(build, cache)
    assert 1 == imports(package)
    os.utime(package / "_C.so", ns=(1, 1))
    load_schemas(build, cache)
    load_schemas(Build("other", build.python, env={**build.env, "SOMETHING": "1"}), cache)
    assert 3 == imports(package)


# Which of them have an entry


def public(name: str, native: str, uses: int = 0) -> PublicOperator:
    """A public operator; its namespace is all but the last part of its name."""
    return PublicOperator(name, name.rpartition(".")[0], native, uses)


ADD = public("torch.add", "add", 5)
METHOD = public("torch.Tensor.add", "add", 7)
LOSS = public("torch.nn.functional.cross_entropy", "cross_entropy_loss")
SAME_LOSS = public("torch.cross_entropy_loss", "cross_entropy_loss")


@pytest.mark.parametrize(
    ("entries", "operators", "uncovered"),
    [
        # By its own name; methods are named without torch.
        (["torch.add", "Tensor.add"], [ADD, METHOD], []),
        ([], [ADD, METHOD], [METHOD, ADD]),
        # The entry of a function covers the method of the same native name, and not conversely.
        (["torch.add"], [ADD, METHOD], []),
        (["Tensor.add"], [ADD, METHOD], [ADD]),
        # The native name is that of the build: not every function is called below as above.
        ([LOSS.name], [LOSS, SAME_LOSS], []),
        # torch.norm is deprecated and so not public, Tensor.norm is not.
        (["torch.norm"], [public("torch.Tensor.norm", "norm")], []),
    ],
)
def test_an_entry_covers_by_its_name_and_by_that_of_its_function(
    entries: list[str], operators: list[PublicOperator], uncovered: list[PublicOperator]
) -> None:
    """Those called most come first."""
    found = covered(operators, [OperatorEntry("x", name=name) for name in entries])

    assert uncovered == list(found.uncovered)
    assert len(operators) == len(found.public)
