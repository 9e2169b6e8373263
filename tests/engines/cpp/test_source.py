"""The C++ that a case is compiled from."""

import pytest

from instruction_counts.core.types import Language
from instruction_counts.engines.cpp.source import (
    PRELUDES,
    CppSource,
    candidates,
    declared,
    with_output,
)
from instruction_counts.sources.definitions import STANDARD, load


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("auto z = x + y;", "tensors"),
        ("torch::jit::Stack s{torch::jit::IValue(1)};", "tensors"),
        ('auto m = torch::jit::load("m");', "script"),
        ("struct F : torch::autograd::Function<F> {};", "script"),
        ("#include <torch/script.h>", "script"),
        ("torch::nn::Linear(4, 4);", "full"),
        ("torch::NoGradGuard guard;", "full"),
        ("torch::optim::SGD sgd({x}, 1); torch::jit::load(m);", "full"),
        ("#include <torch/torch.h>", "full"),
        ("#include <torch/csrc/inductor/aoti_package/model_package_loader.h>", "tensors"),
    ],
)
def test_the_words_of_torch(code: str, expected: str) -> None:
    """The smallest prelude that has what is named."""
    chosen = candidates(CppSource("", "", code), PRELUDES)
    assert expected == chosen[0].name
    assert "full" == chosen[-1].name


def test_most_of_the_standard_suite_takes_the_smallest() -> None:
    """The full prelude costs three times as much, and is for those that need it."""
    suite = load(STANDARD)
    cases = [case.timer_args for case in suite if case.autolabels.language is Language.CPP]
    sources = [CppSource(case.global_setup, case.setup, case.stmt) for case in cases]
    names = [candidates(source, PRELUDES)[0].name for source in sources]
    assert names.count("tensors") > 2 * (names.count("script") + names.count("full"))


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("auto x = torch::ones({4, 4}); auto y = torch::ones({4, 4});", ["x", "y"]),
        ("at::Tensor z = x;", ["z"]),
        ("const torch::Tensor& z = x;", ["z"]),
        ("auto&& z = x;", ["z"]),
        ("torch::Tensor z(x);", ["z"]),
        ("auto z{x};", ["z"]),
        ("auto [values, indices] = x.sort();", ["values", "indices"]),
        ("x += 1;\nauto y = x;", ["y"]),
        ("{ auto y = x; }", []),
        ("for (auto i = 0; i < 3; ++i) x += i;", []),
        ("auto f = [](auto a) { auto b = a; return b; };\nauto c = 1;", ["f", "c"]),
        ("// auto no = 1;\nauto yes = 1;", ["yes"]),
        ("/* auto no = 1; */ auto yes = 1;", ["yes"]),
        ('auto s = "; auto no = 1;";', ["s"]),
        ("automatic = 3;", []),
    ],
)
def test_variables_outside_of_any_block_are_found(code: str, names: list[str]) -> None:
    """Those that are declared as auto or as a tensor."""
    assert names == list(declared(code))


def test_what_the_setup_declares_is_saved_before_and_after() -> None:
    """The statement may change it; what global_setup includes stands before what saves."""
    source = with_output(CppSource("#include <vector>", "auto x = torch::ones({4});", "x += 1;"))
    assert source.global_setup.startswith("#include <vector>\n")

    assert 'save("before", "x", x);' in source.setup
    assert 'save("after", "x", x);' in source.stmt


@pytest.mark.parametrize(
    ("stmt", "is_saved"),
    [
        *(
            (call, True)
            for call in ("torch::mm(x, y);", "x.t()", "auto y = x;\nmodel->forward(y);\n")
        ),
        *((other, False) for other in ("auto z = f(x);", "x = f(x);", "x += f(x);", "x;", "")),
        *((other, False) for other in ("if (f(x)) g(x);", "// f(x)")),
    ],
)
def test_the_value_that_a_call_returns_is_saved(stmt: str, is_saved: bool) -> None:
    """Although the case drops it; any other statement has none."""
    assert is_saved is ('save("after", "result"' in with_output(CppSource("", "", stmt)).stmt)
