"""Hooks, options and fixtures. What counts is imported with the first test that asks for it.

pytest-benchmark has a fixture ``benchmark``, too: where that plugin is loaded, it keeps the name,
and what is counted is asked for as ``icount`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from instruction_counts.testing.counting import Counting

_MARKER = "icount"
_PROBLEM = pytest.StashKey[str]()
_CALLS = pytest.StashKey[int]()
_COUNTED = "icount_run"
"""What a process of pytest-xdist tells to the one that started it."""


class Benchmark:
    """The fixture: counts a call, which it also makes once here, for what it returns."""

    def __init__(self, counting: Callable[[], Counting], node: Any) -> None:
        self._counting, self._node, self.name = counting, node, node.name
        self.group: str | None = None
        self.extra_info: dict[str, Any] = {}
        """Accepted as pytest-benchmark's; nothing depends on them."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("it holds the fixture that counts, which stays here.")

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Count the instructions of ``function(*args, **kwargs)``; ends as that does."""
        # Names that no test has.
        given = {"icount_function": function, "icount_args": args, "icount_kwargs": kwargs}
        scope = {**vars(self._node.module), **given}
        stmt = f"icount_function(*icount_args{', **icount_kwargs' * bool(kwargs)})"
        number = self._node.stash[_CALLS] = self._node.stash.get(_CALLS, 0) + 1
        label = (*_label(self._node), *([f"call {number}"] if number > 1 else []))
        counting = self._counting()
        problem = counting.count(label, stmt, scope)  # first: the call may change its arguments
        try:
            result = function(*args, **kwargs)
        except BaseException:  # which a test may expect: no failure of what counts
            counting.records.pop(label, None)
            raise
        _report(problem)
        return result

    def pedantic(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        setup: Callable[[], tuple[Sequence[Any], Mapping[str, Any]] | None] | None = None,
        **repeating: Any,
    ) -> Any:
        """The same, with the arguments that ``setup`` returns, if it does.

        A count is exact: how often pytest-benchmark repeats is of no interest.
        """
        del repeating
        made = setup() if setup is not None else None
        args, kwargs = (args, kwargs or {}) if made is None else made
        return self(target, *args, **kwargs)


class Plugin:
    """What one run of pytest has: options, and the servers that count."""

    def __init__(self, counting_of: Callable[[], Counting] | None = None) -> None:
        self._counting_of = counting_of
        self._counting: Counting | None = None
        self._is_due = False

    def counting(self) -> Counting:
        """What counts; made when it is first needed, since that imports much."""
        if self._counting is None:
            from instruction_counts.testing import counting  # noqa: PLC0415 - would slow each start

            self._counting = (self._counting_of or counting.Counting)()
        return self._counting

    @pytest.fixture(name="icount")
    def _icount(self, request: pytest.FixtureRequest) -> Benchmark:
        """Count the instructions of a call: ``icount(function, *args)``."""
        return Benchmark(self.counting, request.node)

    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        """Find out which marked statements cannot be passed to the process that counts."""
        for item in items:
            if isinstance(item, pytest.Function):
                markers = item.iter_markers(_MARKER)
                found = (self._problem_of_marker(marker, item) for marker in markers)
                item.stash[_PROBLEM] = next(filter(None, found), "")

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """Say what will not be counted."""
        return [
            f"cannot be counted: {item.nodeid}: {item.stash[_PROBLEM]}"
            for item in items
            if item.stash.get(_PROBLEM, "")
        ]

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Fail what cannot be counted before its fixtures are made."""
        _report(item.stash.get(_PROBLEM, ""))

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        """Count the statements of markers once the test itself has passed."""
        result = yield
        for number, marker in enumerate(pyfuncitem.iter_markers(_MARKER)):
            stmt, setup = _statement(*marker.args, **marker.kwargs)
            label = (*_label(pyfuncitem), *([f"statement {number}"] if number else []))
            _report(self.counting().count(label, stmt, vars(pyfuncitem.module), setup))
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Expect counts where tests are executed and compared."""
        self._is_due = _options(session.config)[0] and not session.config.option.collectonly

    def pytest_keyboard_interrupt(self) -> None:
        """Expect no counts: those of processes that were ended did not arrive."""
        self._is_due = False

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Show counts, or how they compare with the baseline and why."""
        if text := self._concluded(config)[0]:
            terminalreporter.section("instruction counts")
            terminalreporter.write(text)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a process of pytest-xdist counted."""
        if text := getattr(node, "workeroutput", {}).get(_COUNTED):
            self.counting().add(text)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail where more is counted than the baseline allows, or nothing; end the servers."""
        told = getattr(session.config, "workeroutput", None)
        if self._counting is not None and session.exitstatus != pytest.ExitCode.INTERRUPTED:
            try:
                self._counting.verify(*_options(session.config))
            except KeyboardInterrupt:
                session.exitstatus = pytest.ExitCode.INTERRUPTED
        if told is None:
            if self._concluded(session.config)[1] and not session.exitstatus:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif self._counting is not None and self._counting.records:
            told[_COUNTED] = self._counting.as_text()
        if self._counting is not None:
            self._counting.close()

    def _concluded(self, config: pytest.Config) -> tuple[str, bool]:
        if self._counting is not None and self._counting.records:
            return self._counting.concluded(_options(config))
        if not self._is_due:
            return "", False
        other = '\n  "benchmark" is pytest-benchmark\'s: use "icount".' * _is_other_there(config)
        return f"Nothing was counted for {_options(config)[0]}.{other}\n", True

    def _problem_of_marker(self, marker: pytest.Mark, item: pytest.Function) -> str:
        from unittest import TestCase  # noqa: PLC0415 - would slow each start

        if issubclass(item.cls or object, TestCase):  # pytest_pyfunc_call does not see it
            return "a method of unittest.TestCase cannot be marked: mark a function"
        try:
            stmt = _statement(*marker.args, **marker.kwargs)
            return self.counting().problem_with(*stmt, vars(item.module))
        except TypeError:
            return f"the marker is {_MARKER}(stmt, setup='')"


class _BenchmarkFixture:
    """The fixture under the name that pytest-benchmark gave it."""

    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin

    @pytest.fixture(name="benchmark")
    def _benchmark(self, request: pytest.FixtureRequest) -> Benchmark:
        """Count the instructions of a call: ``benchmark(function, *args)``."""
        return Benchmark(self._plugin.counting, request.node)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("icount", "instruction counts")
    group.addoption("--icount-baseline", metavar="FILE", help="Compare counts with this baseline.")
    group.addoption(
        "--icount-fail-on",
        metavar="EFFECT",
        default="0.5%",
        help="Fail where a count exceeds the baseline by more: a percentage or a number of "
        "instructions.",
    )
    group.addoption("--icount-accept", action="store_true", help="Write the baseline.")


def pytest_configure(config: pytest.Config) -> None:
    """Add the plugin, unless it is there already, and the fixture if its name is free."""
    if config.getoption("icount_baseline"):
        _check_limit(config.getoption("icount_fail_on"))
    if config.getoption("icount_accept") and not config.getoption("icount_baseline"):
        raise pytest.UsageError("--icount-accept needs --icount-baseline FILE")
    config.addinivalue_line("markers", f"{_MARKER}(stmt, setup=''): count a statement")
    there = (found for found in config.pluginmanager.get_plugins() if isinstance(found, Plugin))
    plugin = next(there, None)
    if plugin is None:
        plugin = Plugin()
        config.pluginmanager.register(plugin)
    if not _is_other_there(config):
        config.addinivalue_line("markers", "benchmark: accepted as pytest-benchmark's")
        config.pluginmanager.register(_BenchmarkFixture(plugin), "icount-benchmark")


def _check_limit(text: str) -> None:
    from instruction_counts.domain.effects import Effect  # noqa: PLC0415 - would slow each start

    try:
        Effect.parse(text)
    except ValueError as error:
        raise pytest.UsageError(f"--icount-fail-on {text}: {error}") from error


def _report(problem: str) -> None:
    if problem:
        pytest.fail(f"not counted: {problem}", pytrace=False)


def _is_other_there(config: pytest.Config) -> bool:
    return config.pluginmanager.hasplugin("benchmark")  # so pytest-benchmark calls its plugin


def _options(config: pytest.Config) -> Any:
    return tuple(map(config.getoption, ("icount_baseline", "icount_fail_on", "icount_accept")))


def _label(item: Any) -> tuple[str, ...]:
    return tuple(item.nodeid.split("::"))


def _statement(stmt: str, setup: str = "") -> tuple[str, str]:
    return stmt, setup
