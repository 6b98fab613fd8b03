"""Function commands on native functions of a Python program.

Broken by hand: the fprobe of commands did not say that it sees native functions (EOPNOTSUPP); its shared user
did not (nothing happened); `:mod:` was taken for the command (EINVAL); a subinterpreter had the thread that
waits for dumps (the program ended with "not the last thread").
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import Funcgraph
from counter import program
from planned import needs_plans

from funcgraph.instance.command_words import split_command

pytestmark = needs_plans


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("shop.pay", None),
        ("shop.pay:traceoff", ("shop.pay", "traceoff")),
        ("shop.pay:traceoff:3", ("shop.pay", "traceoff:3")),
        ("*:mod:shop", None),
        ("*:mod:shop:traceoff:3", ("*:mod:shop", "traceoff:3")),
        ("malloc:mod:libc:enable_event:group:event:1", ("malloc:mod:libc", "enable_event:group:event:1")),
        ("pay:enable_event:mod:event", ("pay", "enable_event:mod:event")),
        ("pay:enable_event:mod:event:3", ("pay", "enable_event:mod:event:3")),
        ("std::vector<int>::push_back:mod:libx", None),
        (
            "std::vector<int>::push_back:mod:libx:snapshot",
            ("std::vector<int>::push_back:mod:libx", "snapshot"),
        ),
        ("pay:nonsense", ("pay", "nonsense")),
    ],
)
def test_a_word_is_a_pattern_or_has_a_command(word: str, expected: tuple[str, str] | None) -> None:
    assert split_command(word) == expected


def test_tracing_goes_off_and_on_as_often_as_counted(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    library = load()
    with Instance("x", tracer="function_graph", filter=["step:mod:libcounter"]) as instance:
        instance.tracing_on = True
        instance.function_commands.add("walk:mod:libcounter:traceoff:2")
        for n in range(3):
            library.walk(5)
            print(instance.tracing_on, [str(one) for one in instance.function_commands])
            instance.tracing_on = True
        library.step(1)
        instance.function_commands.remove("walk:mod:libcounter:traceoff:0")
        instance.files.write("set_ftrace_filter", "*alk:mod:libcounter:traceoff", append=True)
        print(instance.files["set_ftrace_filter"].splitlines()[-1])
        library.walk(5)
        print(instance.tracing_on, len(lines(instance, "step [libcounter]")))
        instance.files.write("set_ftrace_filter", "walk:mod:libcounter:traceon:1", append=True)
        library.walk(5)
        print(instance.tracing_on)
        instance.files.write("set_ftrace_filter", "!*:mod:libcounter:traceoff", append=True)
        print([str(one) for one in instance.function_commands])
    """,
    )
    assert printed.splitlines() == [
        "False ['walk:mod:libcounter:traceoff:count=1']",
        "False ['walk:mod:libcounter:traceoff:count=0']",
        "True ['walk:mod:libcounter:traceoff:count=0']",
        "walk:mod:libcounter:traceoff:unlimited",
        "False 6",
        "True",
        "['walk:mod:libcounter:traceon:count=0']",
    ]


def test_each_function_has_its_own_count(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    library = load()
    with Instance("x", tracer="nop") as instance:
        instance.tracing_on = True
        instance.function_commands.add("*:mod:libcounter:stacktrace:3")
        library.walk(5)
        library.walk(5)
        print(sorted((one.function, one.left) for one in instance.function_commands))
        print(instance.trace().count("<stack trace>"), instance.trace().count("=> step [libcounter]"))
    """,
    )
    functions = [("apply", 3), ("calls_of_step", 3), ("step", 0), ("walk", 1)]
    assert printed.splitlines() == [
        str([(f"{name}:mod:libcounter", left) for name, left in functions]),
        "5 3",
    ]


def test_a_snapshot_and_an_event_can_be_had_in_the_middle_of_native_code(
    fg: Funcgraph, tmp_path: Path
) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    library = load()
    def outer(n):
        return library.walk(n)
    def seen(n):
        return n
    with Instance("x", tracer="function_graph", filter=["__main__.*", "step:mod:libcounter"]) as instance:
        instance.tracing_on = True
        instance.function_commands.add("walk:mod:libcounter:snapshot:1")
        seen(1)
        outer(5)
        print([line.split("|")[1].strip() for line in instance.files["snapshot"].splitlines() if "|" in line
               and "#" not in line])
    """,
    )
    assert printed.splitlines() == ["['__main__.seen();', '__main__.outer() {']"]


def test_an_event_is_enabled_and_disabled_by_native_calls(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    library = load()
    def outer(n):
        return library.walk(n)
    with Instance("x", tracer="nop") as instance:
        instance.tracing_on = True
        instance.files["dynamic_events"] = "f:mine/outer __main__.outer"
        instance.function_commands.add("walk:mod:libcounter:enable_event:mine:outer:1")
        instance.function_commands.add("apply:mod:libcounter:disable_event:mine:outer:1")
        function = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(lambda n: n)
        outer(5)
        outer(5)
        library.apply(function, 1)
        outer(5)
        print(instance.trace().count("outer: "))
    """,
    )
    assert printed.splitlines() == ["1"]


def test_a_dump_is_printed_by_a_thread_of_its_own(fg: Funcgraph, tmp_path: Path) -> None:
    """Also if the call is within the allocator, and if the program ends at once."""
    printed = program(
        fg,
        tmp_path,
        """
    import os, threading
    library = load()
    read, write = os.pipe()
    os.dup2(write, 2)
    def dumped():
        text = os.read(read, 65536).decode()
        print(text.count("funcgraph: dump of instance 'x'"), text.count("step [libcounter]"))
    with Instance("x", tracer="function_graph", filter=["step:mod:libcounter"]) as instance:
        instance.tracing_on = True
        instance.function_commands.add("walk:mod:libcounter:dump")
        print([str(one) for one in instance.function_commands], threading.active_count())
        library.step(1)
        library.walk(3)
        dumped()
        library.walk(3)
        instance.function_commands.remove("walk:mod:libcounter:dump")
        instance.function_commands.add("malloc:mod:libc:dump")
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        libc.free(ctypes.c_void_p(libc.malloc(ctypes.c_size_t(1 << 20))))
        dumped()
        instance.function_commands.remove("malloc:mod:libc:dump")
        instance.function_commands.add("walk:mod:libcounter:cpudump")
        instance.tracing_on = True
        thread = threading.Thread(target=library.walk, args=(ctypes.c_long(3),))
        thread.start()
        thread.join()
        dumped()
    last = Instance("y", tracer="function_graph", filter=["step:mod:libcounter"])
    last.tracing_on = True
    last.function_commands.add("walk:mod:libcounter:dump")
    sys.stdout.flush()
    os.dup2(1, 2)
    library.walk(3)
    """,
    ).splitlines()
    assert printed[0] == "['walk:mod:libcounter:dump:count=1'] 1"
    assert printed[1:4] == ["1 1", "1 1", "1 0"]
    assert printed[4] == "funcgraph: dump of instance 'y'"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="_interpreters")
def test_a_subinterpreter_prints_no_dump_of_native_functions(fg: Funcgraph, tmp_path: Path) -> None:
    """It must end without its threads: a thread that waits for dumps would abort the program."""
    printed = program(
        fg,
        tmp_path,
        """
    import _interpreters
    library = load()
    one = _interpreters.create("legacy")
    text = (
        "from funcgraph import Instance\\n"
        "try:\\n"
        " with Instance('x', tracer='nop') as one:\\n"
        "  one.function_commands.add('getppid:mod:libc:dump')\\n"
        "except OSError as error: print(error.errno == 95, flush=True)\\n"
    )
    print(_interpreters.exec(one, text))
    _interpreters.destroy(one)
    """,
    )
    assert printed.splitlines() == ["True", "None"]


def test_functions_of_a_python_module_have_commands_by_its_name(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    import textwrap
    with Instance("x", tracer="nop") as instance:
        instance.tracing_on = True
        instance.function_commands.add("*.dedent:mod:textwrap:traceoff")
        print([str(one) for one in instance.function_commands])
        textwrap.dedent("a")
        print(instance.tracing_on)
        instance.function_commands.remove("*:mod:textwrap:traceoff")
        print(len(instance.function_commands))
    """,
    )
    assert printed.splitlines() == ["['textwrap.dedent:traceoff:unlimited']", "False", "0"]


def test_levels_and_graphs_of_instances_have_native_functions(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    library = load()
    def callback(n):
        return inner(n)
    def inner(n):
        return library.step(n)
    function = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(callback)
    def shown(**settings):
        with Instance("x", tracer="function_graph", **settings) as instance:
            instance.tracing_on = True
            inner(3)
            library.apply(function, 10)
            instance.tracing_on = False
            names = "inner", "callback", "libcounter", "}"
            return [line.strip(" ;{}()") for line in lines(instance, *names) if "}" not in line]
    both = ["__main__.callback", "__main__.inner", "*:mod:libcounter"]
    print(shown(filter=both))
    print(shown(filter=both, max_graph_depth=1))
    print(shown(filter=both, max_graph_depth=2))
    print(shown(filter=both, notrace=["step:mod:libcounter"]))
    print(shown(filter=both, graph_notrace=["apply:mod:libcounter"]))
    print(shown(filter=["*:mod:libcounter"], graph=["__main__.inner"]))
    """,
    )
    step, apply_, inner, callback = (
        "step [libcounter]",
        "apply [libcounter]",
        "__main__.inner",
        "__main__.callback",
    )
    assert printed.splitlines() == [
        str([inner, step, apply_, callback, inner, step]),
        str([inner, apply_]),
        str([inner, step, apply_, callback]),
        str([inner, apply_, callback, inner]),
        str([inner, step]),
        str([step, step]),
    ]
