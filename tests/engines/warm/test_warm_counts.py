"""Servers that outlive their command: real Valgrind and torch."""

import os
import signal
from collections.abc import Mapping

import pytest

from instruction_counts.builds.probing import probe
from instruction_counts.core.api import GroupedOnce, GroupedStmts
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case
from instruction_counts.domain.build import default_build
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork_processes import Which
from instruction_counts.engines.warm.client import WarmServers, holders, known_or_probed
from instruction_counts.system.cache import Cache
from tests import real
from tests.fakes import make_case
from tests.real import NEEDS_VALGRIND_AND_COMPILER
from tests.waiting import below, ends_soon

pytestmark = [pytest.mark.slow, pytest.mark.thorough, NEEDS_VALGRIND_AND_COMPILER]

BUILD = default_build()
CASES = {
    "fails": make_case("bad", stmt="torch.no_such_thing"),
    "python": make_case("add", stmt="torch.ones(4, 4) + 1"),
    "c++": materialize({("add",): GroupedStmts(None, "auto z = torch::ones({4, 4}) + 1;")})[0],
    "imports": materialize(
        {("once",): GroupedOnce("colorsys.rgb_to_hsv(1, 1, 1)", imports=("torch", "colorsys"))}
    )[0],
}


def measured(cases: Mapping[str, Case], *, keeps_servers: bool = True) -> dict[str, Outcome]:
    """Each case, as one command measures it."""
    facts = known_or_probed(BUILD, 300)
    orders = {
        name: WorkOrder(case, BUILD, times=name != "fails", executed=True)
        for name, case in cases.items()
    }
    return real.measured(facts, Cache(), orders, keeps_servers=keeps_servers)


def counts_in(outcomes: Mapping[str, Outcome]) -> dict[str, int | None]:
    """The count of each case; None where it failed."""
    return {
        name: None if found.instructions is None else found.instructions.per_run
        for name, found in outcomes.items()
    }


def test_counts_from_servers_that_were_kept_are_those_of_fresh_ones() -> None:
    """Also those of the command that started them, and after a case that failed.

    What is known of their build is what would be found out.
    """
    first, second = measured(CASES), measured(CASES)
    fresh = measured(CASES, keeps_servers=False)

    assert counts_in(fresh) == counts_in(first) == counts_in(second)
    assert counts_in(fresh)["fails"] is None
    assert all(counts_in(fresh)[name] for name in ("python", "c++", "imports"))
    assert first["python"].executed == second["python"].executed == fresh["python"].executed
    ((_, holder),) = holders()
    assert ["counts", "counts+colorsys", "times", "times+colorsys"] == sorted(holder["servers"])
    known, found_out = known_or_probed(BUILD, 300), probe(BUILD)
    assert (found_out, found_out.files) == (known, known.files)


def test_servers_end_with_the_process_that_keeps_them() -> None:
    """As where it is killed: whoever has imported torch is not left behind."""
    facts = known_or_probed(BUILD, 300)
    native = Compiler(facts, Cache()).native
    servers = WarmServers(facts, Profile(), (native("steady"), native("fresh")), 600, print)
    servers.server(Which("times")).warm_up()
    ((_, holder),) = holders()
    kept = below(holder["pid"])

    os.kill(holder["pid"], signal.SIGKILL)

    assert 2 == len(kept)  # the server and its keeper
    assert all(map(ends_soon, kept))
    servers.close()
