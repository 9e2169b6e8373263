"""The vocabulary: languages by any of their names, titles, and the hash of a definition."""

import enum
import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from instruction_counts.core.api import TimerArgs
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.labels import by_option
from instruction_counts.core.types import AutogradMode, AutoLabels, Case, Language, RuntimeMode


class LookAlike(enum.Enum):
    """Has the shape of torch's own enum of languages, and one member that is none."""

    PYTHON = 0
    CPP = 1
    FORTRAN = 2


EAGER_CPP = AutoLabels(RuntimeMode.EAGER, AutogradMode.FORWARD, Language.CPP)
CASE = Case(
    ("Pointwise", "Math", "add"),
    EAGER_CPP,
    TimerArgs("x + y;", "auto x = a;", "#include <vector>", 1, Language.CPP),
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Language.CPP, Language.CPP),
        (LookAlike.CPP, Language.CPP),
        ("Python", Language.PYTHON),
        ("C++", Language.CPP),
        ("c++", Language.CPP),
        ("cpp", Language.CPP),
    ],
)
def test_a_language_is_known_by_its_names(value: object, expected: Language) -> None:
    """Members, values, names in any case, and the members of another enum are all accepted."""
    assert expected is Language.parse(value)


@pytest.mark.parametrize("value", ["", "fortran", "C", " python", 0, None, LookAlike.FORTRAN, []])
def test_an_unknown_language_is_refused(value: object) -> None:
    """The error names the field, whatever was found."""
    with pytest.raises(DefinitionError) as caught:
        Language.parse(value)
    assert "language" == caught.value.field


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Language, ["python", "c++"]),
        (RuntimeMode, ["eager", "torchscript", "compiled", "exported", "explicit"]),
        (AutogradMode, ["forward", "forward+backward", "explicit"]),
    ],
)
def test_modes_are_spelled_as_people_write_them(kind: Any, expected: list[str]) -> None:
    """In options, in YAML and in results alike; those that are always there come first."""
    assert dict(zip(expected, kind, strict=True)).items() <= by_option(kind).items()
    assert expected == list(by_option(kind))[: len(expected)]


EXPLICIT = AutoLabels(RuntimeMode.EXPLICIT, AutogradMode.EXPLICIT, Language.PYTHON)
BACKWARD = AutoLabels(RuntimeMode.JIT, AutogradMode.FORWARD_BACKWARD, Language.PYTHON)


@pytest.mark.parametrize(
    ("labels", "num_threads", "expected"),
    [
        (EAGER_CPP, 1, "C++ · Eager · Forward"),
        (BACKWARD, 2, "Python · TorchScript · Forward + Backward · 2 threads"),
        (EXPLICIT, 1, "Python"),
    ],
)
def test_a_title_holds_the_identity(labels: AutoLabels, num_threads: int, expected: str) -> None:
    """Label, language, modes and threads stand in it; explicit cases have no modes to show."""
    args = TimerArgs("x", num_threads=num_threads, language=labels.language)
    assert f"Pointwise / Math / add · {expected}" == Case(CASE.label, labels, args).title


PYTHON_LABELS = AutoLabels(RuntimeMode.EAGER, AutogradMode.FORWARD, Language.PYTHON)
LOADING = attrs.evolve(CASE.timer_args, setup='load("/a/net.pt");')


@pytest.mark.parametrize(
    "cases",
    [
        [
            CASE,
            *(
                attrs.evolve(CASE, timer_args=attrs.evolve(CASE.timer_args, **{field: "auto z;"}))
                for field in ("stmt", "setup", "global_setup")
            ),
        ],
        [attrs.evolve(CASE, model_source=text) for text in ("jit_model = f\n", "g\n", None)],
        # The same text is other code in another place, and in another language.
        [
            Case(("a",), EAGER_CPP, TimerArgs(stmt, setup, language=Language.CPP))
            for stmt, setup in (("a;", "b;"), ("a;\nb;", ""))
        ],
        [
            Case(("a",), PYTHON_LABELS, TimerArgs("x", "", language=Language.PYTHON)),
            Case(("a",), EAGER_CPP, TimerArgs("x", "", language=Language.CPP)),
        ],
        [
            attrs.evolve(CASE, timer_args=LOADING, paths={"/a/net.pt": name})
            for name in ("net.pt", "other.pt")
        ],
    ],
    ids=["code", "scripted model", "part of the code", "language", "what identifies a path"],
)
def test_the_hash_tells_definitions_apart(cases: list[Case]) -> None:
    """Whatever makes the code another one."""
    assert len(cases) == len({case.definition_hash for case in cases})


def test_the_hash_is_the_same_on_every_machine_and_wherever_the_case_stands() -> None:
    """Stored results are compared by it, so its recipe may not change unnoticed."""
    labels = AutoLabels(RuntimeMode.EXPLICIT, AutogradMode.EXPLICIT, Language.CPP)
    moved = attrs.evolve(CASE, label=("Elsewhere",), autolabels=labels)
    assert "a1500479d9bafdaf" == CASE.definition_hash == moved.definition_hash


@pytest.mark.parametrize("path", ["/a/net.pt", "/b c/it's/net.pt", '/d/"e"/net.pt'])
@pytest.mark.parametrize("literal", [repr, json.dumps])
def test_the_hash_holds_what_identifies_a_path_instead_of_it(
    path: str, literal: Callable[[str], str]
) -> None:
    """The same definition in another folder is the same."""
    code = TimerArgs("y = model(x)", f"model = torch.jit.load({literal(path)})")
    plain = TimerArgs("y = model(x)", "model = torch.jit.load(<net.pt>)")

    assert (
        Case(("a",), PYTHON_LABELS, plain).definition_hash
        == Case(("a",), PYTHON_LABELS, code, paths={path: "net.pt"}).definition_hash
    )
