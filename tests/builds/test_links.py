"""Builds seen through links, with real interpreters in environments of their own."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

from instruction_counts.builds.links import Links, links_of, places_of
from instruction_counts.domain.build import Build
from tests.process import executable


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment without packages."""
    folder = tmp_path / "an environment"
    venv.create(folder, symlinks=True)
    return folder


def build_of(environment: Path, variables: Mapping[str, str] | None = None) -> Build:
    """The build whose interpreter lies in ``environment``."""
    return Build("b", str(environment / "bin" / "python"), env=variables or {})


def found(build: Build) -> Links | None:
    """The links of a build, if it has some."""
    places = places_of(build)
    assert places is not None
    return links_of(build, str(build.python), places)


def linked(build: Build) -> Links:
    """The links of a build that has some."""
    links = found(build)
    assert links is not None
    return links


def seen_by(build: Build, expression: str) -> object:
    """What an expression is worth in the interpreter of a build."""
    text = f"import json, sys; print(json.dumps({expression}))"
    command = [str(build.python), "-c", text]
    done = subprocess.run(command, env=dict(build.env), capture_output=True, check=True)
    return json.loads(done.stdout)


def site_packages(environment: Path) -> Path:
    """Where its packages lie."""
    return next(environment.glob("lib/python*/site-packages"))


def test_an_interpreter_takes_the_link_for_its_environment(
    environment: Path, tmp_path: Path
) -> None:
    """And finds the packages of the environment there: wherever that lies, no path is longer."""
    links = linked(build_of(environment))
    links.make(tmp_path)
    links.make(tmp_path)  # again, where a case deleted some of it
    build = links.linked(build_of(environment), tmp_path)

    assert str(tmp_path / "build") == seen_by(build, "sys.prefix")
    packages = tmp_path / "build" / site_packages(environment).relative_to(environment)
    assert str(packages) in seen_by(build, "sys.path")


def test_an_interpreter_elsewhere_is_found_by_its_own_links(
    environment: Path, tmp_path: Path
) -> None:
    """``~/bin/mypython`` leads into the environment, which is the one to link to."""
    (tmp_path / "mypython").symlink_to(sys._base_executable)  # type: ignore[attr-defined]
    own = linked(Build("b", sys._base_executable))  # type: ignore[attr-defined]

    assert own.prefix == linked(Build("b", str(tmp_path / "mypython"))).prefix


def test_what_links_would_change_or_what_lies_in_no_environment_has_none(
    environment: Path, tmp_path: Path
) -> None:
    """What it searches depends on the length of its path; a script starts the interpreter."""
    text = "import sys; sys.path.append('/' + str(len(sys.prefix)))\n"
    (site_packages(environment) / "odd.pth").write_text(text)
    script = executable(tmp_path / "python", f'exec {sys.executable} "$@"')

    assert found(build_of(environment)) is None
    assert found(Build("b", script)) is None


def test_an_editable_install_gets_a_link(environment: Path, tmp_path: Path) -> None:
    """In its place of the search path."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (site_packages(environment) / "editable.pth").write_text(f"{checkout}\n")
    build = build_of(environment)
    links = linked(build)
    links.make(tmp_path)

    ((place, link),) = links.search_path(tmp_path).items()
    assert str(checkout) == os.path.realpath(link)
    searched = seen_by(build, "sys.path")
    assert isinstance(searched, list)
    # A script of -c searches the working directory first, unless the environment is safe.
    assert str(checkout) == searched[place + searched.count("")]


def test_what_is_searched_by_a_variable_gets_a_link(environment: Path, tmp_path: Path) -> None:
    """As a build of which PYTHONPATH is the difference."""
    build = build_of(environment, {"PYTHONPATH": str(tmp_path)})
    links = linked(build)
    of_the_system = {"A": "/usr/bin"}  # it has the same path on each machine

    (link,) = links.search_path(tmp_path).values()
    assert {"PYTHONPATH": link, "X": "1:2"} == links.through({**build.env, "X": "1:2"}, tmp_path)
    assert of_the_system == Links("/usr", "bin/python3", {}).through(of_the_system, tmp_path)


@pytest.mark.parametrize("padding", [0, 11])
def test_texts_tell_the_paths_of_the_build(tmp_path: Path, padding: int) -> None:
    """Not the links that it was started through, which are longer in another layout."""
    links = Links("/opt/env", "bin/python", {4: "/src/torch"}, padding)
    own, searched = links.targets
    text = f'File "{tmp_path}/{own}/lib/x.py", then {tmp_path}/{searched}/torch/y.py'

    assert [5 + padding, 7 + padding] == [len(own), len(searched)]
    assert 'File "/opt/env/lib/x.py", then /src/torch/torch/y.py' == links.told(text, tmp_path)
