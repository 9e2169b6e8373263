"""Which workers a run takes, and what it says of the others; the workers are scripted."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts import __version__
from instruction_counts.cluster.lanes import ClusterLanes, LostWorkerError
from instruction_counts.cluster.worker import Hello, Opened
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.engines.engine import Profile
from instruction_counts.execution.lanes import Opening
from instruction_counts.system.worker_tasks import counting_digest
from tests.fakes import FACTS, FINGERPRINT, make_order
from tests.waiting import comes_true

SAME = Hello(__version__, counting_digest())
OPENED = Opened(2, 4, {"default": FINGERPRINT})


@attrs.define
class Scripted:
    """Workers that answer what a test says: a value, or an error that is raised."""

    answers: Mapping[str, Mapping[str, Any]]
    told: list[tuple[str, str]] = attrs.field(factory=list)

    @property
    def there(self) -> frozenset[str]:
        """All of them."""
        return frozenset(self.answers)

    def look(self) -> None:
        """They stay."""

    def ask(self, address: str, task: Callable[..., Any], *_: Any) -> Any:
        """What the test says."""
        answer = {"hello": SAME, "open_lanes": OPENED, **self.answers[address]}[task.__name__]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def tell(self, addresses: Any, task: Callable[..., Any], *_: Any) -> None:
        """Note it."""
        self.told += [(address, task.__name__) for address in addresses]


def opened(said: list[str], **answers: Mapping[str, Any]) -> ClusterLanes:
    """Lanes of workers with these answers."""
    asked = Opening("fork", (FACTS,), Profile(), notice=said.append)
    return ClusterLanes(Scripted(answers), asked)


def test_lanes_of_all_workers_are_one_pool() -> None:
    """Without a word."""
    said: list[str] = []
    lanes = opened(said, a={}, b={})

    assert (4, 4, []) == (lanes.number, lanes.widest, said)
    assert {"default": FINGERPRINT} == lanes.fingerprints


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"hello": Hello("0.9", "x")}, f"b has version 0.9, and this is {__version__}"),
        ({"hello": Hello(__version__, "x")}, f"b has other code of version {__version__}"),
        ({"open_lanes": BuildError("no such build")}, "no such build"),
        ({"hello": LostWorkerError("b")}, "b is gone"),
    ],
)
def test_a_worker_that_does_not_fit_is_left_out_with_the_reason(
    answers: Mapping[str, Any], expected: str
) -> None:
    """The others measure."""
    said: list[str] = []
    lanes = opened(said, a={}, b=answers)

    assert 2 == lanes.number
    assert [f"b is not used: {expected}"] == [text.partition("\n")[0] for text in said]


def test_without_a_worker_that_fits_the_reason_is_the_error() -> None:
    """With its remedy."""
    with pytest.raises(BuildError, match="no such build"):
        opened([], a={"open_lanes": BuildError("no such build")})
    with pytest.raises(UsageError, match=r"has no workers\n.*dask worker"):
        opened([])


def test_a_case_that_is_wider_than_any_worker_is_refused() -> None:
    """Before anything is measured."""
    lanes = opened([], a={}, b={"open_lanes": attrs.evolve(OPENED, widest=8)})

    assert "" == lanes.refusal(make_order("a", num_threads=8))
    expected = "needs 9 contiguous cores, but the workers have 8"
    assert expected == lanes.refusal(make_order("a", num_threads=9))


def test_files_of_callgrind_cannot_be_asked_for() -> None:
    """They would lie on many machines."""
    profile = Profile(callgrind_out=Path("raw"))
    with pytest.raises(UsageError, match=r"Leave out --callgrind-out, or --lanes"):
        ClusterLanes(Scripted({"a": {}}), Opening("fork", (FACTS,), profile))


@pytest.mark.slow  # they hear of it every ten seconds
def test_workers_that_are_ready_hear_of_a_run_while_others_get_ready() -> None:
    """To make an environment takes longer than they wait for a controller."""

    class Slow(Scripted):
        def ask(self, address: str, task: Callable[..., Any], *rest: Any) -> Any:
            if (address, task.__name__) == ("b", "open_lanes"):
                comes_true(lambda: ("a", "hear") in self.told, within_s=60)
            return super().ask(address, task, *rest)

    workers = Slow({"a": {}, "b": {}})
    with closing(ClusterLanes(workers, Opening("fork", (FACTS,), Profile()))):
        assert ("a", "hear") in workers.told
