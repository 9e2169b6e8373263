"""Scratch file for a pull request: write the cases of a change here, and do not commit them.

python main.py run --definitions definitions/ad_hoc.py
"""

from core.api import GroupedStmts
from core.types import FlatIntermediateDefinition
from core.utils import flatten
from definitions.setup import Setup

BENCHMARKS: FlatIntermediateDefinition = flatten(
    {
        "Ad hoc": GroupedStmts(
            "z = x + y_float",
            "auto z = x + y_float;",
            setup=Setup.GENERIC.value,
            signature="f(x, y_float) -> z",
            torchscript=True,
        ),
    }
)
