"""The runtime ``exported``: the text that it makes of definitions."""

from collections import Counter

from definitions import exported
from instruction_counts.core.api import GroupedBenchmark, GroupedModules, GroupedSetup, GroupedStmts
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case, Label, Language, RuntimeMode

SETUP = GroupedSetup("x = torch.ones(4)", "auto x = torch::ones(4);")


def _exported(group: GroupedBenchmark) -> tuple[Case, ...]:
    cases = materialize({("a",): group})
    return tuple(case for case in cases if case.autolabels.runtime is RuntimeMode.EXPORTED)


def test_both_languages_load_the_package_of_the_python_statement() -> None:
    """And call it as their users do."""
    group = GroupedStmts("y = x + 1", "auto y = x + 1;", SETUP, "f(x) -> y", exported=True)

    python, cpp = _exported(group)

    assert "y = exported(x)" == python.timer_args.stmt
    assert 'AOTIModelPackageLoader("@ARTEFACT_PATH@", ' in python.timer_args.setup
    assert "auto y = exported.run(std::vector<at::Tensor>{x});" == cpp.timer_args.stmt
    assert cpp.timer_args.setup.endswith(
        'torch::inductor::AOTIModelPackageLoader exported("@ARTEFACT_PATH@");'
    )
    assert "model_package_loader.h>" in cpp.timer_args.global_setup
    assert python.model_source == cpp.model_source
    assert (
        "import torch\n\nx = torch.ones(4)\ndef f(x):\n    y = x + 1\n    return y\n\n"
        "program, inputs, dynamic_shapes = f, (x,), {'x': ()}\n"
    ) == python.model_source


def test_a_module_is_exported_as_it_is() -> None:
    """With its inputs, and the dimensions of these that vary."""
    (case,) = _exported(
        GroupedModules(
            "model = torch.nn.Bilinear(4, 4, 4)",
            setup=SETUP,
            signature="f(x, y) -> z",
            exported={"dynamic_shapes": {"y": [0]}},
        )
    )

    assert case.model_source is not None
    assert case.model_source.endswith(
        "model = torch.nn.Bilinear(4, 4, 4)\n\n"
        "program, inputs, dynamic_shapes = model, (x, y,), {'x': (), 'y': (0,)}\n"
    )


def test_each_definition_of_the_set_is_exported_in_both_languages() -> None:
    """At least twenty; one asks for all four runtimes, in each language that these have."""
    found, of_mlp = Counter[Label](), Counter[Language]()
    for case in materialize(exported.BENCHMARKS):
        if case.autolabels.runtime is RuntimeMode.EXPORTED and case.num_threads == 1:
            found[case.label] += 1
        if case.label == ("Exported", "Modules", "MLP"):
            of_mlp[case.autolabels.language] += 1

    assert found == dict.fromkeys(exported.BENCHMARKS, 2)
    assert len(exported.BENCHMARKS) >= 20
    assert {Language.PYTHON: 4, Language.CPP: 3} == of_mlp
