"""Documents that have everything a page can show."""

import attrs

from instruction_counts.report.document import (
    Block,
    CaseTest,
    Cell,
    Chart,
    ChartKind,
    Column,
    Document,
    Line,
    Role,
    Row,
    Series,
    Table,
    Unit,
)

COLUMNS = (
    Column("case", "case"),
    Column("base", "base", Unit.COUNT),
    Column("new", "new", Unit.COUNT),
    Column("change", "change", Unit.CHANGE, bars=True),
)


def row(name: str, base: int, new: int) -> Row:
    """A case that unfolds."""
    return Row(
        [name, base, new, Cell(new - base, Role.BAD, remark=name)],
        key=name,
        below=(Line(f"why  {new - base:+} {name}()"),),
        details=(
            Block("Python", [f"torch/{name}.py:1"], preformatted=True),
            Table("layouts", "", [Column("layout", "layout")], [Row(["first"])]),
        ),
    )


def profiles(*names: str) -> dict[str, object]:
    """Stacks of two sides as speedscope has them; the second side has one more call."""
    samples = [[0], [0, 1], [0, 1, 2]]
    return {
        "profiles": [
            {"samples": samples, "weights": [10, 200, 300]},
            {"samples": [*samples, [0, 3]], "weights": [10, 230, 300, 60]},
        ],
        "shared": {"frames": [{"name": name, "file": "lib"} for name in names]},
    }


def document(text: str = "mm") -> Document:
    """A document in which ``text`` stands in every place that a text can have."""
    rows = (row("Add", 9_000, 9_100), row(text, 800, 790), row("Mul", 10_000, 13_000))
    grouped = [*COLUMNS[:3], attrs.evolve(COLUMNS[3], group=text)]
    columns = [Column("what", ""), Column("base", text)]
    return Document(
        "comparison",
        f"base and {text}",
        answer=[Line(f"3 cases: {text}", Role.STRONG), text],
        facts=Table("facts", "", columns, [Row(["torch", text])]),
        sections=(
            Table("worse", "WORSE", COLUMNS, rows, Role.BAD, remark=text, shown=2),
            Table("same", text, grouped, rows[:1], folded=True, total=Row([text, 1, 2, 3])),
            Block(text, [text, Line(text, Role.DIM, 2)]),
            Chart(
                text,
                ChartKind.POINTS,
                (Series(text, (1e-6, 2e-6), (100, 200), (text, "b")),),
                "median time (s)",
                "instructions per iteration",
            ),
            Chart(
                "labels", ChartKind.TREEMAP, (Series("", ("", "all"), (300, 200), ("all", text)),)
            ),
        ),
        notes=[text],
        next_command=f"explain last {text}",
        tests=(CaseTest(text, text, "failure", text), CaseTest(text, text, details=text)),
        profiles=profiles("main", text, "gemm", "malloc"),
    )
