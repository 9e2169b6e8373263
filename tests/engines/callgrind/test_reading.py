"""The reader of Callgrind profiles, on made, stored and freshly recorded ones."""

import pickle
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.engines.callgrind.lines import CallgrindFormatError
from instruction_counts.engines.callgrind.profiles import Call, CallgrindProfile, Function
from instruction_counts.engines.callgrind.reading import parse, read, read_totals
from tests.engines.callgrind.writing import to_text

STORED = Path(__file__).parents[2] / "fixtures" / "callgrind"
ONE_PART = sorted(set(STORED.glob("*.out")) - {STORED / "four_parts.out"})

MAIN = Function("/bin/app", "app.c", "main")
WORK = Function("/bin/app", "work.c", "work")
COPY = Function("/lib/libc.so.6", "copy.S", "copy")

SMALL = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 42
cmd:  ./app --fast
part: 3

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


def body(*lines: str) -> str:
    """Give a profile of one event with these lines in the function ``f``."""
    return "\n".join(["events: Ir", "fn=f", *lines, "totals: 1", ""])


def function(name: str) -> Function:
    """Give a function of which nothing but the name is known."""
    return Function("???", "???", name)


def self_cost_by_name(profile: CallgrindProfile) -> Counter[str]:
    """Add up over objects and files."""
    costs: Counter[str] = Counter()
    for key, cost in profile.exclusive.items():
        costs[key.name] += cost
    return costs


# --- what a profile says -------------------------------------------------------------------------


def test_a_profile_is_read() -> None:
    """The summary may hold cost that no line shows; what follows ``calls=`` is inclusive.

    The trigger keeps the text of a client request whole, colons included.
    """
    assert parse(SMALL) == CallgrindProfile(
        totals=62,
        exclusive={MAIN: 12, WORK: 20, COPY: 30},
        calls=(Call(MAIN, WORK, 2, 50), Call(WORK, COPY, 4, 30)),
        creator="callgrind-3.19.0",
        command="./app --fast",
        descriptions=(("I1 cache", ""), ("Trigger", "Client Request: window 3")),
    )


def test_a_description_without_a_second_colon_has_an_empty_text() -> None:
    """The reader does not insist on the shape of what it does not use."""
    assert parse("desc: alone\nevents: Ir\ntotals: 0\n").descriptions == (("alone", ""),)


def test_a_profile_without_cost_is_read() -> None:
    """Callgrind writes one for a window in which nothing was collected."""
    profile = read(STORED / "empty.out")
    assert profile.totals == 0
    assert profile.exclusive == {}
    assert profile.calls == ()


SELF_COSTS = {
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
    "objects, files and functions are numbered apart": (
        "events: Ir\nob=(1) o\nfl=(1) f\nfn=(1) g\n1 5\ntotals: 5\n",
        {Function("o", "f", "g"): 5},
    ),
    "costs that are left out are zero": (
        "events: Dr Ir\nfn=f\n12 4\n13 4 5\ntotals: 8 5\n",
        {function("f"): 5},
    ),
    "an empty name is unknown": ("events: Ir\nfl=\nfn=f\n1 5\ntotals: 5\n", {function("f"): 5}),
    "comments and empty lines are passed over": (
        body("# note", "", "1 5", "   "),
        {function("f"): 5},
    ),
    # Later versions of Valgrind may add some.
    "an unknown header line is passed over": (
        "novelty: 7\nevents: Ir\nfn=f\n1 5\ntotals: 5\n",
        {function("f"): 5},
    ),
}


@pytest.mark.parametrize(("text", "expected"), SELF_COSTS.values(), ids=SELF_COSTS.keys())
def test_self_costs_are_read(text: str, expected: dict[Function, int]) -> None:
    """Each function has what its own lines cost."""
    assert parse(text).exclusive == expected


CALLEES = {
    "a callee without a file line is of the file named last": (
        "events: Ir\nfl=a.c\nfn=f\nfi=b.h\ncfn=g\ncalls=1 1\n1 5\ntotals: 0\n",
        {Function("???", "b.h", "g")},
    ),
    "the place of a callee holds for one call": (
        body("cob=o", "cfi=h", "cfn=g", "calls=1 1", "1 5", "cfn=k", "calls=1 1", "1 5"),
        {Function("o", "h", "g"), function("k")},
    ),
    "the file of a callee": (
        body("cfi=h.c", "cfn=g", "calls=1 1", "1 5"),
        {Function("???", "h.c", "g")},
    ),
    "the file of a callee, in its older spelling": (
        body("cfl=h.c", "cfn=g", "calls=1 1", "1 5"),
        {Function("???", "h.c", "g")},
    ),
}


@pytest.mark.parametrize(("text", "expected"), CALLEES.values(), ids=CALLEES.keys())
def test_callees_are_read(text: str, expected: set[Function]) -> None:
    """With their objects and files, which may be left out."""
    assert {call.callee for call in parse(text).calls} == expected


def test_calls_between_recursion_levels_are_summed() -> None:
    """Levels call each other, which is a call of a function by itself."""
    text = body("cfn=f'2", "calls=1 1", "1 9", "fn=f'2", "cfn=f'2", "calls=3 1", "1 6")
    assert parse(text).calls == (Call(function("f"), function("f"), 4, 15),)


@pytest.mark.parametrize("kind", ["jfi", "jfn"])
def test_a_jump_may_define_a_name(kind: str) -> None:
    """A number that a jump introduces is known afterwards."""
    use = {"jfi": "fl=(8)\nfn=f", "jfn": "fn=(8)"}[kind]
    text = body(f"{kind}=(8) later", "jump=3 +1", "*", use, "1 5")
    assert any("later" in (key.file, key.name) for key in parse(text).exclusive)


@pytest.mark.parametrize("jump", ["jump=8 *", "jcnd=9/10 *", "jcnd=9 10 +4", "jump=1 0x4f +2"])
def test_jumps_cost_nothing(jump: str) -> None:
    """Neither the jump nor the line with its position is a cost."""
    assert parse(body("1 5", jump, "*")).exclusive == {function("f"): 5}


@pytest.mark.parametrize(
    ("events", "cost"),
    [("Ir", "7"), ("Ir Dr Dw", "7 1 2"), ("Ir Dr Dw", "7"), ("Dr Ir", "1 7"), ("Dr Ir Dw", "1 7")],
)
def test_instructions_are_taken_from_among_several_events(events: str, cost: str) -> None:
    """The ``events:`` line says where; zeros at the end of a line may be left out."""
    text = f"events: {events}\nfn=f\n12 {cost}\ntotals: {cost}\n"
    profile = parse(text)
    assert profile.totals == 7
    assert profile.exclusive == {function("f"): 7}


@pytest.mark.parametrize(
    ("positions", "place"),
    [
        ("line", "12"),
        ("line", "+3"),
        ("line", "-2"),
        ("line", "*"),
        ("instr", "0x4f10"),
        ("instr line", "0x4f10 12"),
        ("instr line", "+4 *"),
        ("instr bb line", "* * -3"),
    ],
)
def test_every_kind_of_position_is_read(positions: str, place: str) -> None:
    """Lines and addresses may be absolute, relative or repeated."""
    text = f"positions: {positions}\nevents: Ir\nfn=f\n{place} 7\ntotals: 7\n"
    assert parse(text).exclusive == {function("f"): 7}


@pytest.mark.parametrize(
    "name",
    [
        "std::function<int (int)>::operator()(int) const",
        "void f<char const*, 'x'>(char const*)",
        'operator"" _kib(unsigned long long)',
        "operator==(A const&, A const&)",
        "main::{lambda(int)#1}::operator()(int) const [clone .isra.0]",
        "(below main)",
        "malloc_hook_ini@@GLIBC_2.2.5",
        "f'",
        "#not a comment",
        "schöne_funktion",
    ],
)
@pytest.mark.parametrize("spelling", ["{}", "(7) {}"])
def test_names_are_kept_whole(name: str, spelling: str) -> None:
    """Whatever a demangled name holds, it is one name."""
    text = f"events: Ir\nfn={spelling.format(name)}\n1 5\ntotals: 5\n"
    assert parse(text).exclusive == {function(name): 5}


def test_a_combined_file_is_refused_where_one_part_is_expected() -> None:
    """Taking the first part for the whole would lose instructions."""
    with pytest.raises(CallgrindFormatError, match="line 23: expected the end"):
        parse((STORED / "four_parts.out").read_text())


# --- malformed input -----------------------------------------------------------------------------

MALFORMED = {
    "nothing": ("", 1, "a totals: line"),
    "no totals": ("events: Ir\nfn=f\n1 5\n", 4, "a totals: line"),
    "an unfinished totals line": ("events: Ir\ntotals: 5", 2, "a line break"),
    "totals that are empty": ("events: Ir\ntotals:\n", 2, "the costs"),
    "totals that are no number": ("events: Ir\ntotals: many\n", 2, "a number"),
    "totals that are negative": ("events: Ir\ntotals: -5\n", 2, "a number"),
    "totals before events": ("totals: 5\n", 1, "an events: line"),
    "a function before events": ("fn=f\n1 5\ntotals: 5\n", 1, "an events: line"),
    "a cost before events": ("1 5\ntotals: 5\n", 1, "an events: and an fn= line"),
    "a cost before a function": ("events: Ir\n1 5\ntotals: 5\n", 2, "an events: and an fn= line"),
    "events twice": ("events: Ir\nevents: Ir\ntotals: 5\n", 2, "one events: line"),
    "events without Ir": ("events: Cy\ntotals: 5\n", 1, "the event Ir"),
    "no events": ("events:\ntotals: 5\n", 1, "the event Ir"),
    "a later version": ("version: 2\nevents: Ir\ntotals: 5\n", 1, "version 0 or 1"),
    "unknown positions": ("positions: page\nevents: Ir\ntotals: 5\n", 1, "positions: instr"),
    "no positions": ("positions:\nevents: Ir\ntotals: 5\n", 1, "positions: instr"),
    "a number of superscripts": ("events: Ir\ntotals: ²\n", 2, "a number"),
    "a number without end": (f"events: Ir\ntotals: {'9' * 5000}\n", 2, "a number"),
    "a header line in the body": (body("cmd: x"), 3, "a header line, a name"),
    "an unknown name": (body("zz=(1) x"), 3, "a header line, a name"),
    "a line of noise": (body("!?"), 3, "a header line, a name"),
    "a cost of letters": (body("1 x"), 3, "a cost line"),
    "a cost that is negative": (body("1 -5"), 3, "a cost line"),
    "a cost with an underscore": (body("1 1_000"), 3, "a cost line"),
    "a cost without end": (body("1 " + "9" * 5000), 3, "a cost line"),
    "too many costs": (body("1 5 6"), 3, "a cost line"),
    "a broken position": (body("+ 5"), 3, "a cost line"),
    "too few positions": (
        "positions: instr line\nevents: Ir\nfn=f\n0x1\ntotals: 5\n",
        4,
        "a cost line",
    ),
    "a number of a name never given": (body("fl=(9)"), 3, "the name that (9) stands for"),
    "a number of a name left open": (body("fl=(9 x"), 3, "a closing parenthesis"),
    "a number of another kind": (body("cfi=(9) x", "cfn=(9)"), 4, "the name that (9) stands for"),
    "calls without a callee": (body("calls=1 1", "1 5"), 3, "an fn= and a cfn= line"),
    "calls before a function": ("events: Ir\ncfn=g\ncalls=1 1\n1 5\n", 3, "an fn= and a cfn="),
    "a second call of one callee": (
        body("cfn=g", "calls=1 1", "1 5", "calls=1 1", "1 5"),
        6,
        "an fn= and a cfn= line",
    ),
    "calls without a number": (body("cfn=g", "calls=", "1 5"), 4, "calls=, a number"),
    "calls without a target": (body("cfn=g", "calls=1", "1 5"), 4, "calls=, a number"),
    "calls without a cost": (body("cfn=g", "calls=1 1", "fn=h"), 5, "the cost line of the call"),
    "calls at the end": ("events: Ir\nfn=f\ncfn=g\ncalls=1 1", 4, "the cost line of the call"),
    "a jump without a count": (body("jump=x *"), 3, "the counts of a jump"),
    "a jump without a target": (body("jcnd=1/2"), 3, "the counts of a jump"),
    "something after the totals": ("events: Ir\ntotals: 5\n1 5\n", 3, "the end of a profile"),
}


@pytest.mark.parametrize(
    ("text", "line_number", "expected"), MALFORMED.values(), ids=MALFORMED.keys()
)
def test_malformed_text_is_refused_with_its_place_and_what_was_expected(
    text: str, line_number: int, expected: str
) -> None:
    """The error carries the number of the line, and the line."""
    with pytest.raises(CallgrindFormatError) as caught:
        parse(text)
    error = caught.value
    assert error.path is None
    assert error.line_number == line_number
    assert error.line == text.split("\n")[line_number - 1]
    assert error.expected.startswith(expected)


@pytest.mark.parametrize(
    ("path", "place"), [(Path("cg.7.1"), "cg.7.1"), (None, "Callgrind profile")]
)
def test_an_error_prints_its_place_what_was_expected_and_what_was_found(
    path: Path | None, place: str
) -> None:
    """One line says it all; text need not come from a file."""
    error = CallgrindFormatError(path, 3, "1 x", "a cost line")
    assert str(error) == f"{place}, line 3: expected a cost line, found '1 x'"


def test_an_error_shows_the_start_of_a_long_line() -> None:
    """Template names fill pages."""
    assert len(str(CallgrindFormatError(None, 1, "x" * 9999, "a cost line"))) < 300


def test_an_error_travels_between_processes() -> None:
    """Pickling keeps what it says."""
    error = CallgrindFormatError(Path("cg.7.1"), 3, "1 x", "a cost line")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301


def test_an_error_in_a_file_names_the_file(tmp_path: Path) -> None:
    """Dumps are many."""
    path = tmp_path / "cg.7.1"
    path.write_text(body("1 x"))
    with pytest.raises(CallgrindFormatError) as caught:
        read(path)
    assert caught.value.path == path


def test_no_proper_beginning_of_a_profile_is_taken_for_one() -> None:
    """A dump that was cut off must not count fewer instructions."""
    text = (STORED / "window.out").read_text()
    for length in range(len(text)):
        with pytest.raises(CallgrindFormatError):
            parse(text[:length])


# --- totals alone --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line_number", "expected"),
    [
        ("# x\nevents: Ir\n", 3, "one complete totals: line"),
        ("# x\nevents: Ir\ntotals: 5", 3, "one complete totals: line"),
        ("# x\nevents: Ir\ntotals: 5\ntotals: 6\n", 4, "one complete totals: line"),
        ("# x\ntotals: 5\n", 3, "one complete events: line"),
        ("# x\nevents: Cy\ntotals: 5\n", 2, "the event Ir, once, among the events"),
        ("# x\nevents: Ir\ntotals: x\n", 3, "a number"),
    ],
    ids=["none", "unfinished", "two", "no events", "no Ir", "no number"],
)
def test_totals_that_are_missing_or_malformed_are_refused(
    tmp_path: Path, text: str, line_number: int, expected: str
) -> None:
    """The cheap way is as strict as the full one."""
    path = tmp_path / "cg"
    path.write_text(text)
    with pytest.raises(CallgrindFormatError) as caught:
        read_totals(path)
    line = text.split("\n")[line_number - 1]
    assert caught.value.args == (path, line_number, line, expected)


# --- stored profiles -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", ONE_PART, ids=lambda path: path.stem)
def test_self_costs_of_a_stored_profile_add_up_to_its_totals(path: Path) -> None:
    """No line is lost and none is counted twice; reading only the totals gives the same."""
    profile = read(path)
    assert sum(profile.exclusive.values()) == profile.totals
    assert read_totals(path) == profile.totals


def test_recursive_calls_are_all_counted() -> None:
    """fib(0) to fib(9) call fib 266 times from inside."""
    calls = read(STORED / "recursion.out").calls
    assert [c.calls for c in calls if c.caller.name == c.callee.name == "fib"] == [266]


@pytest.mark.parametrize("other", ["jumps_and_addresses", "cache_events"])
def test_options_of_callgrind_do_not_change_what_the_functions_cost(other: str) -> None:
    """The same program, recorded with jumps and addresses, or with a simulated cache."""
    expected = read(STORED / "recursion.out")
    assert read(STORED / f"{other}.out").exclusive == expected.exclusive


def test_functions_of_a_stripped_program_keep_their_addresses() -> None:
    """Nothing else is known of them."""
    own = [f for f in read(STORED / "stripped.out").exclusive if f.library == "stripped"]
    assert own
    assert all(re.fullmatch("0x[0-9a-f]+", function.name) for function in own)


# --- properties ----------------------------------------------------------------------------------


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Draw a stored profile in which some stretches are lost, replaced or doubled."""
    names_of_files = ["window.out", "four_parts.out", "stripped.out", "jumps_and_addresses.out"]
    text = (STORED / draw(st.sampled_from(names_of_files))).read_text()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stretch = text[start : start + draw(st.integers(0, 40))]
        instead = draw(st.sampled_from(["", stretch * 2, stretch[::-1]]) | noise)
        text = text[:start] + instead + text[start + len(stretch) :]
    return text


noise = st.text(max_size=8) | st.text("0123456789 \n()=+-*:'cfnilobjmptas", max_size=12)


@settings(max_examples=300)
@given(damaged())
def test_a_damaged_profile_is_read_or_refused(text: str) -> None:
    """No other error than the reader's own leaves it, and what is read can be written."""
    try:
        profile = parse(text)
    except CallgrindFormatError:
        return
    assert parse(to_text(profile)) == profile


@given(text=damaged())
def test_the_totals_of_a_damaged_profile_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """The same holds for the cheap way."""
    path = tmp_path_factory.getbasetemp() / "damaged.out"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        totals = read_totals(path)
    except CallgrindFormatError:
        return
    assert totals >= 0


@given(st.binary(max_size=200))
def test_bytes_that_are_no_text_are_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    """A path may be of any encoding, so bytes alone are no reason to fail otherwise."""
    path = tmp_path_factory.getbasetemp() / "bytes.out"
    path.write_bytes(content)
    with pytest.raises(CallgrindFormatError):
        read(path)


# --- freshly recorded ----------------------------------------------------------------------------

CPP_PROGRAM = """\
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>
template <class A, class B> struct Both {
  A a;
  B b;
  bool operator()(const A &x) const { return x < a; }
  bool operator<(const Both &other) const { return a < other.a; }
};
template <class F> __attribute__((noinline)) int repeat(F f, int n) {
  return n ? f(n) + repeat(f, n - 1) : 0;
}
int main() {
  std::function<int(int)> thrice = [](int x) { return x * 3; };
  std::map<std::string, int> table;
  std::vector<Both<int, std::string>> list;
  for (int i = 0; i < 20; i++) table[std::to_string(i)] += thrice(i);
  for (int i = 0; i < 20; i++) list.push_back({20 - i, "x"});
  std::sort(list.begin(), list.end());
  Both<int, std::string> limit{3, "y"};
  auto below = [&](auto &item) { return limit(item.a); };
  std::printf("%d %d\\n", repeat(thrice, 10) + (int)table.size(),
              (int)std::count_if(list.begin(), list.end(), below));
}
"""

PYTHON_PROGRAM = "print(sum(i * i for i in range(100)))"


def built(folder: Path, kind: str) -> list[str]:
    """Give the command of one of the programs to record."""
    if kind == "python":
        return [sys.executable, "-I", "-S", "-c", PYTHON_PROGRAM]
    source, program = folder / "program.cpp", folder / "program"
    source.write_text(CPP_PROGRAM)
    subprocess.run(["g++", "-g", "-O1", source, "-o", program], check=True, timeout=600)
    if kind == "stripped":
        subprocess.run(["strip", "-s", program], check=True, timeout=600)
    return [str(program)]


@pytest.fixture(scope="session", params=["c++", "stripped", "python"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a program from its first to its last instruction, and give the profile."""
    tools = ("valgrind", "callgrind_annotate", "g++", "strip")
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("recorded")
    path = folder / "callgrind.out"
    options = ["-q", "--tool=callgrind", "--vgdb=no", f"--callgrind-out-file={path}"]
    command = ["valgrind", *options, *built(folder, request.param)]
    subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL)
    return path


ROW = re.compile(r" *([\d,]+)  [^:]*:(.*?)(?: \[(?:/[^\]]*|\?\?\?)\])?")


def annotated(path: Path) -> Counter[str]:
    """Let ``callgrind_annotate`` say what each function costs itself, added up over files."""
    options = ["--threshold=100", "--show-percs=no", "--inclusive=no", "--auto=no"]
    command = ["callgrind_annotate", *options, str(path)]
    done = subprocess.run(command, check=True, timeout=600, capture_output=True, text=True)
    assert not done.stderr
    costs: Counter[str] = Counter()
    for line in done.stdout.partition("file:function")[2].splitlines():
        row = ROW.fullmatch(line)
        if row is not None:
            costs[re.sub(r"'\d+$", "", row[2])] += int(row[1].replace(",", ""))
    return costs


def test_self_costs_agree_with_callgrind_annotate(recorded: Path) -> None:
    """Function by function, added up over files."""
    assert self_cost_by_name(read(recorded)) == annotated(recorded)


def test_totals_are_those_that_callgrind_wrote(recorded: Path) -> None:
    """In the last line of the file; every instruction belongs to one function."""
    profile = read(recorded)
    last = recorded.read_text().rstrip("\n").rpartition("\n")[2]
    assert last == f"totals: {profile.totals}"
    assert sum(profile.exclusive.values()) == profile.totals
    assert read_totals(recorded) == profile.totals


def test_a_callee_is_the_same_function_as_where_its_cost_stands(recorded: Path) -> None:
    """Object and file of a callee, often left out in the file, are found rightly."""
    profile = read(recorded)
    assert {call.callee for call in profile.calls} <= profile.exclusive.keys()


def test_callgrind_annotate_reads_what_was_written(recorded: Path, tmp_path: Path) -> None:
    """Without a warning, and with the same costs; so does the reader, all that it found."""
    profile = read(recorded)
    written = tmp_path / "written.out"
    written.write_bytes(to_text(profile).encode("utf-8", "surrogateescape"))
    assert annotated(written) == self_cost_by_name(profile)
    assert read(written) == profile
