"""The options of commands that measure and check, and what follows from them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click
from click.core import ParameterSource

from instruction_counts.cli.options import (
    DURATION,
    EXISTING_FILE,
    FILE,
    Decorator,
    Written,
    build_options,
    case_options,
    choice,
    compiler_option,
    definitions_options,
    gathered,
    min_effect_option,
    one_build_options,
    option,
    store_option,
    time_budget_option,
)
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.metrics import CYCLES
from instruction_counts.domain.selection import Selection
from instruction_counts.domain.shards import Shard
from instruction_counts.engines.machine import read_machine
from instruction_counts.engines.registry import DEFAULT, engines, require_profile
from instruction_counts.execution.local_lanes import DEFAULT as DEFAULT_LANES
from instruction_counts.gate.limits import FailOn, Limits, read_limits
from instruction_counts.session.build_series import check_build_command
from instruction_counts.session.builds import METRICS, MeasurementSettings
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.sources.definitions import STANDARD, Definitions
from instruction_counts.storage.json_files import read_json

if TYPE_CHECKING:
    from instruction_counts.sources.specification.expansion import Specification

allocator_option = choice(
    "--allocator",
    ["steady", "system"],
    "Allocator of the counted process: constant-time, or that of the C library.",
    default="steady",
)


def _without(flags: str, text: str) -> Decorator:
    return click.option(*flags.split(), flag_value=False, default=True, help=text)


_NO_COUNTS = _without("--no-counts counts", "Do not count instructions.")
_NO_TIMES = _without("--no-times times", "Do not measure wall times.")
_SIMULATED = (
    choice(
        "--metrics",
        METRICS,
        "Also estimate cycles, by simulating caches in several memory layouts; read the "
        "processor's counters while a case runs natively; or measure memory, floating point "
        "operations and what this machine can do, for eager Python. Of operators, run does the "
        "last unasked.",
        multiple=True,
    ),
    option(
        "--machine",
        "FILE.yaml",
        "Caches that are simulated for estimated cycles  [default: those of a server core]",
        type=FILE,
        callback=lambda _context, _option, file: file and read_machine(file),
    ),
)
_OPTIONS = (
    choice(
        "--engine",
        [engine.name for engine in engines()],
        " ".join(f"{engine.name}: {engine.summary}." for engine in engines()),
        default=DEFAULT,
    ),
    allocator_option,
    compiler_option,
    choice(
        "--pin-isa",
        ["avx2", "default"],
        "Instruction set for both times and counts (Valgrind has no AVX-512).",
    ),
    option("--jobs", "N", "Parallel workers  [default: one per core]", type=click.IntRange(min=1)),
    option("--cores", "LIST", "Cores to use: 0-1,3  [default: all]"),
    option(
        "--timeout timeout_s",
        "DURATION",
        "Time limit for each step of a case, such as counting it  [default: 10m]",
        type=DURATION,
    ),
    option(
        "--lanes",
        "WHERE",
        "Where to measure: local, a scheduler of Dask (tls://…), or FILE.yaml with a cluster.",
        default=DEFAULT_LANES,
    ),
)


def _measuring(**given: Any) -> MeasurementSettings:
    """What the options say; they are called as the fields of the settings are."""
    settings = MeasurementSettings(**given)
    if not (settings.counts or settings.times):
        raise UsageError("--no-counts and --no-times leave nothing to measure", "Drop one.")
    if CYCLES.name in settings.metrics and not settings.counts:
        raise UsageError("--metrics cycles and --no-counts exclude each other", "Drop one.")
    if settings.machine is not None and CYCLES.name not in settings.metrics:
        raise UsageError("--machine: no cycles are estimated", "Add --metrics cycles.")
    if settings.pin_isa:
        require_profile(settings.engine, "--pin-isa")
    return settings


untimed_options = gathered("measuring", _OPTIONS, _measuring, MeasurementSettings)
"""How to measure, for a command that never takes times; it gets ``measuring``."""
counting_options = gathered("measuring", (*_OPTIONS, _NO_TIMES), _measuring, MeasurementSettings)
"""The same, for a command that needs counts."""
measuring_options = gathered(
    "measuring", (_NO_COUNTS, *_OPTIONS, *_SIMULATED, _NO_TIMES), _measuring, MeasurementSettings
)
"""The same, for a command that can do without counts."""


@attrs.frozen
class Asked:
    """What the command line and the specification say together."""

    how: ComparisonRequest
    """Which cases, how they are measured, and how they are compared."""
    builds: tuple[Build, ...]
    db: str | None


def specification_of(definitions: Definitions | None) -> Specification | None:
    """The specification that definitions are; None where they are others."""
    # No import of its class, which would cost every start.
    found: Any = definitions
    return found if hasattr(definitions, "reporters") else None


def _asked(
    definitions: Definitions | None = None,
    selection: Selection = Selection(),  # noqa: B008 - frozen
    builds: tuple[Build, ...] = (),
    measuring: MeasurementSettings | None = None,
    db: str | None = None,
    min_effect: Effect = MIN_EFFECT,
    layouts: int | None = None,
    time_budget: float | None = None,
) -> Asked:
    """What options say, else the specification that ``definitions`` is, else the defaults."""
    stated = specification_of(definitions)
    measuring = measuring or MeasurementSettings()
    if stated is not None:
        builds = builds or stated.builds
        db = db or stated.reporters.database
        if measuring.timeout_s is None:
            measuring = attrs.evolve(measuring, timeout_s=stated.timeout_s)
    how = ComparisonRequest(
        *(definitions or STANDARD, selection, measuring, min_effect, layouts, time_budget),
        defined_only=definitions is not None,
    )
    return Asked(how, builds or (default_build(),), db)


def asking(*options: Decorator) -> Decorator:
    """Adds options of which the command gets what they say together: ``asked``.

    So do options beside them that say how builds are compared.
    """
    return gathered("asked", options, _asked)


_OF_A_MEASUREMENT = {
    *attrs.fields_dict(MeasurementSettings),
    *("build", "layouts", "time_budget"),
}
"""The parameters of options that say something of a measurement alone."""


def refuse_measuring(remedy: str) -> None:
    """Refuse options of a measurement, where nothing is measured."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name in _OF_A_MEASUREMENT:
            raise UsageError(f"{parameter.opts[0]}: nothing is measured", remedy)


def _layouts(none: str) -> Decorator:
    text = (
        f"Verify candidates in K fresh servers. Each has another memory layout; 0 {none}.  "
        "[default: 3 layouts in the same servers]"
    )
    return option("--layouts", "K", text, type=click.IntRange(min=0))


_SHARD = option(
    "--shard",
    "K/N",
    "Only the K-th of N parts of the selected cases: 3/8.",
    type=Written("shard", Shard.parse),
)
_BALANCE = option(
    "--balance",
    "FILE.json",
    "Earlier results whose times balance the shards. All shards need the same file.",
    type=EXISTING_FILE,
)


def _balanced(shard: Shard | None, balance: Path | None) -> Shard | None:
    if balance is None:
        return shard
    if shard is None:
        raise UsageError(
            "--balance: there are no shards to balance", "Add --shard 1/8, or drop it."
        )
    durations_s: dict[CaseKey, float] = defaultdict(float)
    for record in read_json(balance).cases:
        durations_s[record.key] += record.outcome.duration_s
    return shard.balanced(durations_s)


_VERIFYING = (_layouts("verifies nothing"), time_budget_option)
_SHARDED = (definitions_options, _SHARD, case_options)
# Runs can be merged only where no case is missed.
_BALANCED = (definitions_options, gathered("shard", (_SHARD, _BALANCE), _balanced), case_options)
run_options = asking(*_BALANCED, build_options, measuring_options, store_option)
compare_options = asking(
    *(*_SHARDED, build_options, measuring_options, min_effect_option),
    *(*_VERIFYING, store_option),
)
check_options = asking(*_SHARDED, one_build_options, counting_options, *_VERIFYING, store_option)


def series_options(*selecting: Decorator, required: bool) -> Decorator:
    """How builds of a series are listed (``listing``), made (``build_cmd``), measured, compared."""
    return asking(
        option(
            "--command listing",
            "COMMAND",
            "Shell command that prints the builds. NAME=PYTHON or commits, one per line, the "
            "oldest first.",
            required=required,
        ),
        option(
            "--build-cmd",
            "COMMAND",
            "Shell command that makes the build of {commit}. The last line that it prints is the "
            "interpreter or virtual environment.",
            callback=lambda _context, _option, command: check_build_command(command),
        ),
        *(_layouts("only measures once more"), min_effect_option),
        *(*selecting, store_option),
    )


# What fails


def _limits(limits: Path | None) -> Limits | None:
    return None if limits is None else read_limits(limits)


_GATE = "File of limits: the allowed increase per case  [default: none]"
gate_option = gathered("limits", (option("--gate limits", "FILE.yaml", _GATE, type=FILE),), _limits)


def _fail_on(*kinds: FailOn, more: str = "") -> Decorator:
    names = [when.value for when in kinds]
    text = (
        f"When to fail: {', '.join(names)}. regression: a case exceeds its hard limit. "
        f"any: a case got worse.{more}"
    )
    return choice("--fail-on", names, text, metavar="WHEN", default=FailOn.REGRESSION.value)


fail_on_option = _fail_on(FailOn.REGRESSION, FailOn.ANY, FailOn.NEVER)
fail_on_times_option = _fail_on(
    *FailOn, more=" slower, cycles: a case is, by times in turns, or has more estimated cycles."
)
"""The same, where two builds are timed."""
