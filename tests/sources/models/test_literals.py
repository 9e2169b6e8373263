"""Values as Python code."""

from __future__ import annotations

import ast
import textwrap

from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.sources.models.literals import block, literal, text

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple),
)


@given(PLAIN.filter(lambda value: "inf" not in repr(value)))
def test_what_is_written_is_what_was_given(value: object) -> None:
    """Nested, too."""
    assert value == ast.literal_eval(literal(value))


@given(st.text())
def test_texts_keep_all_their_characters(value: str) -> None:
    """Quotes, backslashes and what cannot be printed."""
    assert value == ast.literal_eval(text(value))


@given(st.lists(st.text("ab\"'\\ ", min_size=1), min_size=2).map("\n".join))
def test_code_of_several_lines_stays_readable(code: str) -> None:
    """The DSL takes the indentation away again."""
    stripped = "\n".join(line.strip() or "x" for line in code.splitlines())

    assert stripped == textwrap.dedent(ast.literal_eval(block(stripped, 8))).strip("\n").rstrip()


def test_text_has_double_quotes_unless_it_holds_some() -> None:
    """As the formatter wants it."""
    assert '"a"' == text("a")
    assert "'a \"b\"'" == text('a "b"')
