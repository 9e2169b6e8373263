"""Reading files that people edit: whatever does not fit is refused, with its place."""

from __future__ import annotations

from types import UnionType
from typing import Any, TypeVar

import cattrs
from cattrs.v import format_exception

from instruction_counts.domain.errors import DataError

_Value = TypeVar("_Value")


class MisfitError(ValueError):
    """A value is not what was expected there; the text says both."""


def misfit(expected: str, found: object) -> MisfitError:
    """The error for ``found`` where ``expected`` should stand."""
    return MisfitError(f"expected {expected}, found {found!r}")


def strict_converter() -> cattrs.Converter:
    """A converter that takes no value for another one, and no unknown keys."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind, name in ((str, "text"), (int, "a whole number"), (bool, "true or false")):
        converter.register_structure_hook(kind, _scalar(name))
    return converter


def structured(
    converter: cattrs.Converter, data: Any, kind: type[_Value], what: str, remedy: str
) -> _Value:
    """``data`` as a ``kind``.

    Raises:
        DataError: it does not fit; the error begins with ``what`` and names each place.
    """
    try:
        return converter.structure(data, kind)
    except cattrs.BaseValidationError as error:
        found = cattrs.transform_error(error, path="$", format_exception=_told)
        problems = "\n  ".join(problem.replace("$.", "") for problem in found)
        raise DataError(f"{what}\n  {problems}", remedy) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{what}\n  {_told(error, kind)}", remedy) from error


def _told(error: BaseException, kind: type | None) -> str:
    return str(error) if isinstance(error, MisfitError) else format_exception(error, kind)


def _scalar(name: str) -> Any:
    def structure(value: Any, kind: type | UnionType) -> Any:
        if type(value) is not kind:
            raise misfit(name, value)
        return value

    return structure
