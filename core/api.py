"""What a definition file is written with.

`GroupedStmts`, `GroupedModules` and `GroupedVariants` describe clusters of related benchmarks from
which `core.expand.materialize` derives the concrete ones; `GroupedOnce` states what is counted the
first time it happens, `TimerArgs` one case as it is.
Everything is validated when it is constructed, and a mistake raises
`core.errors.DefinitionError` naming the field, what it holds and what it should hold.
"""

import textwrap
from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

import attrs

from instruction_counts.core import checks
from instruction_counts.core.errors import DefinitionError, one_of, require
from instruction_counts.core.facts import ExpectedTensor, Layer, Model, Operator, Subject, Use
from instruction_counts.core.labels import (
    ONCE,
    WARM_LOOP,
    AutogradMode,
    AutoLabels,
    Label,
    Language,
    RuntimeMode,
)
from instruction_counts.core.signature import Signature, call
from instruction_counts.core.variants import pair_lines, parse_blocks

__all__ = [
    "AutoLabels",
    "AutogradMode",
    "ExpectedTensor",
    "GroupedBenchmark",
    "GroupedModules",
    "GroupedOnce",
    "GroupedSetup",
    "GroupedStmts",
    "GroupedVariants",
    "Language",
    "Layer",
    "Model",
    "Operator",
    "RuntimeMode",
    "TimerArgs",
    "Use",
]


@attrs.frozen
class GroupedSetup:
    """Setup code in both languages, run once before the statement; each text is dedented.

    ``global_setup`` goes to the top of the C++ file, outside every function (``#include`` lines).
    ``paths`` are absolute paths that stand in the texts as literals, each with what identifies it
    in the definition hash: a path relative to the file, or a checksum.
    """

    py_setup: str = attrs.field(default="", converter=checks.dedented)
    cpp_setup: str = attrs.field(default="", converter=checks.dedented)
    global_setup: str = attrs.field(default="", converter=checks.dedented)
    paths: Mapping[str, str] = attrs.field(factory=dict, eq=False)

    def __attrs_post_init__(self) -> None:
        for name in ("py_setup", "cpp_setup", "global_setup"):
            checks.check_text(name, getattr(self, name))
        checks.check_whole("py_setup", self.py_setup)
        are_texts = isinstance(self.paths, Mapping) and all(
            isinstance(text, str) for pair in self.paths.items() for text in pair
        )
        require("paths", self.paths, are_texts, "a mapping of paths to strings")


TORCH = ("torch",)


@attrs.frozen
class TimerArgs:
    """One explicit case, mapped one to one to a ``torch.utils.benchmark.Timer``.

    ``num_threads`` may be a tuple in a definition; a materialized case holds one int.
    ``metadata``, ``subject`` and ``expected`` are what `GroupedBenchmark` says of them.
    """

    stmt: str = attrs.field(converter=checks.dedented)
    setup: str = attrs.field(default="pass", converter=checks.dedented)
    global_setup: str = attrs.field(default="", converter=checks.dedented)
    num_threads: int | tuple[int, ...] = 1
    language: Language = Language.PYTHON
    metadata: Mapping[str, Any] = attrs.field(default=None, converter=checks.json_copy, eq=False)
    subject: Subject | None = attrs.field(default=None, converter=checks.checked_subject)
    expected: tuple[ExpectedTensor, ...] = attrs.field(default=(), converter=checks.expectations)
    kind: str = WARM_LOOP
    """How it is counted, as `instruction_counts.engines.kinds` has it."""
    device: str | None = attrs.field(default=None, converter=checks.checked_device)
    """Where its tensors are: ``cpu`` or ``cuda``, which its code knows as ``device``."""
    imports: tuple[str, ...] = attrs.field(default=TORCH, converter=checks.checked_imports)
    """The modules that its process has imported before anything else, and that its code knows."""

    def __attrs_post_init__(self) -> None:
        for name in ("stmt", "setup", "global_setup"):
            checks.check_text(name, getattr(self, name))
        require("stmt", self.stmt, self.stmt, "a statement")
        # torch's own enum and plain names are as good as ours.
        object.__setattr__(self, "language", Language.parse(self.language))
        is_cpp = self.language is Language.CPP
        if not is_cpp:
            checks.check_whole("stmt", self.stmt)
            checks.check_whole("setup", self.setup)
        if is_cpp and self.setup == "pass":
            object.__setattr__(self, "setup", "")
        require(
            "global_setup", self.global_setup, is_cpp or not self.global_setup, "nothing: C++ only"
        )
        checks.thread_counts(self.num_threads)
        is_once = self.kind == ONCE
        require("language", self.language.value, not (is_once and is_cpp), "Python: it runs once")
        require("imports", self.imports, is_once or self.imports == TORCH, '("torch",): it is warm')


class Options(TypedDict, total=False):
    """What statements and modules have in common; see `GroupedBenchmark`."""

    torchscript: bool
    compiled: bool | Mapping[str, Any]
    exported: bool | Mapping[str, Any]
    autograd: bool
    num_threads: int | tuple[int, ...]
    device: str | tuple[str, ...] | None
    gradient: str | None
    metadata: Mapping[str, Any] | None
    runtimes: tuple[str, ...]
    subject: Subject | None
    expected: tuple[ExpectedTensor, ...]


_COMMON = ("setup", "signature", *Options.__annotations__)


@attrs.frozen
class GroupedBenchmark:
    """A cluster of related benchmarks: one computation in several languages and modes.

    Built by `GroupedStmts`, `GroupedModules` and `GroupedVariants`. The arguments they share:

    - ``setup``: how the inputs are made, in both languages.
    - ``signature``: ``f(a, b) -> y``, the inputs and the output of the computation. Needed for
      modules, for ``torchscript``, ``compiled``, ``exported`` and ``autograd``; ``-> None`` where
      it works in place.
    - ``torchscript``: also measure the scripted statement or module.
    - ``compiled``: also measure what ``torch.compile`` makes of the statement or module; in place
      of True, its arguments: ``{"fullgraph": True, "dynamic": False, "backend": "inductor"}``.
    - ``exported``: also measure the package that AOTInductor makes of the statement or module; in
      place of True, which dimensions vary: ``{"dynamic_shapes": {"x": (0,)}}``.
    - ``runtimes``: further runtimes to measure in, by name; ``torchscript`` is one of them.
    - ``autograd``: also measure forward and backward together; needs an output.
    - ``num_threads``: a count, or a tuple of counts, each of which gives cases of its own.
    - ``device``: where the tensors are, ``cpu`` or ``cuda``; the code of the case knows it as
      ``device``. A tuple gives cases on each, whose labels end in it.
    - ``gradient``: the variable, made by the setup, that the backward pass starts from, where the
      output is no scalar: ``y.backward(gradient)``.
    - ``metadata``: whatever is worth knowing of the cases, as a mapping of names to JSON
      values. It goes with them into results, and nothing depends on it.
    - ``subject``: what they measure, an `Operator`, a `Layer` of models or a whole `Model`: what
      `predict` and the metrics of operators go by.
    - ``expected``: what they compute, an `ExpectedTensor` for each tensor that is checked.
    """

    py_fwd_stmt: str | None
    cpp_fwd_stmt: str | None
    setup: GroupedSetup
    signature: Signature | None = None
    runtimes: tuple[str, ...] = ()
    """Those beside eager."""
    compile_options: Mapping[str, Any] = attrs.field(factory=dict, eq=False)
    dynamic_shapes: Mapping[str, tuple[int, ...]] = attrs.field(factory=dict, eq=False)
    autograd: bool = False
    num_threads: tuple[int, ...] = attrs.field(default=1, converter=checks.thread_counts)
    devices: tuple[str | None, ...] = (None,)
    """None is the CPU, without a variable ``device``."""
    py_model_setup: str | None = None
    cpp_model_setup: str | None = None
    gradient: str | None = None
    metadata: Mapping[str, Any] = attrs.field(default=None, converter=checks.json_copy, eq=False)
    subject: Subject | None = attrs.field(default=None, converter=checks.checked_subject)
    expected: tuple[ExpectedTensor, ...] = attrs.field(default=(), converter=checks.expectations)

    def on(self, device: str | None) -> "GroupedBenchmark":
        """The group on one of its devices, of which its code knows the name."""
        setup = self.setup
        if device is not None:
            setup = attrs.evolve(
                setup,
                py_setup=on_device(setup.py_setup, device, Language.PYTHON),
                cpp_setup=on_device(setup.cpp_setup, device, Language.CPP),
            )
        return attrs.evolve(self, setup=setup, devices=(device,))

    def stmt(self, language: Language) -> str | None:
        """The eager statement in a language; None where it has none."""
        return self.cpp_fwd_stmt if language is Language.CPP else self.py_fwd_stmt

    def inputs(self, language: Language) -> str:
        """The setup that makes the inputs in a language."""
        return self.setup.cpp_setup if language is Language.CPP else self.setup.py_setup

    def model(self, language: Language) -> str | None:
        """The setup that makes ``model`` in a language, where one is called."""
        return self.cpp_model_setup if language is Language.CPP else self.py_model_setup

    @property
    def needed_signature(self) -> Signature:
        """The signature, where a runtime beside eager or a backward pass is asked for."""
        assert self.signature is not None, "checked when the group was made"
        return self.signature

    @property
    def python_program(self) -> tuple[str, str]:
        """Python that makes what can be called, and its name: the ``model``, or a function ``f``.

        The function takes the arguments, executes the statement and returns the output.
        """
        if self.py_model_setup is not None:
            return f"{self.py_model_setup}\n", "model"
        signature = self.needed_signature
        returned = "" if signature.output is None else f"\nreturn {signature.output}"
        body = textwrap.indent(f"{self.py_fwd_stmt}{returned}", " " * 4)
        return f"def f({', '.join(signature.args)}):\n{body}\n", "f"

    @classmethod
    def init_from_stmts(
        cls,
        py_stmt: str | None = None,
        cpp_stmt: str | None = None,
        setup: GroupedSetup = GroupedSetup(),
        signature: str | None = None,
        **options: Unpack[Options],
    ) -> "GroupedBenchmark":
        """A cluster from free-form statements; either language may be missing."""
        given = {"py_stmt": py_stmt, "cpp_stmt": cpp_stmt}
        py_stmt, cpp_stmt, made = _checked("GroupedStmts", given, setup, signature, options)
        checks.check_whole("py_stmt", py_stmt or "")
        output = made["signature"] and made["signature"].output
        # Only the Python statement is scripted; both are followed by the backward pass.
        if output and (made["runtimes"] or made["autograd"]):
            checks.check_names("py_stmt", py_stmt, output)
        if output and made["autograd"]:
            checks.check_names("cpp_stmt", cpp_stmt, output)
        return cls(py_stmt, cpp_stmt, **made)

    @classmethod
    def init_from_model(
        cls,
        py_model_setup: str | None = None,
        cpp_model_setup: str | None = None,
        setup: GroupedSetup = GroupedSetup(),
        signature: str | None = None,
        **options: Unpack[Options],
    ) -> "GroupedBenchmark":
        """A cluster from modules: the model setup defines ``model``, which is then called."""
        given = {"py_model_setup": py_model_setup, "cpp_model_setup": cpp_model_setup}
        py, cpp, made = _checked("GroupedModules", given, setup, signature, options)
        if signature is None:
            raise DefinitionError(
                "signature", "nothing", '"f(a, b, …) -> output": it says how to call the module'
            )
        checks.check_names("py_model_setup", py, "model")
        checks.check_names("cpp_model_setup", cpp, "model")
        py_stmt = None if py is None else call("model", made["signature"])
        cpp_stmt = None if cpp is None else call("model->forward", made["signature"], Language.CPP)
        return cls(py_stmt, cpp_stmt, **made, py_model_setup=py, cpp_model_setup=cpp)

    @classmethod
    def init_from_variants(
        cls,
        py_block: str = "",
        cpp_block: str = "",
        num_threads: int | tuple[int, ...] = 1,
        device: str | tuple[str, ...] | None = None,
    ) -> "dict[Label, GroupedBenchmark]":
        """Several benchmarks, one per line; see `core.variants` for the form of a block."""
        py, cpp = parse_blocks(py_block, cpp_block)
        expected = "no global setup: only C++ has one"
        require("py_block", py.global_setup, not py.global_setup, expected)
        if not py.cases and not cpp.cases:
            raise DefinitionError("py_block", "no benchmark in either block", "at least one line")
        setup = GroupedSetup(py.setup, cpp.setup, cpp.global_setup)
        devices = checks.checked_devices(device)
        return {
            label: cls(py_line, cpp_line, setup, num_threads=num_threads, devices=devices)
            for label, (py_line, cpp_line) in pair_lines(py.cases, cpp.cases).items()
        }


GroupedStmts = GroupedBenchmark.init_from_stmts
GroupedModules = GroupedBenchmark.init_from_model
GroupedVariants = GroupedBenchmark.init_from_variants


def GroupedOnce(  # noqa: N802 - it is written beside the others
    py_stmt: str,
    py_setup: str = "pass",
    imports: tuple[str, ...] = TORCH,
    num_threads: int | tuple[int, ...] = 1,
    metadata: Mapping[str, Any] | None = None,
) -> TimerArgs:
    """A statement that is counted when it runs for the first time, in a process of its own.

    Nothing warms it up: what Python and torch do only once, such as to import, to look operators
    up, to trace or to compile, is part of the count. ``py_setup`` runs before it. ``imports`` are
    the modules that are there before both; without ``torch`` among them, the process begins as a
    bare interpreter does, so that ``import torch`` can be counted.
    """
    return TimerArgs(
        *(py_stmt, py_setup),
        num_threads=num_threads,
        metadata=metadata,
        kind=ONCE,
        imports=imports,
    )


def on_device(setup: str, device: str, language: Language) -> str:
    """A setup that finds the device in a variable ``device``, so that one text serves both."""
    if language is Language.CPP:
        named = f"const torch::Device device(torch::k{device.upper()});"
    else:
        named = f'device = "{device}"'
    return f"{named}\n{setup}" if setup else named


def _checked(
    constructor: str,
    given: Mapping[str, str | None],
    setup: GroupedSetup,
    signature: str | None,
    options: Options,
) -> tuple[str | None, str | None, dict[str, Any]]:
    """The ``given`` code in Python and in C++, and what statements and modules have in common."""
    known = (*given, *_COMMON)
    for name in options:
        require(constructor, f"{name}=…", name in known, one_of(known, name))
    field, _ = given
    python, cpp = (checks.code(name, text) for name, text in given.items())
    if python is None and cpp is None:
        found = f"no {'model' if 'model' in field else 'statement'} in either language"
        raise DefinitionError(field, found, "at least one")
    torchscript, autograd = options.get("torchscript", False), options.get("autograd", False)
    compile_options = checks.checked_compile_options(options.get("compiled", False))
    dynamic_shapes = checks.checked_dynamic_shapes(options.get("exported", False))
    require("torchscript", torchscript, isinstance(torchscript, bool), "True or False")
    runtimes = checks.checked_runtimes(field, python, options)
    parsed = checks.parse_modes(signature, runtimes, autograd)
    args = parsed.args if parsed else ()
    expected = f"an argument of the signature: {', '.join(args) or 'it has none'}"
    for name in dynamic_shapes:
        require("exported", name, name in args, expected)
    hint = " (its .value)" if hasattr(setup, "value") else ""
    require("setup", setup, isinstance(setup, GroupedSetup), f"a GroupedSetup{hint}")
    made = {
        "setup": setup,
        "signature": parsed,
        "runtimes": runtimes,
        "compile_options": compile_options,
        "dynamic_shapes": dynamic_shapes,
        "autograd": autograd,
        "num_threads": options.get("num_threads", 1),
        "devices": checks.checked_devices(options.get("device")),
        "gradient": checks.checked_gradient(options.get("gradient"), autograd),
        "metadata": options.get("metadata"),
        "subject": options.get("subject"),
        "expected": options.get("expected", ()),
    }
    return python, cpp, made
