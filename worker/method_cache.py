"""Python's cache of method look-ups: what a statement looks up, and versions that never collide.

CPython keeps what it found on a type in a table of 4,096 slots for the whole interpreter, filled by
version of the type and address of the name (``MCACHE_HASH`` in its ``Objects/typeobject.c``). Two
look-ups that share a slot evict each other in each iteration, and cost some hundred instructions
each time: by chance, since versions are handed out in the order of first use, and addresses are the
allocator's. A type whose version is withdrawn (``PyType_Modified``) gets another one at its next
look-up, and with it other slots. So what is looked up is found out natively, and where it is
counted, types that collide get new versions until none does.

Two names of one type that share a slot, as one pair in 2,048 does, share one in all versions. So
that always the same do, in every build and folder, names that are imported are made before that,
where their text decides (`worker.names`). Those that the interpreter makes when it starts lie where
it puts them.

A name can be made anew for each look-up (``PyObject_GetAttrString``). The table keeps it until
another entry takes its slot, so the next one lies elsewhere and has another slot: one that frees
nothing, an older one of its kind, or evicts what a statement needs. Such names get memory that
always leads to one slot of their own, and each frees the one before.

A type can be changed in each iteration, as Dynamo changes a counter in a class, and gets a version
more each time. What is looked up on it takes one slot after the other. Those of the versions that
it has in the windows are kept free, and what others take is bounded by using versions up.

Standard library only, like `worker.main`, which loads this. What is relied on in CPython is stated
in `worker.cpython`.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import random
import sys
from collections import Counter, defaultdict
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from .cpython import (
    ENTRY_WORDS,
    LEAST_REFERENCES_OF_STATIC,
    SLOTS,
    facts,
)

Lookup = Tuple[str, str, str, int]
"""Module and qualified name of a type, the name that is looked up on it, and where that lies.

A name lies where the interned string does (0), or as many bytes behind ``None``: CPython 3.11 has
strings of its own that are not the interned ones. One that is made anew lies anywhere (-1).
"""
_ANYWHERE = -1
_CHANGED = ("builtins", "")
"""In place of a type that is changed in each iteration: none has that name."""

_FACTS = facts()
_ENTRY = ctypes.c_uint64 * ENTRY_WORDS
_ENTRIES = _ENTRY * SLOTS  # made once: a type that is made anew would look like one that is changed
_VERSION_OFFSET = _FACTS.version_offset if _FACTS else 0
_NOWHERE = "instruction_counts_has_no_such_name"
ROUNDS = 4
RUNS_WATCHED = 10
"""How many iterations tell how many versions one of them takes."""
# With 400 look-ups in the table, one type of 20 names finds room in every eighth place.
_MOST_TRIES = 500
_VERSIONS_TO_MOVE = 1000
"""For the types that are to be kept apart, beside types that are changed."""
_VERSIONS_OF_LAYOUT = 53
_VERSIONS_AROUND = 8
"""Before and after those that the windows should need."""
_MOST_ROUNDS = 4
_PROBES = 8

_BYTES_OF_SLOTS = 8 * SLOTS
"""Names that lie so far apart share a slot, on one type."""
_ALIGNMENT = 16

# A name is freed when its entry is evicted, which any look-up of a method can do. A call of this
# does none. It makes a reference of an address, as `Py_NewRef` does, which CPython 3.9 has not.
_reference = ctypes.pythonapi.PyObject_SelfIter
_reference.argtypes, _reference.restype = [ctypes.c_void_p], ctypes.py_object
_type_modified = ctypes.pythonapi.PyType_Modified
_type_modified.argtypes, _type_modified.restype = [ctypes.py_object], None


class MethodCache:
    """The types of this process, by name, as far as they are there when this is made.

    It works where `can_move` says so: where types are found to be built as `cpython` has it.
    ``allocate_at`` lets a window's first blocks of a size lie at a remainder of a
    distance, all three in bytes. ``layout`` is that of the process.
    """

    def __init__(
        self,
        allocate_at: Callable[[int, int, int], object] = lambda *_numbers: None,
        layout: int = 0,
    ) -> None:
        self.can_move = _can_move()
        self._types = _by_name(_classes()) if self.can_move else {}
        self._allocate_at, self._layout = allocate_at, layout
        self._watched = 0

    def watch(self) -> None:
        """Remember the newest version; to be called `RUNS_WATCHED` iterations before `separate`."""
        self._watched = _newest_version()

    def separate(
        self,
        lookups: Sequence[Sequence[Any]],
        counted: Sequence[int] = (0, 64),
        layout: int = 0,
    ) -> int:
        """Give types new versions until no two of ``lookups`` share a slot; how many still do.

        Names of one type that share a slot do so in all versions. ``counted`` says which of the
        next iterations are, the first and behind the last. In a ``layout`` other than 0 all types
        get other versions: a look-up that nobody knows of collides with others, if with any.
        """
        each = round((_newest_version() - self._watched) / RUNS_WATCHED) if self._watched else 1
        names: Dict[type, Set[int]] = defaultdict(set)
        anew: List[Tuple[type, str]] = []
        looked_up = {(row[0], row[1]) for row in lookups} - {_CHANGED}
        if self.can_move and not all(name in self._types for name in looked_up):
            self._types = _by_name(_classes())  # a setup can make types
        changed = {_address(row[2], row[3]) >> 3 for row in lookups if (row[0], row[1]) == _CHANGED}
        for module, qualified, name, offset in lookups:
            for found in self._types.get((module, qualified), ()):
                if offset == _ANYWHERE:
                    anew.append((found, name))
                else:
                    names[found].add(_address(name, offset) >> 3)
        if names and (layout or self._layout):
            _use_versions_up_to(_newest_version() + _VERSIONS_OF_LAYOUT * (layout + self._layout))
            for found in names:
                _type_modified(found)
        for _ in range(_MOST_ROUNDS if changed else 1):
            first = _newest_version() + _VERSIONS_TO_MOVE if changed else 0
            last = first + each * counted[1] + _VERSIONS_AROUND
            ahead = range(first + each * counted[0] - _VERSIONS_AROUND, last)
            taken = {(version ^ name) % SLOTS for version in ahead for name in changed}
            left = self._separate(names, taken)
            if _newest_version() <= first:
                break
        if changed:
            _use_versions_up_to(first)
        self._give_room(anew, taken)
        return left

    def _separate(self, names: Mapping[type, Set[int]], taken: Set[int]) -> int:
        """Keep ``names`` apart from each other, and from ``taken``, to which they are added."""
        left = 0
        # A new version of a type is one of its subclasses, too: bases come first.
        for each in sorted(names, key=lambda one: len(one.__mro__)):
            slots = self._moved(each, names[each], taken)
            left += len(names[each]) - len(slots - taken)
            taken |= slots
        return left

    def _give_room(self, anew: Sequence[Tuple[type, str]], taken: Set[int]) -> None:
        """Let names that are made anew lie where their slots are free.

        Those of one size share their memory: what one look-up frees is the next one's.
        """
        of_size: Dict[int, Set[int]] = defaultdict(set)
        for each, name in anew:
            of_size[-(-sys.getsizeof(name) // _ALIGNMENT) * _ALIGNMENT].add(_version(each))
        for size, versions in sorted(of_size.items()):
            for remainder in range(0, _BYTES_OF_SLOTS, _ALIGNMENT):
                slots = {(version ^ remainder >> 3) % SLOTS for version in versions}
                if not slots & taken:
                    taken |= slots
                    self._allocate_at(size, remainder, _BYTES_OF_SLOTS)
                    break

    def _moved(self, each: type, names: Set[int], taken: Set[int]) -> Set[int]:
        """The slots that a type has at last."""
        for _ in range(_MOST_TRIES):
            version = _version(each)
            slots = {(version ^ name) % SLOTS for name in names}
            if not slots & taken:
                break
            _type_modified(each)
        return slots


_OF_C = {
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
}


def names() -> List[str]:
    """The names that code of this process uses, and those of what C code adds to types, sorted.

    None that is only made while code runs: whoever made it goes on with another string where there
    is one already. Only those in ASCII.
    """
    found: Set[Any] = set()
    seen: Set[int] = set()
    for each in _all_classes():
        rows = _attributes_of(each).items()
        found.update(name for name, value in rows if type(value) in _OF_C)
    waiting = [each.__code__ for each in gc.get_objects() if type(each) is FunctionType]
    while waiting:
        code = waiting.pop()
        if type(code) is CodeType and id(code) not in seen:
            seen.add(id(code))
            found.update(code.co_names)
            waiting.extend(code.co_consts)
    return sorted(name for name in found if type(name) is str and name.isascii())


class Lookups:
    """Sees what is looked up in the table between `begin` and `end`.

    What another look-up evicts is not seen: in 92 look-ups of a model, one or two. So it should
    look `ROUNDS` times. Each time the types have versions in another order, and so other look-ups
    share a slot; but for those on one type, which `rows` tells.
    """

    def __init__(self) -> None:
        self._table = _table()
        self._seen: Set[Lookup] = set()
        self._places: Sequence[int] = ()
        self._held: Sequence[type] = ()
        self._looked_up: Dict[int, type] = {}
        self._order = random.Random(0)  # noqa: S311 - any order will do

    def begin(self) -> None:
        """Give types other versions, and empty the table."""
        if self._table is None:
            return
        types = [*self._looked_up.values()]
        self._order.shuffle(types)
        if not types:
            # An object that is only pointed to stays in memory that is shared with the parent.
            self._held = _made_since()
            self._places = [*_places_then, *map(id, self._held)]
            types = [_reference(place) for place in self._places if _version_at(place)]
        for each in types:
            _type_modified(each)
        for each in types if self._looked_up else ():
            _version(each)
        sys._clear_type_cache()

    def end(self) -> None:
        """Read what has been looked up since."""
        if self._table is None:
            return
        entries, now = _ENTRIES.from_buffer_copy(self._table), _ENTRIES.from_buffer(self._table)
        types = {_version_at(place): place for place in self._places}
        types.pop(0, None)
        # All were without a version before the first round; the others looked nothing up in it.
        self._places = [*types.values()]
        for slot, (version, name, _) in enumerate(entries):
            place = types.get(version & 0xFFFFFFFF)
            # An empty slot has no version, and what was evicted since may be gone.
            if not version & 0xFFFFFFFF or not name or now[slot][1] != name:
                continue
            text = _reference(name)
            offset = _offset_of(text)
            if place is not None:
                found = _reference(place)
                self._seen.add((*_name_of(found), text, offset))
                self._looked_up[id(found)] = found
            elif offset != _ANYWHERE:
                self._seen.add((*_CHANGED, text, offset))

    def rows(self, used: Iterable[str] = ()) -> List[Lookup]:
        """What was seen, in a fixed order, but for what belongs to the observers.

        And what may be hidden: of two names that share a slot on one type here, the later one. They
        need not share it where the case is counted. So names that are ``used``, or that the type
        has, count as looked up on it if they share the slot of one that was.
        """
        found = {row for row in self._seen if row[0] in sys.modules}
        for each in self._looked_up.values():
            of_type = [row for row in found if row[:2] == _name_of(each) and row[3] != _ANYWHERE]
            slots = {(_address(name, offset) >> 3) % SLOTS for _, _, name, offset in of_type}
            known = {name for _, _, name, _ in of_type}
            has = itertools.chain.from_iterable(map(_attributes_of, _mro_of(each)))
            found.update(
                (*_name_of(each), name, offset)
                for name in {*used, *has} - known
                if type(name) is str and (id(name) >> 3) % SLOTS in slots
                for offset in [_offset_of(name)]
                if offset != _ANYWHERE
            )
        return sorted(found)


def _can_move() -> bool:
    if _FACTS is None:
        return False

    class Probe:
        pass

    first = _version(Probe)
    _type_modified(Probe)
    return _version_now(Probe) == 0 and _version(Probe) not in {0, first}


def _version_now(each: type) -> int:
    return _version_at(id(each))


def _version_at(place: int) -> int:
    return ctypes.c_uint32.from_address(place + _VERSION_OFFSET).value


def _newest_version() -> int:
    """A version that no type had before: later ones are larger."""

    class Probe:
        pass

    return _version(Probe)


def _use_versions_up_to(version: int) -> None:
    class Probe:
        pass

    for _ in range(_VERSIONS_TO_MOVE):
        if _version(Probe) >= version:
            break
        _type_modified(Probe)


def _version(each: type) -> int:
    """The version of a type, which gets one if it has none."""
    if _version_now(each) == 0:
        with contextlib.suppress(AttributeError):
            type.__getattribute__(each, _NOWHERE)
    return _version_now(each)


_remembered: List[type] = []
_places_then: List[int] = []
_modules_then = 0


def remember_types() -> None:
    """Let the types of this process be known, so that children look for newer ones alone.

    To be called before `gc.freeze`.
    """
    global _modules_then  # noqa: PLW0603 - of the process, as what it tells of
    _remembered[:] = _all_classes()
    _places_then[:] = map(id, _remembered)
    _modules_then = len(sys.modules)


def _made_since() -> Sequence[type]:
    """The types that are not remembered, and others."""
    if len(sys.modules) != _modules_then:
        return _all_classes()  # those that C code makes may not be the collector's
    return [each for each in gc.get_objects() if issubclass(type(each), type)]


def _classes() -> Sequence[type]:
    return [*{id(each): each for each in (*_remembered, *_made_since())}.values()]


def _all_classes() -> Sequence[type]:
    found: Dict[int, type] = {id(object): object}
    waiting = [object]
    while waiting:
        for each in type.__subclasses__(waiting.pop()):
            if id(each) not in found:
                found[id(each)] = each
                waiting.append(each)
    return list(found.values())


def _offset_of(name: str) -> int:
    if sys.intern(_copy(name)) is name:
        return 0
    if sys.getrefcount(name) < LEAST_REFERENCES_OF_STATIC:
        return _ANYWHERE
    return id(name) - id(None)


def _copy(name: str) -> str:
    """An equal string that lies elsewhere."""
    return name.encode().decode()


def _address(name: str, offset: int) -> int:
    return id(None) + offset if offset else id(sys.intern(name))


def _by_name(types: Sequence[type]) -> Dict[Tuple[str, str], List[type]]:
    found: Dict[Tuple[str, str], List[type]] = {}
    for each in types:
        found.setdefault(_name_of(each), []).append(each)
    return found


# A class can have attributes of its own by these names.
_module_of, _qualified_of, _attributes_of, _mro_of = (
    type.__dict__[name].__get__ for name in ("__module__", "__qualname__", "__dict__", "__mro__")
)


def _name_of(each: type) -> Tuple[str, str]:
    try:
        return str(_module_of(each)), _qualified_of(each)
    except Exception:  # noqa: BLE001 - some are made without a module, and `str` is anyone's code
        return "", ""


def _table() -> Optional[Any]:
    """The memory of the table; None where it is not found.

    It lies in the state of the interpreter, which has no public layout: an entry is looked for that
    was just made.
    """
    if not _can_move():
        return None
    # An entry can be evicted at once, and what only looks like one lies elsewhere each time.
    found = Counter(address for _ in range(_PROBES) for address in _candidates())
    address, times = max(found.items(), key=lambda item: item[1], default=(0, 0))
    if times <= _PROBES // 2:
        return None
    return (ctypes.c_char * ctypes.sizeof(_ENTRIES)).from_address(address)


def _candidates() -> Iterator[int]:
    """Where the table begins, if an entry of a new type is one of the table."""

    class Probe:
        pass

    state = ctypes.pythonapi.PyInterpreterState_Get
    state.restype = ctypes.c_void_p
    start = state()
    name = sys.intern(_NOWHERE)
    version = _version(Probe)
    # CPython 3.13 puts the look-up that brings a version where a type without one has its place.
    getattr(Probe, name, None)
    memory = ctypes.string_at(start, _mapped_around(start)[1] - start)
    entry = bytes(ctypes.c_uint64(id(name)))
    at = memory.find(entry)
    while at >= 0:
        if int.from_bytes(memory[at - 8 : at - 4], sys.byteorder) == version:
            slot = (version ^ (id(name) >> 3)) % SLOTS
            yield start + at - 8 - slot * ctypes.sizeof(_ENTRY)
        at = memory.find(entry, at + 1)


def _mapped_around(address: int) -> Tuple[int, int]:
    with open("/proc/self/maps", encoding="latin-1") as stream:  # noqa: PTH123 - as in the keeper
        for line in stream:
            first, last = (int(part, 16) for part in line.split(None, 1)[0].split("-"))
            if first <= address < last:
                return first, last
    return address, address
