"""Names of functions and libraries, without what changes from build to build and means nothing.

Two builds call one function by different names: compilers number the clones that they make, linkers
add versions, libraries carry a version or a hash, and template arguments spell out types at any
length. `normalised` takes that away and keeps what tells functions apart.

Argument lists are kept: one function in twenty differs from another one of its library in them
alone, often from one that calls it (``at::detail::empty_cpu``). So that a function with a new
parameter is no other function there is `stem`: where of one stem and library one name left and one
entered, they are one. What Callgrind left mangled (``_ZN…``) stays so.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import attrs

UNKNOWN = "???"
"""The name of a function or of a library that Callgrind does not know."""

GENERATED = "(generated code)"
"""The name of functions that were made at run time, as oneDNN and MKL do."""

_LONGEST_LIST = 40
"""Template arguments of more characters are reduced to what they name."""

_DEEPEST = 60

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_PAGE = re.compile(r"0x[0-9a-fA-F]*000")
_RECURSION = re.compile(r"(?:'[0-9]+)+\Z")
_VERSION = re.compile(r"@@?[A-Za-z][\w.]*\Z")
_CLONE = re.compile(
    r" \[clone [^\]]*\]"
    r"|\.(?:isra|constprop|part|cold|lto_priv|localalias|llvm)(?![A-Za-z_])(?:\.[0-9]+)*"
)
_NOISE = re.compile(r"\[abi:[^\]]*\]|\(anonymous namespace\)::|\{anonymous\}::")
_INLINE_NAMESPACE = re.compile(r"\bstd::__(?:cxx11|1)::")
_THUNK = re.compile(r"(?:(?:non-)?virtual|covariant return) thunk to ")

_PIECE = re.compile(
    r"\boperator(?:<=>|<<=|>>=|<<|>>|<=|>=|->\*|->|<|>|\(\)|\[\])|->|[^<>(){}\[\],o-]+|."
)
_CLOSING = {"<": ">", "(": ")", "{": "}", "[": "]"}
_HOLE = "\0"

_NAME = re.compile(r"(?:^| )([^ ]*\boperator\b.*|[^ ]+)$")
_INTEGER = re.compile(r"(?:\([^()]*\))?-?[0-9]+(?:u|l|ul|ll|ull)?|true|false")
_DEFAULT = re.compile(
    r"std::(?:allocator|char_traits|default_delete|less|equal_to|hash)<.*>"
    r"|c10::detail::intrusive_target_default_null_type<.*>|c10::UndefinedTensorImpl"
)
_PLAIN = re.compile(r"[\w:]+")
_NAMED = re.compile(
    r"…([\w:]+)…"
    r"|&(?:\w+::)*?((?:\w+::)?\w+)(?![\w:(<])"
    r"|(?<![\w:~{])(?:\w+(?:<[^<>]*>)?::)*?((?:\w+(?:<[^<>]*>)?::)?"
    r"(?!(?:operator|decltype|noexcept|sizeof)\b)\w+)(?:<[^<>]*>)?\("
)
_LIST = re.compile(r"<[^<>]*>")
_STRINGS = re.compile(r"\bstd::basic_string(_view|)<char>")
_LAMBDA = re.compile(r"\{(\w+)[^{}]*?(#[0-9]+)?\}")
_CALLED_LAMBDA = re.compile(r"(?<=\})::(?:operator\(\)|_FUN)")
_LAMBDA_IN_LAMBDA = re.compile(r"(?<=[\w}])\}::\{\w+(?=#)")
_NUMBER_OF_LAMBDA = re.compile(r"(?<=[\w}])(?:#[0-9]+)+(?=\})")
_SEPARATOR = re.compile(r"::(?!\{)(?![^<>]*…>)")
_QUALIFIER = re.compile(r" (?:const|volatile|&&?|noexcept)(?= |::|$)")

_SHARED_OBJECT = re.compile(r"(.+?)\.so(?:\.[0-9]+)*")
_PLATFORM = re.compile(r"\.(?:cpython|pypy|abi3)[-\w]*$")
_HASH_OR_RELEASE = re.compile(r"-(?:[0-9a-f]{8,}|[0-9]+(?:\.[0-9]+)+)$")
_TIMERS_OWN = re.compile(r"timer_cpp_[0-9]+")
KERNEL_LIBRARY = re.compile(r"c[a-z2-7]{51}(?:\.(?:main|wrapper))?\.so")
"""What Inductor compiles, named by its content."""

_PYTHON = re.compile(r"(?:lib)?python[0-9.]*[a-z]?(?:\.so)?")


def normalised(function: str, library: str) -> str:
    """The name of a function as it is compared: the same for what is the same in two builds.

    Without addresses, versions, suffixes of clones, tags, anonymous and inline namespaces and
    return types; default and integer template arguments and long lists of them are reduced.

    Code without an object either was generated (it starts a page of its own) or jumps to another
    object; only the first gets a name.
    """
    if library in {UNKNOWN, ""} and _PAGE.fullmatch(function):
        return GENERATED
    return _normalised(function)


def normalised_library(library: str) -> str:
    """The name of a shared object without version, hash and platform: ``libgomp.so``.

    The interpreter is ``python``, be it a library or a program; what torch's Timer compiles of a
    case is ``timer_cpp``, and what torch.compile does, ``(compiled kernel)``.
    """
    name = printable(library.rpartition("/")[2]).strip()
    if KERNEL_LIBRARY.fullmatch(name):
        return "(compiled kernel)"
    shared = _SHARED_OBJECT.fullmatch(name)
    if shared is not None:
        name = f"{_HASH_OR_RELEASE.sub('', _PLATFORM.sub('', shared[1]))}.so"
    if _PYTHON.fullmatch(name):
        return "python"
    if _TIMERS_OWN.fullmatch(name):
        return "timer_cpp"
    return name or UNKNOWN


@functools.lru_cache(maxsize=32_768)
def stem(function: str) -> str:
    """What stays of a normalised name when parameters, their types and numbers of lambdas change.

    Template arguments of a class stay, and so does what those of a function name: methods of two
    classes are two functions, and ``call<…wrapper_CPU_add…>`` is about something else than
    ``call<…wrapper_CPU_mul…>``.
    """
    text = _parsed(function)
    return function if text is None else _NUMBER_OF_LAMBDA.sub("", _bare(text, of_classes=True))


def short(function: str, width: int) -> str:
    """A normalised name for a table, of at most ``width`` characters (2 or more).

    Without arguments, and of its components as many as fit, the last one first; a short last one
    (``call``) says too little alone, and what stands before it is cut. Of template arguments only a
    function that they name stays: ``callback_fn<…add_kernel…>``.
    """
    whole = _short(function)
    components = _SEPARATOR.split(whole)
    fitting = [
        name
        for first in range(len(components))
        if len(name := "::".join(components[first:])) <= width
    ]
    if not fitting:
        return f"{components[-1][: width - 1]}…"
    if fitting[0] != whole and 2 * len(fitting[0]) < width:
        return f"…{whole[1 - width :]}"
    return fitting[0]


def unqualified(function: str, width: int) -> str:
    """The name of a kernel without what it lies in, cut where it is longer than ``width``."""
    name = _SEPARATOR.split(_short(qualified(function)))[-1]
    return name if len(name) <= width else f"{name[: width - 1]}…"


@functools.lru_cache(maxsize=32_768)
def _short(function: str) -> str:
    text = _parsed(function)
    return function if text is None else _bare(text)


@functools.lru_cache(maxsize=32_768)
def qualified(function: str) -> str:
    """A name as it was written, without decoration and return type: it starts with a namespace."""
    name = _undecorated(function)
    text = _parsed(name)
    return name if text is None else _full(_without_return_type(text), reduced=False)


@functools.lru_cache(maxsize=32_768)
def _normalised(function: str) -> str:
    name = _undecorated(function)
    thunk = _THUNK.match(name)
    prefix = thunk[0] if thunk else ""
    text = _parsed(name[len(prefix) :])
    return name if text is None else prefix + _full(_without_return_type(text))


def printable(text: str) -> str:
    """The text without what a terminal or a file could stumble over."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "?" for character in text)


def _undecorated(function: str) -> str:
    name = _RECURSION.sub("", printable(" ".join(function.split())))
    name = _CLONE.sub("", _VERSION.sub("", name))
    name = _INLINE_NAMESPACE.sub("std::", _NOISE.sub("", name)).strip()
    return UNKNOWN if not name or _ADDRESS.fullmatch(name) else name


# --------------------------------------------------------------------------------- brackets


@attrs.frozen
class _Text:
    """A part of a name, with a hole for each pair of brackets in it."""

    mask: str
    groups: tuple[_Group, ...]

    def pieces(self) -> Iterator[tuple[str, _Group | None]]:
        """The characters before each hole, with what is in it; those after the last with None."""
        yield from zip(self.mask.split(_HOLE), (*self.groups, None), strict=True)

    def after(self, place: int) -> _Text:
        """What follows the character at ``place``."""
        skipped = self.mask.count(_HOLE, 0, place)
        return _Text(self.mask[place:], self.groups[skipped:])


@attrs.frozen
class _Group:
    """What stands between two brackets, argument after argument."""

    opening: str
    arguments: tuple[_Text, ...]


def _parsed(name: str) -> _Text | None:
    """The name with its brackets resolved; None where they do not match, or go too deep."""
    try:
        return _arguments(iter(_PIECE.findall(name)), "", 1)[0]
    except ValueError:
        return None


def _arguments(pieces: Iterator[str], opening: str, depth: int) -> tuple[_Text, ...]:
    """What stands from an opening bracket to the one that closes it."""
    found: list[_Text] = []
    mask: list[str] = []
    groups: list[_Group] = []
    for piece in pieces:
        if opening and piece == _CLOSING[opening]:
            break
        if piece in _CLOSING:
            if depth == _DEEPEST:
                raise ValueError("too many brackets")
            groups.append(_Group(piece, _arguments(pieces, piece, depth + 1)))
            mask.append(_HOLE)
        elif opening and piece == ",":
            found.append(_Text("".join(mask), tuple(groups)))
            mask, groups = [], []
        else:
            mask.append(piece)
    else:
        if opening:
            raise ValueError("a bracket is not closed")
    return (*found, _Text("".join(mask), tuple(groups)))


def _without_return_type(text: _Text) -> _Text:
    """A template's name is written with its return type; other functions' names are not."""
    end = 0
    for before, group in text.pieces():
        end += len(before)
        if group is None:
            return text  # no parameters, and so no template
        if group.opening == "(" and not text.mask[:end].rstrip().endswith("decltype"):
            break
        end += 1
    name = _NAME.search(text.mask[:end])
    return text if name is None else text.after(name.start(1))


# -------------------------------------------------------------------------------- spelling


def _full(text: _Text, *, reduced: bool = True) -> str:
    spelled = "".join(
        before + ("" if group is None else _spelled(group, reduced=reduced))
        for before, group in text.pieces()
    )
    return _STRINGS.sub(r"std::string\1", spelled)


def _spelled(group: _Group, *, reduced: bool = True) -> str:
    arguments = [_full(argument, reduced=reduced).strip() for argument in group.arguments]
    if group.opening == "<" and reduced:
        arguments = [
            "…" if _INTEGER.fullmatch(argument) else argument
            for argument in arguments
            if not _DEFAULT.fullmatch(argument)
        ]
        if group.arguments and not arguments:
            return ""
    inside = ", ".join(arguments)
    if group.opening == "<" and reduced and len(inside) > _LONGEST_LIST:
        inside = _reduced(inside)
    return f"{group.opening}{inside}{_CLOSING[group.opening]}"


def _reduced(arguments: str) -> str:
    """What tells one instance from another: a function that is wrapped, or that has the lambda."""
    if _PLAIN.fullmatch(arguments):
        return arguments
    named = _NAMED.search(arguments)
    return "…" if named is None else f"…{_LIST.sub('', named[named.lastindex or 0])}…"


def _bare(text: _Text, *, of_classes: bool = False) -> str:
    """A name without parameters, of template arguments with what they name, or those of classes."""
    parts = []
    end = 0
    for before, group in text.pieces():
        parts.append(before)
        end += len(before) + 1
        if group is None or group.opening == "(":
            continue
        spelled = _spelled(group)
        if group.opening != "<":
            parts.append(_LAMBDA.sub(r"{\1\2}", spelled))
        elif of_classes and text.mask.startswith("::", end):
            parts.append(spelled)
        elif _NAMED.search(spelled):
            parts.append(f"<{_reduced(spelled[1:-1])}>")
    name = _CALLED_LAMBDA.sub("", _QUALIFIER.sub("", "".join(parts)).strip())
    return _LAMBDA_IN_LAMBDA.sub("", name) or UNKNOWN
