"""Build hook of the wheel: ``core`` becomes ``instruction_counts.core``.

In a checkout ``core``, ``definitions`` and ``worker`` are packages of their own. A wheel must not
put such common names at the top of site-packages, so there they lie inside ``instruction_counts``
(``pyproject.toml`` says so), and this hook rewrites the imports of ``core`` to match. Definition
files are not rewritten: `instruction_counts.sources.dsl_names` serves the names that they import.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FROM_CORE = re.compile(r"^([ \t]*from )core(?=[.\s])", re.MULTILINE)
_IMPORT_CORE = re.compile(r"^([ \t]*)import core$", re.MULTILINE)
_FOLDERS = {"core": "instruction_counts/core", "instruction_counts": "instruction_counts"}


def inside(text: str) -> str:
    """The module's text, with ``core`` imported from inside ``instruction_counts``."""
    text = _FROM_CORE.sub(r"\1instruction_counts.core", text)
    return _IMPORT_CORE.sub(r"\1from instruction_counts import core", text)


class WheelHook(BuildHookInterface[Any]):
    """Puts rewritten modules into the wheel, in place of those of the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write each module that imports ``core`` anew, and have it packed."""
        if version == "editable":
            return
        self._rewritten = tempfile.TemporaryDirectory()
        for folder, packed in _FOLDERS.items():
            for path in sorted(Path(self.root, folder).rglob("*.py")):
                text = path.read_text(encoding="utf-8")
                if (changed := inside(text)) == text:
                    continue
                place = f"{packed}/{path.relative_to(Path(self.root, folder))}"
                target = Path(self._rewritten.name, place)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(changed, encoding="utf-8")
                build_data["force_include"][str(target)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was written."""
        del build_data, artifact_path
        if version != "editable":
            self._rewritten.cleanup()
