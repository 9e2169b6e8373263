"""Naming builds: on the command line, and in a YAML file."""

import sys
from pathlib import Path

import pytest

from instruction_counts.builds.configured import parse_build, read_builds
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import DataError, UsageError


@pytest.mark.parametrize(
    ("text", "name"), [("new={}", "new"), ("{}", "default"), ("a b.c={}", "a b.c")]
)
def test_a_build_is_a_name_and_an_interpreter(text: str, name: str) -> None:
    """The name may be left out."""
    assert Build(name, sys.executable) == parse_build(text.format(sys.executable))


@pytest.mark.parametrize("text", ["new={folder}/venv", "new=venv", "new=python"])
def test_an_interpreter_is_found_by_its_folder_or_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """As a link, since what it points to does not know the environment's packages; absolute."""
    link = tmp_path / "venv" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(link.parent))

    assert str(link) == parse_build(text.format(folder=tmp_path)).python


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(
            (half, r"is not NAME=PYTHON\n  For example: new=")
            for half in ("", "=", "new=", "=python")
        ),
        *(
            (f"new={path}", f'build "new": no interpreter at {path}\n  Give')
            for path in ("/nowhere/python", "no-such-command-anywhere", "/")
        ),
    ],
)
def test_what_is_no_build_is_refused(text: str, expected: str) -> None:
    """With an example, or with its name and what could be given."""
    with pytest.raises(UsageError, match=expected):
        parse_build(text)


@pytest.mark.parametrize("name", ["requirements.txt", "uv.lock"])
def test_a_lock_file_is_known_by_its_suffix(tmp_path: Path, name: str) -> None:
    """The build has its text, as other machines do not have the file."""
    path = tmp_path / name
    path.write_text("torch==2.13.0\n")
    assert Build("new", lock="torch==2.13.0\n") == parse_build(f"new={path}")

    path.write_text("torch\n")
    with pytest.raises(DataError, match='found     "torch"'):
        parse_build(f"new={path}")


def test_a_file_holds_builds(tmp_path: Path) -> None:
    """Each with its interpreter, command or lock file, and its variables."""
    path = tmp_path / "mine.yaml"
    path.write_text(f"""
builds:
  - name: base
    python: {sys.executable}
    env: {{OMP_NUM_THREADS: "1", EMPTY: ""}}
  - name: module
    source_cmd: |
      module load python
      source /opt/torch/env
    compiler: clang
  - name: locked
    lock: {tmp_path}/requirements
    env: {{A: "1"}}
""")
    (tmp_path / "requirements").write_text("torch==2.13.0")

    assert (
        Build("base", sys.executable, None, {"OMP_NUM_THREADS": "1", "EMPTY": ""}),
        Build("module", None, "module load python\nsource /opt/torch/env\n", {}, "clang"),
        Build("locked", env={"A": "1"}, lock="torch==2.13.0"),
    ) == read_builds(path)


PYTHON = f"python: {sys.executable}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "mine.yaml:1:1: $\n  found     nothing\n  expected  a mapping"),
        ("builds: []", "expected  at least one build"),
        (f"builds: [{{{PYTHON}}}]", '$.builds[0]\n  found     none\n  expected  a field "name"'),
        (f'builds: [{{name: "", {PYTHON}}}]', "$.builds[0].name"),
        (f"builds: [{{name: b, pyhton: x, {PYTHON}}}]", "did you mean python?"),
        ("builds: [{name: a, python: [x]}]", "$.builds[0].python"),
        (f"builds: [{{name: a, {PYTHON}, env: {{A: 1}}}}]", "$.builds[0].env.A\n"),
        (f"builds: [{{name: a, {PYTHON}, env: {{A=B: x}}}}]", '$.builds[0].env["A=B"]\n'),
        (f'builds: [{{name: a, {PYTHON}, env: {{A: "\\0"}}}}]', "$.builds[0].env.A\n"),
        ("builds: [{name: a}]", "found     neither"),
        (f"builds: [{{name: a, {PYTHON}}}, {{name: a, {PYTHON}}}]", 'found     "a" again'),
        ("builds: [{name: a, python: /nowhere}]", "expected  the path of an interpreter"),
        (f"builds: [{{name: a, {PYTHON}, lock: a.txt}}]", "found     both"),
        ("builds: [{name: a, lock: /nowhere}]", "found     /nowhere: No such file"),
        ("builds: [{name: a, lock: /dev/null}]", "found     nothing in /dev/null:1"),
    ],
)
@pytest.mark.faults
def test_a_malformed_file_names_itself_and_the_field(
    tmp_path: Path, text: str, expected: str
) -> None:
    """Whatever is in it."""
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_builds(path)

    assert caught.value.message.startswith(str(path))
    assert expected in caught.value.message
