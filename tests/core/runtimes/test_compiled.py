"""The runtime ``compiled``: the text that it makes of definitions."""

from instruction_counts.core.api import GroupedBenchmark, GroupedModules, GroupedSetup, GroupedStmts
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import AutogradMode, Case, Language, RuntimeMode

SETUP = GroupedSetup("x = torch.ones(4)")


def _compiled(group: GroupedBenchmark) -> tuple[Case, ...]:
    cases = materialize({("a",): group})
    return tuple(case for case in cases if case.autolabels.runtime is RuntimeMode.COMPILED)


def test_a_statement_is_compiled_as_a_function_of_the_arguments() -> None:
    """Its other names are those of the setup; one that works in place returns nothing."""
    group = GroupedStmts("y = x + 1\ny = y * 2", "", SETUP, "f(x) -> y", compiled=True)
    in_place = GroupedStmts("x.add_(0)", None, SETUP, "f(x) -> None", compiled=True)

    case, other = (*_compiled(group), *_compiled(in_place))

    assert "y = compiled(x)" == case.timer_args.stmt
    assert (
        "x = torch.ones(4)\n\n"
        "def f(x):\n    y = x + 1\n    y = y * 2\n    return y\n\n"
        "compiled = torch.compile(f)"
    ) == case.timer_args.setup
    assert case.autolabels.language is Language.PYTHON
    assert "compiled(x)" == other.timer_args.stmt
    assert "def f(x):\n    x.add_(0)\n\n" in other.timer_args.setup


def test_a_module_is_compiled_as_it_is_and_differentiated() -> None:
    """The arguments of ``torch.compile`` are those of the definition."""
    group = GroupedModules(
        "model = torch.nn.Linear(4, 4)",
        setup=SETUP,
        signature="f(x) -> y",
        compiled={"fullgraph": True, "dynamic": False, "backend": "inductor"},
        autograd=True,
        gradient="x",
    )

    forward, backward = _compiled(group)

    assert forward.timer_args.setup.endswith(
        "model = torch.nn.Linear(4, 4)\n\n"
        "compiled = torch.compile(model, fullgraph=True, dynamic=False, backend='inductor')"
    )
    assert "y = compiled(x)" == forward.timer_args.stmt
    assert "y = compiled(x)\ny.backward(x)" == backward.timer_args.stmt
    assert backward.autolabels.autograd is AutogradMode.FORWARD_BACKWARD
