"""Events at places within functions, `p SYM:LINE` and `p SYM+OFFSET`, fetch what the frame holds."""

from __future__ import annotations

import asyncio
import dis
import errno
import gc
import re
import sys
import textwrap
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from builds import needs_gil
from conftest import Funcgraph
from sizes import share

import funcgraph
from funcgraph import _engine
from funcgraph.definitions.errors import ProbeError

pytestmark = needs_gil("functions of the tests before stay, with the same names, and most values are faults")
events = funcgraph.dynamic_events

FILE = "shop.py"
PROGRAM = """
rate = "the global one"

def total(items, rate=2):
    count = 0
    for item in items:
        count += item * rate        # @each
        if count > 100:
            del item
            break
    count += 0  # from 3.14 on the compiler copies a short end to each way that leads there; one is told
    return count                    # @end

def outer(first):
    kept = first + 1
    def inner(second):
        nonlocal kept
        kept += second              # @kept
        third = first * kept
        return third                # @third
    kept = inner(10) + inner(20)
    return kept                     # @outer

def unbound(number):
    if number > 1:
        late = number
    number = None
    del number
    try:
        late += 1                   # @late
    except UnboundLocalError as error:
        error = "no error"
    finally:
        number = 5
    return number

def squares(numbers):
    own = len(numbers)
    made = [
        own * number                # @comprehension
        for number in numbers
    ]
    for number in numbers:
        back = yield number         # @yield
        own += number
    try:
        yield 1
    finally:
        own = -1                    # @finally

def deep(n):
    if n == 0:
        raise KeyError("deep")      # @raise
    try:
        deep(n - 1)                 # @call
    except KeyError:
        n = -n                      # @caught
        raise

class Cart:
    limit = 3
    text = "limit " + str(limit)    # @class

    def add(self, *items, size: int = 7, **named):
        for size in items:
            pass
        while (left := size - 1) > 4:
            size = left             # @while
        return size

def make_class():
    class Cart:
        limit = 4
        text = "other"              # @inner class
    return Cart

async def fetch(url):
    parts = url.split("/")
    for part in parts:
        await pause(part)           # @await
    async with Lock() as lock:
        result = lock + part        # @with
    return [
        item
        async for item in stream(2)
    ]

async def pause(part):
    return part

async def stream(n):
    for i in range(n):
        yield i                     # @stream

class Lock:
    async def __aenter__(self):
        return "lock"

    async def __aexit__(self, *details):
        return None                 # @exit
"""
LINES = {
    match[1]: number
    for number, line in enumerate(PROGRAM.split("\n"), 1)
    if (match := re.search("# @(.*)", line))
}


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    for instance in funcgraph.instances().values():
        instance.close()
    events.clear()
    events.log.clear()
    assert _engine.status()["tool_id"] == -1  # no hook


@pytest.fixture
def one() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("one") as instance:
        yield instance


@pytest.fixture
def shop() -> types.ModuleType:
    for _ in range(3):
        gc.collect()  # the functions of this name of other tests
    return load("shop")


def load(name: str, text: str = PROGRAM) -> types.ModuleType:
    """Run a program's text as a module."""
    module = types.ModuleType(name)
    exec(compile(text, FILE, "exec"), module.__dict__)
    return module


def enable(instance: funcgraph.Instance, definition: str) -> str:
    """Define an event, in which `@NAME` stands for the line with this mark; have it recorded."""
    made = events.define(re.sub("@(.*?)@", lambda match: str(LINES[match[1]]), definition))
    name = f"{made.group}/{made.event}"
    instance.events[name].enable = True
    return name


def hits(instance: funcgraph.Instance) -> list[str]:
    return re.findall(r"\d: (\w+: .*)$", instance.trace(), re.MULTILINE)


# ---- the same as sys.settrace() sees


def shown(frame: types.FrameType, name: str) -> str:
    """Return a variable as an event shows it."""
    if name not in frame.f_locals:
        return "(fault)"
    value = frame.f_locals[name]
    if value is None or isinstance(value, int | str):
        return repr(value)
    if isinstance(value, list | tuple | dict):
        return f"{type(value).__name__}({len(value)})"
    return f"<{value.__name__ if isinstance(value, type) else type(value).__name__}"


def variables(code: types.CodeType) -> list[str]:
    names = [*code.co_varnames, *code.co_cellvars, *code.co_freevars]
    return [name for name in dict.fromkeys(names) if name.isidentifier()]


def traced(code: types.CodeType, call: Callable[[], Any], event: str = "line") -> list[tuple[Any, ...]]:
    """Return (place, variables) of each line, or each instruction, of a function that a call reaches."""
    seen: list[tuple[Any, ...]] = []

    def tracer(frame: types.FrameType, what: str, _: Any) -> Any:
        if frame.f_code is not code:
            return None
        frame.f_trace_opcodes = event == "opcode"
        if what == event:
            place = frame.f_lineno if event == "line" else frame.f_lasti
            seen.append((place, [shown(frame, name) for name in variables(code)]))
        return tracer

    before = sys.gettrace()
    # 3.12 looks only now whether any frame wants instructions.
    sys._getframe().f_trace_opcodes = event == "opcode"
    sys.settrace(tracer)
    try:
        call()
    finally:
        sys.settrace(before)
    return seen


def recorded(instance: funcgraph.Instance) -> list[tuple[int, list[str]]]:
    """Return the same of what was recorded: the event `aN` is at place N."""
    found = []
    for text in hits(instance):
        place, values = re.fullmatch(r"a(\d+): \(\S+\)(.*)", text).groups()  # type: ignore[union-attr]
        values = re.findall(r" \w+=('[^']*'|\([a-z]+\)|<\w+|[^ ]+)(?: at 0x[0-9a-f]+>)?", values)
        found.append((int(place), values))
    return found


def call_outer(shop: types.ModuleType) -> None:
    assert shop.outer(3) == 144


def call_unbound(shop: types.ModuleType) -> None:
    assert shop.unbound(1) == shop.unbound(2) == 5


def call_squares(shop: types.ModuleType) -> None:
    generator = shop.squares([1, 2])
    assert [next(generator), generator.send("sent"), next(generator)] == [1, 2, 1]
    generator.close()


def call_deep(shop: types.ModuleType) -> None:
    with pytest.raises(KeyError):
        shop.deep(2)


CALLS: dict[str, Callable[[types.ModuleType], Any]] = {
    "total": lambda shop: shop.total([1, 60, 3]),
    "outer": call_outer,
    "outer.<locals>.inner": call_outer,
    "unbound": call_unbound,
    "squares": call_squares,
    "deep": call_deep,
    "Cart.add": lambda shop: shop.Cart().add(8, 9, size=8, other=4),
    "fetch": lambda shop: asyncio.run(shop.fetch("a/b")),
    "stream": lambda shop: asyncio.run(shop.fetch("a")),
    "Lock.__aexit__": lambda shop: asyncio.run(shop.fetch("a")),
}


def code_of(shop: types.ModuleType, name: str) -> types.CodeType:
    (function,) = _engine.functions_named([f"shop.{name}"])[f"shop.{name}"]
    assert function.code is not None
    return function.code


@pytest.mark.parametrize("name", share(list(CALLS), of=2))
def test_at_each_line_the_variables_are_those_that_a_tracer_sees(
    name: str, one: funcgraph.Instance, shop: types.ModuleType
) -> None:
    code = code_of(shop, name)
    expected = traced(code, lambda: CALLS[name](shop))
    for line in _engine.kprobe_lines(code):
        enable(one, f"p:at/a{line} shop.{name}:{line} {' '.join(variables(code))}")
    CALLS[name](shop)
    assert len(expected) > 1 or name == "Lock.__aexit__"
    assert recorded(one) == expected


@pytest.mark.parametrize("name", share(["outer.<locals>.inner", "stream"], of=2))
def test_at_each_instruction_too(name: str, one: funcgraph.Instance, shop: types.ModuleType) -> None:
    code = code_of(shop, name)
    expected = traced(code, lambda: CALLS[name](shop), "opcode")
    probed = set()
    prologue = ("RESUME", "COPY_FREE_VARS", "MAKE_CELL", "RETURN_GENERATOR")
    for offset in [i.offset for i in dis.get_instructions(code) if i.opname not in prologue]:
        try:
            enable(one, f"p:at/a{offset} shop.{name}+{offset} {' '.join(variables(code))}")
        except ProbeError as error:
            assert error.errno == errno.EINVAL  # CPython reports no event there
        else:
            probed.add(offset)
    CALLS[name](shop)
    assert len(probed) > 5
    assert recorded(one) == [(offset, values) for offset, values in expected if offset in probed]


# ---- what else can be fetched


def test_steps_types_and_other_sources(one: funcgraph.Instance, shop: types.ModuleType) -> None:
    enable(
        one,
        "p:x/a shop.total:@each@ $arg1 n=items:len:u8 last=items[-1]:s16 $symbol who=$comm rate=rate:x8 "
        'first=$stack0:len:u8 none=$stack200 word=\\"text"',
    )
    shop.total([5, 6])
    begin = "a: (shop.total) items=list(2) n=2 last=6 arg4=shop.total"
    assert len(hits(one)) == 2
    for text in hits(one):
        assert text.startswith(begin) and text.endswith('rate=0x2 first=2 none=(fault) word="text"'), text


def test_the_evaluation_stack_before_a_call(one: funcgraph.Instance) -> None:
    """On 3.12 and 3.13 CPython does not store how deep the stack is, and what lies on it is not known."""
    module = load("stack", "def add(a, b):\n    return a + b\ndef run(x):\n    return add(x, 'b')\n")
    code = module.run.__code__
    offset = next(i.offset for i in dis.get_instructions(code) if i.opname == "CALL")
    module.add = lambda a, b: a * 2 + b
    enable(one, f"p:x/a stack.run+{offset} x $stack0 $stack3 $stack4 $stack5")
    assert module.run("a") == "aab"
    is_known = not (3, 12) <= sys.version_info < (3, 14)
    stack = "arg3='a' arg4='b'" if is_known else "arg3=(fault) arg4=(fault)"
    assert hits(one) == [f"a: (stack.run) x='a' arg2='a' {stack} arg5=(fault)"]


def test_the_body_of_a_class(one: funcgraph.Instance, shop: types.ModuleType) -> None:
    enable(one, "p:x/a shop.make_class.<locals>.Cart:@inner class@ limit text __qualname__")
    for _ in range(2):
        shop.make_class()
    text = "a: (shop.make_class.<locals>.Cart) limit=4 text=(fault) __qualname__='make_class.<locals>.Cart'"
    assert hits(one) == [text, text]


def test_filters_and_histograms_work_on_variables(one: funcgraph.Instance, shop: types.ModuleType) -> None:
    name = enable(one, "p:x/a shop.total:@each@ item:s32 count:s32")
    one.events[name].filter = "item > 1 && count < 5"
    one.events[name].trigger = "hist:keys=item:vals=count"
    shop.total([1, 1, 2, 2])
    assert hits(one) == ["a: (shop.total) item=2 count=4"]
    assert one.events[name].hist.count("{ item:") == 2


def test_faults_are_counted(one: funcgraph.Instance, shop: types.ModuleType) -> None:
    with pytest.warns(RuntimeWarning, match="has no variable 'nothing'"):
        name = enable(one, "p:x/a shop.unbound:@late@ late number nothing")
    shop.unbound(1)
    assert hits(one) == ["a: (shop.unbound) late=(fault) number=(fault) nothing=(fault)"]
    group, event = name.split("/")
    assert live(group, event).faults == 3


def live(group: str, event: str) -> Any:
    from funcgraph.events.live import events as live_events

    return live_events()[group, event].engine


# ---- coming and going


def has_hooks(code: types.CodeType, expected: bool) -> bool:
    """Return whether CPython reports a function's lines, if it is to; 3.11 does not tell."""
    if sys.version_info < (3, 12):
        return True
    tool = _engine.status()["tool_id"]
    lines = sys.monitoring.events.LINE
    return (tool >= 0 and sys.monitoring.get_local_events(tool, code) & lines != 0) == expected


def test_a_probe_exists_only_while_an_instance_wants_it(shop: types.ModuleType) -> None:
    code = shop.total.__code__
    with funcgraph.Instance("one") as one, funcgraph.Instance("two") as two:
        definition = f"p:x/a shop.total:{LINES['each']} item"
        events.define(definition)
        shop.total([1])
        assert has_hooks(code, False)
        for instance in (one, two):
            instance.events["x/a"].enable = True
        shop.total([2])
        assert has_hooks(code, True)
        one.events["x/a"].enable = False
        shop.total([3])
        with pytest.raises(ProbeError, match="use"):
            events.delete("-:x/a")
        assert has_hooks(code, True)
        two.events["x/a"].enable = False
        shop.total([4])
        assert has_hooks(code, False)
        assert (len(hits(one)), len(hits(two))) == (1, 2)
        one.events["x/a"].trigger = "hist:keys=item"
        assert has_hooks(code, True)
        shop.total([5])
        assert "item:          5" in one.events["x/a"].hist
    assert has_hooks(code, False)


def test_an_event_has_probes_at_several_places(one: funcgraph.Instance, shop: types.ModuleType) -> None:
    enable(one, "p:x/a shop.total n=\\0")
    for number, place in enumerate((f"total:{LINES['end']}", f"deep:{LINES['raise']}"), 1):
        events.define(f"p:x/a shop.{place} n=\\{number}")
    with pytest.raises(ProbeError, match="exact same"):
        events.define(f"p:x/a shop.total:{LINES['end']} n=\\1")
    shop.total([])
    call_deep(shop)
    assert hits(one) == ["a: (shop.total) n=0", "a: (shop.total) n=1", "a: (shop.deep) n=2"]
    events.delete(f"-:x/a shop.total:{LINES['end']}")
    shop.total([])
    assert hits(one)[3:] == ["a: (shop.total) n=0"]


def test_a_call_in_progress_is_probed(one: funcgraph.Instance, shop: types.ModuleType) -> None:
    generator = shop.squares([1, 2, 3])
    next(generator)
    name = enable(one, "p:x/a shop.squares:@yield@ number own")
    next(generator)
    assert hits(one) == ["a: (shop.squares) number=2 own=4"]
    one.events[name].enable = False
    next(generator)
    assert len(hits(one)) == 1


def test_a_function_that_is_defined_again_is_probed(one: funcgraph.Instance, shop: types.ModuleType) -> None:
    enable(one, "p:x/a shop.total:@end@ items:len:u8")
    again = load("shop")
    moved = load("shop", "\n\n" + PROGRAM)  # its line with this number is another one
    without = load("shop", "def total(items): return len(items)")
    shop.total([1])
    again.total([1, 2])
    moved.total([1, 2, 3])
    without.total([1] * 4)
    sizes = [int(text.rpartition("=")[2]) for text in hits(one)]
    assert sizes[:2] == [1, 2] and sizes.count(4) == 0


def test_code_that_runs_again_is_probed(one: funcgraph.Instance) -> None:
    """No function object has it: it is known since it ran."""
    code = compile("a = 1\nb = a + 1\n", FILE, "exec")
    with funcgraph.Instance("other", tracer="function"):
        exec(code, {"__name__": "again"})
    enable_pending(one, "p:x/a again.<module>:2 a b")
    exec(code, {"__name__": "again"})
    assert hits(one) == ["a: (again.<module>) a=1 b=(fault)"]


def test_functions_that_come_and_go_leave_nothing(one: funcgraph.Instance) -> None:
    name = enable_pending(one, "p:x/a brief.f:2 n")

    def come_and_go(n: int) -> None:
        for i in range(n):
            load("brief", "def f(n):\n    return n\n").f(i)
            gc.collect()

    gc.freeze()  # each collection looks at what comes and goes, not at all that other tests have made
    try:
        come_and_go(10)
        before = sys.getallocatedblocks()
        come_and_go(60)
        assert sys.getallocatedblocks() - before < 50
    finally:
        gc.unfreeze()  # other tests count on the end of what this one has put aside
    assert [text.rpartition("=")[2] for text in hits(one)] == [str(i) for n in (10, 60) for i in range(n)]
    one.events[name].enable = False
    load("brief", "def f(n):\n    return n\n").f(7)
    assert len(hits(one)) == 70


def enable_pending(instance: funcgraph.Instance, definition: str) -> str:
    """As a recording does it: the function may be defined later."""
    made = events.define(definition, is_pending=True)
    name = f"{made.group}/{made.event}"
    instance.events[name].enable = True
    return name


def test_each_thread_has_its_own_hits(one: funcgraph.Instance, shop: types.ModuleType) -> None:
    one.buffer_size_kb = 8 << 10
    enable(one, "p:x/a shop.total:@end@ count")
    threads = [
        threading.Thread(target=lambda start=start: [shop.total([start + i], 1) for i in range(500)])
        for start in range(0, 2000, 500)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(text.rpartition("=")[2]) for text in hits(one)) == list(range(2000))


def test_what_a_callback_reaches_is_missed_and_counted(
    one: funcgraph.Instance, shop: types.ModuleType
) -> None:
    enable(one, "p:x/a shop.total:@end@ count")
    probe = funcgraph.Kprobe(lambda *_: shop.total([1, 2]), "shop.total", line=LINES["each"])
    with funcgraph.probed(probe):
        shop.total([5])
    assert hits(one) == ["a: (shop.total) count=10"]
    assert live("x", "a").nmissed == 1
    one.events["x/a"].enable = False
    assert live("x", "a").nmissed == 1


def test_a_kprobe_and_a_tracer_at_the_same_place(one: funcgraph.Instance, shop: types.ModuleType) -> None:
    seen: list[Any] = []
    enable(one, "p:x/a shop.total:@end@ count")
    with funcgraph.probed(
        funcgraph.Kprobe(
            lambda _, regs: seen.append(regs.get_local("count")), "shop.total", line=LINES["end"]
        )
    ):
        lines = traced(shop.total.__code__, lambda: shop.total([3]))
    assert seen == [6] and hits(one) == ["a: (shop.total) count=6"]
    assert len(lines) == 7


# ---- what is refused


@pytest.mark.parametrize(
    ("place", "number", "message", "hint"),
    [
        ("shop.total:5000", errno.EINVAL, "The function has no code", "nearest lines: "),
        ("shop.total:4294967295", errno.EINVAL, "The function has no code", "4294967295"),
        ("shop.total+1", errno.EILSEQ, "Probe point is not an instruction boundary", "offset 1"),
        ("shop.total+9000", errno.EINVAL, "Failed to register probe event", "offset 9000"),
        ("shop.total+4294967295", errno.EINVAL, "Failed to register probe event", "4294967295"),
        ("shop.totl:5", errno.EINVAL, "Invalid probed address or symbol", "shop.total"),
        ("math.sin:5", errno.EINVAL, "Invalid probed address or symbol", "not a Python function"),
        ("shop.deep:0", errno.EINVAL, "Invalid probed address or symbol", "no line"),
    ],
)
def test_a_place_that_there_is_not(
    place: str, number: int, message: str, hint: str, one: funcgraph.Instance, shop: types.ModuleType
) -> None:
    import math

    assert math
    with pytest.raises(ProbeError) as caught:
        events.define(f"p:x/a {place} n=\\1")
    error = caught.value
    assert error.errno == number and error.message.startswith(message) and hint in error.hint, error
    assert error.command[error.caret :].startswith(place)
    assert len(events) == 0 and "x/a" not in one.events and message in events.log.text()


def test_a_place_of_several_functions(one: funcgraph.Instance, shop: types.ModuleType) -> None:
    other = load("shop")
    with pytest.raises(ProbeError, match="not unique") as caught:
        events.define(f"p:x/a shop.total:{LINES['end']}")
    assert "2 functions" in caught.value.hint
    assert other
    other = load("shop", "def total(items):\n    return items\n")  # it does not have the line
    gc.collect()
    enable(one, "p:x/a shop.total:@end@ n=\\1")
    shop.total([])
    assert len(hits(one)) == 1


def test_other_fields_than_the_events(one: funcgraph.Instance, shop: types.ModuleType) -> None:
    enable(one, "p:x/a shop.total:@end@ count")
    with pytest.raises(ProbeError, match="different from existing"):
        events.define(f"p:x/a shop.total:{LINES['each']} item")
    with pytest.raises(ProbeError, match="different from existing"):
        events.define("r:x/a shop.total")
    shop.total([1])
    assert hits(one) == ["a: (shop.total) count=2"]


# ---- recordings


MODULE = """\
def work(n):
    for i in range(n):
        half = i / 2
    return n

def steps(n):
    while n:
        n -= 1
        yield n
"""
APP = """
    import importlib, os, sys

    def main():
        import job                        # defined only now
        job.work(2)
        importlib.reload(job)
        job.work(1)
        list(job.steps(2))
        if sys.argv[1] == "fork":
            if not os.fork():
                job.work(1)
                os._exit(0)
            os.wait()
        if sys.argv[1] == "kill":
            os.kill(os.getpid(), 9)

    main()
"""
WORK = [f"w: (job.work) n={n} half={half}" for n, half in ((2, "(fault)"), (2, 0.0), (1, "(fault)"))]


def recorded_by(fg: Funcgraph, how: str, *words: str) -> list[str]:
    (fg.folder / "job.py").write_text(textwrap.dedent(MODULE))
    fg.record("-q", *words, fg.script(APP), how)
    report = fg.run("report", "-i", fg.trace)
    assert report.returncode == 0, report.stderr
    return re.findall(r"\d: (\w+: .*)$", report.stdout, re.MULTILINE)


@pytest.mark.parametrize(("how", "more"), [("plain", []), ("fork", [WORK[2]]), ("kill", [])])
def test_a_recording_finds_places_of_functions_that_are_imported_later(
    fg: Funcgraph, how: str, more: list[str]
) -> None:
    found = recorded_by(fg, how, "-e", "p:job/w job.work:3 n half", "-e", "p:job/s job.steps:8 n")
    steps = ["s: (job.steps) n=2", "s: (job.steps) n=1"]
    assert found == WORK + steps + more


def test_places_stand_in_the_graph(fg: Funcgraph) -> None:
    (fg.folder / "job.py").write_text(MODULE)
    words = ("-q", "-p", "function_graph", "-l", "job.*", "-e", "p:job/w job.work:3 n half", "-f", "n == 1")
    assert fg.record(*words, fg.script(APP), "plain").returncode == 0
    lines = [line.partition("|  ")[2].strip() for line in fg.run("report").stdout.splitlines()]
    at = lines.index("/* w: (job.work) n=1 half=(fault) */")
    assert lines[at - 1] == "job.work() {"


def test_a_place_that_nothing_reaches_is_told(fg: Funcgraph) -> None:
    (fg.folder / "job.py").write_text(MODULE)
    events = ("-e", "p:job/w job.work:500 n", "-e", "p:job/s job.stepz:8 n")
    reported = fg.record("-q", *events, fg.script(APP), "plain").stderr
    assert "nothing matched job.stepz; the nearest names that ran: job.steps" in reported
    assert "no call reached job.work:500, or there is no such place" in reported


@pytest.mark.usefixtures("shop")
def test_a_variable_that_the_function_does_not_have_is_told_once_with_the_nearest(
    one: funcgraph.Instance,
) -> None:
    with pytest.warns(RuntimeWarning, match=r"no variable 'cuont'.*did you mean 'count'\?") as warned:
        events.define("p:app/typo shop.total+0 count items cuont")
    assert len(warned) == 1
    (entry,) = events.log
    assert "trace_kprobe: warning: shop.total has no variable 'cuont'" in entry
    assert entry.splitlines()[2].index("^") == entry.splitlines()[1].index("cuont")
    one.files.write("dynamic_events", "p:app/again shop.total itms.x", append=True)
    assert "did you mean 'items'?" in one.files["error_log"].splitlines()[3]


@pytest.mark.usefixtures("shop")
def test_variables_that_may_be_there_are_not_doubted() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        events.define("p:app/one shop.total items rate count item")
        events.define("p:app/two shop.outer.<locals>.inner second first kept third")
        events.define("f:app/four shop.total items")
    assert list(events.log) == []


def test_an_address_is_a_place_and_reads_back_as_its_function(
    one: funcgraph.Instance, shop: types.ModuleType
) -> None:
    addresses = dict(re.findall(r"^0*([0-9a-f]+) t (shop\.\w+)$", one.files["kallsyms"], re.MULTILINE))
    address = next(address for address, name in addresses.items() if name == "shop.total")
    events.define(f"p:shop/here 0x{address} rate")
    assert one.files["kprobe_events"] == "p:shop/here shop.total rate=rate\n"
    one.events["shop/here"].enable = True
    shop.total([1], 3)
    assert "here: (shop.total) rate=3" in one.trace()
    for wrong in ("0x1", "0xtotal", "0x"):
        with pytest.raises(ProbeError, match="Invalid probed address or symbol"):
            events.define(f"p:shop/wrong {wrong}")
