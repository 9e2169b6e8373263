"""What can be added from outside, by name: engines, lanes, kinds of cases."""

from typing import Protocol, TypeVar

from instruction_counts.domain.errors import UsageError


class Named(Protocol):
    """Has a name that nothing else of its sort has."""

    @property
    def name(self) -> str:
        """What options and definitions call it."""


Entry = TypeVar("Entry", bound=Named)


class Registry(dict[str, Entry]):
    """Entries of a sort, such as ``engine``, by name, in the order in which they came."""

    def __init__(self, sort: str, *entries: Entry) -> None:
        super().__init__((entry.name, entry) for entry in entries)
        self._sort = sort

    def register(self, entry: Entry) -> Entry:
        """Add an entry.

        Raises:
            ValueError: there is one of that name.
        """
        if entry.name in self:
            raise ValueError(f'the {self._sort} "{entry.name}" is registered already')
        self[entry.name] = entry
        return entry

    def unregister(self, entry: Entry) -> None:
        """Remove an entry that was registered."""
        del self[entry.name]

    def entries(self) -> tuple[Entry, ...]:
        """All of them, those of this program first."""
        return tuple(self.values())

    def named(self, name: str) -> Entry:
        """The entry of that name.

        Raises:
            UsageError: there is none.
        """
        if name not in self:
            raise UsageError(f'unknown {self._sort} "{name}"', f"Choose from: {', '.join(self)}")
        return self[name]
