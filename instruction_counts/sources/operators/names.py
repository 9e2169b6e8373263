"""What a tensor may be called: its variable stands in Python and in C++, beside ours."""

from __future__ import annotations

import keyword

TAKEN = frozenset(
    {
        *("out", "gradient", "torch"),
        # Around scripted calls; see core.runtimes.
        *("_", "range", "jit_model", "ivalue_inputs", "warm_up_call", "warm_up_inputs"),
    }
)
"""Names that the code around a call uses."""

CPP_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl concept const const_cast consteval constexpr constinit continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires return
    short signed sizeof static static_assert static_cast struct switch template this thread_local
    throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
    xor xor_eq
    """.split()  # noqa: SIM905 - a list has a line for each of them
)


def is_argument(name: str) -> bool:
    """Whether Python lets a value be handed over by this name."""
    return name.isidentifier() and not keyword.iskeyword(name)


def is_variable(name: str) -> bool:
    """Whether a tensor can have this name in both languages, and hides nothing of ours."""
    return is_argument(name) and name not in TAKEN | CPP_KEYWORDS
