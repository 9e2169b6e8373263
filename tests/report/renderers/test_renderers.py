"""One document in every form, as short literal texts."""

import re
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree as ET

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from instruction_counts.report.document import (
    Block,
    CaseTest,
    Cell,
    Column,
    Document,
    Line,
    Role,
    Row,
    Table,
    Unit,
)
from instruction_counts.report.renderers import markdown, renderer_named, renderer_of, terminal
from instruction_counts.report.visible import visible, visible_line
from tests.report.rendered import as_csv, as_json
from tests.report.renderers.pages import document

COLUMNS = (
    *(Column("case", ""), Column("base", "base", Unit.COUNT), Column("new", "new", Unit.COUNT)),
    Column("change", "change", Unit.CHANGE),
    *(Column("relative", "", Unit.RELATIVE), Column("noise", "", Unit.SPREAD)),
)


def row(name: str, base: int, new: int, noise: int | str = "", why: str = "") -> Row:
    """A case that changed."""
    change = Cell(new - base, Role.of_change(new - base))
    below = (Line(f"why  {why}", Role.DIM, indent=4, clipped=True),) if why else ()
    return Row([name, base, new, change, (new - base) / base, noise], name, below, indent=2)


WORSE = Table(
    "worse",
    "WORSE",
    COLUMNS,
    (
        row("nn/Linear", 37_204, 37_588, 12, "A; +212 add (+1 call)"),
        row("nn/Sequential", 121_020, 121_788),
        row("Losses/cross_entropy", 160_938, 161_202, 3),
    ),
    Role.BAD,
    shown=2,
)
FACTS = Table(
    "facts",
    "",
    [Column("fact", ""), Column("base", "base"), Column("new", "new")],
    [Row(["torch", "2.12.1", "2.13.0+cpu"])],
)
DOCUMENT = Document(
    "comparison",
    answer=(Line("161 cases: 158 same · 3 worse", Role.STRONG),),
    facts=FACTS,
    sections=(WORSE, Block("Code", (Line("x = 1", indent=2),), preformatted=True)),
    notes=(Line("Not verified.", Role.WARNING), Line("Per iteration.", Role.DIM)),
    next_command="explain last nn/Linear",
    data={"tally": {"worse": 3}, "bound": float("inf"), "kinds": (Fraction(1, 2), Role.BAD)},
    tests=(
        CaseTest("ic.nn", "nn/Linear", "failure", "above its limit", "+212 add"),
        CaseTest("ic.nn", "nn/Sequential", "error", "ValueError"),
        CaseTest("ic.nn", "nn/Tanh", "skipped", "no budget"),
        CaseTest("ic.nn", "nn/ReLU", details="within its limit"),
    ),
)


def test_a_terminal_shows_the_answer_then_the_tables() -> None:
    """At 80 columns: sums subtract, long tables end in the command that shows the rest."""
    assert """\
       base    new
torch  2.12.1  2.13.0+cpu
161 cases: 158 same · 3 worse

WORSE               base      new  change
  nn/Linear       37,204   37,588    +384  +1.03%  ±12
    why  A; +212 add (+1 call)
  nn/Sequential  121,020  121,788    +768  +0.63%
  … 1 more: --limit 0 shows all

Code
  x = 1

Not verified.
Per iteration.
Next: instruction-counts explain last nn/Linear
""" == terminal.render(DOCUMENT, 80, None)
    assert "Losses/cross_entropy" in terminal.render(DOCUMENT)  # a file has all rows


def test_markdown_puts_the_title_in_the_heading() -> None:
    """So that a comment is short."""
    assert """\
**161 cases: 158 same · 3 worse**

|  | base | new |
| --- | --- | --- |
| torch | 2.12.1 | 2.13.0+cpu |

| WORSE | base | new | change |  |  |  |
| --- | ---: | ---: | ---: | ---: | ---: | --- |
| nn/Linear | 37,204 | 37,588 | +384 | +1.03% | ±12 | why A; +212 add (+1 call) |
| nn/Sequential | 121,020 | 121,788 | +768 | +0.63% |  |  |
| Losses/cross\\_entropy | 160,938 | 161,202 | +264 | +0.16% | ±3 |  |

**Code**

```
x = 1
```

- Not verified.
- Per iteration.

Next: <code>instruction-counts explain last nn/Linear</code>
""" == markdown.render(DOCUMENT)


@pytest.mark.parametrize(
    ("longest", "name"),
    [(700, ""), (5000, ""), *((2**16, name) for name in ("@" * 400, "&@" * 20, "x" * 900))],
)
def test_markdown_is_no_longer_than_a_comment(longest: int, name: str) -> None:
    """It has the first rows, and says how many it has not; escaped names are longer."""
    rows = [row(f"case {name}{n}", 1000, 1001) for n in range(150)]
    long = attrs.evolve(WORSE, rows=rows)
    other = attrs.evolve(long, name="better", folded=True)
    document = attrs.evolve(DOCUMENT, sections=(long, other), longest=longest)
    text = markdown.render(document)

    assert len(text) <= longest
    shown = text.count("| case ")
    assert 300 - shown == sum(map(int, re.findall(r"… and (\d+) more", text)))
    assert text.count("<details>") == text.count("</details>") == 1


def test_json_is_the_data_or_the_tables_by_their_keys() -> None:
    """What has no bound is null, for JSON does not know it."""
    data, tables = map(as_json, (DOCUMENT, attrs.evolve(DOCUMENT, data=None)))

    assert {"tally": {"worse": 3}, "bound": None, "kinds": [0.5, "bad"]} == data
    assert {"fact": "torch", "base": "2.12.1", "new": "2.13.0+cpu"} == tables["facts"][0]
    assert [37_204, 121_020, 160_938] == [case["base"] for case in tables["worse"]]
    assert ("comparison", ["Not verified.", "Per iteration."]) == (tables["kind"], tables["notes"])


def test_junit_has_a_test_case_for_each_test() -> None:
    """With what happened to it, and the notes as what the suite printed."""
    root = ET.fromstring(str(renderer_named("junit").render(DOCUMENT)))  # noqa: S314 - own text
    (suite,) = root

    assert ("4", "1", "1", "1", "0") == tuple(
        suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")
    )
    assert ["0"] * 4 == [case.get("time") for case in suite.iter("testcase")]
    assert ["failure", "error", "skipped", "system-out"] == [
        child.tag for case in suite.iter("testcase") for child in case
    ]
    failure = next(suite.iter("failure"))
    assert ("above its limit", "+212 add") == (failure.get("message"), failure.text)
    assert "Not verified." == suite[-1].text


def shown(table: Table, width: int = 80) -> list[str]:
    """The lines of a table on a terminal."""
    return terminal.render(Document("x", sections=(table,)), width, None).splitlines()


def test_a_name_that_is_too_long_stands_above_its_figures() -> None:
    """Whole, so that it can be copied."""
    name = "a/" * 40
    lines = shown(attrs.evolve(WORSE, rows=(row(name, 1000, 2000),)), width=60)

    assert f"  {name}" == lines[1]
    assert ["1,000", "2,000", "+1,000", "+100.00%"] == lines[2].split()


def test_a_long_line_goes_on_where_it_began() -> None:
    """One that is clipped does not, and loses the separator that it would end with."""
    lines = (Line("word " * 12, indent=4), Line("word " * 12, indent=4, clipped=True))
    found = terminal.render(Document("x", notes=lines), 40).splitlines()

    assert ["    word", "    word", "    word"] == [line[:8] for line in found]
    assert found[-1].endswith("…")
    assert all(len(line) <= 40 for line in found)
    notes = (Line("Module._call_impl  32 → 37 ops; more", clipped=True),)
    assert "Module._call_impl  32 → 37 ops…\n" == terminal.render(Document("x", notes=notes), 32)


def test_a_long_title_is_wrapped_whatever_it_says() -> None:
    """Also that of what got worse, whose lines stay whole."""
    lines = shown(attrs.evolve(WORSE, remark="word " * 12), 40)

    assert ["WORSE  word word word word word word", "word word word word word word"] == lines[:2]


def test_what_would_steer_a_terminal_is_spelled_out() -> None:
    """Line ends and tabs stay, unless the text is to be one line."""
    lines = [made("a\tb\nc\r\x1b[0m") for made in (visible, visible_line)]

    assert ["a\tb\nc\\r\\x1b[0m", "a\\tb\\nc\\r\\x1b[0m"] == lines


@given(
    st.lists(
        st.tuples(st.text(max_size=60), st.integers(), st.text(max_size=30)), min_size=1, max_size=5
    ),
    st.integers(40, 120),
)
def test_no_table_is_wider_than_its_terminal(rows: Any, width: int) -> None:
    """But for names, which stand alone, and numbers, which are never cut."""
    columns = (Column("a", ""), Column("b", "count", Unit.COUNT), Column("c", "remark"))
    found = shown(Table("t", "", columns, map(Row, rows)), width)
    names = {visible_line(cells[0]) for cells in rows}
    longest = max(5, *(len(f"{number:,}") for _, number, _ in rows))

    room = max(width, 24 + 12 + 4 + longest)
    wide = [line.strip() for line in found if cell_len(line) > room]

    assert {name.strip() for name in names}.issuperset(wide)


@pytest.mark.parametrize(
    ("file", "having", "name"),
    [
        ("a.json.gz", (), "json"),
        ("a.speedscope.json", (), "json"),
        ("a.speedscope.json", ("profiles",), "speedscope"),
        ("a.xml", (), None),
        ("a.xml", ("tests",), "junit"),
        (".json", (), None),
        ("json", (), None),
    ],
)
def test_the_longest_suffix_says_the_form(
    file: str, having: tuple[str, ...], name: str | None
) -> None:
    """Of those that such a document has."""
    found = renderer_of(file, having)

    assert name == (found and found.name)


HOSTILE = [
    "| a | b |",
    "</td><script>alert(1)</script>",
    "`x` **y** [z](https://evil.example)",
    "@everyone #1 GH-2",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m\u202eabc\u2066",
    "]]><!-- --> &amp; &lt;",
    "a\r\nb\n\n# c",
    '=cmd|"/c calc"!A1',
    "\x00\ufffe\ud800",
    "[red]bold[/]",
    "```",
]
TEXTS = st.sampled_from(HOSTILE) | st.text(min_size=1)


@given(TEXTS)
def test_a_terminal_obeys_no_text(text: str) -> None:
    """Whatever cannot be seen is spelled out, and a line stays a line."""
    found = terminal.render(document(text), 80, None)

    assert found.replace("\n", "").isprintable()
    assert "\n# c" not in found


@given(TEXTS)
def test_no_text_is_markup_in_markdown(text: str) -> None:
    """No HTML, link, mention, code or cell but our own; nothing that a terminal would obey."""
    found = markdown.render(document(text))
    bare = re.sub(r"</?(?:details|summary|code)>|<!-- -->", "", found)
    tables = re.findall(r"(?:^\|.*\n)+", found, flags=re.MULTILINE)

    assert 3 == len(tables)
    for table in tables:
        assert 1 == len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()})
    assert "<" not in bare
    assert not re.search(r"://|www\.|gh-\d|[@#](?!<!-- -->|#| )", found, re.IGNORECASE)
    assert found.replace("\n", "").isprintable()


@given(TEXTS)
def test_junit_is_a_document_whatever_is_in_it(text: str) -> None:
    """With one test case for each test."""
    found = str(renderer_named("junit").render(document(text)))

    assert 2 == len(list(ET.fromstring(found).iter("testcase")))  # noqa: S314 - own text


@example('a,"b"\r\n')
@given(TEXTS)
def test_csv_and_json_give_texts_back_as_they_are(text: str) -> None:
    """A cell is a cell, whatever it holds; JSON is plain ASCII."""
    assert ["Add", text, "Mul"] == [cells["case"] for cells in as_csv(document(text))]
    assert text == as_json(document(text))["worse"][1]["case"]
    assert str(renderer_named("json").render(document(text))).isascii()
