"""Signatures: what is read, what is refused, and that nothing is lost on the way."""

import keyword
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.signature import Signature, parse_signature

NAMES = st.text(string.ascii_letters + string.digits + "_äπ", min_size=1, max_size=8).filter(
    lambda name: name.isidentifier() and not keyword.iskeyword(name)
)
SIGNATURES = st.builds(
    Signature, args=st.lists(NAMES, max_size=5, unique=True).map(tuple), output=st.none() | NAMES
)


@pytest.mark.parametrize("text", ["  f(a,b)->c\n", "f( a ,  b )  ->\tc "])
def test_spaces_in_a_signature_do_not_matter(text: str) -> None:
    """Around it, and between its parts."""
    assert Signature(("a", "b"), "c") == parse_signature(text)


FORM = '"f(a, b, …) -> output" or "f(a, b, …) -> None"'
MALFORMED = [
    *("", "x, y -> z", "f(x) ->", "f(x -> y", "g(x) -> y", "f(x) => y", "f((x)) -> y"),
    *("f(x,) -> y", "f(1x) -> y", "f(x=1) -> y", "f(x) -> y\nf(x) -> y", "f(lambda) -> y"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, FORM) for text in (*MALFORMED, "f(x) -> return")),
        ("f(x) -> y, z", "one output; return several as a tuple"),
        ("f(x) -> y,", "one output; return several as a tuple"),
        ("f(x, y, x) -> z", "each argument once"),
    ],
)
def test_a_text_of_another_form_is_refused(text: str, expected: str) -> None:
    """An error shows the form that is wanted, or what is wrong with one that is well formed."""
    with pytest.raises(DefinitionError) as caught:
        parse_signature(text)
    assert expected == caught.value.expected


@given(SIGNATURES)
def test_a_printed_signature_reads_back_the_same(signature: Signature) -> None:
    """Parsing is the inverse of printing."""
    assert signature == parse_signature(str(signature))
