"""``generate``, called as the console script calls it."""

import shutil
from pathlib import Path

import pytest

from instruction_counts.core.facts import Layer, Use
from instruction_counts.sources.definitions import load
from tests.cli.program import Program
from tests.process import ROOT

COMMAND = ("generate",)
NET = ["small_models:Net", "--input", "1,4,8,8"]


@pytest.fixture
def folder(here: Path) -> Path:
    """The working directory of somebody who has models."""
    shutil.copy(ROOT / "tests" / "fixtures" / "models" / "small_models.py", here)
    (here / "file").write_text("no folder")
    return here


@pytest.mark.slow
def test_models_become_a_file_of_definitions(folder: Path, program: Program) -> None:
    """What they share is in it once; a second time gives the same bytes."""
    args = [*NET, "small_models:other_net=Other", "--output", "gen/two.py"]

    lines = [" ".join(line.split()) for line in program.output(*args).splitlines()]
    first = (folder / "gen" / "two.py").read_bytes()
    program.output(*args, "--force")

    assert {"Net 8 5 3", "Other 4 4 3", "all 12 6 3"} <= {*lines}
    assert first == (folder / "gen" / "two.py").read_bytes()
    conv = next(case for case in load("gen/two.py") if case.label[1] == "Conv2d")
    uses = Use("Net", "blocks.0.conv"), Use("Net", "blocks.1.conv"), Use("Other", "0.conv")
    assert Layer("Conv2d", uses) == conv.subject


@pytest.mark.slow
@pytest.mark.thorough
def test_architectures_of_transformers_share_layers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: Program
) -> None:
    """With random weights, and nothing to download."""
    pytest.importorskip("transformers")
    monkeypatch.chdir(ROOT)
    models = ["examples.models:bert", "examples.models:gpt2"]
    inputs = ["--input", "input_ids=1,8:int64<1000"]
    out = program.output(*models, *inputs, "--output", tmp_path / "two.py")
    (shared,) = (line.split()[-1] for line in out.splitlines() if line.startswith("all "))
    uses = [case.subject.uses for case in load(str(tmp_path / "two.py"))[2:]]
    both = [
        layer_uses for layer_uses in uses if {"bert", "gpt2"} == {use.model for use in layer_uses}
    ]

    assert 0 < int(shared) <= len(both)


def test_a_file_that_exists_is_kept(folder: Path, program: Program) -> None:
    """Nothing is asked of the build before that is known, and that the file can be written."""
    (folder / "mine.py").write_text("BENCHMARKS = {}\n")
    nowhere = program.error("no_such:net", "--output", "file/models.py")

    assert "--output file/models.py cannot be" in nowhere
    assert "--force" in program.error(*NET, "--output", "mine.py")
    assert "BENCHMARKS = {}\n" == (folder / "mine.py").read_text()


@pytest.mark.slow
def test_what_a_build_finds_wrong_is_one_message(folder: Path, program: Program) -> None:
    """With the remedy below it, and no file."""
    message = "no_such:net: ModuleNotFoundError: No module named 'no_such'"

    assert message in program.error("no_such:net", "--output", "gen.py")
    assert not (folder / "gen.py").exists()
