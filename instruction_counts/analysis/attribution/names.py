"""Names of functions and libraries, without what changes from build to build and means nothing.

Two builds call one function by different names: compilers number the clones that they make, linkers
add versions, libraries carry a version or a hash, and template arguments spell out types at any
length. `normalised` takes that away and keeps what tells functions apart.

Argument lists are kept: one function in twenty differs from another one of its library in them
alone, often from one that calls it (``at::detail::empty_cpu``). So that a function with a new
parameter is no other function there is `stem`: where of one stem and library one name left and one
entered, they are one. What Callgrind left mangled (``_ZN…``) stays so.
"""

import functools
import itertools
import re

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


def stem(function: str) -> str:
    """What stays of a normalised name when parameters, their types and numbers of lambdas change.

    Template arguments of a class stay, and so does what those of a function name: methods of two
    classes are two functions, and ``call<…wrapper_CPU_add…>`` is about something else than
    ``call<…wrapper_CPU_mul…>``.
    """
    return _NUMBER_OF_LAMBDA.sub("", _bare(function, of_classes=True))


def short(function: str, width: int) -> str:
    """A normalised name for a table, of at most ``width`` characters (2 or more).

    Without arguments, and of its components as many as fit, the last one first; a short last one
    (``call``) says too little alone, and what stands before it is cut. Of template arguments only a
    function that they name stays: ``callback_fn<…add_kernel…>``.
    """
    whole = _bare(function)
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
    name = _SEPARATOR.split(_bare(qualified(function)))[-1]
    return name if len(name) <= width else f"{name[: width - 1]}…"


@functools.lru_cache(maxsize=32_768)
def qualified(function: str) -> str:
    """A name as it was written, without decoration and return type: it starts with a namespace."""
    return _full(_without_return_type(_undecorated(function)), reduced=False)


@functools.lru_cache(maxsize=32_768)
def _normalised(function: str) -> str:
    name = _undecorated(function)
    thunk = _THUNK.match(name)
    prefix = thunk[0] if thunk else ""
    return prefix + _full(_without_return_type(name.removeprefix(prefix)))


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


def _parts(name: str) -> list[tuple[str, str]]:
    """What stands outside of brackets, piece by piece, each with the brackets that follow it.

    A name whose brackets do not match, or go too deep, is one piece.
    """
    found: list[tuple[str, str]] = []
    closing: list[str] = []
    begin = opened = 0
    for piece in _PIECE.finditer(name):
        if closing and piece[0] == closing[-1]:
            closing.pop()
            if not closing:
                found.append((name[begin:opened], name[opened : piece.end()]))
                begin = piece.end()
        elif piece[0] in _CLOSING:
            if len(closing) == _DEEPEST:
                return [(name, "")]
            opened = opened if closing else piece.start()
            closing.append(_CLOSING[piece[0]])
    return [(name, "")] if closing else [*found, (name[begin:], "")]


def _arguments(bracketed: str) -> list[str]:
    """What stands between two brackets, argument after argument."""
    found = [""]
    for before, inner in _parts(bracketed[1:-1]):
        first, *others = before.split(",")
        found[-1] += first
        found += others
        found[-1] += inner
    return found


def _without_return_type(name: str) -> str:
    """A template's name is written with its return type; other functions' names are not."""
    mask = ""
    for before, bracketed in _parts(name):
        mask += before
        if bracketed.startswith("(") and not mask.rstrip().endswith("decltype"):
            found = _NAME.search(mask)
            return name if found is None else name[found.start(1) :]
        mask += _HOLE * len(bracketed)
    return name  # no parameters, and so no template


# -------------------------------------------------------------------------------- spelling


def _full(name: str, *, reduced: bool = True) -> str:
    spelled = "".join(
        before + (_spelled(bracketed, reduced=reduced) if bracketed else "")
        for before, bracketed in _parts(name)
    )
    return _STRINGS.sub(r"std::string\1", spelled)


def _spelled(bracketed: str, *, reduced: bool = True) -> str:
    opening, closing = bracketed[0], bracketed[-1]
    arguments = [_full(argument, reduced=reduced).strip() for argument in _arguments(bracketed)]
    if opening == "<" and reduced:
        arguments = [
            "…" if _INTEGER.fullmatch(argument) else argument
            for argument in arguments
            if not _DEFAULT.fullmatch(argument)
        ]
        if not arguments:
            return ""
    inside = ", ".join(arguments)
    if opening == "<" and reduced and len(inside) > _LONGEST_LIST:
        inside = _reduced(inside)
    return f"{opening}{inside}{closing}"


def _reduced(arguments: str) -> str:
    """What tells one instance from another: a function that is wrapped, or that has the lambda."""
    if _PLAIN.fullmatch(arguments):
        return arguments
    named = _NAMED.search(arguments)
    return "…" if named is None else f"…{_LIST.sub('', named[named.lastindex or 0])}…"


@functools.lru_cache(maxsize=32_768)
def _bare(name: str, *, of_classes: bool = False) -> str:
    """A name without parameters, of template arguments with what they name, or those of classes."""
    parts = _parts(name)
    kept = []
    for (before, bracketed), (after, _) in itertools.zip_longest(
        parts, parts[1:], fillvalue=("", "")
    ):
        kept.append(before)
        if not bracketed or bracketed.startswith("("):
            continue
        spelled = _spelled(bracketed)
        if not bracketed.startswith("<"):
            kept.append(_LAMBDA.sub(r"{\1\2}", spelled))
        elif of_classes and after.startswith("::"):
            kept.append(spelled)
        elif _NAMED.search(spelled):
            kept.append(f"<{_reduced(spelled[1:-1])}>")
    bare = _CALLED_LAMBDA.sub("", _QUALIFIER.sub("", "".join(kept)).strip())
    return _LAMBDA_IN_LAMBDA.sub("", bare) or UNKNOWN
