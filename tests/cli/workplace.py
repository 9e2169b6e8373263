"""A place to accept and check baselines in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs

from instruction_counts.domain.outcomes import Outcome
from instruction_counts.storage.json_files import to_json
from tests.builders import counted, cpp
from tests.cli.program import Answer, Program
from tests.fakes import FINGERPRINT, make_run


@attrs.frozen
class Workplace:
    """A folder with a baseline and its limits, and short ways to use them."""

    LIMITS: ClassVar = 'default: {soft: 1%, hard: 10%}\nlimits: [{only: "*/loose", hard: never}]\n'

    folder: Path
    program: Program
    answers: list[Answer] = attrs.field(factory=list)

    def run_file(
        self, counts: Mapping[str, int | Outcome], name: str = "run.json", **facts: Any
    ) -> str:
        """A JSON file of a run of C++ cases that cost so much."""
        records = [
            cpp("Group", label, outcome=count if isinstance(count, Outcome) else counted(count))
            for label, count in counts.items()
        ]
        fingerprint = attrs.evolve(FINGERPRINT, **facts)
        run = attrs.evolve(make_run(*records), builds={"default": fingerprint})
        path = self.folder / name
        path.write_text(to_json(run))
        return str(path)

    @property
    def baseline(self) -> Path:
        """The file."""
        return self.folder / "baseline.json"

    @property
    def limits(self) -> str:
        """The option that names the limits."""
        path = self.folder / "limits.yaml"
        path.write_text(self.LIMITS)
        return f"--gate={path}"

    def accept(self, counts: Mapping[str, int | Outcome], *args: str, **facts: Any) -> str:
        """Accept a run of these counts; what is shown."""
        file = self.run_file(counts, **facts)
        assert 0 == self.call("accept", self.baseline, file, *args)
        return self.shown

    def check(self, counts: Mapping[str, int | Outcome], *args: str, **facts: Any) -> int:
        """The exit code of a check of these counts."""
        return self.call("check", self.baseline, self.run_file(counts, **facts), *args)

    def call(self, *args: str | Path) -> int:
        """The exit code."""
        database = ["--db", self.folder / "runs.db"] if args[0] in {"accept", "check"} else []
        self.answers.append(self.program("baseline", *args, *database))
        return self.answers[-1].code

    @property
    def shown(self) -> str:
        """What the last call said."""
        return self.answers[-1].out + self.answers[-1].err
