"""From definitions to concrete cases: ``materialize``.

Everything here makes text from text; nothing is executed, and torch is not imported. What only a
build of torch can make (the scripted model) travels as source code, with a placeholder for the
file that the worker makes of it.
"""

from collections.abc import Iterator, Mapping
from itertools import product

import attrs

from instruction_counts.core.api import GroupedBenchmark, TimerArgs, on_device
from instruction_counts.core.checks import thread_counts
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.labels import AutogradMode, AutoLabels, Label, Language, RuntimeMode
from instruction_counts.core.runtimes import Runtime, asked_for
from instruction_counts.core.types import Case, FlatDefinition


def materialize(benchmarks: Mapping[Label, GroupedBenchmark | TimerArgs]) -> FlatDefinition:
    """Every concrete case of flat definitions, in a fixed order.

    For each group: device, then runtime, then autograd, then language, then thread count, without
    what was not asked for. Explicit cases keep explicit labels.

    Raises:
        DefinitionError: two labels read the same, as ``("a", "b")`` and ``("a/b",)`` do.
    """
    cases: list[Case] = []
    paths: set[str] = set()
    for label, benchmark in _on_devices(benchmarks):
        path = "/".join(label)
        if path in paths:
            raise DefinitionError("label", path, "a unique label", label)
        paths.add(path)
        if isinstance(benchmark, TimerArgs):
            cases.extend(_explicit(label, benchmark))
        else:
            cases.extend(_expand(label, benchmark))
    return tuple(cases)


def _on_devices(
    benchmarks: Mapping[Label, GroupedBenchmark | TimerArgs],
) -> Iterator[tuple[Label, GroupedBenchmark | TimerArgs]]:
    """The definitions, of which a group on several devices is one on each."""
    for label, benchmark in benchmarks.items():
        if isinstance(benchmark, TimerArgs):
            yield label, benchmark
            continue
        for device in benchmark.devices:
            several = len(benchmark.devices) > 1
            own = (*label, device) if several and device is not None else label
            yield own, benchmark.on(device)


def _explicit(label: Label, args: TimerArgs) -> Iterator[Case]:
    autolabels = AutoLabels(RuntimeMode.EXPLICIT, AutogradMode.EXPLICIT, args.language)
    plain = attrs.evolve(args, metadata={}, subject=None, expected=())
    if args.device is not None:
        plain = attrs.evolve(plain, setup=on_device(args.setup, args.device, args.language))
    for num_threads in thread_counts(args.num_threads):
        yield Case(
            *(label, autolabels, attrs.evolve(plain, num_threads=num_threads)),
            metadata=args.metadata,
            subject=args.subject,
            expected=args.expected,
        )


def _expand(label: Label, group: GroupedBenchmark) -> Iterator[Case]:
    autograds = (AutogradMode.FORWARD, AutogradMode.FORWARD_BACKWARD)[: 2 if group.autograd else 1]
    for runtime, autograd, language in product(asked_for(group), autograds, Language):
        stmt = _stmt(group, runtime, autograd, language)
        if stmt is None:
            continue
        for num_threads in group.num_threads:
            yield Case(
                label,
                AutoLabels(runtime.mode, autograd, language),
                TimerArgs(
                    stmt,
                    _joined("\n\n", group.inputs(language), runtime.setup(group, language)),
                    _joined("\n", runtime.global_setup(), group.setup.global_setup)
                    if language is Language.CPP
                    else "",
                    num_threads,
                    language,
                    device=group.devices[0],
                ),
                runtime.artefact_source(group),
                group.metadata,
                group.setup.paths,
                group.subject,
                group.expected,
            )


def _stmt(
    group: GroupedBenchmark, runtime: Runtime, autograd: AutogradMode, language: Language
) -> str | None:
    if group.stmt(language) is None or language not in runtime.languages:
        return None
    stmt = runtime.stmt(group, language)
    if autograd is AutogradMode.FORWARD:
        return stmt
    output = group.needed_signature.output
    assert output is not None, "checked when the group was made"
    end = ";" if language is Language.CPP else ""
    return f"{stmt}\n{runtime.tensor(output, language)}.backward({group.gradient or ''}){end}"


def _joined(between: str, *parts: str) -> str:
    return between.join(part for part in parts if part)
