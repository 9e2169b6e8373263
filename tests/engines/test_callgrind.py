"""The reader of Callgrind profiles, on made, stored and freshly recorded ones."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from instruction_counts.engines.callgrind import (
    CallgrindFormatError,
    CallgrindProfile,
    Function,
    read,
    read_events,
    read_totals,
)
from tests.engines.callgrind_text import to_text

STORED = Path(__file__).parents[1] / "fixtures" / "callgrind"
ONE_PART = sorted(set(STORED.glob("*.out")) - {STORED / "four_parts.out"})


def written(folder: Path, text: str) -> Path:
    """A dump with this text."""
    path = folder / "cg.7.1"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def body(*lines: str, totals: object = 5) -> str:
    """A profile with these lines in the function ``f``."""
    head = ("# callgrind format", "desc: Trigger: window 3", "positions: line", "events: Ir")
    return "\n".join([*head, "summary: 999", "fn=f", *lines, f"totals: {totals}", ""])


def function(name: str) -> Function:
    """A function of which nothing but the name is known."""
    return Function("???", "???", name)


# What a profile says


def test_events_cost_what_they_are_given(tmp_path: Path) -> None:
    """In calls, too; zeros at the end of a line may be left out, and other events cost nothing."""
    text = (
        "events: Ir Dr D1mr\nfn=f\n1 5 9 2\n1 3\ncfn=g\ncalls=2 1\n1 7 4 1\n"
        "fn=g\n1 7 4 1\ntotals: 15 13 3\n"
    )
    found = read(written(tmp_path, text), {"Ir": 1, "D1mr": 10})

    assert (45, {function("f"): 28, function("g"): 17}) == (found.totals, found.exclusive)
    assert {(function("f"), function("g")): (2, 17)} == found.calls


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "recursion levels are one function": (
            body("fn=(1) f", "1 1", "fn=(2) f'2", "1 2", "fn=(3) f'17", "1 2"),
            {function("f"): 5},
        ),
        "inlined code costs the function that it was inlined into": (
            body("fl=a.c", "fn=f", "1 2", "fi=b.h", "7 2", "fe=a.c", "2 1"),
            {Function("???", "a.c", "f"): 5},
        ),
        # Callgrind leaves out ``fl=`` where inlined code has just named the same file.
        "a function without a file line is of the file named last": (
            body("fl=a.c", "fn=f", "1 1", "fi=b.h", "7 1", "fn=g", "2 3"),
            {Function("???", "a.c", "f"): 2, Function("???", "b.h", "g"): 3},
        ),
        "callers use the numbers of names that callees defined": (
            body(
                *("cob=(1) o", "cfi=(1) h", "cfn=(1) g", "calls=1 1", "1 5"),
                *("ob=(1)", "fl=(1)", "fn=(1)", "1 5"),
            ),
            {Function("o", "h", "g"): 5},
        ),
        "places may be absolute, relative or repeated, and no cost be left out": (
            body("12 1", "+4 2", "2", "* 1", "-3 1"),
            {function("f"): 5},
        ),
        "comments, empty and unknown header lines are passed over": (
            "novelty: 7\n" + body("# note", "", "1 5", "   "),
            {function("f"): 5},
        ),
        "no cost": (body(totals=0), {}),
    }.values(),
)
def test_self_costs_are_read(tmp_path: Path, text: str, expected: dict[Function, int]) -> None:
    """Each function has what its own lines cost."""
    assert read(written(tmp_path, text)).exclusive == expected


def test_callees_are_read(tmp_path: Path) -> None:
    """With their objects and files, which hold for one call; else those named last do."""
    here, there = ("cfi=h", "cfn=g", "calls=1 1", "1 5"), ("cfn=k", "calls=1 1", "1 5")
    text = body("fi=b.h", "cob=o", *here, *there, "cfl=i", *there, totals=0)

    assert {callee for _, callee in read(written(tmp_path, text)).calls} == {
        Function("o", "h", "g"),
        Function("???", "b.h", "k"),
        Function("???", "i", "k"),
    }


def test_calls_between_recursion_levels_are_summed(tmp_path: Path) -> None:
    """Levels call each other, which is a call of a function by itself."""
    text = body("cfn=f'2", "calls=1 1", "1 9", "fn=f'2", "cfn=f'2", "calls=3 1", "1 6", totals=0)
    calls = read(written(tmp_path, text)).calls

    assert calls == {(function("f"), function("f")): (4, 15)}


def test_a_call_that_began_before_the_window_is_no_cost_of_its_caller(tmp_path: Path) -> None:
    """It is none of those in the window, and costs what is in it."""
    profile = read(written(tmp_path, body("1 5", "cfn=g", "calls=0 1", "1 9")))

    assert profile.exclusive == {function("f"): 5}
    assert profile.calls == {(function("f"), function("g")): (0, 9)}


SIMULATED = "# callgrind format\nevents: Ir Dr D1mr\nfn=f\n1 5 3\ntotals: 5 3\n"


def test_each_event_of_a_simulation_has_its_total(tmp_path: Path) -> None:
    """Zeros at the end are left out; with other events than ``Ir``, it is no profile of counts."""
    path = written(tmp_path, SIMULATED)

    assert {"Ir": 5, "Dr": 3, "D1mr": 0} == read_events(path)
    with pytest.raises(CallgrindFormatError, match="Ir alone"):
        read(path)


@pytest.mark.parametrize(
    "text",
    [
        SIMULATED.replace("totals: 5 3\n", "totals: 5 3"),
        SIMULATED.replace("totals: 5 3", "totals: 5 3 0 1"),
        SIMULATED.replace("Ir", "Cy"),
    ],
)
def test_a_simulation_without_its_totals_is_refused(tmp_path: Path, text: str) -> None:
    """It was cut off."""
    with pytest.raises(CallgrindFormatError, match="one complete totals: line"):
        read_events(written(tmp_path, text))


# Malformed input


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (body("1 5", totals="²"), "one complete totals: line"),
        (body("1 5", totals="9" * 5000), "one complete totals: line"),
        (body("1 5") + "1 5\n", "one complete totals: line"),
        (body("1 5").replace("events: Ir", "events: Cy"), "an events: line with Ir alone"),
        (body("1 5").replace("fn=f", ""), "line 7: it cannot be read: '1 5'"),
        (body("1 x"), "line 7: it cannot be read: '1 x'"),
        (body("1 " + "9" * 5000), "line 7: it cannot be read"),
        (body("fl=(9)"), r"line 7: it cannot be read: 'fl=\(9\)'"),
        (body("cfi=(9) x", "cfn=(9)"), r"line 8: it cannot be read"),
        (body("calls=1 1", "1 5"), "line 8: it cannot be read"),
        (body("cfn=g", *["calls=1 1", "1 5"] * 2), "line 11: it cannot be read"),
        (body("cfn=g", "calls=x", "1 5"), "line 8: it cannot be read"),
        (body("1 4"), "its lines do not add up to its totals, 5"),
    ],
)
def test_malformed_text_is_refused_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    """The error names the file, too: dumps are many."""
    with pytest.raises(CallgrindFormatError, match=rf"cg\.7\.1.*{expected}") as caught:
        read(written(tmp_path, text))

    assert len(str(caught.value)) < 500


def test_no_beginning_of_a_file_is_taken_for_all_of_it(tmp_path: Path) -> None:
    """A dump that was cut off, or one part of several, must not count fewer instructions."""
    whole, path = (STORED / "window.out").read_bytes(), tmp_path / "cut"
    for reader in (read, read_totals):
        with pytest.raises(CallgrindFormatError, match="one complete totals: line"):
            reader(STORED / "four_parts.out")
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CallgrindFormatError):
            (read if length % 10 else read_totals)(path)


# Stored profiles


ROW = re.compile(r" *([\d,]+)  [^:]*:(.*?)(?: \[(?:/[^\]]*|\?\?\?)\])?")


def annotated(path: Path) -> Counter[str]:
    """What ``callgrind_annotate`` says that each function costs itself, added up over files."""
    options = ["--threshold=100", "--show-percs=no", "--inclusive=no", "--auto=no", "--show=Ir"]
    command = ["callgrind_annotate", *options, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert not done.stderr
    costs: Counter[str] = Counter()
    for line in done.stdout.partition("file:function")[2].splitlines():
        row = ROW.fullmatch(line)
        if row is not None:
            costs[re.sub(r"'\d+$", "", row[2])] += int(row[1].replace(",", ""))
    return costs


@pytest.mark.skipif(
    shutil.which("callgrind_annotate") is None, reason="callgrind_annotate is not installed"
)
@pytest.mark.parametrize("path", ONE_PART, ids=lambda path: path.stem)
def test_self_costs_agree_with_callgrind_annotate(path: Path) -> None:
    """Function by function, added up over files; a callee is where its cost stands.

    No line is lost and none is counted twice; reading only the totals gives the same.
    """
    profile = read(path)
    costs: Counter[str] = Counter()
    for key, cost in profile.exclusive.items():
        costs[key.name] += cost

    assert annotated(path) == costs
    assert {callee for _, callee in profile.calls if callee.name in costs} <= {*profile.exclusive}
    assert sum(profile.exclusive.values()) == profile.totals == read_totals(path)


# Properties

one_line = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12)
names = one_line.map(lambda text: text.lstrip(" \t")).filter(bool) | st.sampled_from(
    ["???", "(below main)", "(3) odd", "a::operator()(int) const", "x=y", "+3 4", "totals: 7"]
)
functions = st.builds(
    Function, names, names, names.filter(lambda name: not re.search(r".'[0-9]+\Z", name))
)
numbers = st.integers(1, 2**64 - 1)


@st.composite
def profiles(draw: st.DrawFn) -> CallgrindProfile:
    """A profile of a few functions that call each other."""
    known = st.sampled_from(draw(st.lists(functions, min_size=1, max_size=6)))
    calls = st.dictionaries(st.tuples(known, known), st.tuples(numbers, numbers), max_size=8)
    exclusive = draw(st.dictionaries(known, numbers))
    return CallgrindProfile(sum(exclusive.values()), exclusive, draw(calls))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A stored profile in which some stretches are lost, replaced or doubled."""
    names_of_files = ["window.out", "four_parts.out", "stripped.out"]
    text = (STORED / draw(st.sampled_from(names_of_files))).read_text()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stretch = text[start : start + draw(st.integers(0, 40))]
        instead = draw(st.sampled_from(["", stretch * 2, stretch[::-1]]) | noise)
        text = text[:start] + instead + text[start + len(stretch) :]
    return text


noise = st.text(max_size=8) | st.text("0123456789 \n()=+-*:'cfnilobjmptas", max_size=12)
of_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@of_one_folder
@given(profile=profiles())
def test_a_written_profile_is_read_back_equal(tmp_path: Path, profile: CallgrindProfile) -> None:
    """Whatever the names hold."""
    assert read(written(tmp_path, to_text(profile))) == profile


@settings(of_one_folder, max_examples=300)
@given(content=damaged().map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary())
def test_a_damaged_profile_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    """No other error than the reader's own leaves it, nor does a cost below zero."""
    path = tmp_path / "damaged.out"
    path.write_bytes(content)
    for totals in (lambda: read(path).totals, lambda: read_totals(path)):
        try:
            assert totals() >= 0
        except CallgrindFormatError:
            continue
