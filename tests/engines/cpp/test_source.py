"""The C++ that a case is compiled from."""

import pytest

from instruction_counts.core.types import Language
from instruction_counts.engines.cpp.source import PRELUDES, CppSource, candidates
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
