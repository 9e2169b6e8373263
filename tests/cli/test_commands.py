"""The commands, called as the console script calls them."""

import json
from pathlib import Path

import pytest

from instruction_counts.system.cache import VARIABLE, Cache
from tests.cli.program import Program

TWO_BUILDS = ["--build", "a=python3", "--build", "b=python3"]
ON_CUDA = ["selftest", "--device", "cuda"]
TIME_CPP = ["time", "x", "--language", "c++"]
GENERATE = ["generate", "small_models:Net", "--input", "1,4,8,8"]
LIST_ADD = ["list", "--operators", "torch.add"]


@pytest.fixture
def definitions(tmp_path: Path) -> str:
    """A definition file with some cases."""
    path = tmp_path / "cases.py"
    path.write_text("""\
from core.api import GroupedSetup, GroupedStmts, TimerArgs
BENCHMARKS = {
    "Pointwise": {
        "add": GroupedStmts(
            "z = x + y", "auto z = x + y;", GroupedSetup("x = y = torch.ones(1)"),
            "f(x, y) -> z", torchscript=True, num_threads=(1, 2),
        ),
        "x[:b:]": TimerArgs("x[:b:]", "x, b = [1], 1  # [red]"),
    },
    "Other": TimerArgs("at::on::x", language="c++"),
}
""")
    return str(path)


# Wrong usage


@pytest.mark.parametrize(
    "args",
    [
        ["--no-such-option"],
        ["run", "--jobs", "0"],
        ["run", "--shard", "4/3"],
        ["run", "--cores", "none", "--timeout", "0"],
        # What leaves nothing to watch, check, or fit is not even an option.
        ["watch", "--command", "true", "--no-counts"],
        ["baseline", "check", "baseline.json", "--no-counts"],
        ["operators", "sizes", "torch.add", "--no-counts"],
        ["explain", "one.json"],
        ["explain", "one.json", "two.json", "label", "--limit", "-1"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2(args: list[str], program: Program) -> None:
    """With a line that says what was wrong."""
    answer = program(*args)

    assert 2 == answer.code
    assert "Error: " in answer.err


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["run", "--no-counts", "--no-times"], "leave nothing to measure"),
        (["run", "--callgrind-out", "/proc/zz/x"], "--callgrind-out /proc/zz/x"),
        (["run", "--balance", __file__], "--balance: there are no shards"),
        (["run", "--cores", "9999"], "not available here: 9999"),
        (["run", "--build", "/nowhere/builds.yaml"], "/nowhere/builds.yaml: No such file"),
        (["env", *["--build", "a=python3"] * 2], 'two builds are called "a"'),
        (["list", "--input", "x=3"], "--input is for operators"),
        (["show", "Pointwise/Math/ad"], "Near: Pointwise/Math/add"),
        (["baseline", "show", "/nowhere.json"], "baseline accept /nowhere.json RUN"),
        (["time", "x += 1", "--backward"], "the statement ends without a value: x += 1"),
        (["time", "x", *TWO_BUILDS], "time needs one build, not several: a, b"),
        (["time", "x", "--global-setup", "#include <map>"], "--global-setup is for C++"),
        ([*TIME_CPP, "--runtime", "compiled"], "--runtime compiled needs a statement in Python"),
        (["time", "-", "-s", "-"], "standard input can be read once"),
        # A selftest must not pass because there was nothing to count.
        (["selftest", "--only", "no such label"], "no such label"),
        (["selftest", "--build", "/no/such/python"], "no interpreter"),
        (["selftest", *TWO_BUILDS], "a selftest needs one build, not several: a, b"),
        # The second would not be measured, and nobody would know.
        ([*ON_CUDA, "--layouts", "2"], "--layouts: with --device cuda nothing is counted"),
        (["generate", "small_models"], "is not a factory"),
        ([*GENERATE, "--input", "Nat@1,3"], 'no model is named "Nat"'),
        ([*GENERATE, "--output", "gen.txt"], "ends in .py"),
        (["watch", "--command", "true", "--output", "no/s.jsonl"], "there is no folder no"),
        (["watch", "--command", "exit 2"], "--command ends with 2"),
        (["operators", "coverage", *TWO_BUILDS], "needs one build"),
        (["operators", "sizes", "torch.fft.*"], "matches several operators"),
        (["operators", "sizes", "torch.rand"], "no shape to scale"),
        (["operators", "sizes", "torch.add", *TWO_BUILDS], "needs one build"),
        ([*LIST_ADD, "--definitions", "x.py"], "exclude each other"),
        ([*LIST_ADD, "--operators-file", "none.yaml"], "none.yaml: No such file"),
        ([*LIST_ADD, "--input", "input=3:int64"], "is not NAME=SIZES"),
        ([*LIST_ADD, "--input", "input=[3]", "--shape", "small"], "--input sets the shapes"),
    ],
)
def test_an_error_in_use_exits_with_1(args: list[str], expected: str, program: Program) -> None:
    """With a message on standard error, before anything is measured."""
    assert expected in program.error(*args)


# list


def test_the_list_has_a_line_for_each_case(definitions: str, program: Program) -> None:
    """With its whole identity; their number is no part of it, so that it can be counted and cut."""
    only = ("--only", "Pointwise", "--num-threads", "1")
    answer = program("list", "--definitions", definitions, *only)

    assert "5 cases\n" == answer.err
    assert [
        "Pointwise/add",
        "Pointwise/add · C++",
        "Pointwise/add · TorchScript",
        "Pointwise/add · C++ · TorchScript",
        "Pointwise/x[:b:]",
    ] == answer.out.splitlines()


# show


def test_a_case_is_shown_with_its_code(definitions: str, program: Program) -> None:
    """Exactly as it will be executed; nothing in it becomes a picture or a colour."""
    lines = program.output("show", "--definitions", definitions, "pointwise/x[:B:]").splitlines()
    scripted = ("*/add", "--runtime", "torchscript", "--language", "python")

    assert ["  setup", "    x, b = [1], 1  # [red]", "  statement", "    x[:b:]"] == lines[-4:]
    assert "z = jit_model(x, y)" in program.output("show", "--definitions", definitions, *scripted)


# cache


def test_what_the_cache_holds_is_shown_and_cleared(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder that the environment names: each kind with its entries and its size.

    There may be several caches, so it is said which was cleared; an empty one may be, too.
    """
    root = tmp_path / "cache"
    monkeypatch.setenv(VARIABLE, str(root))

    assert f"{root}\n" == program.output("cache", "show")
    cache = Cache(root)
    cache.entry("cases", "0123", lambda folder: (folder / "file").write_bytes(bytes(1 << 20)))
    cache.entry("headers", "0123", lambda folder: (folder / "file").write_bytes(bytes(3 << 20)))

    assert [["cases", "1", "entry", "1", "MiB"], ["headers", "1", "entry", "3", "MiB"]] == [
        line.split() for line in program.output("cache", "show").splitlines()[1:]
    ]
    for _ in range(2):
        answer = program("cache", "clear")
        assert 0 == answer.code
        assert f"Removed all entries of {root}" in answer.err.replace("\n", " ")
        assert [] == list(root.glob("*/[!.]*"))


# env


def test_what_a_build_is_and_lacks_is_said(program: Program, tmp_path: Path) -> None:
    """With the allocator that counts use, as a run or a baseline has it; the remedy stands below.

    Each in its own line.
    """
    file = tmp_path / "env.json"
    lines = program.output("env", "--compiler", "nope", "--output", file).splitlines()
    (fingerprint,) = json.loads(file.read_text()).values()
    (place,) = (at for at, line in enumerate(lines) if 'no C++ compiler "nope" found' in line)

    assert "steady" == fingerprint["allocator"]
    assert fingerprint["torch"]
    assert lines[place + 1].startswith("  Name another with --compiler")
