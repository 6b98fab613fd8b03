"""While a thread is in the dynamic loader, attaching waits, and the program does not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from extension import compile_library
from running import Running, folders

from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in

HERE = Path(__file__).parent

#: A thread loads a library whose constructor waits for a byte on the standard input. As C code does, it does
#: not hold the GIL meanwhile. The main thread answers what comes through a FIFO.
PROGRAM = """
import ctypes, os, threading
os.environ["HELD"] = "loader"
load = ctypes.CDLL(None).dlopen
thread = threading.Thread(target=load, args=({library!r}.encode(), 2), daemon=True)
thread.start()
with open({questions!r}, "rb", buffering=0) as questions, open({answers!r}, "wb", buffering=0) as answers:
    while question := questions.read(1):
        answers.write(question + (b"+" if thread.is_alive() else b"-"))
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_a_program_goes_on_while_one_thread_of_it_is_in_the_loader(tmp_path: Path) -> None:
    """Broken: the attacher's thread waited for the loader with the GIL, and all of Python with it."""
    names = tmp_path / "questions", tmp_path / "answers"
    for name in names:
        os.mkfifo(name)
    library = compile_library(tmp_path, HERE / "held.c")
    text = PROGRAM.format(library=str(library), questions=str(names[0]), answers=str(names[1]))
    with (
        Running(text, first="held\n") as program,
        open(names[0], "wb", buffering=0) as questions,
        open(names[1], "rb", buffering=0) as answers,
    ):
        threads = program.threads()
        (other,) = threads - {str(program.pid)}
        with pytest.raises(AttachError, match=rf"thread {other} \(.+\) is in the dynamic loader$"):
            run_in(program.pid, "from funcgraph import _engine", 5)
        questions.write(b"1")
        assert answers.read(2) == b"1+"
        assert program.threads() == threads
        assert not [path for path in folders() if f"-{program.pid}-" in path]
        assert program.process.stdin is not None
        program.process.stdin.write("x")
        program.process.stdin.flush()
        assert run_in(program.pid, "from funcgraph import _engine; answer = 1", 60) == "1"
        questions.write(b"2")
        assert answers.read(2)[:1] == b"2"
