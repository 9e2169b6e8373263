"""What is written is executed: by torch, in the process of the test."""

from pathlib import Path

import pytest
import torch

from instruction_counts.core.types import Language
from instruction_counts.sources.definitions import load
from instruction_counts.sources.inputs import ModelSource
from instruction_counts.sources.models.layers import TraceMode, read_trace, unique_layers
from instruction_counts.sources.models.writer import definition_file
from tests.fixtures.models import small_models
from tests.worker.test_models import IMAGE, WORDS, request
from worker import models

FIXTURES = Path(small_models.__file__).parent
ROW = {"name": None, "shape": [3], "dtype": "float32", "high": None}


@pytest.mark.parametrize(
    "mode", [TraceMode(), TraceMode(backward=True), TraceMode("operators", backward=True)]
)
@pytest.mark.parametrize(
    ("factory", "specs"),
    [
        ("Net", [IMAGE]),
        ("net_in_place", [IMAGE]),
        ("Attention", [WORDS]),
        ("frozen_net", [IMAGE]),
        ("Named", [ROW, *({**ROW, "name": name} for name in ("x", "model", "other"))]),
    ],
)
def test_each_case_can_be_repeated(
    factory: str,
    specs: list[dict[str, object]],
    mode: TraceMode,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Layers and whole models, forward and backward."""
    monkeypatch.syspath_prepend(str(FIXTURES))
    monkeypatch.chdir(FIXTURES)
    monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", True)
    source = ModelSource("Net", f"small_models:{factory}")
    asked = {"level": mode.level, "training": mode.training, "backward": mode.backward}
    answer = models.trace(request(factory, *specs, **asked))
    trace = read_trace(source, answer)
    path = tmp_path / "generated.py"
    path.write_text(definition_file([trace], unique_layers([trace]), mode, [], tmp_path))

    cases = [case for case in load(str(path)) if case.autolabels.language is Language.PYTHON]
    assert len(cases) > 4
    for case in cases:
        names = {"torch": torch}
        try:
            exec(case.timer_args.setup, names)  # noqa: S102 - what the test is about
            for _ in range(3):
                exec(case.timer_args.stmt, names)  # noqa: S102
        finally:
            torch.set_grad_enabled(True)
