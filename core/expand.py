"""From definitions to concrete cases: ``materialize``.

Everything here makes text from text; nothing is executed, and torch is not imported. What only a
build of torch can make (the scripted model) travels as source code, with a placeholder for the
file that the worker makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from core.api import GroupedBenchmark, TimerArgs
from core.invocation import (
    CPP_TORCHSCRIPT_INCLUDES,
    call_model,
    load_model,
    module_model_source,
    stmt_model_source,
    with_backward,
)
from core.types import AutogradMode, AutoLabels, Case, FlatDefinition, Label, Language, RuntimeMode


def materialize(benchmarks: Mapping[Label, GroupedBenchmark | TimerArgs]) -> FlatDefinition:
    """Every concrete case of flat definitions, in a fixed order.

    For each group: runtime, then autograd, then language, then thread count, without what was not
    asked for. Explicit cases keep explicit labels.
    """
    cases: list[Case] = []
    for label, benchmark in benchmarks.items():
        if isinstance(benchmark, TimerArgs):
            cases.extend(_explicit(label, benchmark))
        else:
            cases.extend(_expand(label, benchmark))
    return tuple(cases)


def _explicit(label: Label, args: TimerArgs) -> Iterator[Case]:
    autolabels = AutoLabels(RuntimeMode.EXPLICIT, AutogradMode.EXPLICIT, args.language)
    counts = args.num_threads if isinstance(args.num_threads, tuple) else (args.num_threads,)
    for num_threads in counts:
        one = TimerArgs(args.stmt, args.setup, args.global_setup, num_threads, args.language)
        yield Case(label, autolabels, one, metadata=args.metadata)


def _expand(label: Label, group: GroupedBenchmark) -> Iterator[Case]:
    runtimes = (RuntimeMode.EAGER, RuntimeMode.JIT)[: 2 if group.torchscript else 1]
    autograds = (AutogradMode.FORWARD, AutogradMode.FORWARD_BACKWARD)[: 2 if group.autograd else 1]
    for runtime, autograd, language in product(runtimes, autograds, Language):
        stmt = _forward_stmt(group, runtime, language)
        if stmt is None:
            continue
        if group.signature is not None:
            is_cpp = language is Language.CPP
            stmt = with_backward(
                stmt, group.signature, runtime, autograd, is_cpp, group.gradient or ""
            )
        for num_threads in group.num_threads:
            yield Case(
                label,
                AutoLabels(runtime, autograd, language),
                TimerArgs(
                    stmt,
                    _setup(group, runtime, language),
                    _global_setup(group, runtime) if language is Language.CPP else "",
                    num_threads,
                    language,
                ),
                _model_source(group) if runtime is RuntimeMode.JIT else None,
                group.metadata,
                group.setup.paths,
            )


def _forward_stmt(group: GroupedBenchmark, runtime: RuntimeMode, language: Language) -> str | None:
    stmt = group.py_fwd_stmt if language is Language.PYTHON else group.cpp_fwd_stmt
    if stmt is None or runtime is RuntimeMode.EAGER:
        return stmt
    assert group.signature is not None, "checked when the group was made"
    return call_model(group.signature, runtime, language)


def _setup(group: GroupedBenchmark, runtime: RuntimeMode, language: Language) -> str:
    is_python = language is Language.PYTHON
    parts = [group.setup.py_setup if is_python else group.setup.cpp_setup]
    if runtime is RuntimeMode.JIT:
        assert group.signature is not None, "checked when the group was made"
        parts.append(load_model(group.signature, language))
    else:
        parts.append((group.py_model_setup if is_python else group.cpp_model_setup) or "")
    return "\n\n".join(part for part in parts if part)


def _global_setup(group: GroupedBenchmark, runtime: RuntimeMode) -> str:
    includes = CPP_TORCHSCRIPT_INCLUDES if runtime is RuntimeMode.JIT else ""
    return "\n".join(part for part in (includes, group.setup.global_setup) if part)


def _model_source(group: GroupedBenchmark) -> str:
    if group.py_model_setup is not None:
        return module_model_source(group.py_model_setup, group.setup.py_setup)
    assert group.signature is not None, "checked when the group was made"
    assert group.py_fwd_stmt is not None, "checked when the group was made"
    return stmt_model_source(group.py_fwd_stmt, group.setup.py_setup, group.signature)
