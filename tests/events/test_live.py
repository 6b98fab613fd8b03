"""Dynamic events of a running program: what an instance records of them, with the values that mattered."""

from __future__ import annotations

import errno
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from builds import needs_gil
from conftest import Funcgraph

import funcgraph
from funcgraph.definitions.errors import ProbeError
from funcgraph.events.filter import FilterError

pytestmark = needs_gil("fields of objects that others may change are faults")
events = funcgraph.dynamic_events


class User:
    def __init__(self, name: str, age: int) -> None:
        self.name = name
        self.age = age


class Order:
    def __init__(self, amount: float, user: User) -> None:
        self.amount = amount
        self.user = user


def checkout(order: Order, fast: bool = False) -> float:
    if order.amount < 0:
        raise ValueError(order.amount)
    return total(order) * 2


def total(order: Order) -> float:
    return order.amount


def numbers(n: int) -> Iterator[int]:
    yield from range(n)


HERE = __name__
BOB = User("bob", 44)


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    for instance in funcgraph.instances().values():
        instance.close()
    events.clear()
    events.log.clear()
    assert len(events) == 0


@pytest.fixture
def one() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("one") as instance:
        yield instance


def define(definition: str) -> str:
    """Define an event on functions of this file, which `HERE.` in the text stands for; return its name."""
    made = events.define(definition.replace("HERE", HERE))
    return f"{made.group}/{made.event}"


def hits(instance: funcgraph.Instance) -> list[str]:
    """Return the text of each event in an instance's trace, without this file's name."""
    found = re.findall(r"\d: (\w+: .*)$", instance.trace(), re.MULTILINE)
    return [text.replace(f"{HERE}.", "") for text in found]


# ---- values


def test_values_at_an_entry(one: funcgraph.Instance) -> None:
    name = define(
        "f:shop/co HERE.checkout amount=order.amount who=order.user.name:string age=order.user.age:u8 fast"
    )
    one.events[name].enable = True
    checkout(Order(7, BOB))
    checkout(Order(2.5, User("a\nb", 300)), True)
    assert hits(one) == [
        'co: (checkout) amount=7 who="bob" age=44 fast=False',
        'co: (checkout) amount=2.5 who="a\\nb" age=44 fast=True',
    ]


def test_a_return_has_the_result_and_values_of_the_entry(one: funcgraph.Instance) -> None:
    name = define("f:shop/done HERE.total%return $retval amount=order.amount")
    one.events[name].enable = True
    order = Order(7, BOB)
    checkout(order)
    assert hits(one) == ["done: (checkout <- total) arg1=7 amount=7"]


def test_an_exception(one: funcgraph.Instance) -> None:
    name = define("f:shop/done HERE.checkout%return what=$retval error=$exc:object")
    one.events[name].enable = True
    with pytest.raises(ValueError):
        checkout(Order(-1, BOB))
    (text,) = hits(one)
    assert re.search(r"what=\(fault\) error=<ValueError at 0x[0-9a-f]+>$", text)


def test_a_generator_is_one_call(one: funcgraph.Instance) -> None:
    entry, end = define("f:g/in HERE.numbers n"), define("f:g/out HERE.numbers%return n")
    one.events[entry].enable = one.events[end].enable = True
    generator = numbers(3)
    assert hits(one) == []
    assert next(generator) == 0
    assert [text.partition(":")[0] for text in hits(one)] == ["in"]
    assert list(generator) == [1, 2]
    assert [text.partition(":")[0] for text in hits(one)] == ["in", "out"]


def test_one_event_on_many_functions(one: funcgraph.Instance) -> None:
    functions: dict[str, Any] = {"__name__": "many"}
    exec("".join(f"def f{i}(x): return x\n" for i in range(2000)), functions)
    name = define("f:many/all many.* $symbol x")
    one.events[name].enable = True
    for i in range(2000):
        functions[f"f{i}"](i)
    assert hits(one) == [f"all: (many.f{i}) arg1=many.f{i} x={i}" for i in range(2000)]


@pytest.mark.one_python  # for its length: each probe looks for functions that nobody has met yet
def test_many_events_on_one_function(one: funcgraph.Instance) -> None:
    names = [define(f"f:many/e{i} HERE.total n=\\{i}") for i in range(70)]
    for name in names:
        one.events[name].enable = True
    total(Order(1, BOB))
    assert hits(one) == [f"e{i}: (total) n={i}" for i in range(70)]


def test_events_stand_in_the_graph(one: funcgraph.Instance) -> None:
    name = define("f:shop/co HERE.total amount=order.amount")
    one.set_ftrace_filter = f"{HERE}.*"
    one.current_tracer = "function_graph"
    one.events[name].enable = True
    checkout(Order(3, BOB))
    lines = [line.partition("|  ")[2].replace(f"{HERE}.", "") for line in one.trace().splitlines()]
    inside = lines[lines.index("checkout() {") :]
    assert "/* co: (total) amount=3 */" in [line.strip() for line in inside]


# ---- filters, instances


def test_a_filter_chooses_hits_for_its_instance_alone(one: funcgraph.Instance) -> None:
    name = define("f:shop/co HERE.checkout amount=order.amount who=order.user.name")
    with funcgraph.Instance("two") as two:
        for instance in (one, two):
            instance.events[name].enable = True
        one.events[name].filter = 'amount >= 3 && who ~ "b*"'
        for amount in range(5):
            checkout(Order(amount, BOB))
        checkout(Order(9, User("zoe", 1)))
        assert hits(one) == [f"co: (checkout) amount={amount} who='bob'" for amount in (3, 4)]
        assert len(hits(two)) == 6
        with pytest.raises(FilterError, match="Field not found"):
            one.events[name].filter = "nothing == 3"
        assert one.events[name].filter == 'amount >= 3 && who ~ "b*"'
        one.events[name].filter = "0"
        assert one.events[name].filter == "none"
        checkout(Order(0, BOB))
        assert len(hits(one)) == 3


def test_a_filter_that_was_set_before_is_used(one: funcgraph.Instance) -> None:
    name = define("f:shop/co HERE.total amount=order.amount:s32")
    one.events[name].filter = "amount == -1"
    assert not one.events[name].enable
    one.events[name].enable = True
    total(Order(-1, BOB))
    total(Order(1, BOB))
    assert hits(one) == ["co: (total) amount=-1"]


def test_what_is_off_is_not_recorded(one: funcgraph.Instance) -> None:
    name = define("f:shop/co HERE.total amount=order.amount")
    for _ in range(3):
        one.events[name].enable = True
        one.events[name].enable = True
        total(Order(1, BOB))
        one.events[name].enable = False
        one.events[name].enable = False
        total(Order(1, BOB))
    assert len(hits(one)) == 3
    assert funcgraph.users() == []  # no function has a hook for it


def test_an_instance_that_ends_takes_its_probes_off() -> None:
    name = define("f:shop/co HERE.total amount=order.amount")
    with funcgraph.Instance("brief") as brief:
        brief.events[name].enable = True
        assert funcgraph.users() != []
    assert funcgraph.users() == []


def test_each_thread_writes_its_own(one: funcgraph.Instance) -> None:
    one.buffer_size_kb = 64 << 10
    name = define("f:shop/co HERE.total amount=order.amount")
    one.events[name].enable = True
    threads = [
        threading.Thread(target=lambda start=start: [total(Order(start + i, BOB)) for i in range(5000)])
        for start in range(0, 40_000, 5000)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = sorted(int(text.rpartition("=")[2]) for text in hits(one))
    assert found == list(range(40_000))


# ---- coming and going


def refusal(number: int, change: Callable[[], Any]) -> ProbeError:
    with pytest.raises(ProbeError) as caught:
        change()
    assert caught.value.errno == number
    return caught.value


def test_an_event_that_is_used_stays(one: funcgraph.Instance) -> None:
    name = define("f:shop/co HERE.total")
    one.events[name].enable = True
    refusal(errno.EBUSY, lambda: events.delete("-:shop/co"))
    one.events[name].enable = False
    events.delete("-:shop/co")
    refusal(errno.ENOENT, lambda: events.delete("-:shop/co"))
    with pytest.raises(KeyError):
        one.events[name]
    total(Order(1, BOB))
    assert hits(one) == []


def test_an_instance_that_ends_lets_go_of_its_events() -> None:
    name = define("f:shop/co HERE.total")
    with funcgraph.Instance("brief") as brief:
        brief.events[name].enable = True
    events.delete("-:shop/co")


def test_nothing_is_left_of_what_is_refused() -> None:
    before = funcgraph.users()
    refusal(errno.EINVAL, lambda: define("f:shop/co HERE.total $arg0"))
    assert "nearest" in refusal(errno.EINVAL, lambda: define("f:shop/co HERE.totl")).hint
    refusal(errno.EINVAL, lambda: define("f:shop/co HERE.total amount=order.amount:u7"))
    assert len(events) == 0 and funcgraph.users() == before
    assert events.log.text().count("Command:") == 3


def test_an_event_takes_more_probes_of_its_form(one: funcgraph.Instance) -> None:
    name = define("f:shop/both HERE.total n=\\1")
    one.events[name].enable = True
    define("f:shop/both HERE.checkout n=\\2")
    checkout(Order(1, BOB))
    assert hits(one) == ["both: (checkout) n=2", "both: (total) n=1"]
    events.delete(f"-:shop/both {HERE}.total")
    checkout(Order(1, BOB))
    assert hits(one)[2:] == ["both: (checkout) n=2"]


def test_a_tracer_that_changes_keeps_the_events(one: funcgraph.Instance) -> None:
    name = define("f:shop/co HERE.total amount=order.amount")
    one.set_ftrace_filter = f"{HERE}.*"
    one.events[name].enable = True
    for tracer in ("function_graph", "function", "nop"):
        one.current_tracer = tracer
        total(Order(5, BOB))
        assert one.trace().count("co: (") == 1, tracer


# ---- recordings


APP = """
    import os, sys

    class Job:
        def __init__(self, n):
            self.n = n

    def work(job):
        return job.n * 2

    def main():
        for n in range(10):
            work(Job(n))
        if sys.argv[1] == "fork":
            if not os.fork():
                work(Job(100))
                os._exit(0)
            os.wait()
        if sys.argv[1] == "kill":
            os.kill(os.getpid(), 9)

    main()
"""


def recorded(fg: Funcgraph) -> list[str]:
    report = fg.run("report", "-i", fg.trace)
    assert report.returncode == 0, report.stderr
    return re.findall(r"\d: (\w+: .*)$", report.stdout, re.MULTILINE)


def test_a_recording_of_events_alone(fg: Funcgraph) -> None:
    app = fg.script(APP)
    command = (
        "-q",
        "-e",
        "f:job/start __main__.work n=job.n",
        "-f",
        "n >= 8",
        "-e",
        "f:job/end __main__.work%return $retval",
    )
    result = fg.record(*command, "-f", "arg1 < 4", app, "plain")
    assert (result.returncode, result.stderr) == (0, "")
    assert recorded(fg) == [
        "end: (__main__.main <- __main__.work) arg1=0",
        "end: (__main__.main <- __main__.work) arg1=2",
        "start: (__main__.work) n=8",
        "start: (__main__.work) n=9",
    ]


def test_a_child_records_them_too(fg: Funcgraph) -> None:
    result = fg.record("-q", "-e", "f:job/start __main__.work n=job.n", "-f", "n > 8", fg.script(APP), "fork")
    assert (result.returncode, result.stderr) == (0, "")
    assert recorded(fg) == ["start: (__main__.work) n=9", "start: (__main__.work) n=100"]


def test_a_killed_program_leaves_them(fg: Funcgraph) -> None:
    result = fg.record("-q", "-e", "f:job/start __main__.work n=job.n", fg.script(APP), "kill")
    assert result.returncode == -signal.SIGKILL
    assert recorded(fg) == [f"start: (__main__.work) n={n}" for n in range(10)]


def test_a_recording_with_a_wrong_event_does_not_start(fg: Funcgraph) -> None:
    app = fg.script(APP)
    wrong = fg.record("-e", "f:job/start __main__.work $arg0", app, "plain")
    assert wrong.returncode == 2 and "Invalid argument number" in wrong.stderr and "^" in wrong.stderr
    wrong = fg.record("-e", "f:job/start __main__.work n=job.n", "-f", "m == 3", app, "plain")
    assert wrong.returncode == 2 and "Field not found" in wrong.stderr
    wrong = fg.record("-f", "m == 3", app, "plain")
    assert wrong.returncode == 2 and "-f" in wrong.stderr
    first, other = "f:job/start __main__.work n=job.n", "f:job/start __main__.main n=\\1:u8"
    wrong = fg.record("-e", first, "-B", "two", "-e", other, app, "plain")
    assert wrong.returncode == 2 and "different from existing probe" in wrong.stderr
    assert not os.path.exists(fg.trace) and fg.sessions() == []


def test_two_instances_record_the_same_event(fg: Funcgraph) -> None:
    event = ("-e", "f:job/start __main__.work n=job.n", "-f")
    result = fg.record("-q", *event, "n == 1", "-B", "two", *event, "n == 2", fg.script(APP), "plain")
    assert (result.returncode, result.stderr) == (0, "")
    assert recorded(fg) == [f"start: (__main__.work) n={n}" for n in (1, 2)]


def test_an_event_that_nobody_hits_is_told_with_names_like_its(fg: Funcgraph) -> None:
    result = fg.record("-q", "-e", "f:job/start __main__.wrok n=job.n", fg.script(APP), "plain")
    assert result.returncode == 0
    assert "nothing matched __main__.wrok; the nearest names that ran: __main__.work" in result.stderr


# ---- triggers and histograms


def hist_rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("{")]


def test_a_histogram_counts_what_a_counter_counts(one: funcgraph.Instance) -> None:
    name = define("f:shop/co HERE.total amount=order.amount:s64 who=order.user.name:string")
    event = one.events[name]
    event.trigger = "hist:keys=who:vals=amount:sort=amount.descending if amount > 0"
    assert not event.enable
    for amount in range(-3, 4):
        total(Order(amount, BOB))
        total(Order(10 * amount, User("zoe", 1)))
    assert hits(one) == []
    assert [re.sub(" +", " ", row) for row in hist_rows(event.hist)] == [
        "{ who: zoe } hitcount: 3 amount: 60",
        "{ who: bob } hitcount: 3 amount: 6",
    ]
    assert event.hist.endswith("Totals:\n    Hits: 6\n    Entries: 2\n    Dropped: 0\n")
    spec = "hist:keys=who:vals=hitcount,amount:sort=amount.descending:size=2048 if amount > 0"
    assert event.trigger == f"{spec} [active]\n"
    event.trigger = "!hist:keys=who:vals=amount:sort=amount.descending if amount > 0"
    assert event.trigger.startswith("# Available triggers:") and event.hist == ""
    assert funcgraph.users() == []


@pytest.mark.one_python  # for its length
def test_a_histogram_of_a_million_hits_from_eight_threads_is_exact(one: funcgraph.Instance) -> None:
    name = define("f:shop/co HERE.total n=order.amount:u32")
    event = one.events[name]
    event.trigger = "hist:keys=n"
    orders = [Order(n, BOB) for n in range(8)]

    def work(own: int) -> None:
        for _ in range(125_000 // (own + 1)):
            for order in orders[: own + 1]:
                total(order)

    threads = [threading.Thread(target=work, args=(own,)) for own in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = [int(count) for row in hist_rows(event.hist) for count in re.findall(r"hitcount: +(\d+)", row)]
    expected = [sum(125_000 // (own + 1) for own in range(n, 8)) for n in range(8)]
    assert sorted(counts) == sorted(expected)


def test_a_histogram_is_paused_and_cleared(one: funcgraph.Instance) -> None:
    event = one.events[define("f:shop/co HERE.total n=order.amount:u32")]
    event.trigger = "hist:keys=n"
    total(Order(1, BOB))
    event.trigger = "hist:keys=n:pause"
    total(Order(1, BOB))
    assert "Hits: 1\n" in event.hist and "[paused]" in event.trigger
    event.trigger = "hist:keys=n:clear"
    event.trigger = "hist:keys=n:cont"
    total(Order(2, BOB))
    assert [re.sub(" +", " ", row) for row in hist_rows(event.hist)] == ["{ n: 2 } hitcount: 1"]


def test_a_histogram_keeps_the_largest_and_what_came_with_it(one: funcgraph.Instance) -> None:
    event = one.events[define("f:shop/co HERE.total n=order.amount:s32 who=order.user.name:string")]
    event.trigger = "hist:keys=common_pid:most=n:onmax($most).save(who)"
    for amount, name in (3, "ann"), (7, "bob"), (-9, "zoe"), (5, "eve"):
        total(Order(amount, User(name, 1)))
    text = re.sub(" +", " ", event.hist)
    assert "hitcount: 4\n\tmax: 7 who: bob" in text, event.hist


def test_a_histogram_by_stack_and_by_function(one: funcgraph.Instance) -> None:
    event = one.events[define("f:shop/any HERE.*total $symbol")]
    event.trigger = "hist:keys=common_stacktrace"
    checkout(Order(1, BOB))
    total(Order(1, BOB))
    assert event.hist.count(f"{HERE}.total\n") == 2
    assert event.hist.count(f"{HERE}.checkout\n") == 1


def test_tracing_stops_and_goes_on_at_a_hit(one: funcgraph.Instance) -> None:
    co, done = define("f:shop/co HERE.checkout amount=order.amount"), define("f:shop/t HERE.total")
    one.events[co].enable = one.events[done].enable = True
    one.events[co].trigger = "traceoff:1 if amount == 2"
    for amount in range(5):
        checkout(Order(amount, BOB))
    assert not one.tracing_on
    assert hits(one) == [
        "co: (checkout) amount=0",
        "t: (total)",
        "co: (checkout) amount=1",
        "t: (total)",
        "co: (checkout) amount=2",
    ]
    assert one.events[co].trigger == "traceoff:count=0 if amount == 2\n"
    one.events[done].trigger = "traceon"
    total(Order(0, BOB))
    assert one.tracing_on
    with pytest.raises(OSError) as refused:
        one.events[co].trigger = "traceon"
    assert refused.value.errno == errno.EEXIST
    one.events[co].trigger = "!traceon"
    assert one.events[co].trigger.startswith("# Available")


def test_a_wrong_trigger_changes_nothing(one: funcgraph.Instance) -> None:
    event = one.events[define("f:shop/co HERE.total n=order.amount:u32")]
    for text in ("nothing", "traceoff:x", "traceoff if m == 1", "hist:keys=m", "hist:keys=n:sort=m", "hist"):
        with pytest.raises(ValueError):
            event.trigger = text
    assert event.trigger.startswith("# Available triggers:")
    assert funcgraph.users() == []


# ---- files


def test_the_kernels_files_of_events(one: funcgraph.Instance) -> None:
    files = one.files
    files.write("dynamic_events", f"f:shop/co {HERE}.total n=order.amount:u32\n", append=True)
    assert files["dynamic_events"] == f"f:shop/co {HERE}.total n=order.amount:u32\n"
    folder = "events/shop/co"
    assert [name for name in files if name.startswith(folder)] == [
        f"{folder}/{file}" for file in ("enable", "filter", "format", "hist", "id", "trigger")
    ]
    assert (files[f"{folder}/enable"], files[f"{folder}/filter"]) == ("0\n", "none\n")
    files[f"{folder}/filter"] = "n > 1\n"
    files[f"{folder}/enable"] = "1\n"
    files.write(f"{folder}/trigger", "hist:keys=n\n", append=True)
    assert files[f"{folder}/enable"] == "1*\n"
    total(Order(1, BOB))
    total(Order(2, BOB))
    assert hits(one) == ["co: (total) n=2"]
    assert "    Hits: 2\n" in files[f"{folder}/hist"]
    files[f"{folder}/trigger"] = "hist:keys=n.log2"
    assert files[f"{folder}/trigger"].startswith("hist:keys=n.log2:")
    assert files[f"{folder}/trigger"].count("hist:") == 1
    for file, text in ("enable", "yes"), ("filter", "m == 1"), ("trigger", "hist:keys=m"), ("id", "3"):
        with pytest.raises(OSError) as refused:
            files[f"{folder}/{file}"] = text
        assert refused.value.errno == errno.EINVAL
    assert files["error_log"].count("Command: ") == 2
    assert files["error_log"].count("^") == 2
    files["error_log"] = ""
    assert files["error_log"] == ""
    assert files[f"{folder}/filter"] == "n > 1\n"
    with pytest.raises(FileNotFoundError):
        files["events/shop/other/enable"]
    files[f"{folder}/enable"] = "0"
    files.write(f"{folder}/trigger", "!hist:keys=n.log2", append=True)
    files["dynamic_events"] = ""
    assert files["dynamic_events"] == ""


def test_a_child_can_define_events_though_a_thread_of_its_parent_held_the_table() -> None:
    """Broken by a lock that the child inherits: the thread that would release it is not there."""
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with events._lock:
            is_held.set()
            may_go.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        events.define(f"f:forked/one {HERE}.total")
        os._exit(0 if len(events) == 1 else 1)
    status = os.waitpid(pid, 0)[1]
    may_go.set()
    holder.join()
    assert status == 0
    assert len(events) == 0


def test_a_fork_by_the_thread_that_changes_the_table_ends_its_change() -> None:
    """Broken by a lock that is released twice in the child."""
    with events._lock:
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
    if pid == 0:
        events.define(f"f:forked/one {HERE}.total")
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
