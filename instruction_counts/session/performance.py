"""The Python interface: one operator, or a category of them, measured from a program.

    from instruction_counts.api import run_performance_test

    run_performance_test("torch.add", inputs=[{"input": (1024, 1024), "other": (1024, 1024)}])

The words are those of MXNet's opperf, the results plain dictionaries, one for each language, with
the keys of `instruction_counts.analysis.operators.metrics.as_dict`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from core.errors import DefinitionError
from core.expand import materialize
from core.facts import Operator
from core.types import AutogradMode, Case, Label, Language, RuntimeMode
from instruction_counts.analysis.operators.metrics import Metrics, as_dict, metrics_of
from instruction_counts.builds.configured import parse_build
from instruction_counts.domain.build import default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Machine, Status
from instruction_counts.domain.records import Run
from instruction_counts.domain.work import Timing
from instruction_counts.execution.events import Silent
from instruction_counts.reading.nodes import one_of
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.sources.operators.calls import Overrides, calls, together
from instruction_counts.sources.operators.catalogue import Schema, load_schemas
from instruction_counts.sources.operators.cpp_code import native_name
from instruction_counts.sources.operators.definitions import definitions_of, schemas_by_name
from instruction_counts.sources.operators.entries import (
    DTYPES,
    LARGEST_SEED,
    OperatorEntry,
    Shape,
    Tensor,
    at,
)
from instruction_counts.sources.operators.names import is_argument
from instruction_counts.sources.operators.python_code import literal
from instruction_counts.sources.operators.reading import read_operators
from instruction_counts.sources.operators.source import selected, standard_file
from instruction_counts.system.cache import Cache

_LABELLED = {"dtype", "run_backward", "seed"}
_OWN_ARGUMENTS = "torch.nn.functional."

_Schemas: TypeAlias = Callable[[], Mapping[str, Sequence[Schema]]]
"""All overloads by name, where they are needed."""


@attrs.frozen
class _Test:
    """What one dictionary of inputs asks for."""

    entry: OperatorEntry
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
            test with the entry's typical shapes. C++ that the entry states holds for its own
            arguments; with others, there is none.
        run_backward: whether forward and backward are measured together as well, so that backward
            can be distinguished.
        dtype: of the tensors whose dtype the entry leaves open; float32 by default.
        seed: of the values that are drawn.
        warmup: runs before those that are timed.
        runs: how many runs are timed, at least. They are timed in blocks of ten or more, and
            percentiles are of blocks: 1,000 runs give 100 of them. None leaves it to torch's Timer.
        languages: ``"python"`` and ``"c++"``.
        build: an interpreter or virtual environment; by default the one that runs this.

    Returns:
        Dictionaries with units in their names, in the order of ``inputs``; ``test`` is the place in
        it, ``arguments`` what was asked for. A test that failed, or that C++ was asked of in vain
        (``skipped``), has ``status`` and ``error``.

    Raises:
        UsageError: an operator, argument, dtype or language is not known, or the operator's
            statement has no place for an argument.
        BuildError: the build cannot measure.
    """
    entry = _entry(op)
    common = {"dtype": dtype, "run_backward": run_backward, "seed": seed}
    if inputs is not None and (
        isinstance(inputs, Mapping | str) or not all(isinstance(given, Mapping) for given in inputs)
    ):
        raise UsageError(
            f"inputs={inputs!r} is no list of dictionaries", 'For example: [{"input": (8,)}]'
        )
    schemas = _standard_schemas()
    tests = [_test(entry, common, given, schemas) for given in (inputs or [{}])]
    return _measured(tests, Timing(warmup, runs), languages, build, schemas)


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
    schemas = _standard_schemas()
    tests = [_test(entry, asked, {}, schemas) for entry in entries]
    return _measured(tests, Timing(warmup, runs), languages, build, schemas)


def categories() -> tuple[str, ...]:
    """The categories of operators, in the order of the file."""
    return tuple(dict.fromkeys(entry.category for entry in read_operators(standard_file())))


def _standard_schemas() -> _Schemas:
    """Those of the torch beside this program, read when they are first asked for."""
    return functools.cache(lambda: schemas_by_name(load_schemas(default_build(), Cache())))


def _entry(op: str | Callable[..., Any]) -> OperatorEntry:
    entries = read_operators(standard_file())
    name = op if isinstance(op, str) else _name_of(op, {entry.name for entry in entries})
    found = selected(entries, (name,))
    exact = [entry for entry in found if entry.name == name]
    if len(exact or found) > 1:
        names = ", ".join(entry.name for entry in found)
        raise UsageError(f"{name} matches several operators: {names}", "Name one of them.")
    return (exact or list(found))[0]


def _name_of(op: Callable[..., Any], known: Collection[str]) -> str:
    """The name under which ``op`` itself is found in torch, which whoever has it has imported."""
    torch: Any = sys.modules.get("torch")
    for name in known:
        path = name.removeprefix("torch.").split(".")
        if torch is not None and functools.reduce(_attribute, path, torch) is op:
            return name
    raise UsageError(
        f"{op!r} is not a known operator",
        'Name it: "torch.add". See:',
        "operators list",
    )


def _attribute(value: Any, name: str) -> Any:
    return getattr(value, name, None)


def _test(
    entry: OperatorEntry, common: Mapping[str, Any], arguments: Mapping[str, Any], schemas: _Schemas
) -> _Test:
    asked = {**common, **arguments}
    shapes: dict[str, tuple[Shape, ...]] = {}
    kwargs: dict[str, Any] = {}
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
            _check_name(entry, name, schemas)
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
    changed = _with_arguments(entry, kwargs, usual)
    return _Test(changed, overrides, bool(asked["run_backward"]), dict(arguments))


def _with_arguments(entry: OperatorEntry, kwargs: Mapping[str, Any], variant: str) -> OperatorEntry:
    """The entry with these arguments, and without the code that it states for others."""
    others = [
        name
        for name, value in kwargs.items()
        if name not in entry.kwargs or literal(value) != literal(at(entry.kwargs[name], variant))
    ]
    if not others:
        return entry
    names = ", ".join(others)
    if entry.python is not None:
        raise UsageError(
            f"{entry.name} is measured as {entry.python}, which has no place for {names}",
            f"Leave {names} out.",
        )
    changed = attrs.evolve(entry, kwargs={**entry.kwargs, **kwargs})
    if not isinstance(entry.cpp, str):
        return changed
    # What a schema of the same name would give is not sure to be the same operator.
    note = f"the C++ of its entry, {entry.cpp}, has no place for {names}"
    return attrs.evolve(changed, cpp=False, note=note)


def _check_name(entry: OperatorEntry, name: str, schemas: _Schemas) -> None:
    """Refuse what is neither in the entry nor an argument of any schema of the operator.

    Where no schema names the arguments, torch does, when it is called.
    """
    if name in entry.kwargs:
        return
    overloads = schemas().get(native_name(entry.name), ())
    if is_argument(name) and (not overloads or entry.name.startswith(_OWN_ARGUMENTS)):
        return
    known = {argument.name for schema in overloads for argument in schema.arguments}
    names = [*entry.inputs, *entry.kwargs, *(known - {"self", "out"})]
    if name not in names:
        raise UsageError(f"{entry.name} has no argument {name}", f"It has {one_of(names, name)}.")


def _shape(entry: OperatorEntry, name: str, value: Any) -> Shape:
    sizes = (value,) if isinstance(value, int) else value
    if not isinstance(sizes, list | tuple) or not all(
        type(size) is int and size >= 0 for size in sizes
    ):
        raise UsageError(
            f"{entry.name}: {name}={value!r} is not a valid shape", "For example: (1024, 1024)"
        )
    return tuple(sizes)


def _measured(
    tests: Sequence[_Test],
    timing: Timing,
    languages: Sequence[str],
    build: str | None,
    schemas: _Schemas,
) -> list[dict[str, Any]]:
    wanted = _languages(languages)
    for name, value, least in (("warmup", timing.warmup_runs, 0), ("runs", timing.runs, 1)):
        if value is not None and (type(value) is not int or value < least):
            raise UsageError(f"{name}={value!r}", f"A whole number, at least {least}.")
    made = [_cases(test, number, wanted, schemas) for number, test in enumerate(tests)]
    cases = [case for several in made for case in several if case.autolabels.language in wanted]
    measured_on = parse_build(build) if build else default_build()
    runner = BuildRunner.of([measured_on], MeasurementSettings(retries=0), Silent())
    orders = [
        attrs.evolve(order, timing=timing, resources=True, output=False)
        for order in runner.orders(cases)
    ]
    measured = runner.run(orders)
    if measured.interrupted:
        raise KeyboardInterrupt
    machine = measured.run.machine
    test_of = {case.label: number for number, several in enumerate(made) for case in several}
    found = _dictionaries(measured.run, machine, test_of)
    if Language.CPP in wanted:
        found += _without_cpp(made, measured_on.name, machine)
    for record in found:
        record["arguments"] = dict(tests[record["test"]].arguments)
    return sorted(found, key=lambda result: (result["test"], result["language"] != "python"))


def _languages(languages: Sequence[str]) -> set[Language]:
    try:
        found = (
            set()
            if isinstance(languages, str)
            else {Language.parse(language) for language in languages}
        )
    except DefinitionError:
        found = set()
    if not found:
        raise UsageError(f"languages={languages!r}", 'For example: ("python", "c++")')
    return found


def _cases(test: _Test, number: int, wanted: set[Language], schemas: _Schemas) -> list[Case]:
    """The cases of a test in every language that has one, Python in any case.

    Its number makes their labels differ from those of other tests.
    """
    known = schemas() if Language.CPP in wanted else {}
    made = definitions_of(calls(test.entry, test.overrides), known)
    return [
        attrs.evolve(case, label=(*case.label, f"test {number}"))
        for case in materialize(made)
        if case.autolabels.runtime is RuntimeMode.EAGER
        and (test.run_backward or case.autolabels.autograd is AutogradMode.FORWARD)
    ]


def _dictionaries(
    run: Run, machine: Machine | None, test_of: Mapping[Label, int]
) -> list[dict[str, Any]]:
    failed = {
        (record.label, record.language): record
        for record in run.cases
        if record.outcome.status is not Status.OK
    }
    results = []
    for metrics in metrics_of(run.cases):
        found = {"test": test_of[metrics.label], "arguments": {}, **as_dict(metrics, machine)}
        found |= {"status": "ok", "error": ""}
        record = failed.get((metrics.label, metrics.language))
        if record is not None:
            failure = record.outcome.failure
            found["status"] = record.outcome.status.value
            found["error"] = failure.summary if failure else ""
        results.append(found)
    return results


def _without_cpp(
    made: Sequence[Sequence[Case]], build: str, machine: Machine | None
) -> list[dict[str, Any]]:
    """A dictionary for each test without C++, with the reason."""
    results = []
    for number, case in ((number, several[0]) for number, several in enumerate(made) if several):
        if not isinstance(case.subject, Operator) or not case.subject.no_cpp:
            continue
        metrics = Metrics(
            label=case.label,
            operator=case.subject,
            language=Language.CPP,
            runtime=RuntimeMode.EAGER,
            num_threads=1,
            build=build,
        )
        found = {"test": number, "arguments": {}, **as_dict(metrics, machine)}
        results.append({**found, "status": Status.SKIPPED.value, "error": case.subject.no_cpp})
    return results
