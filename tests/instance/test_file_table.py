"""The table of control files: a new file is one row, and everything that shows files has it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from control.served import Served, served
from mount.mounted import lacks, mount_process

import funcgraph
from funcgraph.instance.control_files import file_table
from funcgraph.instance.control_files.control_file import ControlFile
from funcgraph.instance.control_files.process_files import PROCESS_FILES
from funcgraph.instance.state import State
from funcgraph.steering import folder as steering_folder
from funcgraph.tracefs.tree import Tree
from tools import control_files

pytestmark = pytest.mark.one_python

#: What a program does to have one more file: a list of texts.
ROW = """
from funcgraph.instance.control_files.control_file import ControlFile
from funcgraph.instance.control_files.process_files import PROCESS_FILES

texts = []

def write(state, text, append):
    texts[:] = [*texts, text] if append else [text]

row = ControlFile("new_file", lambda state: "".join(texts), write, writes="list", notes="of a test")
PROCESS_FILES._rows[row.name] = row
"""
SERVE = f"{ROW}\nimport funcgraph, sys\nfuncgraph.serve()\nprint('ready', flush=True)\nsys.stdin.read()\n"


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> ControlFile[State]:
    """Add the row to the table of this process."""
    monkeypatch.setattr(PROCESS_FILES, "_rows", dict(PROCESS_FILES._rows))
    space: dict[str, ControlFile[State]] = {}
    exec(ROW, space)
    return space["row"]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Served]:
    """Serve a process that has the row."""
    with served(tmp_path, SERVE) as program:
        yield program


def test_an_instance_and_the_tree_have_a_new_file(row: ControlFile[State]) -> None:
    tree = Tree()
    with funcgraph.Instance("rows") as instance:
        assert "new_file" in instance.files
        assert "new_file" in list(instance.files)
        instance.files["new_file"] = "a\n"
        assert instance.files.access("new_file") == "rw"
        assert "new_file" in tree.list("")
        assert "new_file" in tree.list("instances/rows")
        assert tree.stat("instances/rows/new_file").mode == 0o640
        file = tree.open("instances/rows/new_file", os.O_RDWR | os.O_APPEND)
        file.write(0, b"b\n")
        assert file.read(0, 100) == b"a\nb\n"
        file.close()
        tree.open("instances/rows/new_file", os.O_WRONLY | os.O_TRUNC).close()
        assert instance.files["new_file"] == ""
    funcgraph.instances()["top"].close()


def test_the_control_socket_has_a_new_file(program: Served) -> None:
    with program.connect() as process:
        assert "new_file" in process.list("")
        assert process.stat("new_file").mode == 0o640
        process.write_text("new_file", "a\n")
        process.write_text("new_file", "b\n", append=True)
        assert process.read_text("new_file") == "a\nb\n"


def test_a_mount_has_a_new_file(program: Served, tmp_path: Path) -> None:
    if reason := lacks():
        pytest.skip(reason)
    folder = tmp_path / "tracing"
    with mount_process(program.pid, folder):
        assert "new_file" in os.listdir(folder)
        (folder / "new_file").write_text("a\n")
        assert (folder / "new_file").read_text() == "a\n"
        assert (folder / "new_file").stat().st_mode & 0o777 == 0o640


def test_the_documents_have_a_new_file(row: ControlFile[State]) -> None:
    line = "| `new_file` | 0640 | instance | list |  | of a test |\n"
    page = control_files.page(control_files.PAGE.read_text(), file_table.rows())
    assert line in page
    assert page.replace(line, "") == control_files.PAGE.read_text()


def test_the_row_of_the_page_on_tracers_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (control_files.ROOT / "docs" / "guides" / "add-a-tracer.md").read_text()
    space: dict[str, ControlFile[State]] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], space)
    row = space["row"]
    monkeypatch.setattr(PROCESS_FILES, "_rows", {**PROCESS_FILES._rows, row.name: row})
    with funcgraph.Instance("rows", tracer="function", filter=[f"{__name__}.*"]) as instance:
        before = instance.files[row.name]
        called()
        assert (before, instance.files[row.name]) == ("0\n", "1\n")
        assert instance.files.access(row.name) == "r"


def called() -> None:
    """Be traced."""


def test_the_page_has_the_table_as_the_rows_say_it() -> None:
    """Broken by a row that has changed since `python -m tools.control_files` ran."""
    text = control_files.PAGE.read_text()
    assert control_files.page(text, file_table.rows()) == text


def test_each_file_is_found_under_its_name_and_listed_once() -> None:
    with funcgraph.Instance("rows") as instance:
        names = list(instance.files)
        assert len(set(names)) == len(names)
        patterns = {row.name for row in file_table.rows()}
        found = [file_table.find(instance._state, name) for name in names]
        assert {file.row.name for file in found if file} == patterns
        assert None not in found


def test_a_row_says_how_its_file_can_be_used() -> None:
    with funcgraph.Instance("rows") as instance:
        for name in instance.files:
            access = instance.files.access(name)
            if "w" not in access:
                with pytest.raises(OSError, match="read-only") as refused:
                    instance.files.write(name, "1\n")
                assert refused.value.errno == errno.EINVAL
            if "r" not in access:
                with pytest.raises(OSError, match="write-only"):
                    instance.files.read(name)


def test_steering_knows_the_files_beside_the_folders_of_events() -> None:
    names = [row.name.removeprefix("events/") for row in file_table.rows() if row.name.startswith("events/")]
    beside = {name.removeprefix("GROUP/") for name in names if name.removeprefix("GROUP/").count("/") == 0}
    assert set(steering_folder._EVENT_FILES) == beside
