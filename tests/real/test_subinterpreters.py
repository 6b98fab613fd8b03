"""Each interpreter of a process has its own users: they see only its functions, and end with it.

Each of these edits makes a test here fail: users.c attaches users without comparing domains (in one place
or the other); fg_users lists the users of all interpreters; note_and_mute takes every interpreter's users;
at_exit leaves a subinterpreter's users registered; fg_gen_close_remove takes the functions out with the
first interpreter; next_here is not inserted (3.11); is_left_alone does not compare domains (3.11);
request_index takes the first slot.
"""

from __future__ import annotations

import platform
import sys
import textwrap
from collections import Counter

import pytest
from conftest import Funcgraph
from tracereader import read_trace

# Legacy interpreters share the GIL with the main one; from 3.12 on isolated ones have their own.
KINDS = ["legacy", "isolated"]

REQUEST_SLOT = (
    "PyUnstable_Eval_RequestCodeExtraIndex"
    if sys.version_info >= (3, 12)
    else "_PyEval_RequestCodeExtraIndex"
)

HEAD = """
import sys
import funcgraph

def create():
    if sys.version_info >= (3, 13):
        import _interpreters
        return _interpreters.create({kind!r})
    import _xxsubinterpreters
    return _xxsubinterpreters.create(isolated={kind!r} == "isolated")

def run(interpreter, code):
    if sys.version_info >= (3, 13):
        import _interpreters
        error = _interpreters.run_string(interpreter, code)
        assert error is None, error.formatted
    else:
        import _xxsubinterpreters
        _xxsubinterpreters.run_string(interpreter, code)

def destroy(interpreter):
    if sys.version_info >= (3, 13):
        import _interpreters
        _interpreters.destroy(interpreter)
    else:
        import _xxsubinterpreters
        _xxsubinterpreters.destroy(interpreter)

class Witness:
    '''A user that records its events.'''

    def __init__(self, *names, name=""):
        self.entered, self.ended, self.depths = [], [], []
        names = [f"__main__.{{n}}" for n in names]
        self.ops = funcgraph.FgraphOps(self.entry, self.end, filter=names, name=name)

    def entry(self, trace, ops, regs):
        self.entered.append(trace.func.qualname)
        self.depths.append(trace.depth)
        assert ops.reserve_object([trace.func.qualname])
        return True

    def end(self, trace, ops, regs):
        assert ops.retrieve_object() == [trace.func.qualname]
        self.ended.append(trace.func.qualname)
"""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def program(kind: str, text: str, **codes: str) -> str:
    """Return a program with subinterpreters of a kind. `codes` are variables with their code."""
    head = HEAD.format(kind=kind)
    variables = "".join(f"{name} = {head + textwrap.dedent(code)!r}\n" for name, code in codes.items())
    return head + variables + textwrap.dedent(text)


def run(fg: Funcgraph, text: str) -> str:
    script = fg.folder / "app.py"
    script.write_text(text)
    result = fg.plain(sys.executable, script)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_own_users(fg: Funcgraph, kind: str) -> None:
    """Functions of one name call each other across interpreters: a user sees its own, at its own depth."""
    run(
        fg,
        program(
            kind,
            """
            def f(): pass
            def g(): run(interpreter, code)
            def h():
                f()
                g()

            interpreter = create()
            witness = Witness("f", "g", "h", name="main")
            with funcgraph.registered(witness.ops):
                assert [user.name for user in funcgraph.users()] == ["main"]
                h()
                f()
            assert witness.entered == ["h", "f", "g", "f"]
            assert witness.ended == ["f", "g", "h", "f"]
            assert witness.depths == [0, 1, 1, 0]
            assert witness.ops.errors == 0, witness.ops.last_error
            destroy(interpreter)
            assert funcgraph.users() == []
            """,
            code="""
            def f(): pass
            def g(): f()

            assert funcgraph.users() == []
            witness = Witness("f", "g", name="other")
            with funcgraph.registered(witness.ops):
                assert [user.name for user in funcgraph.users()] == ["other"]
                g()
                f()
                assert funcgraph.get_ret_stack() == []
            f()
            assert witness.entered == ["g", "f", "f"]
            assert witness.ended == ["f", "g", "f"]
            assert witness.depths == [0, 1, 0]
            assert witness.ops.errors == 0, witness.ops.last_error
            """,
        ),
    )


def test_users_come_in_any_order(fg: Funcgraph) -> None:
    """The main interpreter's users may register after the others', and others may leave while they stay."""
    for kind in KINDS:
        run(
            fg,
            program(
                kind,
                """
                def f(): pass
                def gen():
                    yield 1
                    yield 2

                one, two = create(), create()
                run(one, code)
                run(two, code)
                run(one, "check(1)")
                witness = Witness("f", "gen")
                with funcgraph.registered(witness.ops):
                    f()
                    iterator = gen()
                    next(iterator)
                    run(two, "check(1)")
                    destroy(two)
                    f()
                    iterator.close()
                    run(one, "check(2)")
                    f()
                run(one, "check(3)")
                destroy(one)
                f()
                assert witness.entered == ["f", "gen", "f", "f"]
                assert witness.ended == ["f", "f", "gen", "f"]
                """,
                code="""
                def f(): pass
                def gen():
                    yield 1
                    yield 2

                witness = Witness("f", "gen")
                funcgraph.register_ftrace_graph(witness.ops)

                def check(n):
                    f()
                    iterator = gen()
                    next(iterator)
                    iterator.close()
                    assert witness.entered == ["f", "gen"] * n, witness.entered
                    assert witness.ended == ["f", "gen"] * n, witness.ended
                """,
            ),
        )


def test_ends_with_users_registered(fg: Funcgraph, kind: str) -> None:
    """A hundred interpreters end with users, suspended calls and reserved objects: nothing leaks."""
    run(
        fg,
        program(
            kind,
            """
            def f(): pass

            witness = Witness("f", name="main")
            with funcgraph.registered(witness.ops):
                for i in range(100):
                    interpreter = create()
                    run(interpreter, code)
                    destroy(interpreter)
                    f()
                    if i == 3:
                        functions = funcgraph._engine.status()["functions"]
                assert [user.name for user in funcgraph.users()] == ["main"]
                assert len(witness.ended) == 100
                # Functions of ended interpreters are forgotten, but for the code that all share (3.11).
                assert funcgraph._engine.status()["functions"] - functions < 20
            # All slots but none are free.
            many = [funcgraph.FgraphOps(filter=["nothing"]) for _ in range(64)]
            for ops in many: funcgraph.register_ftrace_graph(ops)
            for ops in many: funcgraph.unregister_ftrace_graph(ops)
            """,
            code="""
            def f(): pass
            def gen():
                yield f()
                yield f()

            witnesses = [Witness("f", "gen") for _ in range(3)]
            for witness in witnesses: funcgraph.register_ftrace_graph(witness.ops)
            iterator = gen()
            next(iterator)
            assert witnesses[0].entered == ["gen", "f"]
            kept = witnesses[0].ops
            """,
        ),
    )


def test_no_slot_tells_of_other_interpreters(fg: Funcgraph, kind: str) -> None:
    run(
        fg,
        program(
            kind,
            """
            interpreter = create()
            run(interpreter, code)
            many = [funcgraph.FgraphOps(name="mine", filter=["x"]) for _ in range(62)]
            try:
                with funcgraph.registered(*many):
                    raise AssertionError
            except OSError as error:
                told = "taken, by: 'mine' (python) 61 times, 3 in other interpreters"
                assert told in str(error), error
            destroy(interpreter)
            """,
            code="""
            for _ in range(3):
                funcgraph.register_ftrace_graph(funcgraph.FgraphOps(name="other", filter=["x"]))
            """,
        ),
    )


def test_another_thread_waits_in_one_without_the_gil(fg: Funcgraph, kind: str) -> None:
    """A thread that waits for a callback releases the GIL, also in another thread's interpreter.

    On 3.11 it deadlocks if fg_has_tstate only compares the thread that created the thread state."""
    run(
        fg,
        program(
            kind,
            """
            import threading, time

            def traced():
                pass

            def entry(trace, ops, regs):
                entered.set()
                time.sleep(0.2)  # and needs the GIL again

            entered = threading.Event()
            interpreter = create()
            def other():
                assert entered.wait(30)
                run(interpreter, code)
            thread = threading.Thread(target=other)
            thread.start()
            with funcgraph.registered(funcgraph.FgraphOps(entry, filter=["__main__.traced"])):
                traced()
            thread.join()
            destroy(interpreter)
            """,
            code="""
            ops = funcgraph.FgraphOps(name="other", filter=["x"])
            with funcgraph.registered(ops):
                ops.set_filter(["y"])
            """,
        ),
    )


def test_in_parallel(fg: Funcgraph, kind: str) -> None:
    """Four interpreters and the main one, each in a thread: with their own GILs they run in parallel."""
    run(
        fg,
        program(
            kind,
            """
            import threading  # not in the others: CPython 3.11 and 3.12 hang if a thread does

            interpreters = [create() for _ in range(4)]
            threads = [threading.Thread(target=run, args=(each, code)) for each in interpreters]
            for thread in threads: thread.start()
            exec(work)
            for thread in threads: thread.join()
            for each in interpreters: destroy(each)
            assert funcgraph.users() == []
            """,
            code=PARALLEL,
        ).replace("exec(work)", "exec(code)"),
    )


PARALLEL = """
    def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
    def gen(n):
        for i in range(n):
            yield fib(i)

    for round in range(20):
        one, other = Witness("fib", "gen"), Witness("fib")
        with funcgraph.registered(one.ops, other.ops):
            for _ in gen(8): pass
            other.ops.set_filter(["__main__.nothing"], reset=True)
            fib(5)
        fibs = 1 + 1 + 3 + 5 + 9 + 15 + 25 + 41
        assert len(one.entered) == len(one.ended) == fibs + 15 + 1, len(one.entered)
        assert len(other.entered) == len(other.ended) == fibs
        assert one.ops.errors == other.ops.errors == 0
"""


@pytest.mark.parametrize("options", [[], ["--args", "--retval", "--c-calls"]], ids=["plain", "all"])
def test_record(fg: Funcgraph, kind: str, options: list[str]) -> None:
    """`funcgraph record` traces subinterpreters too, each into its own ring."""
    fg.env["PYTHONDONTWRITEBYTECODE"] = "1"
    text = program(
        kind,
        """
        def work(n):
            return n and work(n - 1)

        def main():
            work(3)
            for i in range(3):
                interpreter = create()
                run(interpreter, code)
                run(interpreter, "other()")
                destroy(interpreter)
            work(3)

        main()
        """,
        code="""
        def work(n):
            return n and work(n - 1)

        def other():
            work(5)
            len([])

        other()
        """,
    ).replace("import funcgraph\n", "")
    script = fg.folder / "app.py"
    script.write_text(text.replace("class Witness", "class Unused"))
    plain = fg.plain(sys.executable, script)
    assert plain.returncode == 0, plain.stderr
    result = fg.record("-q", *options, "-l", "__main__.*", script)
    assert (result.returncode, result.stdout) == (0, plain.stdout), result.stderr
    calls = fg.calls()
    assert calls["__main__.main"] == 1
    if "--c-calls" in options and sys.version_info < (3, 12):
        # Refused with a message: a thread has one profile function.
        assert "C functions are traced in the main interpreter only" in result.stderr
        assert (calls["__main__.work"], calls["__main__.other"]) == (8, 0)
        return
    assert result.stderr == ""
    assert (calls["__main__.work"], calls["__main__.other"]) == (8 + 3 * 2 * 6, 3 * 2)
    if "--c-calls" in options:
        assert calls["builtins.len"] == 3 * 2
    assert lanes_are_nested(fg)


def lanes_are_nested(fg: Funcgraph) -> bool:
    """One thread, several rings: the calls of each ring are nested; all rings are merged by time."""
    starts: Counter[int] = Counter()
    for event in read_trace(fg.trace).events:
        starts[event.type] += 1
    return starts[11] == starts[10] > 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_refused_without_a_tool_id(fg: Funcgraph, kind: str) -> None:
    """If all ids of a subinterpreter are in use, registering fails there and nowhere else."""
    run(
        fg,
        program(
            kind,
            """
            def f(): pass

            interpreter = create()
            witness = Witness("f")
            with funcgraph.registered(witness.ops):
                run(interpreter, code)
                f()
            assert witness.ended == ["f"]
            destroy(interpreter)
            """,
            code="""
            for id in range(6): sys.monitoring.use_tool_id(id, f"tool {id}")
            try:
                funcgraph.register_ftrace_graph(funcgraph.FgraphOps())
            except RuntimeError as error:
                assert "all six sys.monitoring tool ids are in use" in str(error)
            else:
                raise AssertionError
            sys.monitoring.free_tool_id(3)
            with funcgraph.registered(funcgraph.FgraphOps()):
                assert sys.monitoring.get_tool(3) == "funcgraph"
            """,
        ),
    )


def test_refused_without_a_code_slot(fg: Funcgraph) -> None:
    """Each interpreter numbers the extra slots of code objects itself: funcgraph's must be free there."""
    run(
        fg,
        program(
            "legacy",
            """
            def f(): pass

            witness = Witness("f")
            with funcgraph.registered(witness.ops):
                interpreter = create()
                run(interpreter, code)
                f()
            destroy(interpreter)  # CPython 3.14 warns of those that are left
            assert witness.ended == ["f"]
            """,
            code=f"""
            import ctypes
            for _ in range(3): ctypes.pythonapi.{REQUEST_SLOT}(None)
            for _ in range(2):
                try:
                    funcgraph.register_ftrace_graph(funcgraph.FgraphOps())
                except RuntimeError as error:
                    assert "code extra slot" in str(error), error
                else:
                    raise AssertionError
            assert funcgraph.users() == []
            """,
        ),
    )


def test_code_slots_that_differ(fg: Funcgraph) -> None:
    """If other tools took slots of the main interpreter first, all interpreters still use one number."""
    run(
        fg,
        program(
            "legacy",
            f"""
            import ctypes
            for _ in range(2): ctypes.pythonapi.{REQUEST_SLOT}(None)
            def f(): pass

            witness = Witness("f")
            with funcgraph.registered(witness.ops):
                f()
                interpreter = create()
                run(interpreter, code)
                destroy(interpreter)
                f()
            assert witness.ended == ["f"] * 2
            """,
            code="""
            def f(): pass
            witness = Witness("f")
            with funcgraph.registered(witness.ops):
                f()
            assert witness.ended == ["f"]
            """,
        ),
    )


def test_functions_that_interpreters_share(fg: Funcgraph, kind: str) -> None:
    """On CPython 3.11 all interpreters share the code objects of frozen modules.

    Such a function belongs to the interpreter that ran it first; no user sees the others' calls of it. From
    3.12 on each interpreter has its own code object.
    """
    run(
        fg,
        program(
            kind,
            """
            import posixpath

            interpreter = create()
            told = []
            ops = funcgraph.FgraphOps(lambda *args: told.append(1), filter=["posixpath.join"])
            with funcgraph.registered(ops):
                posixpath.join("a", "b")
                run(interpreter, code)
                posixpath.join("a", "b")
            assert len(told) == 2
            destroy(interpreter)
            """,
            code="""
            import posixpath

            told = []
            ops = funcgraph.FgraphOps(lambda *args: told.append(1), filter=["posixpath.join"])
            with funcgraph.registered(ops):
                posixpath.join("a", "b")
            assert len(told) == (sys.version_info >= (3, 12))
            """,
        ),
    )


@pytest.mark.skipif(
    sys.version_info >= (3, 12) or platform.machine() != "x86_64", reason="a frame evaluator in machine code"
)
@pytest.mark.parametrize("first", ["main", "other"])
def test_another_frame_evaluator(fg: Funcgraph, first: str) -> None:
    """Each interpreter's own frame evaluator is called, whichever was installed first."""
    evaluator = """
            import ctypes, mmap
            api = ctypes.pythonapi
            default = ctypes.cast(api._PyEval_EvalFrameDefault, ctypes.c_void_p).value
            memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            # inc qword [rip + 0x39]; mov rax, default; jmp rax
            stub = bytes.fromhex("48ff0539000000 48b8") + default.to_bytes(8, "little")
            memory[:19] = stub + bytes.fromhex("ffe0")
            def count(): return int.from_bytes(memory[64:72], "little")
            api.PyInterpreterState_Get.restype = ctypes.c_void_p
            api._PyInterpreterState_SetEvalFrameFunc.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
            api._PyInterpreterState_SetEvalFrameFunc(api.PyInterpreterState_Get(), address)
    """
    come = """
            def f(): pass
            witness = Witness("f")
            funcgraph.register_ftrace_graph(witness.ops)
            f()
    """
    go = """
            before = count()
            f()
            assert count() > before
            funcgraph.unregister_ftrace_graph(witness.ops)
            assert witness.ended == ["f"] * 2
            before = count()
            f()
            assert count() > before
    """
    go_without = """
            f()
            funcgraph.unregister_ftrace_graph(witness.ops)
            assert witness.ended == ["f"] * 2
    """
    main, other = (evaluator + come, come) if first == "main" else (come, evaluator + come)
    end_main, end_other = (go, go_without) if first == "main" else (go_without, go)
    begin = f"interpreter = create()\nend_other = {textwrap.dedent(end_other)!r}\n"
    run(
        fg,
        program(
            "legacy",
            textwrap.dedent("interpreter = create()\n")
            + textwrap.dedent(main)
            + "run(interpreter, other)\n"
            + textwrap.dedent(end_main)
            + "run(interpreter, end_other)\ndestroy(interpreter)\n",
            other=other,
        ).replace("interpreter = create()\n", begin),
    )
