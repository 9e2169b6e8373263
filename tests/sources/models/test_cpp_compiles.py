"""What is written in C++ is compiled: by a real compiler, all of it at once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from torch import nn

from instruction_counts.builds.probing import probe
from instruction_counts.domain.build import Build
from instruction_counts.engines.cpp.toolchain import cpp_standard
from instruction_counts.sources.models import cpp, layers
from tests.sources.models.made import CONV, IMAGE
from worker.model_modules import constructor_arguments

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")

MODULES = [
    nn.Conv1d(4, 4, 3, stride=2, padding=1, dilation=2, groups=2, bias=False),
    nn.Conv2d(4, 4, 3, stride=2, padding=1, dilation=2, groups=2, bias=False),
    nn.Conv3d(4, 4, 3, stride=2, padding=1, dilation=2, groups=2, bias=False),
    *(
        norm(4, eps=1e-3, momentum=0.2, affine=False, track_running_stats=False)
        for norm in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
    ),
    *(
        pool(3, 2, padding=1, dilation=2, ceil_mode=True)
        for pool in (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
    ),
    nn.MaxPool1d((3,), (2,)),
    nn.MaxPool2d((3, 2), (2, 1)),
    nn.MaxPool3d((3, 2, 1), (2, 1, 1)),
    *(
        pool(3, 2, padding=1, ceil_mode=True, count_include_pad=False)
        for pool in (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
    ),
    nn.AvgPool2d((3, 2), (2, 1)),
    nn.AvgPool3d((3, 2, 1), (2, 1, 1)),
    *(pool(1) for pool in (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d)),
    nn.AdaptiveAvgPool1d((2,)),
    nn.AdaptiveAvgPool2d((2, 3)),
    nn.AdaptiveAvgPool3d((2, 3, 4)),
    nn.Dropout(0.1, inplace=True),
    nn.Embedding(9, 4, padding_idx=1),
    nn.Flatten(0, 1),
    nn.GELU("tanh"),
    nn.Identity(),
    nn.LayerNorm(4, eps=1e-3, elementwise_affine=False),
    nn.LayerNorm((4, 5)),
    nn.Linear(4, 5, bias=False),
    nn.ReLU(inplace=True),
    nn.ReLU6(inplace=True),
    nn.Sigmoid(),
    nn.SiLU(),
    nn.Softmax(dim=-1),
    nn.Tanh(),
]
"""Each type, with all options that it has; sizes as one number and as one for each dimension."""


def code_of(module: nn.Module) -> str:
    """The C++ of a module as it is found in a model, in a scope of its own."""
    positional, keywords = constructor_arguments(module)
    layer = attrs.evolve(
        CONV,
        type=type(module).__name__,
        positional=layers._frozen(positional),
        keywords=tuple((name, layers._frozen(value)) for name, value in keywords.items()),
        is_frozen=True,
    )
    return f"{{\n{cpp.tensor(IMAGE, gradient=False)}\n{cpp.module(layer)}\nmodel->forward(x);\n}}"


def test_every_type_that_has_code_is_among_the_examples() -> None:
    """What is not compiled here may fail where it is measured."""
    assert {*cpp._OPTIONS, *cpp._WITHOUT_OPTIONS} == {type(module).__name__ for module in MODULES}


@pytest.mark.slow
@pytest.mark.thorough
def test_the_code_of_every_type_compiles(tmp_path: Path) -> None:
    """Torch's headers decide which constructors there are."""
    facts = probe(Build("here", sys.executable))
    path = tmp_path / "all.cpp"
    body = "\n".join(map(code_of, MODULES))
    path.write_text(f"#include <torch/torch.h>\nvoid all() {{\n{body}\n}}\n")
    standard = f"-std=c++{cpp_standard(Path(facts.torch_root))}"
    includes = [part for folder in facts.include_paths for part in ("-isystem", folder)]
    command = [facts.compiler, standard, "-fsyntax-only", *includes, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert [] == [line for line in done.stderr.splitlines() if "error" in line]
