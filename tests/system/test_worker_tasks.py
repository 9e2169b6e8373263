"""The table of tasks: what a worker can be asked to do, and where."""

import ast
import shutil
from pathlib import Path

import pytest

from instruction_counts.system import worker_tasks
from instruction_counts.system.worker_tasks import COUNTED, FOLDER, Task, counting_digest


@pytest.mark.parametrize("task", worker_tasks._TASKS.values(), ids=lambda task: task.name)
def test_a_task_is_a_function_of_its_module(task: Task) -> None:
    """The one that counts is told by its name alone."""
    named = set[str]()
    for node in ast.parse(task.module.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            named.add(node.name)
        elif isinstance(node, ast.Assign):
            named |= {target.id for target in node.targets if isinstance(target, ast.Name)}

    assert ("count_in_child" if task.name == "counts" else task.name) in named


def test_only_what_counts_is_given_to_a_counting_server() -> None:
    """It could not load anything else, but what says what it has loaded, once it is ready."""
    assert (FOLDER / "loaded.py",) == worker_tasks.modules_of_servers(counting=True)
    assert not {*COUNTED} & {*worker_tasks.modules_of_servers(counting=False)}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_an_edit_of_what_never_counts_changes_no_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    """It is part of each fingerprint, so that an edit of the rest is seen."""
    before = counting_digest()
    shutil.copytree(FOLDER, tmp_path / "worker")
    copies = tuple(tmp_path / "worker" / counted.name for counted in COUNTED)
    monkeypatch.setattr(worker_tasks, "COUNTED", copies)
    with (tmp_path / "worker" / path.name).open("a") as stream:
        stream.write("# edited\n")

    assert (before != counting_digest()) is (path in COUNTED)


@pytest.mark.parametrize("module", ["/elsewhere/other.py", "/elsewhere/times.py"])
def test_a_name_is_registered_once(module: str) -> None:
    """Of a task, and of a module: both lie in the folder of a server."""
    name = "times" if module.endswith("other.py") else "another"
    with pytest.raises(ValueError, match="is registered already"):
        worker_tasks.register(Task(name, Path(module)))


def test_it_is_known_whether_there_are_tasks_from_outside() -> None:
    """Servers that another process has started would not find them."""
    before = worker_tasks.has_others()
    other = worker_tasks.register(Task("of somebody", Path("/elsewhere/somebody.py")))
    with_another = worker_tasks.has_others()
    worker_tasks.unregister(other)

    assert [False, True, False] == [before, with_another, worker_tasks.has_others()]
