"""The runtimes: the ways in which a statement is executed.

A further runtime is a subclass of `Runtime` in a file of its own, and one call of `register`.
Selection, options, result files, limits and reports take it from here.
"""

from instruction_counts.core.labels import RuntimeMode
from instruction_counts.core.runtimes.compiled import Compiled
from instruction_counts.core.runtimes.exported import Exported
from instruction_counts.core.runtimes.runtime import ARTEFACT_PATH, Artefact, Grouped, Runtime
from instruction_counts.core.runtimes.torchscript import TorchScript

__all__ = [
    "ARTEFACT_PATH",
    "Artefact",
    "Grouped",
    "Runtime",
    "asked_for",
    "needed_names",
    "register",
    "runtime_of",
    "selectable",
    "unregister",
]

_RUNTIMES: dict[RuntimeMode, Runtime] = {
    RuntimeMode.EAGER: Runtime(RuntimeMode.EAGER),
    RuntimeMode.JIT: TorchScript(RuntimeMode.JIT),
    RuntimeMode.COMPILED: Compiled(RuntimeMode.COMPILED),
    RuntimeMode.EXPORTED: Exported(RuntimeMode.EXPORTED),
    # A `TimerArgs` says all of its code itself; whether torch's operators can be seen is not known.
    RuntimeMode.EXPLICIT: Runtime(RuntimeMode.EXPLICIT),
}


def register(runtime: Runtime) -> Runtime:
    """Add a runtime; definitions ask for it by its option: ``runtimes=("compiled",)``.

    Raises:
        ValueError: there is one whose mode is spelled the same.
    """
    if any(runtime.mode.option == mode.option for mode in _RUNTIMES):
        raise ValueError(f'the runtime "{runtime.mode.option}" is registered already')
    _RUNTIMES[runtime.mode] = runtime
    return runtime


def unregister(runtime: Runtime) -> None:
    """Remove a runtime that was registered; its mode keeps its name."""
    del _RUNTIMES[runtime.mode]


def runtime_of(mode: RuntimeMode) -> Runtime:
    """The entry of a mode."""
    return _RUNTIMES[mode]


def needed_names() -> tuple[str, ...]:
    """What torch has to have for all of them: ``torch.compile``, say."""
    return tuple(sorted({name for runtime in _RUNTIMES.values() for name in runtime.needs}))


def selectable() -> tuple[str, ...]:
    """What a definition can ask for beside eager execution, as it spells them."""
    fixed = (RuntimeMode.EAGER, RuntimeMode.EXPLICIT)
    return tuple(mode.option for mode in _RUNTIMES if mode not in fixed)


def asked_for(group: Grouped) -> tuple[Runtime, ...]:
    """The runtimes that a group is measured in, eager first."""
    return tuple(
        runtime
        for mode, runtime in _RUNTIMES.items()
        if mode is RuntimeMode.EAGER or mode.option in group.runtimes
    )
