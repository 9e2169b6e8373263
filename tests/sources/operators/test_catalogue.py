"""What a build tells of its operators, and that it is asked but once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import DataError
from instruction_counts.sources.operators.catalogue import (
    Argument,
    PublicOperator,
    Sample,
    Schema,
    load_public_operators,
    load_samples,
    load_schemas,
)
from instruction_counts.system.cache import Cache

FAKE_TORCH = """\
class dtype:
    pass

float32 = dtype()

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


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """A cache of its own."""
    return Cache(tmp_path / "cache")


def imports(package: Path) -> int:
    """How often torch was imported."""
    return len((package / "imports").read_text())


def test_schemas_are_those_of_aten_by_name(build: Build, cache: Cache) -> None:
    """Each once, with the types that torch itself tells apart, and what is written to."""
    arguments = (
        Argument("odd", "float", kwarg_only=True, has_default=True, default="inf"),
        Argument("out", "Tensor", kwarg_only=True, is_write=True),
        Argument("dtype", "ScalarType", has_default=True, default=[1, 2]),
    )

    assert (Schema("a", "", (), ()), Schema("add", "out", arguments, ("Tensor",))) == (
        load_schemas(build, cache)
    )


def test_a_schema_is_asked_for_once(build: Build, cache: Cache, package: Path) -> None:
    """Importing torch takes a second."""
    first, second = load_schemas(build, cache), load_schemas(build, cache)

    assert 1 == imports(package)
    assert first == second


def test_another_torch_is_asked_again(build: Build, cache: Cache, package: Path) -> None:
    """One that was rebuilt in place, too."""
    load_schemas(build, cache)
    os.utime(package / "_C.so", ns=(1, 1))
    load_schemas(build, cache)

    assert 2 == imports(package)


def test_another_environment_is_asked_again(build: Build, cache: Cache, package: Path) -> None:
    """It may preload another library."""
    load_schemas(build, cache)
    load_schemas(Build("other", build.python, env={**build.env, "SOMETHING": "1"}), cache)

    assert 2 == imports(package)


def test_a_refusal_is_not_kept(build: Build, cache: Cache, package: Path) -> None:
    """What was mended is found."""
    source = (package / "__init__.py").read_text()
    (package / "__init__.py").write_text("raise OSError('no')")
    with pytest.raises(DataError):
        load_schemas(build, cache)
    (package / "__init__.py").write_text(source)

    assert 2 == len(load_schemas(build, cache))


@pytest.mark.parametrize(("overload", "expected"), [("", "add"), ("Tensor", "add.Tensor")])
def test_a_schema_has_one_full_name(overload: str, expected: str) -> None:
    """As torch.ops has it."""
    assert expected == Schema("add", overload, (), ()).full_name


# Public operators and samples


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ((), "torch.linalg"),
        (("core", "pt2_compliant_tag"), "torch.linalg"),
        (("reduction", "pointwise", "core"), "torch.linalg, pointwise, reduction"),
    ],
)
def test_a_category_is_where_it_stands_and_what_it_does(
    tags: tuple[str, ...], expected: str
) -> None:
    """Without what says nothing of either."""
    assert expected == PublicOperator("torch.linalg.x", "torch.linalg", "x", tags, 0).category


def test_a_torch_without_samples_says_so(build: Build) -> None:
    """Not every build has the files that torch tests itself with."""
    with pytest.raises(DataError, match="this torch has no samples of operators"):
        load_samples(build, ["add"], "float32", 1)


def test_a_module_that_samples_need_is_named(build: Build, package: Path) -> None:
    """With the command that installs it there."""
    module = package / "testing" / "_internal" / "common_methods_invocations.py"
    module.parent.mkdir(parents=True)
    module.write_text("import expecttest_of_nobody")
    with pytest.raises(DataError) as caught:
        load_samples(build, ["add"], "float32", 1)

    assert (
        'build "made": torch\'s samples of operators need the module expecttest_of_nobody'
        == caught.value.message
    )
    assert f"{sys.executable} -m pip install expecttest_of_nobody" == caught.value.remedy


@pytest.mark.parametrize("dtype", ["float99", "add", "__name__"])
def test_a_dtype_that_is_none_is_refused(build: Build, dtype: str) -> None:
    """With one that is."""
    with pytest.raises(DataError, match=f"torch has no dtype '{dtype}'\n  For example: float32"):
        load_samples(build, ["add"], dtype, 1)


@pytest.mark.slow
def test_the_installed_torch_tells_samples(cache: Cache) -> None:
    """Of each variant no more than are wanted, by any of its names, and kept."""
    names = ["torch.add", "linalg_norm", "nowhere"]
    found = load_samples(default_build(), names, "float32", 2, cache)
    scalar = {"tensor": [], "dtype": "float32", "requires_grad": False}

    assert [("torch.add", 2, ""), ("linalg_norm", 2, "")] == [
        (operator.name, len(operator.samples), operator.reason)
        for operator in found
        if not operator.variant
    ]
    assert Sample(scalar, (scalar,), {}) == found[0].samples[0]
    assert found == load_samples(default_build(), names, "float32", 2, cache)


@pytest.mark.slow
def test_samples_require_a_gradient_where_there_is_one(cache: Cache) -> None:
    """An index of the largest has none."""
    names = ["torch.add", "torch.argmax"]
    found = load_samples(default_build(), names, "float32", 1, cache, requires_grad=True)

    assert [("torch.add", True), ("torch.argmax", False)] == [
        (operator.name, operator.samples[0].input["requires_grad"]) for operator in found
    ]


# The real thing


def test_the_installed_torch_tells_its_schemas(cache: Cache) -> None:
    """With the arguments that everybody knows."""
    by_name = {schema.full_name: schema for schema in load_schemas(default_build(), cache)}

    assert (
        Argument("self", "Tensor", is_write=True),
        Argument("other", "Tensor"),
        Argument("alpha", "number", kwarg_only=True, has_default=True, default=1),
    ) == by_name["add_.Tensor"].arguments
    assert "Optional[MemoryFormat]" == by_name["clone"].arguments[1].type


def test_the_installed_torch_tells_its_public_operators(cache: Cache) -> None:
    """Each with its native name, what it does, and how often it is called."""
    by_name = {
        operator.name: operator for operator in load_public_operators(default_build(), cache)
    }
    add, sum_ = by_name["torch.add"], by_name["torch.Tensor.sum"]

    assert "add" == add.native
    assert "torch, pointwise" == add.category
    assert add.uses > 10
    assert "torch.Tensor, reduction" == sum_.category
    assert sum_.uses > add.uses
