"""``torch.compile``: a statement or a module, called as users call what it returns."""

import attrs

from instruction_counts.core.labels import Language
from instruction_counts.core.runtimes.runtime import Grouped, Runtime
from instruction_counts.core.signature import call

OPTIONS: dict[str, tuple[type, ...]] = {
    "fullgraph": (bool,),
    "dynamic": (bool, type(None)),
    "backend": (str,),
    "mode": (str,),
}
"""The arguments of ``torch.compile`` that a definition can state, and what they can be."""


@attrs.frozen
class Compiled(Runtime):
    """Calls the compiled statement or module; it is compiled in its first calls, uncounted."""

    languages: tuple[Language, ...] = (Language.PYTHON,)
    needs: tuple[str, ...] = ("torch.compile",)
    has_resources: bool = False
    prepared_by: str = "compiled"
    repeats: bool = False  # some differ, by up to 0.3%: where torch's settings lie in memory

    def stmt(self, group: Grouped, language: Language) -> str:
        """The call of ``compiled``."""
        return call("compiled", group.needed_signature, language)

    def setup(self, group: Grouped, language: Language) -> str:
        """The module, or the statement as a function ``f`` of the arguments, as ``compiled``."""
        del language
        options = "".join(f", {name}={value!r}" for name, value in group.compile_options.items())
        made, name = group.python_program
        return f"{made}\ncompiled = torch.compile({name}{options})"
