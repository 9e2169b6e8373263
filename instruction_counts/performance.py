"""The Python interface: one operator, or a category of them, measured from a program.

    from instruction_counts.performance import run_performance_test

    run_performance_test("torch.add", inputs=[{"input": (1024, 1024), "other": (1024, 1024)}])

The words are those of MXNet's opperf, the results plain dictionaries, one for each language, with
the keys of `instruction_counts.operators.metrics.as_dict`.
"""

from __future__ import annotations

import functools
import sys
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
from instruction_counts.located import one_of
from instruction_counts.measurements import Machine, Status
from instruction_counts.operators.calls import Overrides, together
from instruction_counts.operators.catalogue import load_schemas
from instruction_counts.operators.cpp_code import native_name
from instruction_counts.operators.definitions import definitions
from instruction_counts.operators.entries import DTYPES, LARGEST_SEED, Entry, Shape, Tensor
from instruction_counts.operators.metrics import as_dict, metrics_of
from instruction_counts.operators.reading import read_operators
from instruction_counts.operators.source import selected, standard_file
from instruction_counts.results.records import Run

_LABELLED = {"dtype", "run_backward", "seed"}
_TEST = "test"


@attrs.frozen
class _Test:
    """What one dictionary of inputs asks for."""

    entry: Entry
    overrides: Overrides
    run_backward: bool
    arguments: Mapping[str, Any] = attrs.field(factory=dict, hash=False)


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
        runs: how many runs are timed, at least. They are timed in blocks of ten or more, and
            percentiles are of blocks: 1,000 runs give 100 of them. None leaves it to torch's Timer.
        languages: ``"python"`` and ``"c++"``.
        build: an interpreter or virtual environment; by default the one that runs this.

    Returns:
        Dictionaries with units in their names, in the order of ``inputs``; ``test`` is the place in
        it, ``arguments`` what was asked for. A test that failed has ``status`` and ``error``.

    Raises:
        UsageError: an operator, argument, dtype or language is not known.
        BuildError: the build cannot measure.
    """
    entry = _entry(op)
    common = {"dtype": dtype, "run_backward": run_backward, "seed": seed}
    if inputs is not None and (
        isinstance(inputs, Mapping | str) or not all(isinstance(one, Mapping) for one in inputs)
    ):
        raise UsageError(
            f"inputs={inputs!r} is no list of dictionaries", 'For example: [{"input": (8,)}]'
        )
    tests = [_test(entry, common, one) for one in (inputs or [{}])]
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
    tests = [_test(entry, asked, {}) for entry in entries]
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
    """The name under which ``op`` itself is found in torch, which whoever has it has imported."""
    torch: Any = sys.modules.get("torch")
    for name in known:
        path = name.removeprefix("torch.").split(".")
        if torch is not None and functools.reduce(_attribute, path, torch) is op:
            return name
    raise UsageError(
        f"{op!r} is no operator that is known", 'Name it: "torch.add". See: main.py operators list'
    )


def _attribute(value: Any, name: str) -> Any:
    return getattr(value, name, None)


def _test(entry: Entry, common: Mapping[str, Any], arguments: Mapping[str, Any]) -> _Test:
    asked = {**common, **arguments}
    shapes: dict[str, tuple[Shape, ...]] = {}
    kwargs = dict(entry.kwargs)
    for name, value in asked.items():
        if name in _LABELLED:
            continue
        if isinstance(entry.inputs.get(name), Tensor):
            shapes[name] = (_shape(entry, name, value),)
        elif name in entry.inputs:
            raise UsageError(
                f"{entry.name}: {name} is a list of tensors, whose shapes are those of its entry",
                "Leave it out.",
            )
        else:
            _check_name(entry, name)
            kwargs[name] = tuple(value) if isinstance(value, list | tuple) else value
    dtype, seed = asked["dtype"], asked["seed"]
    if dtype is not None and str(dtype).removeprefix("torch.") not in DTYPES:
        raise UsageError(f"{entry.name}: no dtype {dtype}", f"One of {', '.join(DTYPES)}.")
    if type(seed) is not int or not 0 <= seed <= LARGEST_SEED:
        raise UsageError(f"{entry.name}: seed={seed!r}", "A whole number from 0 to 2^63 - 1.")
    usual = "typical" if "typical" in entry.variants else entry.variants[0]
    overrides = Overrides(
        (usual,),
        () if dtype is None else (str(dtype).removeprefix("torch."),),
        together(shapes),
        seed,
    )
    changed = attrs.evolve(entry, kwargs=kwargs)
    return _Test(changed, overrides, bool(asked["run_backward"]), dict(arguments))


def _check_name(entry: Entry, name: str) -> None:
    """Refuse what is neither in the entry nor an argument of any schema of the operator."""
    native = native_name(entry.name)
    schemas = load_schemas(default_build(), Cache())
    known = {one.name for schema in schemas if schema.name == native for one in schema.arguments}
    names = [*entry.inputs, *entry.kwargs, *(known - {"self", "out"})]
    if name not in names:
        raise UsageError(f"{entry.name} has no argument {name}", f"It has {one_of(names, name)}.")


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
    if isinstance(languages, str) or not languages:
        raise UsageError(f"languages={languages!r}", 'For example: ("python", "c++")')
    for name, value, least in (("warmup", timing.warmup_runs, 0), ("runs", timing.runs, 1)):
        if value is not None and (type(value) is not int or value < least):
            raise UsageError(f"{name}={value!r}", f"A whole number, at least {least}.")
    wanted = {Language.parse(one) for one in languages}
    measured_on = parse_build(build) if build else default_build()
    facts = probe(measured_on)
    pool = CorePool(available_cores())
    machine = measure_machine(measured_on, pool.cores[0])
    cases = [case for number, test in enumerate(tests) for case in _cases(test, number, wanted)]
    orders = plan(cases, facts, lambda case, on: _order(case, on, timing), skip=False)
    engine = make_engine("fork", facts, Profile(), console.note)
    measured = Measured(
        "fork", {measured_on.name: engine}, (), machine=machine, progress=console.no_progress
    )
    if measured.take_in(orders, pool, pool.size, None):
        raise KeyboardInterrupt
    return _dictionaries(measured.run, tests, machine)


def _order(case: Case, build: Build, timing: Timing) -> WorkOrder:
    return WorkOrder(case, build, timing=timing, resources=True)


def _cases(test: _Test, number: int, wanted: set[Language]) -> list[Case]:
    """The cases of a test; its number makes their labels differ from those of other tests."""
    schemas = load_schemas(default_build(), Cache()) if Language.CPP in wanted else ()
    made = definitions((test.entry,), test.overrides, schemas)
    return [
        attrs.evolve(
            case,
            label=(*case.label, f"test {number}"),
            metadata={**case.metadata, _TEST: number},
        )
        for case in materialize(made)
        if case.autolabels.language in wanted
        and case.autolabels.runtime is RuntimeMode.EAGER
        and (test.run_backward or case.autolabels.autograd is AutogradMode.FORWARD)
    ]


def _dictionaries(run: Run, tests: Sequence[_Test], machine: Machine) -> list[dict[str, Any]]:
    failed = {
        (record.label, record.language): record
        for record in run.cases
        if record.outcome.status is not Status.OK
    }
    results = []
    for one in metrics_of(run.cases):
        found = {**as_dict(one, machine), "status": "ok", "error": ""}
        record = failed.get((one.label, one.language))
        if record is not None:
            failure = record.outcome.failure
            found["status"] = record.outcome.status.value
            found["error"] = failure.summary if failure else ""
        number = one.metadata[_TEST]
        results.append({"test": number, "arguments": dict(tests[number].arguments), **found})
    return sorted(results, key=lambda one: (one["test"], one["language"] != "Python"))
