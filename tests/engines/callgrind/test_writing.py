"""What is written is read back."""

import re
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.engines.callgrind.profiles import Call, CallgrindProfile, Function
from instruction_counts.engines.callgrind.reading import parse
from tests.engines.callgrind.writing import to_text

one_line = st.text(st.characters(exclude_characters="\n"), max_size=12)
names = one_line.map(lambda text: text.lstrip(" \t")).filter(bool) | st.sampled_from(
    ["???", "(below main)", "(3) odd", "a::operator()(int) const", "x=y", "+3 4", "totals: 7"]
)
functions = st.builds(
    Function, names, names, names.filter(lambda name: not re.search(r".'[0-9]+\Z", name))
)
counts = st.integers(0, 2**64 - 1)
lines = one_line.map(str.strip)


@st.composite
def profiles(draw: st.DrawFn) -> CallgrindProfile:
    """Draw a profile of a few functions that call each other."""
    known = draw(st.lists(functions, min_size=1, max_size=6))
    pairs = st.tuples(st.sampled_from(known), st.sampled_from(known))
    calls = draw(st.dictionaries(pairs, st.tuples(counts, counts), max_size=8))
    keys = lines.filter(lambda key: ":" not in key)
    return CallgrindProfile(
        totals=draw(counts),
        exclusive=draw(st.dictionaries(st.sampled_from(known), counts)),
        calls=tuple(Call(*pair, *sums) for pair, sums in calls.items()),
        creator=draw(lines),
        command=draw(lines),
        descriptions=tuple(draw(st.lists(st.tuples(keys, lines), max_size=3))),
    )


@given(profiles())
def test_a_written_profile_is_read_back_equal(profile: CallgrindProfile) -> None:
    """Whatever the names hold."""
    assert parse(to_text(profile)) == profile


@given(profiles(), st.randoms(use_true_random=False))
def test_the_order_in_which_functions_were_met_does_not_show(
    profile: CallgrindProfile, random: Random
) -> None:
    """Equal profiles are written as the same text."""
    shuffled = list(profile.exclusive.items())
    random.shuffle(shuffled)
    same = CallgrindProfile(profile.totals, dict(shuffled), profile.calls[::-1])
    plain = CallgrindProfile(profile.totals, profile.exclusive, profile.calls)
    assert to_text(same) == to_text(plain)
