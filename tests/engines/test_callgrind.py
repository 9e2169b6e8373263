"""The reader of Callgrind profiles, on made, stored and freshly recorded ones."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from instruction_counts.engines.callgrind import (
    CallgrindFormatError,
    CallgrindProfile,
    Function,
    read,
    read_totals,
)
from tests.engines.callgrind_text import to_text

STORED = Path(__file__).parents[1] / "fixtures" / "callgrind"
ONE_PART = sorted(set(STORED.glob("*.out")) - {STORED / "four_parts.out"})

MAIN = Function("/bin/app", "app.c", "main")
WORK = Function("/bin/app", "work.c", "work")
COPY = Function("/lib/libc.so.6", "copy.S", "copy")

SMALL = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
cmd:  ./app --fast

desc: I1 cache:
desc: Trigger: Client Request: window 3

positions: line
events: Ir
summary: 999

ob=(1) /bin/app
fl=(1) app.c
fn=(1) main
4 2
+1 10
cfi=(2) work.c
cfn=(2) work
calls=2 +7
* 50

fl=(2)
fn=(2)
9 20
cob=(2) /lib/libc.so.6
cfi=(3) copy.S
cfn=(3) copy
calls=4 -1
* 30

ob=(2)
fl=(3)
fn=(3)
1 30

totals: 62
"""


@pytest.fixture
def parse(tmp_path: Path) -> Callable[[str], CallgrindProfile]:
    """Read a text as a profile."""

    def parsed(text: str) -> CallgrindProfile:
        path = tmp_path / "cg.7.1"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return read(path)

    return parsed


Parse = Callable[[str], CallgrindProfile]


def body(*lines: str) -> str:
    """A profile of one event with these lines in the function ``f``."""
    return "\n".join(["events: Ir", "fn=f", *lines, "totals: 1", ""])


def function(name: str) -> Function:
    """A function of which nothing but the name is known."""
    return Function("???", "???", name)


# What a profile says


def test_a_profile_is_read(parse: Parse) -> None:
    """The summary may hold cost that no line shows; what follows ``calls=`` is inclusive."""
    assert parse(SMALL) == CallgrindProfile(
        totals=62,
        exclusive={MAIN: 12, WORK: 20, COPY: 30},
        calls={(MAIN, WORK): (2, 50), (WORK, COPY): (4, 30)},
    )
    assert COPY.library == "libc.so.6"


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "recursion levels are one function": (
            "events: Ir\nfn=(1) f\n1 2\nfn=(2) f'2\n1 3\nfn=(3) f'17\n1 4\ntotals: 9\n",
            {function("f"): 9},
        ),
        "inlined code costs the function that it was inlined into": (
            "events: Ir\nfl=a.c\nfn=f\n1 2\nfi=b.h\n7 3\nfe=a.c\n2 4\ntotals: 9\n",
            {Function("???", "a.c", "f"): 9},
        ),
        # Callgrind leaves out ``fl=`` where inlined code has just named the same file.
        "a function without a file line is of the file named last": (
            "events: Ir\nfl=a.c\nfn=f\n1 2\nfi=b.h\n7 3\nfn=g\n2 4\ntotals: 9\n",
            {Function("???", "a.c", "f"): 5, Function("???", "b.h", "g"): 4},
        ),
        "callers use the numbers of names that callees defined": (
            body("cob=(1) o", "cfi=(1) h", "cfn=(1) g", "calls=1 1", "1 5").replace(
                "totals", "ob=(1)\nfl=(1)\nfn=(1)\n1 5\ntotals"
            ),
            {Function("o", "h", "g"): 5},
        ),
        "a jump may define a name": (
            body(
                "jfi=(8) h",
                "jump=3 +1",
                "*",
                "jfn=(8) g",
                "jcnd=9/10 *",
                "*",
                "fl=(8)\nfn=(8)\n1 5",
            ),
            {Function("???", "h", "g"): 5},
        ),
        "other events are passed over, and zeros may be left out": (
            "events: Ir Dr Dw\nfn=f\n1 5 6\n2\n3 1 0 4\ntotals: 6 6 4\n",
            {function("f"): 6},
        ),
        "places may be absolute, relative or repeated": (
            "positions: instr line\nevents: Ir\nfn=f\n0x4f10 12 1\n+4 * 2\n* -3 4\ntotals: 7\n",
            {function("f"): 7},
        ),
        "comments, empty and unknown header lines are passed over": (
            "novelty: 7\n" + body("# note", "", "1 5", "   "),
            {function("f"): 5},
        ),
        "no cost": (body(), {}),
    }.values(),
)
def test_self_costs_are_read(parse: Parse, text: str, expected: dict[Function, int]) -> None:
    """Each function has what its own lines cost."""
    assert parse(text).exclusive == expected


def test_callees_are_read(parse: Parse) -> None:
    """With their objects and files, which hold for one call; else those named last do."""
    here, there = ("cfi=h", "cfn=g", "calls=1 1", "1 5"), ("cfn=k", "calls=1 1", "1 5")
    text = body("fi=b.h", "cob=o", *here, *there, "cfl=i", *there)

    assert {callee for _, callee in parse(text).calls} == {
        Function("o", "h", "g"),
        Function("???", "b.h", "k"),
        Function("???", "i", "k"),
    }


def test_calls_between_recursion_levels_are_summed(parse: Parse) -> None:
    """Levels call each other, which is a call of a function by itself."""
    text = body("cfn=f'2", "calls=1 1", "1 9", "fn=f'2", "cfn=f'2", "calls=3 1", "1 6")
    assert parse(text).calls == {(function("f"), function("f")): (4, 15)}


@pytest.mark.parametrize(
    "name",
    [
        "void f<char const*, 'x'>(char const*)",
        'operator"" _kib(unsigned long long)',
        "operator==(A const&, A const&)",
        "main::{lambda(int)#1}::operator()(int) const [clone .isra.0]",
        "(below main)",
        "f'",
        "#not a comment",
        "schöne_funktion",
    ],
)
@pytest.mark.parametrize("spelling", ["{}", "(7) {}"])
def test_names_are_kept_whole(parse: Parse, name: str, spelling: str) -> None:
    """Whatever a demangled name holds, it is one name."""
    text = f"events: Ir\nfn={spelling.format(name)}\n1 5\ntotals: 5\n"
    assert parse(text).exclusive == {function(name): 5}


# Malformed input


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 1: expected a totals: line"),
        ("events: Ir\nfn=f\n1 5\n", "line 4: expected a totals: line"),
        ("events: Ir\ntotals: 5", "line 2: expected one complete totals: line"),
        ("events: Ir\ntotals: ²\n", "expected one complete totals: line"),
        (f"events: Ir\ntotals: {'9' * 5000}\n", "expected one complete totals: line"),
        ("events: Ir\ntotals: 5\n1 5\n", "expected one complete totals: line at the end"),
        ("1 5\ntotals: 5\n", "line 1: expected an events: and an fn= line"),
        ("fn=f\n1 5\ntotals: 5\n", "line 2: expected an events: and an fn= line"),
        ("events: Ir\n1 5\ntotals: 5\n", "line 2: expected an events: and an fn= line"),
        ("events: Cy Ir\ntotals: 5\n", "line 1: expected the event Ir first"),
        (body("cmd: x"), "line 3: expected a header line, a name"),
        (body("zz=(1) x"), "line 3: expected a header line, a name"),
        (body("1 x"), "line 3: expected a cost line: positions, then numbers, found '1 x'"),
        (body("1 -5"), "line 3: expected a cost line"),
        (body("1 " + "9" * 5000), "line 3: expected a cost line"),
        ("positions: instr line\n" + body("0x1"), "line 4: expected a cost line"),
        (body("fl=(9)"), r"line 3: expected the name that \(9\) stands for"),
        (body("cfi=(9) x", "cfn=(9)"), r"line 4: expected the name that \(9\) stands for"),
        (body("calls=1 1", "1 5"), "line 3: expected fn=, cfn="),
        ("events: Ir\ncfn=g\ncalls=1 1\n1 5\n", "line 3: expected fn=, cfn="),
        (body("cfn=g", *["calls=1 1", "1 5"] * 2), "line 6: expected fn=, cfn="),
        (body("cfn=g", "calls=1", "1 5"), "line 4: expected fn=, cfn="),
        (body("cfn=g", "calls=1 1", "fn=h"), "line 5: expected the cost line of the call"),
        ("events: Ir\nfn=f\ncfn=g\ncalls=1 1", "line 4: expected the cost line of the call"),
    ],
)
def test_malformed_text_is_refused_with_its_place_and_what_was_expected(
    parse: Parse, text: str, expected: str
) -> None:
    """The error names the file, too: dumps are many."""
    with pytest.raises(CallgrindFormatError, match=rf"cg\.7\.1, .*{expected}") as caught:
        parse(text)

    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("reader", [read, read_totals])
def test_no_beginning_of_a_file_is_taken_for_all_of_it(
    tmp_path: Path, reader: Callable[[Path], object]
) -> None:
    """A dump that was cut off, or one part of several, must not count fewer instructions."""
    with pytest.raises(CallgrindFormatError, match="one complete totals: line"):
        reader(STORED / "four_parts.out")
    whole, path = (STORED / "window.out").read_bytes(), tmp_path / "cut"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CallgrindFormatError):
            reader(path)


@pytest.mark.parametrize("text", ["# x\nevents: Cy\ntotals: 5\n", "# x\ntotals: 5\n"])
def test_totals_of_something_else_are_refused(tmp_path: Path, text: str) -> None:
    """The cheap way is as strict as the full one."""
    path = tmp_path / "cg"
    path.write_text(text)
    with pytest.raises(CallgrindFormatError, match="an events: line with Ir first"):
        read_totals(path)


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


@pytest.mark.parametrize("name", ["recursion", "jumps_and_addresses", "cache_events"])
def test_recursive_calls_are_all_counted(name: str) -> None:
    """fib(0) to fib(9) call fib 266 times from inside, with whatever options it was recorded.

    That is, with jumps and addresses, or with a simulated cache: functions cost the same.
    """
    profile = read(STORED / f"{name}.out")
    calls = profile.calls.items()

    assert [266] == [n for (one, other), (n, _) in calls if one.name == other.name == "fib"]
    assert profile.exclusive == read(STORED / "recursion.out").exclusive


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
    return CallgrindProfile(draw(numbers), draw(st.dictionaries(known, numbers)), draw(calls))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A stored profile in which some stretches are lost, replaced or doubled."""
    names_of_files = ["window.out", "four_parts.out", "stripped.out", "jumps_and_addresses.out"]
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
def test_a_written_profile_is_read_back_equal(parse: Parse, profile: CallgrindProfile) -> None:
    """Whatever the names hold."""
    assert parse(to_text(profile)) == profile


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
