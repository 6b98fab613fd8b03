"""The native thread is unseen by the program, costs nothing while idle, and hinders no fork and no end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from served import HELLO, SERVE, exchange, served

from funcgraph.control import answers, wire
from funcgraph.control.client import NotServedError, connect


def switches(pid: int, task: str) -> int:
    """Return how often a thread has been switched to: it runs after each of them."""
    status = Path(f"/proc/{pid}/task/{task}/status").read_text()
    return sum(int(line.split()[1]) for line in status.splitlines() if "ctxt_switches" in line)


def test_no_list_of_threads_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even when what it runs asks for its thread's object."""
    code = f"""
        {SERVE}
        import types
        from funcgraph.control import procedures
        module = sys.modules['who'] = types.ModuleType('who')
        def who():
            import threading
            return threading.current_thread().name
        module.who = who
        procedures.PROCEDURES['who'] = 'who:who'
        for line in sys.stdin:
            import threading
            counts = threading.active_count(), len(list(threading._dangling)), len(threading._active)
            print(*counts, flush=True)
    """
    monkeypatch.setitem(answers.PROCEDURES, "who", lambda name: None)
    with served(tmp_path, code) as program, program.connect() as process:
        for _ in range(3):
            program.send_line("count")
            assert program.line() == "1 1 1"
            assert "Dummy" in process.call("who")
        assert len(os.listdir(f"/proc/{program.pid}/task")) == 2
        assert program.thread()


def test_it_never_runs_while_nobody_asks(tmp_path: Path) -> None:
    code = f"""
        {SERVE}
        def work(n):
            return sum(range(n))
        for line in sys.stdin:
            for i in range(20_000):
                work(50)
            print('done', flush=True)
    """
    with served(tmp_path, code) as program:
        with program.connect() as process:
            task = program.thread()
            process.call("info")
            process.list("")  # it waits again when the answer to this is on its way, or soon after
            while "epoll" not in Path(f"/proc/{program.pid}/task/{task}/wchan").read_text():
                if Path(f"/proc/{program.pid}/task/{task}/wchan").read_text() == "0":
                    break  # the kernel does not tell
            before = [switches(program.pid, task) for _ in range(2)][-1]
            program.send_line("work")
            assert program.line() == "done"
            assert switches(program.pid, task) <= before + 1
            process.list("")
            assert switches(program.pid, task) > before


def test_signals_are_the_programs(tmp_path: Path) -> None:
    with served(tmp_path) as program:
        status = Path(f"/proc/{program.pid}/task/{program.thread()}/status").read_text()
        blocked = int(status.partition("SigBlk:\t")[2].split()[0], 16)
        for number in range(1, 32):
            if number not in (9, 19):  # SIGKILL and SIGSTOP cannot be
                assert blocked >> (number - 1) & 1, number


def test_other_tools_do_not_see_the_handler(tmp_path: Path) -> None:
    code = f"""
        import threading
        seen = []
        def note(frame, event, arg):
            if threading.get_ident() != main:
                seen.append((event, frame.f_code.co_qualname))
            return note
        main = threading.get_ident()
        sys = __import__('sys')
        threading.setprofile(note)
        threading.settrace(note)
        sys.setprofile(note)
        sys.settrace(note)
        if hasattr(threading, 'setprofile_all_threads'):
            threading.setprofile_all_threads(note)
            threading.settrace_all_threads(note)
        if hasattr(sys, 'monitoring'):
            every = sys.monitoring.events
            sys.monitoring.use_tool_id(1, 'other')
            def call(code, *rest):
                if threading.get_ident() != main:
                    seen.append(code.co_qualname)
            events = every.PY_START, every.PY_RETURN, every.LINE, every.RAISE, every.CALL
            for event in events:
                sys.monitoring.register_callback(1, event, call)
            sys.monitoring.set_events(1, sum(events))
        {SERVE}
        for line in sys.stdin:
            print(len(seen), seen[:3], flush=True)
    """
    with served(tmp_path, code) as program, program.connect() as process:
        process.list("")
        with pytest.raises(FileNotFoundError):
            process.stat("nothing")
        process.write_text("tracing_on", "1")
        program.send_line("seen")
        assert program.line() == "0 []"


@pytest.mark.skipif(
    sys.version_info[:2] == (3, 12),
    reason="3.12 runs a collection that is due in the next thread that runs, disabled or not",
)
def test_no_collection_runs_in_it(tmp_path: Path) -> None:
    """A finalizer of the program would run in a thread that the program does not know."""
    code = f"""
        import gc, threading
        gc.set_threshold(1)
        threads = set()
        gc.callbacks.append(lambda phase, info: threads.add(threading.get_ident()))
        {SERVE}
        for line in sys.stdin:
            print(threads <= {{threading.get_ident()}}, gc.isenabled(), flush=True)
    """
    with served(tmp_path, code) as program, program.connect() as process:
        for _ in range(5):
            process.list("")
        program.send_line("where")
        assert program.line() == "True True"


FORKS = """
    import os, funcgraph, sys, warnings
    warnings.simplefilter('always')
    path = funcgraph.serve(follow_fork=%s)
    print('ready', path, flush=True)
    sys.stdin.readline()
    child = os.fork()
    if not child:
        print('child', os.getpid(), flush=True)
        sys.stdin.readline()
        os._exit(0)
    print('parent', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.stdin.read()
"""


def test_a_forks_child_has_none_of_it(tmp_path: Path) -> None:
    with served(tmp_path, FORKS % False) as program, program.connect() as process:
        file = process.open("trace", os.O_RDONLY)
        program.send_line("fork")
        child = int(program.line().split()[1])
        with pytest.raises(NotServedError):
            connect(child)
        links = [os.readlink(f"/proc/{child}/fd/{fd}") for fd in os.listdir(f"/proc/{child}/fd")]
        assert not [link for link in links if "socket" in link or "eventpoll" in link]
        assert len(os.listdir(f"/proc/{child}/task")) == 1
        assert process.call("info")["pid"] == program.pid  # the same connection as before
        assert file.read(0, 10)
        program.send_line("end")
        assert program.line() == "parent 0"
        assert Path(program.path).exists()
        assert program.end() == 0
    assert program.errors.read_text() == ""  # CPython warns of forks with threads


def test_a_forks_child_can_have_its_own(tmp_path: Path) -> None:
    with served(tmp_path, FORKS % True) as program, program.connect() as process:
        process.write_text("tracing_on", "0")
        program.send_line("fork")
        child = int(program.line().split()[1])
        with connect(child) as other:
            assert other.call("info")["pid"] == child
            assert other.read_text("tracing_on") == "0\n"
            assert process.call("info")["pid"] == program.pid
        program.send_line("end")
        assert program.line() == "parent 0"
        assert process.call("info")["pid"] == program.pid
        assert program.end() == 0
    assert program.errors.read_text() == ""


def test_forks_and_requests_at_once(tmp_path: Path) -> None:
    code = f"""
        import os, warnings
        warnings.simplefilter('always')
        {SERVE}
        sys.stdin.readline()
        failed = 0
        for i in range(30):
            child = os.fork()
            if not child:
                os._exit(len(os.listdir('/proc/self/task')) - 1)
            failed |= os.waitpid(child, 0)[1]
        print('forked', failed, flush=True)
        sys.stdin.read()
    """
    with served(tmp_path, code) as program, program.connect() as process:
        assert process.list("")  # loads funcgraph: a fork waits for the end of a request, but not for long
        program.send_line("")
        for _ in range(50):
            assert "trace" in process.list("")
        assert program.line() == "forked 0"
        assert process.call("info")["pid"] == program.pid
        assert program.end() == 0
    assert program.errors.read_text() == ""


def test_functions_of_python_around_a_fork_do_not_wake_it_before_the_warning(tmp_path: Path) -> None:
    """As those of `logging`, if that is imported after funcgraph: they run before CPython counts threads."""
    code = f"""
        import os, warnings
        warnings.simplefilter('always')
        {SERVE}
        threads = []
        def work():
            return [number for number in range(100)]
        def count():
            work()
            threads.append(len(os.listdir('/proc/self/task')))
        os.register_at_fork(before=work, after_in_parent=count)
        for i in range(30):
            child = os.fork()
            if not child:
                os._exit(0)
            os.waitpid(child, 0)
        print(set(threads), flush=True)
        sys.stdin.read()
    """
    with served(tmp_path, code) as program, program.connect() as process:
        assert program.line() == "{1}"
        assert process.call("info")["pid"] == program.pid
        assert program.end() == 0
    assert program.errors.read_text() == ""


def test_a_fork_waits_for_the_thread_that_loads_funcgraph(tmp_path: Path) -> None:
    code = f"""
        import os, warnings, _thread, time
        warnings.simplefilter('always')
        {SERVE}
        from funcgraph import _control
        begun, ended = _thread.allocate_lock(), []
        begun.acquire()
        def load():
            _control.hold_forks()
            begun.release()
            time.sleep(0.3)
            ended.append(1)
        for i in range(2):
            _thread.start_new_thread(load, ())
            begun.acquire()
            child = os.fork()
            if not child:
                os._exit(0)
            print(len(ended), os.waitpid(child, 0)[1], flush=True)
        sys.stdin.read()
    """
    with served(tmp_path, code) as program:
        assert program.line() == "1 0"
        assert program.line() == "2 0"
        assert program.end() == 0
    assert program.errors.read_text() == ""


def test_a_fork_waits_for_a_loader_that_begins_while_it_ends_our_thread(tmp_path: Path) -> None:
    """Broken: the fork looked for a loader first, let others run until a request had ended, and warned."""
    code = f"""
        import os, time, types, warnings, _thread
        from threading import Event
        warnings.simplefilter('always')
        {SERVE}
        from funcgraph import _control
        from funcgraph.control import procedures
        forks, loads, ended = Event(), Event(), []
        def load():
            forks.wait()
            _control.hold_forks()
            loads.set()
            time.sleep(0.3)
            ended.append(1)
        def slow():
            _thread.start_new_thread(load, ())
            print('begun', flush=True)
            loads.wait()
        sys.modules['slow'] = types.ModuleType('slow')
        sys.modules['slow'].slow = slow
        procedures.PROCEDURES['slow'] = 'slow:slow'
        os.register_at_fork(before=forks.set)
        sys.stdin.readline()
        child = os.fork()
        if not child:
            os._exit(0)
        print(len(ended), os.waitpid(child, 0)[1], flush=True)
        sys.stdin.read()
    """
    with served(tmp_path, code) as program:
        with program.raw() as client:
            exchange(client, HELLO)
            client.sendall(wire.framed(wire.pack({"op": "call", "name": "slow", "arguments": {}})))
            assert program.line() == "begun", program.errors.read_text()
            program.send_line("fork")
            assert program.line() == "1 0"
        assert program.end() == 0
    assert program.errors.read_text() == ""


@pytest.mark.parametrize("end", ["", "os._exit(3)", "sys.exit(3)", "raise SystemError"])
def test_the_program_ends_as_it_wants(tmp_path: Path, end: str) -> None:
    """While a client is connected and its requests run."""
    with served(tmp_path, f"import os; {SERVE}; sys.stdin.readline(); {end}") as program:
        with program.raw() as client:
            exchange(client, HELLO)
            request = wire.framed(wire.pack({"op": "list", "path": ""}))
            client.sendall(request * 300)  # each answer is on its way before the next is read
            program.send_line("end")
            assert program.process.wait(60) == (1 if "raise" in end else 3 if end else 0)
        assert ("SystemError" in program.errors.read_text()) == ("raise" in end)
        assert Path(program.path).exists() == ("_exit" in end)


def test_the_program_ends_while_a_request_waits_for_a_lock_that_it_holds(tmp_path: Path) -> None:
    """The request never ends: the program does."""
    code = f"""
        {SERVE}
        import threading
        from funcgraph.control import procedures
        lock = threading.Lock()
        lock.acquire()
        import types
        module = types.ModuleType('blocking')
        def block():
            print('blocks', flush=True)
            lock.acquire()
        module.block = block
        sys.modules['blocking'] = module
        procedures.PROCEDURES['block'] = 'blocking:block'
        sys.stdin.readline()
    """
    with served(tmp_path, code) as program:
        with program.raw() as client:
            exchange(client, HELLO)
            client.sendall(wire.framed(wire.pack({"op": "call", "name": "block", "arguments": {}})))
            assert program.line() == "blocks", (program.process.poll(), program.errors.read_text())
            program.send_line("end")
            assert program.process.wait(60) == 0
        assert program.errors.read_text() == ""


def test_only_the_main_interpreter_serves() -> None:
    code = """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        one = interpreters.create()
        text = '''
        import funcgraph
        try:
            funcgraph.serve()
        except RuntimeError as error:
            print(error, flush=True)
        '''
        import textwrap
        interpreters.run_string(one, textwrap.dedent(text))
        import funcgraph
        print(bool(funcgraph.serve()), flush=True)
        interpreters.destroy(one)
    """
    import textwrap

    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.stdout == "only the main interpreter can serve\nTrue\n", done.stderr
    assert done.returncode == 0


def test_serving_and_stopping_grows_nothing(tmp_path: Path) -> None:
    code = f"""
        import os
        {SERVE}
        def kb():
            return int(open('/proc/self/status').read().partition('VmSize:')[2].split()[0])
        for line in sys.stdin:
            for i in range(300):
                funcgraph.serve(False)
                funcgraph.serve()
            print(kb(), len(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task')), flush=True)
    """
    with served(tmp_path, code) as program:
        figures = []
        for _ in range(2):
            program.send_line("again")
            figures.append(program.line().split())
        assert figures[0] == figures[1]
        with program.connect() as process:
            assert process.call("info")["pid"] == program.pid
