"""Short ways to make layers, traces and records of them."""

from typing import Any

import attrs

from instruction_counts.core.facts import Layer, Model, Use
from instruction_counts.core.types import AutogradMode, Language
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.records import Record
from instruction_counts.sources.inputs import ModelSource
from instruction_counts.sources.models.layers import LayerInput, ModelLayer, ModelTrace, Result
from tests.builders import counted
from tests.fakes import make_record

IMAGE = LayerInput("x", (1, 3, 8, 8), "float32")
OUTPUT = Result("", (1, 4, 6, 6), "float32")
CONV = ModelLayer(
    kind="module",
    type="Conv2d",
    call="model(x)",
    inputs=(IMAGE,),
    result=OUTPUT,
    positional=(3, 4, (3, 3)),
    keywords=(("stride", (2, 2)), ("bias", False)),
    has_parameters=True,
    is_plain=True,
)
ADD = ModelLayer(
    kind="operator",
    type="aten.add.Tensor",
    call="torch.add(a, b)",
    inputs=(LayerInput("a", (2, 2), "float32"), LayerInput("b", (2, 2), "float32")),
    result=Result("", (2, 2), "float32"),
)


def make_trace(name: str, *calls: tuple[ModelLayer, str], **fields: Any) -> ModelTrace:
    """A model that makes these calls."""
    trace = ModelTrace(
        source=ModelSource(name, f"models:{name}"),
        calls=calls,
        inputs=(attrs.evolve(IMAGE, name=""),),
        result=OUTPUT,
        taken_apart={},
        left_out={},
        is_local=True,
    )
    return attrs.evolve(trace, **fields)


def cost(instructions: int | None, time_s: float | None = None) -> Outcome:
    """A case that costs so much."""
    outcome = counted(instructions or 0, times_s=() if time_s is None else (time_s,))
    return outcome if instructions is not None else attrs.evolve(outcome, instructions=None)


def layer_record(
    name: str, outcome: Outcome, uses: dict[str, int], kind: str = "Conv2d", **modes: Any
) -> Record:
    """A measured layer, with how often models use it."""
    record = make_record("Models", kind, name, outcome=outcome, **modes)
    places = tuple(Use(model, "a.b", count) for model, count in uses.items())
    return attrs.evolve(record, subject=Layer(kind, places))


def whole_record(model: str, outcome: Outcome, calls: int = 0, **modes: Any) -> Record:
    """A model that was measured as a whole, and how often it calls layers."""
    record = make_record("Whole models", model, outcome=outcome, **modes)
    return attrs.evolve(record, subject=Model(model, calls))


BACKWARD = {"autograd": AutogradMode.FORWARD_BACKWARD}
CPP = {"language": Language.CPP}


CONV_1 = layer_record("one", cost(100, 1e-3), {"Net": 3, "Other": 1})
CONV_2 = layer_record("two", cost(50, 2e-3), {"Net": 1})
RELU = layer_record("relu", cost(10, 1e-4), {"Net": 4}, kind="ReLU")
WHOLE = whole_record("Net", cost(500, 6e-3))
RECORDS = [WHOLE, RELU, CONV_1, CONV_2]
