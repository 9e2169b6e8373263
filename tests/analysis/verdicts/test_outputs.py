"""Did both builds compute the same?"""

import array
import base64
import hashlib
import math
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.outputs import compare_outputs
from instruction_counts.domain.outcomes import Output, TensorValue

NAN, INF = math.nan, math.inf
ANY = st.floats(allow_nan=True, allow_infinity=True, width=32)


def tensor(*values: float, dtype: str = "float32", name: str = "z", **fields: Any) -> TensorValue:
    """A vector of ``values``."""
    data = array.array("d", values).tobytes()
    made = TensorValue(
        name=name,
        shape=(len(values),),
        dtype=dtype,
        digest=hashlib.sha256(data).hexdigest()[:16],
        nans=sum(map(math.isnan, values)),
        sample=base64.b64encode(data).decode(),
    )
    return attrs.evolve(made, **fields)


def texts(base: Output, new: Output) -> tuple[bool, str]:
    """Whether they differ, and how that is put."""
    found = compare_outputs(base, new)
    assert found is not None
    return found.differs, found.text


def output(*tensors: TensorValue, **fields: Any) -> Output:
    """An output of ``tensors``."""
    return Output("inputs", tensors, **fields)


@pytest.mark.parametrize(
    ("dtype", "rounding", "more"),
    [
        ("float32", 1e-6, 1e-3),
        ("float64", 1e-8, 1e-5),
        ("bfloat16", 1e-2, 1e-1),
        ("complex64", 1e-6, 1e-3),
        # Whole numbers do not round at all.
        ("int64", 0.0, 1.0),
    ],
)
def test_rounding_is_no_difference(dtype: str, rounding: float, more: float) -> None:
    """By what torch's own tests allow for the type, beside what is no number; more is one."""
    base = output(tensor(1.0, NAN, dtype=dtype))

    for by, expected in ((rounding, False), (more, True)):
        assert expected == texts(base, output(tensor(1.0 + by, NAN, dtype=dtype)))[0]


@pytest.mark.parametrize(
    ("base", "new", "what"),
    [
        ((1.0, 100.0), (1.5, 110.0), "up to 10 (relative 0.5)"),
        # To what is not finite, it is infinite.
        *(
            ((base, 1.0), (new, 2.0), "up to inf (relative inf)")
            for base, new in ((INF, 5.0), (5.0, INF), (INF, -INF), (5.0, NAN))
        ),
    ],
)
def test_the_largest_difference_is_reported(
    base: tuple[float, ...], new: tuple[float, ...], what: str
) -> None:
    """In absolute terms and relative to base."""
    sides = (output(tensor(*values, nans=0)) for values in (base, new))

    assert (True, f"z: differs by {what}") == texts(*sides)


@pytest.mark.parametrize(
    ("new", "what"),
    [
        (tensor(1.0, 2.0), "z: shape (1,) → (2,)"),
        (tensor(1.0, dtype="float64"), "z: dtype float32 → float64"),
        (tensor(NAN), "z: number of NaNs 0 → 1"),
        (tensor(1.0, name="y"), "z: only in base; y: only in new"),
    ],
)
def test_another_form_is_a_difference(new: TensorValue, what: str) -> None:
    """It is named, and values are not looked at."""
    assert (True, what) == texts(output(tensor(1.0)), output(new))


@given(st.lists(ANY, max_size=4), st.sampled_from([INF, -INF]), ANY)
def test_an_infinite_value_is_the_same_as_itself_alone(
    rest: list[float], infinite: float, other: float
) -> None:
    """In either direction, and whatever is beside it, numbers that are none included."""
    first, second = (output(tensor(*rest, value, nans=0)) for value in (infinite, other))

    assert (False, "") == texts(first, first)
    assert {infinite != other} == {texts(first, second)[0], texts(second, first)[0]}


def test_whole_numbers_outside_the_sample_count_too() -> None:
    """Their digest covers all of them."""
    base, new = (tensor(1.0, dtype="int64", digest=digest) for digest in "ab")

    assert texts(output(base), output(new))[0]


@pytest.mark.parametrize(
    ("base", "why"),
    [
        (output(repeatable=False), "the output is not the same in every run"),
        (Output("others", ()), "the setup made different inputs"),
        # C++ cases of stored runs have none.
        (None, None),
    ],
)
def test_what_is_unknown_is_no_difference(base: Output | None, why: str | None) -> None:
    """It says why, on either side."""
    for sides in ((base, output()), (output(), base)):
        found = compare_outputs(*sides)
        assert why == (None if found is None else found.text)
        assert found is None or not found.differs
