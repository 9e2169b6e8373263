"""Selection: globs over the label tree, and modes."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.core.types import AutogradMode, Label, Language, RuntimeMode
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection, matches, select, select_keys
from tests.fakes import make_case

CASES = (
    make_case("Pointwise", "Math", "add"),
    make_case("Pointwise", "Math", "add", language=Language.CPP),
    make_case("Pointwise", "Math", "add", runtime=RuntimeMode.JIT),
    make_case("Pointwise", "Math", "mul", num_threads=2),
    make_case("Pointwise", "Cast", "add", autograd=AutogradMode.FORWARD_BACKWARD),
    make_case("Indexing", "x[0]"),
    make_case("Indexing", "x[0, ...]"),
    make_case("MatMul", runtime=RuntimeMode.EXPLICIT, autograd=AutogradMode.EXPLICIT),
)
PARTS = st.text(string.ascii_letters + string.digits + " []*?!-.,_äß", min_size=1, max_size=6).map(
    lambda text: text.strip() or "x"
)
LABELS = st.lists(PARTS, min_size=1, max_size=4).map(tuple)


def labels(*only: str) -> list[str]:
    """The paths of what ``--only`` keeps, each once."""
    return list(dict.fromkeys("/".join(case.label) for case in select(CASES, Selection(only))))


ADD, MUL, CAST = "Pointwise/Math/add", "Pointwise/Math/mul", "Pointwise/Cast/add"


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*/add", [ADD, CAST]),
        ("Point*", [ADD, MUL, CAST]),
        ("*/m?l", [MUL]),
        ("pointwise/math/ADD", [ADD]),
        ("Pointwise/", [ADD, MUL, CAST]),
        ("indexing/X[0, ...]", ["Indexing/x[0, ...]"]),
    ],
)
def test_a_glob_takes_the_nodes_it_matches_with_all_below(glob: str, expected: list[str]) -> None:
    """Case does not matter, nor do outer slashes; brackets may be meant as they are.

    Several globs add up, in the order of the definitions.
    """
    assert expected == labels(glob)
    assert [*expected, "MatMul"] == labels("MatMul", glob)


@pytest.mark.parametrize("glob", ["add", "Math", "ointwise", "Pointwise/Math/add/more", ""])
def test_a_part_of_a_path_matches_nothing(glob: str) -> None:
    """A glob is for a whole path from the top."""
    assert not matches(glob, ("Pointwise", "Math", "add"))


@given(LABELS, st.integers(1, 4))
def test_a_node_takes_everything_below_it(label: Label, depth: int) -> None:
    """Every prefix of a label is a node, and so is the whole of it, whatever it holds."""
    assert matches("/".join(label[:depth]), label)


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), [0, 1, 2, 3, 4, 5, 6, 7]),
        (Selection(autograds=("",)), [7]),
        (Selection(num_threads=(1, 2), runtimes=("TorchScript", "")), [2, 7]),
        (Selection(("*/add",), ("Python",), ("Eager",), ("Forward",), (1,)), [0]),
    ],
)
def test_modes_narrow_the_selection(selection: Selection, expected: list[int]) -> None:
    """Values of one option add up, options narrow each other."""
    assert expected == [CASES.index(case) for case in select(CASES, selection)]


@pytest.mark.parametrize(
    ("glob", "near"),
    [
        ("Pointwize", "Pointwise"),
        ("Pointwize/*", "Pointwise"),
        ("Pointwise/Maths", "Pointwise/Math"),
        ("indexin", "Indexing"),
    ],
)
def test_an_unknown_label_names_near_ones(glob: str, near: str) -> None:
    """A typing error is found at once: a run that leaves something out would look complete."""
    with pytest.raises(UsageError) as caught:
        labels("MatMul", glob)

    assert f"No case matches '{glob}'" in caught.value.message
    assert near in caught.value.message.partition("Near: ")[2].rstrip(".").split(", ")


def test_a_label_that_is_far_from_all_names_none() -> None:
    """Only the list helps then."""
    with pytest.raises(UsageError, match=r"No case matches 'zzzzzzzz'.\n  See: .* list"):
        labels("zzzzzzzz")


@pytest.mark.parametrize(
    ("label", "expected"),
    [("ok/add", ["ok/add"]), ("ok/a?d", ["ok/a?d"]), ("OK/ADD", ["ok/add", "ok/Add"])],
)
def test_a_label_as_it_stands_is_no_other_one(label: str, expected: list[str]) -> None:
    """Others may differ by case, and it may be a glob that matches others."""
    known = [make_case("ok", name).key for name in ("add", "Add", "a?d")]
    found = select_keys(known, Selection((label,)), "it")

    assert expected == [key.path for key in found]


def test_options_that_exclude_each_other_are_refused() -> None:
    """Each matches something, and no case matches all."""
    with pytest.raises(UsageError, match="No case matches all of these options"):
        select(CASES, Selection(("MatMul",), ("C++",)))
    with pytest.raises(UsageError, match="There are no cases"):
        select((), Selection())
