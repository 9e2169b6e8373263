"""C++ that also tells what it computes: a case, with its tensors saved before and after.

Such a source is compiled beside the one that is measured, never in place of it: code that saves a
value changes how the compiler treats it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

from instruction_counts.engines.cpp.source import CppSource

_NAME = r"[A-Za-z_]\w*"
_DECLARATION = re.compile(
    rf"\s*(?:const\s+)?(?:auto|(?:torch|at)::Tensor)\s*&{{0,2}}\s*"
    rf"(?:(?P<one>\b{_NAME})|\[(?P<several>[^\]]*)\])\s*(?:=|\{{|\()"
)
_CALL = re.compile(
    r"\s*(?!(?:if|for|while|switch|return|throw|delete|using)\b)[\w:.>-]+.*\)\s*", re.DOTALL
)
"""A statement that is an expression ending in a call, whose value is dropped."""
_ASSIGNS = re.compile(r"(?<![=!<>])=(?!=)")
_TEXT_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)

_SAVING = r"""
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace instruction_counts_output {

inline std::FILE *file()
{
    static std::FILE *opened = std::fopen(std::getenv("INSTRUCTION_COUNTS_OUTPUT"), "wb");
    return opened;
}

inline void save_tensor(const char *when, const std::string &name, const at::Tensor &value)
{
    if (!value.defined())
        return;
    auto dense = value.detach();
    if (dense.is_sparse())
        dense = dense.to_dense();
    if (dense.is_quantized())
        dense = dense.dequantize();
    dense = dense.resolve_conj().resolve_neg().contiguous();
    std::fprintf(file(), "%s %s %s %lld", when, name.c_str(), c10::toString(dense.scalar_type()),
                 (long long) dense.dim());
    for (auto size : dense.sizes())
        std::fprintf(file(), " %lld", (long long) size);
    std::fprintf(file(), " %zu\n", (std::size_t) dense.nbytes());
    std::fwrite(dense.data_ptr(), 1, dense.nbytes(), file());
    std::fflush(file());
    if (value.is_leaf() && value.grad().defined())
        save_tensor(when, name + ".grad", value.grad());
}

template <class T, class = void> struct is_module : std::false_type {};
template <class T>
struct is_module<T, std::void_t<decltype(std::declval<T &>()->named_parameters(true))>>
    : std::true_type {};

template <class T> void save(const char *when, const std::string &name, T &value)
{
    using Plain = std::remove_cv_t<T>;
    if constexpr (std::is_convertible_v<T &, const at::Tensor &>) {
        save_tensor(when, name, value);
    } else if constexpr (std::is_same_v<Plain, std::vector<at::Tensor>>) {
        for (std::size_t place = 0; place < value.size(); ++place)
            save_tensor(when, name + "[" + std::to_string(place) + "]", value[place]);
    } else if constexpr (is_module<T>::value) {
        for (auto &pair : value->named_parameters(true))
            save_tensor(when, name + "." + pair.key(), pair.value());
    }
}

// What follows an expression after a comma: so that one without a value can be saved, too.
struct Nothing {
};
template <class T> std::decay_t<T> operator,(T &&value, Nothing)
{
    return std::forward<T>(value);
}

inline void seed()
{
    at::manual_seed(std::strtoull(std::getenv("INSTRUCTION_COUNTS_SEED"), nullptr, 10));
}

} // namespace instruction_counts_output
"""


def with_output(source: CppSource) -> CppSource:
    """``source``, saving every tensor that it declares: after its setup, and after its statement.

    The files are named by the environment of the process: ``INSTRUCTION_COUNTS_OUTPUT``, and the
    seed of the statement by ``INSTRUCTION_COUNTS_SEED``.
    """
    before = tuple(declared(source.setup))
    after = tuple(dict.fromkeys([*before, *declared(source.stmt)]))
    return attrs.evolve(
        source,
        global_setup=f"{source.global_setup}\n{_SAVING}",
        setup=f"{source.setup}\n;{_saved('before', before)}\ninstruction_counts_output::seed();",
        stmt=f"{_with_named_result(source.stmt)}\n;{_saved('after', after)}",
    )


def _with_named_result(stmt: str) -> str:
    """The statement, saving the value of the call that it ends in, if it drops one."""
    plain = _TEXT_OR_COMMENT.sub(lambda match: " " * len(match[0]), stmt)
    starts = [place for place in _statements(plain) if plain[place:].strip(" \n\t;")]
    last = plain[starts[-1] :].rstrip(" \n\t;") if starts else ""
    if not _CALL.fullmatch(last) or _ASSIGNS.search(last) or _DECLARATION.match(last):
        return stmt
    expression = stmt[starts[-1] :][: len(last)]
    return (
        f"{stmt[: starts[-1]]}\nauto &&instruction_counts_result = "
        f"({expression}, instruction_counts_output::Nothing{{}});\n"
        'instruction_counts_output::save("after", "result", instruction_counts_result);'
    )


def declared(code: str) -> Iterator[str]:
    """The variables that ``code`` declares as ``auto`` or as a tensor, outside of any block."""
    plain = _TEXT_OR_COMMENT.sub(lambda match: " " * len(match[0]), code)
    for start in _statements(plain):
        match = _DECLARATION.match(plain, start)
        if match:
            names = match["one"] or match["several"]
            yield from (name.strip() for name in names.split(","))


def _statements(code: str) -> Iterator[int]:
    """Where each statement begins that stands in no block, parenthesis or list."""
    yield 0
    depth = 0
    for place, character in enumerate(code):
        depth += (character in "({[") - (character in ")}]")
        if depth == 0 and character in ";}":
            yield place + 1


def _saved(when: str, names: tuple[str, ...]) -> str:
    return "".join(
        f'\ninstruction_counts_output::save("{when}", "{name}", {name});' for name in names
    )
