"""Cores for tests: those of this machine, or numbers without a meaning."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from instruction_counts.domain.build import DEFAULT_NAME
from instruction_counts.engines.engine import Engine
from instruction_counts.execution.cores import CorePool, available_cores
from instruction_counts.execution.local_lanes import LocalLanes
from instruction_counts.system.folders import make_runtime_folder

MACHINE = CorePool(available_cores(), make_runtime_folder())
"""What is measured on it takes turns with whatever else runs, other tests included."""
lent = MACHINE.reserve
"""Cores of this machine that nothing else of this program uses meanwhile."""


class PoolOfItsOwn(CorePool):
    """Any numbers, lent to those alone who have this pool."""

    def __init__(self, *cores: int) -> None:
        # It lasts as long as the pool.
        self._own = tempfile.TemporaryDirectory()
        super().__init__(cores, Path(self._own.name))


def lanes_of(
    engines: Engine | Mapping[str, Engine], *cores: int, number: int | None = None
) -> LocalLanes:
    """Lanes on numbers without a meaning; a single engine is that of the default build."""
    by_name = engines if isinstance(engines, Mapping) else {DEFAULT_NAME: engines}
    return LocalLanes(by_name, PoolOfItsOwn(*cores), number or len(cores))


def shared_pool(
    folder: Path, *cores: int, notice: Callable[[str], None] = lambda _: None
) -> CorePool:
    """A pool as each process has it that uses ``folder``; what it waits for, it says at once."""
    return CorePool(cores, folder, notice, patience_s=0)
