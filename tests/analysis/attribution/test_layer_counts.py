"""What a case costs in each layer of PyTorch."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.attribution.functions import apportioned, layer_counts
from instruction_counts.analysis.attribution.layers import Layer
from tests.fakes import OK, failed, make_record


def test_layers_are_whole_numbers_that_add_up() -> None:
    """The remainders go to the largest."""
    shares = {
        Layer.KERNELS: Fraction(10, 3),
        Layer.TENSOR: Fraction(10, 3),
        Layer.OTHER: Fraction(7, 2),
    }

    assert {Layer.TENSOR: 3, Layer.KERNELS: 3, Layer.OTHER: 4} == apportioned(shares, 10)


@given(st.dictionaries(st.sampled_from(Layer), st.fractions(-100, 10**6)), st.integers(0, 10**7))
def test_layers_add_up_to_the_count(shares: dict[Layer, Fraction], total: int) -> None:
    """Also where they were counted in other windows than the count, or cost less than the loop."""
    found = apportioned(shares, total)

    assert not found or sum(found.values()) == total


def test_a_count_is_shared_out_by_its_functions() -> None:
    """All of `at::add`, the only function of this case, belongs to tensors."""
    assert {Layer.TENSOR: 8899} == layer_counts(make_record("add", outcome=OK))


def test_what_was_not_counted_has_no_layers() -> None:
    """A failed case, for one."""
    assert {} == layer_counts(make_record("add", outcome=failed()))
