"""What a build does not have."""

from collections.abc import Iterator

import attrs
import pytest

from instruction_counts.builds.compilers import CppCompiler
from instruction_counts.builds.missing import missing, runtime_refusal
from instruction_counts.core.runtimes import Runtime, register, unregister
from instruction_counts.core.types import AutogradMode, RuntimeMode
from tests.fakes import FACTS, make_case


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """One that no torch has."""
    found = register(
        Runtime(RuntimeMode.new("UNHEARD", "Unheard"), needs=("torch.nn", "torch.unheard.of"))
    )
    yield found
    unregister(found)


def test_without_a_compiler_nobody_misses_headers() -> None:
    """Each thing that cannot be done is reported once; what CXX named, by its name."""
    none = attrs.evolve(FACTS, compiler=CppCompiler(), has_cpp_headers=False)
    named = attrs.evolve(FACTS, compiler=CppCompiler(missing="g++ -m64"))
    (of_none,), (of_named,) = missing(none), missing(named)

    assert "apt-get install g++" == of_none.remedy.partition("  ")[0]
    assert 'build "default": no C++ compiler "g++ -m64" found' == of_named.what.partition(",")[0]


def test_a_runtime_that_torch_does_not_have_is_refused(runtime: Runtime) -> None:
    """With the reason, and only what is not there."""
    has = {"torch.nn": True, "torch.unheard.of": False}
    facts = attrs.evolve(FACTS, has=has)
    cases = [make_case(runtime=mode) for mode in (RuntimeMode.EAGER, runtime.mode)]
    reason = 'this torch has no torch.unheard.of, which the runtime "unheard" needs'

    assert ["", f'build "default": {reason}'] == [runtime_refusal(facts, case) for case in cases]


@pytest.mark.parametrize(
    ("runtime", "expected"),
    [
        (RuntimeMode.EAGER, ""),
        (RuntimeMode.EXPORTED, 'the runtime "exported" has no backward pass'),
    ],
)
def test_what_cannot_be_differentiated_is_refused(runtime: RuntimeMode, expected: str) -> None:
    """Its forward pass is measured."""
    cases = [
        make_case(runtime=runtime, autograd=autograd)
        for autograd in (AutogradMode.FORWARD, AutogradMode.FORWARD_BACKWARD)
    ]

    assert ["", expected] == [runtime_refusal(FACTS, case) for case in cases]
