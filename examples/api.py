"""The Python interface: measure a case, and look at what came back.

.venv/bin/python examples/api.py
"""

from __future__ import annotations

from instruction_counts.api import MeasurementSettings, TimerArgs, explain, measure

BENCHMARKS = {"sum": TimerArgs("x.sum()", "x = torch.ones((4, 4))")}


def main() -> None:
    """Print the count of the case, and the three functions that spend most of it."""
    run = measure(BENCHMARKS, settings=MeasurementSettings(times=False))
    (record,) = run.cases
    counted = record.outcome.instructions
    if counted is None:
        print(f"not counted: {record.outcome.failure}")
        return
    print(f"sum: {counted.per_run:,} instructions per iteration")
    for change in explain(run, "sum").difference.functions[:3]:
        print(f"{float(change.delta):>8,.0f}  {change.key.name}")


if __name__ == "__main__":
    main()
