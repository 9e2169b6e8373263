"""The description of the device: what is read, what is refused, and what C gets of it."""

from pathlib import Path

import attrs
import pytest

from instruction_counts.builds.cuda.device import DEFAULT_DEVICE, read_device
from instruction_counts.domain.errors import DataError, ValidationError


def test_the_packaged_device_is_like_an_h100() -> None:
    """What torch decides by most: the generation, and how many multiprocessors there are."""
    device = read_device()

    assert ((9, 0), 132) == (device.compute_capability, device.multiprocessors)


def test_c_gets_each_field() -> None:
    """A field that nobody passes on would describe nothing."""
    device = read_device()
    names = {field.name for field in attrs.fields(type(device))} - {"compute_capability"}
    expected = {*map(str.upper, names), "MAJOR", "MINOR"}

    assert expected == {
        line.split()[1].removeprefix("DEVICE_") for line in device.header().splitlines()
    }


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("warp_size", "many", "whole number"),
        ("memory_bytes", "0", "at least"),
        ("compute_capability", "[9]", "two numbers"),
        ("name", "'a\"b'", "no quotation marks"),
        ("speed", "3", "speed"),
    ],
)
def test_a_wrong_field_is_named_with_what_was_expected(
    tmp_path: Path, field: str, value: str, expected: str
) -> None:
    """A wrong value in C would be an error of the compiler, far from the file."""
    lines = DEFAULT_DEVICE.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(f"{field}:")]
    path = tmp_path / "device.yaml"
    path.write_text("\n".join([*kept, f"{field}: {value}"]), encoding="utf-8")

    with pytest.raises(ValidationError) as caught:
        read_device(path)

    assert (True, True) == (field in str(caught.value), expected in str(caught.value))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the reason that the system gives."""
    with pytest.raises(DataError, match=r"none\.yaml: No such file"):
        read_device(tmp_path / "none.yaml")
