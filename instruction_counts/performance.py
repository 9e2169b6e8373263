"""The Python interface: one operator, or a category of them, measured from a program.

    from instruction_counts.performance import run_performance_test

    run_performance_test("torch.add", inputs=[{"input": (1024, 1024), "other": (1024, 1024)}])

The words are those of MXNet's opperf, the results plain dictionaries, one for each language, with
the keys of `instruction_counts.operators.metrics.as_dict`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import attrs

from core.expand import materialize
from core.types import AutogradMode, Case, Language, RuntimeMode
from instruction_counts import console
from instruction_counts.application import Measured, make_engine, plan
from instruction_counts.builds.build import Build, default_build, parse_build
from instruction_counts.builds.capability import measure_machine
from instruction_counts.builds.fingerprint import probe
from instruction_counts.cache import Cache
from instruction_counts.engines.fork import Profile
from instruction_counts.errors import UsageError
from instruction_counts.execution.cores import CorePool, available_cores
from instruction_counts.execution.work import Timing, WorkOrder
from instruction_counts.measurements import Machine, Status
from instruction_counts.operators.calls import Overrides, together
from instruction_counts.operators.catalogue import load_schemas
from instruction_counts.operators.definitions import definitions
from instruction_counts.operators.entries import DTYPES, Entry, Shape, Tensor
from instruction_counts.operators.metrics import as_dict, metrics_of
from instruction_counts.operators.reading import read_operators
from instruction_counts.operators.source import selected, standard_file
from instruction_counts.results.records import Run

_LABELLED = {"dtype", "run_backward", "seed"}


@attrs.frozen
class _Test:
    """What one dictionary of inputs asks for."""

    entry: Entry
    overrides: Overrides
    run_backward: bool


def run_performance_test(
    op: str | Callable[..., Any],
    inputs: Sequence[Mapping[str, Any]] | None = None,
    *,
    run_backward: bool = True,
    dtype: str | None = None,
    seed: int = 0,
    warmup: int = 1,
    runs: int | None = None,
    languages: Sequence[str] = ("python",),
    build: str | None = None,
) -> list[dict[str, Any]]:
    """Measure one operator; a dictionary for each of ``inputs`` and each language.

    Args:
        op: ``"torch.add"``, or the function itself.
        inputs: for each test the arguments by their own names: a shape for a tensor, anything else
            as it is passed. What is left out is as the operator's entry has it. ``dtype``,
            ``run_backward`` and ``seed`` may stand there, too, for that test alone. None is one
            test with the entry's typical shapes.
        run_backward: whether forward and backward are measured together as well, so that backward
            can be told apart.
        dtype: of the tensors whose dtype the entry leaves open; float32 by default.
        seed: of the values that are drawn.
        warmup: runs before those that are timed.
        runs: how many runs are timed, in blocks of ten or more; None leaves that to torch's Timer.
        languages: ``"python"`` and ``"c++"``.
        build: an interpreter or virtual environment; by default the one that runs this.

    Returns:
        Dictionaries with units in their names. A test that failed has the keys ``operator``,
        ``label``, ``language``, ``status`` and ``error``.

    Raises:
        UsageError: an operator, argument, dtype or language is not known.
        BuildError: the build cannot measure.
    """
    entry = _entry(op)
    common = {"dtype": dtype, "run_backward": run_backward, "seed": seed}
    tests = [_test(entry, {**common, **one}) for one in (inputs or [{}])]
    return _measured(tests, Timing(warmup, runs), languages, build)


def run_category(
    category: str,
    *,
    run_backward: bool = True,
    dtype: str | None = None,
    seed: int = 0,
    warmup: int = 1,
    runs: int | None = None,
    languages: Sequence[str] = ("python",),
    build: str | None = None,
) -> list[dict[str, Any]]:
    """Measure every operator of a category with its typical shapes; see `run_performance_test`.

    Raises:
        UsageError: there is no such category; see `categories`.
    """
    entries = selected(read_operators(standard_file()), (f"category:{category}",))
    asked = {"dtype": dtype, "run_backward": run_backward, "seed": seed}
    tests = [_test(entry, asked) for entry in entries]
    return _measured(tests, Timing(warmup, runs), languages, build)


def categories() -> tuple[str, ...]:
    """The categories of operators, in the order of the file."""
    return tuple(dict.fromkeys(entry.category for entry in read_operators(standard_file())))


def _entry(op: str | Callable[..., Any]) -> Entry:
    entries = read_operators(standard_file())
    name = op if isinstance(op, str) else _name_of(op, {entry.name for entry in entries})
    found = selected(entries, (name,))
    exact = [entry for entry in found if entry.name == name]
    if len(exact or found) > 1:
        names = ", ".join(entry.name for entry in found)
        raise UsageError(f"{name} is several operators: {names}", "Name one of them.")
    return (exact or list(found))[0]


def _name_of(op: Callable[..., Any], known: Collection[str]) -> str:
    name = getattr(op, "__name__", "")
    if not name:
        raise UsageError(f"{op!r} is no function", 'Name the operator: "torch.add"')
    if getattr(op, "__objclass__", None) is not None:
        return f"Tensor.{name}"
    # A builtin tells its namespace by its name alone (linalg_norm, fft_fft), or not at all.
    candidates = [f"{getattr(op, '__module__', None) or 'torch'}.{name}", f"torch.{name}"]
    candidates.append(f"torch.nn.functional.{name}")
    space, _, rest = name.partition("_")
    candidates.append(f"torch.{space}.{rest}")
    return next((one for one in candidates if one in known), candidates[0])


def _test(entry: Entry, asked: Mapping[str, Any]) -> _Test:
    shapes: dict[str, tuple[Shape, ...]] = {}
    kwargs = dict(entry.kwargs)
    for name, value in asked.items():
        if name in _LABELLED:
            continue
        if isinstance(entry.inputs.get(name), Tensor):
            shapes[name] = (_shape(entry, name, value),)
        elif name in entry.kwargs or name not in entry.inputs:
            kwargs[name] = tuple(value) if isinstance(value, list | tuple) else value
        else:
            raise UsageError(
                f"{entry.name}: {name} is a list of tensors, whose shapes are those of its entry",
                "Leave it out.",
            )
    dtype = asked["dtype"]
    if dtype is not None and str(dtype).removeprefix("torch.") not in DTYPES:
        raise UsageError(f"{entry.name}: no dtype {dtype}", f"One of {', '.join(DTYPES)}.")
    usual = "typical" if "typical" in entry.variants else entry.variants[0]
    overrides = Overrides(
        (usual,),
        () if dtype is None else (str(dtype).removeprefix("torch."),),
        together(shapes),
        int(asked["seed"]),
    )
    return _Test(attrs.evolve(entry, kwargs=kwargs), overrides, bool(asked["run_backward"]))


def _shape(entry: Entry, name: str, value: Any) -> Shape:
    sizes = (value,) if isinstance(value, int) else value
    if not isinstance(sizes, list | tuple) or not all(
        type(size) is int and size >= 0 for size in sizes
    ):
        raise UsageError(f"{entry.name}: {name}={value!r} is no shape", "For example: (1024, 1024)")
    return tuple(sizes)


def _measured(
    tests: Sequence[_Test], timing: Timing, languages: Sequence[str], build: str | None
) -> list[dict[str, Any]]:
    wanted = {Language.parse(one) for one in languages}
    measured_on = parse_build(build) if build else default_build()
    facts = probe(measured_on)
    pool = CorePool(available_cores())
    machine = measure_machine(measured_on, pool.cores[0])
    results = []
    for cases in _without_repeats([_cases(test, wanted) for test in tests]):
        orders = plan(cases, facts, lambda case, on: _order(case, on, timing), skip=False)
        engine = make_engine("fork", facts, Profile(), console.note)
        measured = Measured(
            "fork",
            {measured_on.name: engine},
            (),
            machine=machine,
            progress=console.no_progress,
        )
        if measured.take_in(orders, pool, pool.size, None):
            raise KeyboardInterrupt
        results += _dictionaries(measured.run, machine)
    return results


def _order(case: Case, build: Build, timing: Timing) -> WorkOrder:
    return WorkOrder(case, build, timing=timing, resources=True)


def _cases(test: _Test, wanted: set[Language]) -> list[Case]:
    schemas = load_schemas(default_build(), Cache()) if Language.CPP in wanted else ()
    cases = materialize(definitions((test.entry,), test.overrides, schemas))
    return [
        case
        for case in cases
        if case.autolabels.language in wanted
        and case.autolabels.runtime is RuntimeMode.EAGER
        and (test.run_backward or case.autolabels.autograd is AutogradMode.FORWARD)
    ]


def _without_repeats(tests: Sequence[Sequence[Case]]) -> list[list[Case]]:
    """The cases of all tests in one run, unless two tests would have the same labels there."""
    runs: list[list[Case]] = []
    for cases in tests:
        labels = {case.label for case in cases}
        for one in runs:
            if not labels & {case.label for case in one}:
                one.extend(cases)
                break
        else:
            runs.append(list(cases))
    return [one for one in runs if one]


def _dictionaries(run: Run, machine: Machine) -> list[dict[str, Any]]:
    failed = [record for record in run.cases if record.outcome.status is not Status.OK]
    broken = {(record.label, record.language) for record in failed}
    results = [
        {**as_dict(one, machine), "status": "ok"}
        for one in metrics_of(run.cases)
        if (one.label, one.language) not in broken
    ]
    for record in failed:
        failure = record.outcome.failure
        results.append(
            {
                "operator": record.metadata["operator"],
                "label": "/".join(record.label),
                "language": record.language.value,
                "status": record.outcome.status.value,
                "error": failure.summary if failure else "",
            }
        )
    return results
