"""Where the instructions of one case go, and the lines of the functions that changed."""

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.build import Build
from instruction_counts.domain.executed import Executed, PythonFunction, SourceChange, SourceLines
from instruction_counts.domain.outcomes import Details
from instruction_counts.domain.selection import Selection
from instruction_counts.session.explaining import explain_sides, source_changes
from tests.builders import counted, cpp, key, side


def test_details_are_asked_for_the_one_case() -> None:
    """The others stay as they are, however many there are."""
    whole, other = cpp("Group", "add", outcome=1000), cpp("Group", "mul", outcome=1)
    light = whole.without_details(lambda: Details(whole.outcome.functions))
    unreadable = other.without_details(lambda: pytest.fail("it is not asked for"))
    found = explain_sides([side(light, unreadable)], Selection(("Group/add",)))

    assert whole == found.sides[0].records[whole.key]


# Source


FORWARD = PythonFunction("torch/linear.py", 3, "Linear.forward", "old", 20)
EDITED = attrs.evolve(FORWARD, line=5, digest="new", bytecodes=30)
ELSEWHERE = "no import finds what was executed"
LINES = {"old": ["    def forward():", "        pass"], "new": ["    def forward(): # x"]}


def executing(
    title: str, *functions: PythonFunction, folder: str | None = None, **fields: Any
) -> Side:
    """A side that executes these functions, from a folder of its own."""
    executed = Executed(functions, (), **{"python": "3.11", **fields})
    record = cpp("add", outcome=attrs.evolve(counted(1), executed=executed))
    return attrs.evolve(
        side(record, title=title), package_folder=f"/{title}" if folder is None else folder
    )


class Files:
    """Files of both builds, as another process would find them."""

    def __init__(self, **problems: str) -> None:
        self.asked: list[dict[str, Any]] = []
        self._found = {name: {"lines": LINES[name], "digests": [name]} for name in LINES}
        self._found |= {name: {"problem": problem} for name, problem in problems.items()}

    def __call__(self, _: Build, task: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The function that each path stands for."""
        assert "find" == task
        self.asked = request["functions"]
        builds = [function["path"].split("/")[1] for function in self.asked]
        return {"python": "3.11", "functions": [self._found[build] for build in builds]}


def changes(base: Side, new: Side, files: Files) -> tuple[SourceChange, ...]:
    """What is shown."""
    return source_changes(key("add"), base, new, files)


def test_both_sides_of_an_edited_function_are_shown() -> None:
    """Each from where its build lies, at its own line."""
    files = Files()
    found = changes(executing("old", FORWARD), executing("new", EDITED), files)

    assert [
        (f"/{digest}/torch/linear.py", line, "Linear.forward", "torch/linear.py", digest)
        for digest, line in (("old", 3), ("new", 5))
    ] == [
        tuple(asked[name] for name in ("path", "line", "name", "file", "digest"))
        for asked in files.asked
    ]
    base, new = (SourceLines(line, tuple(LINES[build])) for line, build in ((3, "old"), (5, "new")))
    assert (SourceChange("torch/linear.py", "Linear.forward", base, new),) == found


def test_what_is_called_more_often_is_not_asked_for() -> None:
    """Its lines are the same on both sides. Nor is what is not stored, as with another engine."""
    files, more = Files(), attrs.evolve(FORWARD, bytecodes=40)

    assert () == changes(executing("old", FORWARD), executing("new", more), files)
    assert () == changes(side(cpp("add", outcome=counted(1))), executing("new", EDITED), files)
    assert [] == files.asked


@pytest.mark.parametrize(
    ("files", "digest", "side", "text"),
    [
        (Files(old="gone"), "new", "base", "/old/torch/linear.py is not there, and " + ELSEWHERE),
        (Files(old="changed"), "new", "base", "/old/torch/linear.py has changed since the run"),
        # The function still begins there, but was edited since.
        (Files(), "later", "new", "/new/torch/linear.py has changed since the run"),
    ],
    ids=["gone", "changed", "edited"],
)
def test_a_file_that_is_not_what_it_was_is_named(
    files: Files, digest: str, side: str, text: str
) -> None:
    """The other side is shown; so is a function of one side, without a remark on the other."""
    (alone,) = changes(executing("old"), executing("new", EDITED), Files())
    assert (None, True, ()) == (alone.base, alone.new is not None, alone.remarks)
    new = executing("new", attrs.evolve(EDITED, digest=digest))
    (found,) = changes(executing("old", FORWARD), new, files)
    shown = {"base": found.base, "new": found.new}

    assert (f"{side}: {text}",) == found.remarks
    assert {side} == {name for name, lines in shown.items() if lines is None}


def test_digests_of_another_python_are_not_compared() -> None:
    """The lines are shown, and marked."""
    sides = (executing("old", FORWARD, python="3.12"), executing("new", EDITED, python="3.12"))
    (found,) = changes(*sides, Files())

    assert found.base is not None
    assert not found.base.is_checked
    assert "base: /old/torch/linear.py may have changed since the run: " in found.remarks[0]


@pytest.mark.parametrize(
    ("function", "folder", "text"),
    [
        (EDITED, "", "new: torch/linear.py: its place is not known"),
        (attrs.evolve(EDITED, file="../../etc/f.py"), "/new", "its place is not known"),
        (attrs.evolve(EDITED, file="/etc/f.py"), "/new", "its place is not known"),
        (attrs.evolve(EDITED, file="<generated>", line=0), "/new", "it is in no file"),
    ],
)
def test_what_has_no_file_below_its_build_is_not_looked_for(
    function: PythonFunction, folder: str, text: str
) -> None:
    """Files that are exchanged cannot make it read others."""
    files = Files()
    (found,) = changes(executing("old"), executing("new", function, folder=folder), files)

    assert text in found.remarks[0]
    assert [] == files.asked
