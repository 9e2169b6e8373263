"""Look-ups on types: seen, and kept apart."""

import ctypes
import mmap
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from worker import method_cache
from worker.method_cache import Lookups, MethodCache

HERE = __name__


class Base:
    """Looked up on itself and on what derives from it."""

    def method(self) -> None:
        """Found on the base."""


class Described:
    """A descriptor."""

    def __get__(self, instance: object, owner: type) -> int:
        """Whatever it is looked up on."""
        return 1


class Derived(Base):
    """Gets another version whenever its base does."""

    described = Described()

    def own(self) -> None:
        """Found here."""


class Awkward(type):
    """Types that hide their names."""

    @property
    def __module__(cls) -> Any:
        """Fails."""
        raise RuntimeError


class Changed:
    """Changed while it is used."""

    number = 0


def slots(lookups: list[method_cache.Lookup]) -> Counter[int]:
    """How many of ``lookups``, on types of this file, have each slot of the table."""
    return Counter(
        (method_cache._version(globals()[qualified]) ^ method_cache._address(*name) >> 3) % 4096
        for _, qualified, *name in lookups
    )


def test_what_is_looked_up_is_seen() -> None:
    """On the type of the object, wherever it is found; the table is emptied first."""
    Base().method()
    lookups = Lookups()
    for _ in range(2):
        lookups.begin()
        Derived().own()
        Derived().method()
        lookups.end()
    rows = lookups.rows()

    assert {(HERE, "Derived", "own", 0), (HERE, "Derived", "method", 0)} <= {*rows}
    assert (HERE, "Base", "method", 0) not in rows
    assert sorted(rows) == rows


def test_a_name_lies_where_the_table_has_it() -> None:
    """The interpreter looks up ``__get__`` by a string of its own, which need not be interned."""
    seen, found = set[str](), set[str]()
    for _ in range(method_cache.ROUNDS):  # what ends it, or reads the table, may need the same slot
        lookups = Lookups()
        lookups.begin()
        _ = Derived.described
        lookups.end()
        version = method_cache._version(Described)
        table = (method_cache._ENTRY * method_cache.SLOTS).from_buffer_copy(lookups._table)
        rows = [row[2:] for row in lookups.rows() if row[:2] == (HERE, "Described")]
        there = {name for tag, name, _ in table if tag & 0xFFFFFFFF == version}
        seen |= {row[0] for row in rows}
        found |= {row[0] for row in rows if method_cache._address(*row) in there}

        assert there <= {method_cache._address(*row) for row in rows}
    assert seen == found
    assert "__get__" in found


def test_names_that_are_made_anew_lie_anywhere() -> None:
    """As C code makes them, and no string that Python code would use.

    Some lie by chance where a later look-up puts its own.
    """
    names = {f"absent_from_all_{number}" for number in range(100)}
    lookups = Lookups()
    lookups.begin()
    for name in names:
        ctypes.pythonapi.PyObject_HasAttrString(ctypes.py_object(Base()), name.encode())
    lookups.end()
    found = [row for row in lookups.rows() if row[2] in names]

    assert {(HERE, "Base", -1)} == {(module, kind, place) for module, kind, _, place in found}


def test_a_name_that_is_made_anew_gets_memory_whose_slot_is_free() -> None:
    """Whichever slots the others have."""
    asked: list[tuple[int, int, int]] = []
    others = [(HERE, "Base", f"name_{number}", 0) for number in range(200)]
    cache = MethodCache(lambda *numbers: asked.append(numbers))
    cache.separate([*others, (HERE, "Base", "absent_from_all", -1)])
    ((size, remainder, distance),) = asked

    assert (64 + 15) // 16 * 16 == size
    assert 8 * 4096 == distance
    assert (method_cache._version(Base) ^ remainder >> 3) % 4096 not in slots(others)


def test_a_type_that_is_changed_after_its_look_up_is_seen_as_such() -> None:
    """Its version is no type's by then."""
    lookups = Lookups()
    for _ in range(method_cache.ROUNDS):  # what ends it may need the same slot
        lookups.begin()
        Changed.number += 1
        lookups.end()

    assert ("builtins", "", "number", 0) in lookups.rows()


def test_a_type_that_is_changed_finds_its_next_slots_free() -> None:
    """Those of the versions that it gets in all windows, of which an iteration takes two."""
    others = [(HERE, "Base", f"name_{number}", 0) for number in range(20)]
    cache = MethodCache()
    cache.watch()
    for _ in range(method_cache.RUNS_WATCHED):
        for _ in range(2):
            Changed.number += 1
            getattr(Changed, "number", None)
    cache.separate([*others, ("builtins", "", "number", 0)], (30, 48))
    newest = method_cache._newest_version()
    next_slots = {
        (version ^ method_cache._address("number", 0) >> 3) % 4096
        for version in range(newest + 2 * 30, newest + 2 * 48)
    }

    assert not next_slots & {*slots(others)}


def test_look_ups_that_share_a_slot_are_separated() -> None:
    """Of some hundred in a table of 4,096 many would; what is apart stays as it is."""
    names = (sys.intern(f"name_{number}") for number in range(1000))
    # Those of one type that share a slot would do so in all versions.
    kept = [*{id(name) >> 3 & 4095: name for name in names}.values()][:12]
    lookups = [
        (HERE, type_name, name, 0)
        for type_name in ("Base", "Derived", "Many0", "Many1", "Many2", "Many3")
        for name in kept
    ]
    cache = MethodCache()
    cache.separate(lookups)
    apart = slots(lookups)
    cache.separate(lookups)  # a new version costs the code that was specialised for the old one

    assert 6 * len(kept) == len(apart)
    assert apart == slots(lookups)


def test_names_of_one_type_that_share_a_slot_are_counted() -> None:
    """No version keeps them apart."""
    at: dict[int, str] = {}
    kept = [sys.intern(f"a_name_of_its_own_{number}") for number in range(20_000)]
    pair = next(
        (at[slot], name)
        for name in kept
        if at.setdefault(slot := (id(name) >> 3) % 4096, name) is not name
    )

    assert 1 == MethodCache().separate([(HERE, "Base", name, 0) for name in pair])


def test_a_type_that_came_later_is_found() -> None:
    """A setup makes classes."""
    cache = MethodCache()
    late = type("Late", (), {"__module__": HERE})
    globals()["Late"] = late
    lookups = [(HERE, "Late", "x", 0), (HERE, "Base", "x", 0)]
    cache.separate(lookups)

    assert [1, 1] == list(slots(lookups).values())


def test_types_that_cannot_be_told_do_no_harm() -> None:
    """Some are not there, some hide their names, some are made by who has no module."""
    namespace: dict[str, Any] = {}
    exec("made = type('Made', (), {})", namespace)  # noqa: S102 - without a name for the module
    hidden = Awkward("Hidden", (), {})
    names = ("Nowhere", hidden.__qualname__, "Made")

    assert 0 == MethodCache().separate([(HERE, name, "x", 0) for name in names])


for _number in range(4):
    globals()[f"Many{_number}"] = type(f"Many{_number}", (), {"__module__": HERE})


def test_files_of_any_name_may_be_mapped(tmp_path: Path) -> None:
    """Those of torch lie where its user put them."""
    (tmp_path / "ü").write_bytes(bytes(4096))
    address = id(Base)
    with (tmp_path / "ü").open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        first, last = method_cache._mapped_around(address)

    assert first <= address < last


# Names


class Named:
    """A type, of which nothing but its names is used."""

    __slots__ = ("of_a_slot",)

    def method(self) -> object:
        """Uses a name in a function below this one."""
        return lambda one: one.used_below


def test_the_names_that_code_uses_are_found_and_those_of_c() -> None:
    """In a fixed order, as two processes that import the same are to agree."""
    names = method_cache.names()

    assert {"used_below", "of_a_slot", "bit_length"} <= {*names}
    assert names == sorted(set(names))


def test_a_name_that_is_made_while_code_runs_is_left_out() -> None:
    """Whoever made it would go on with another string than the one that was there before."""
    made = "made_while_code_runs"
    setattr(Named, made, 1)

    assert made not in method_cache.names()


class Hiding:
    """Looked up by two names that share a slot."""


def test_what_another_name_of_the_type_hides_is_among_the_look_ups() -> None:
    """If code that runs uses it: the table has the later one alone."""
    candidates = [sys.intern(f"hiding_{number}") for number in range(20_000)]
    for one in candidates[1:4]:
        other = next(
            name for name in candidates if name != one and (id(name) ^ id(one)) >> 3 & 4095 == 0
        )
        lookups = Lookups()
        lookups.begin()
        # CPython 3.13 puts the look-up that brings a version elsewhere.
        for name in ("hiding_first", other, one):
            getattr(Hiding(), name, None)
        lookups.end()
        if (HERE, "Hiding", one, 0) in lookups.rows():  # what ends it may need the same slot
            break

    rows = lookups.rows()
    taken = {method_cache._address(*name) >> 3 & 4095 for _, of, *name in rows if of == "Hiding"}
    none = next(name for name in candidates if id(name) >> 3 & 4095 not in taken)

    assert (HERE, "Hiding", one, 0) in rows
    assert (HERE, "Hiding", other, 0) not in rows
    assert (HERE, "Hiding", other, 0) in lookups.rows([other, none])
    assert (HERE, "Hiding", none, 0) not in lookups.rows([other, none])


def test_types_get_other_versions_in_another_layout() -> None:
    """What nobody knows of collides with other look-ups there, if with any."""
    types = [Base, Described, Changed]
    known = [(HERE, each.__name__, "own", 0) for each in types]
    found = []
    for layout in (0, 0, 1):
        MethodCache().separate(known, layout=layout)
        found.append([method_cache._version(each) for each in types])

    assert found[0] == found[1]
    assert not {*found[1]} & {*found[2]}
