"""Records that nobody measured, as large as those of the standard suite."""

import random

import attrs

from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.build import Fingerprint
from instruction_counts.domain.outcomes import (
    CallCost,
    FunctionCost,
    FunctionCosts,
    Instructions,
    Outcome,
    Output,
    Status,
    TensorValue,
    Times,
    Window,
)
from instruction_counts.domain.records import Record

_LIBRARIES = ("libtorch_cpu.so", "libtorch_python.so", "libc10.so", "python3.11", "steady.so")
_SPACES = ("at::_ops", "at::native", "c10::impl", "torch::autograd", "c10::TensorImpl")
_ARGUMENTS = ("at::Tensor const&", "c10::ArrayRef<c10::SymInt>", "c10::DispatchKeySet", "bool")
_RUNS = 100


def _names() -> tuple[tuple[str, str], ...]:
    draw = random.Random(0)  # noqa: S311 - nothing here is secret
    found = []
    for number in range(4000):
        arguments = ", ".join(draw.choices(_ARGUMENTS, k=draw.randrange(5)))
        name = f"{draw.choice(_SPACES)}::function_{number}::call({arguments})"
        found.append((draw.choice(_LIBRARIES), name))
    return tuple(found)


_FUNCTIONS = _names()


def made_up(number: int, draw: random.Random) -> Record:
    """A record with some 300 functions, 520 calls between them, and its times."""
    functions = _functions(draw)
    per_run = sum(cost.exclusive for cost in functions.costs) // _RUNS
    median_s = per_run * 3e-10
    # Most cases have some dozens of blocks. Those whose statement is quick have thousands.
    blocks = draw.choice((20, 36, 36, 50, 3500))
    values = [median_s * draw.uniform(0.98, 1.1) for _ in range(blocks)]
    return Record(
        label=("Scale", str(number)),
        language=Language.PYTHON,
        runtime=RuntimeMode.EAGER,
        autograd=AutogradMode.FORWARD,
        num_threads=1,
        definition_hash=f"{number:016x}",
        build="default",
        stmt=f"y = (x + {number}.0).sum()",
        setup="x = torch.ones((4, 4), requires_grad=True)",
        global_setup="",
        outcome=Outcome(
            Status.OK,
            Instructions(per_run, exact=True, windows=(Window(_RUNS, per_run * _RUNS),) * 3),
            Times.of(values, 1000),
            functions,
            Output("ab" * 8, (TensorValue("y", (), "float32", "cd" * 8, 0, "AAAAAAAA8D8="),)),
        ),
    )


def changed(record: Record) -> Record:
    """The same, with one function dearer by a hundredth of everything."""
    functions, counted = record.outcome.functions, record.outcome.instructions
    assert functions is not None, "made above"
    assert counted is not None, "made above"
    more = counted.per_run // 100
    first, *rest = functions.costs
    dearer = attrs.evolve(first, exclusive=first.exclusive + more * _RUNS)
    return attrs.evolve(
        record,
        outcome=attrs.evolve(
            record.outcome,
            instructions=attrs.evolve(counted, per_run=counted.per_run + more),
            functions=attrs.evolve(functions, costs=(dearer, *rest)),
        ),
    )


def _functions(draw: random.Random) -> FunctionCosts:
    number = draw.randrange(100, 500)
    costs = tuple(
        FunctionCost(library, "???", name, exclusive, exclusive * 3)
        for (library, name), exclusive in zip(
            draw.sample(_FUNCTIONS, number),
            sorted((_RUNS * draw.randrange(1, 400) for _ in range(number)), reverse=True),
            strict=True,
        )
    )
    calls = tuple(
        CallCost(draw.randrange(number), draw.randrange(number), _RUNS, draw.randrange(10**5))
        for _ in range(number * 7 // 4)
    )
    return FunctionCosts(_RUNS, costs, calls)


def fingerprint() -> Fingerprint:
    """Of a build that nobody has."""
    return Fingerprint(
        torch="2.13.0+cpu",
        torch_git="0" * 40,
        torch_debug=False,
        torch_settings="BUILD_TYPE=Release",
        cxx11_abi=True,
        parallel="OpenMP",
        capability="AVX2",
        python="3.11.7",
        implementation="CPython",
        machine="x86_64",
        cpu="made up",
        libc="glibc-2.36",
        valgrind="valgrind-3.19.0",
        compiler="g++ 12.2.0",
        aslr_off=True,
        profile_version=1,
        tool_version="0",
    )
