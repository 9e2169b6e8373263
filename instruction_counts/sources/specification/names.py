"""Names that no input can have: each would be code of Python or C++ that does not mean it."""

from __future__ import annotations

import keyword
from collections.abc import Container

_CPP = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
constinit continue decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast requires return short signed
sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
_OURS = ("torch", "model", "gradient", "model_inputs", "warm_up_call")
_OUTPUT_OF_MODEL = "y"


def reserved(*, has_model: bool) -> Container[str]:
    """What an input of a statement or of a model cannot be called."""
    names = {*keyword.kwlist, *_CPP.split(), *_OURS}
    return names | {_OUTPUT_OF_MODEL} if has_model else names
