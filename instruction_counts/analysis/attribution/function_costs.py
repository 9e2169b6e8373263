"""The costs of the functions of one side, by names that can be found on another side, too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

import attrs

from instruction_counts.analysis.attribution.function_changes import FunctionKey
from instruction_counts.analysis.attribution.layers import layer_of
from instruction_counts.analysis.attribution.names import normalised, normalised_library, stem
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.outcomes import FunctionCosts


@attrs.frozen
class Spent:
    """One side, by normalised names."""

    costs: Mapping[FunctionKey, Fraction]
    calls: Mapping[tuple[FunctionKey, FunctionKey], tuple[Fraction, Fraction]]
    into: Mapping[FunctionKey, Fraction]

    @classmethod
    def of(cls, costs: FunctionCosts | None) -> Spent:
        """The sums over what has one name."""
        if costs is None:
            return cls({}, {}, {})
        _check(costs)
        keys = [
            FunctionKey(
                normalised(cost.function, cost.library),
                normalised_library(cost.library),
                layer_of(cost.function, cost.library),
            )
            for cost in costs.costs
        ]
        exclusive: dict[FunctionKey, int] = defaultdict(int)
        for key, function in zip(keys, costs.costs, strict=True):
            exclusive[key] += function.exclusive
        calls: dict[tuple[FunctionKey, FunctionKey], list[int]] = defaultdict(lambda: [0, 0])
        for call in costs.calls:
            sums = calls[keys[call.caller], keys[call.callee]]
            sums[0] += call.calls
            sums[1] += call.instructions
        runs = costs.runs
        return cls.with_sums(
            {key: Fraction(cost, runs) for key, cost in exclusive.items()},
            {edge: (Fraction(n, runs), Fraction(cost, runs)) for edge, (n, cost) in calls.items()},
        )

    @classmethod
    def with_sums(
        cls,
        costs: Mapping[FunctionKey, Fraction],
        calls: Mapping[tuple[FunctionKey, FunctionKey], tuple[Fraction, Fraction]],
    ) -> Spent:
        """With the calls into each function."""
        into: dict[FunctionKey, Fraction] = defaultdict(Fraction)
        for (_, callee), (number, _) in calls.items():
            into[callee] += number
        return cls(costs, calls, into)

    def with_names(self, names: Mapping[FunctionKey, FunctionKey]) -> Spent:
        """The same with other names for some functions."""
        return self.with_sums(
            {names.get(key, key): cost for key, cost in self.costs.items()},
            {
                (names.get(caller, caller), names.get(callee, callee)): call
                for (caller, callee), call in self.calls.items()
            },
        )

    @property
    def knows_calls(self) -> bool:
        """Whether calls were stored, if there were any."""
        return bool(self.calls) or not self.costs

    def calls_into(self, key: FunctionKey) -> Fraction | None:
        """Calls into a function per iteration; None where they are not known."""
        return self.into.get(key, Fraction()) if self.knows_calls else None

    def call(
        self, edge: tuple[FunctionKey, FunctionKey]
    ) -> tuple[Fraction, Fraction] | tuple[None, None]:
        """Calls from one function to another, with their instructions; None where not known."""
        if not self.knows_calls:
            return None, None
        return self.calls.get(edge, (Fraction(), Fraction()))


def _check(costs: FunctionCosts) -> None:
    # The rows of a file are taken as they are, which is what makes reading large files quick.
    wrong = next(_wrong(costs), None)
    if wrong is not None:
        raise DataError(f"the costs of a case are damaged: {wrong}", "Measure it again.")


def _wrong(costs: FunctionCosts) -> Iterator[str]:
    if not isinstance(costs.runs, int) or costs.runs < 1:
        yield f"they are over {costs.runs} runs"
    for cost in costs.costs:
        names = (cost.function, cost.library, cost.file)
        if not isinstance(cost.exclusive, int) or not all(isinstance(name, str) for name in names):
            yield f"{cost.exclusive!r} is the cost of {names}"
    places = range(len(costs.costs))
    for call in costs.calls:
        numbers = (call.caller, call.callee, call.calls, call.instructions)
        if not all(isinstance(number, int) for number in numbers):
            yield f"{numbers} is no call"
        elif call.caller not in places or call.callee not in places:
            yield f"the call {numbers} names a function that is not there"


def renamed(
    base: Iterable[FunctionKey], new: Iterable[FunctionKey]
) -> dict[FunctionKey, FunctionKey]:
    """The functions of base that new has under a name with other parameters, where it is clear."""
    names, new_names = set(base), set(new)
    left, entered = (_by_stem(keys) for keys in (names - new_names, new_names - names))
    return {
        left[place][0]: entered[place][0]
        for place in left
        if len(left[place]) == len(entered.get(place, ())) == 1
    }


def _by_stem(keys: Iterable[FunctionKey]) -> dict[FunctionKey, list[FunctionKey]]:
    groups: dict[FunctionKey, list[FunctionKey]] = defaultdict(list)
    for key in keys:
        groups[attrs.evolve(key, name=stem(key.name))].append(key)
    return groups
