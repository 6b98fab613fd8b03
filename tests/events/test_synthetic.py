"""Events that other events make: synthetic ones by actions of histograms, and probes on their fields."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from builds import needs_gil
from conftest import Funcgraph

import funcgraph
from funcgraph.definitions.errors import ProbeError
from funcgraph.events.hist import HistError

pytestmark = needs_gil("fields of objects that others may change are faults")
events = funcgraph.dynamic_events
HERE = __name__
NONE = (
    "# Available triggers:\n"
    "# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist\n"
)


class Job:
    def __init__(self, id: int, name: str = "") -> None:
        self.id = id
        self.name = name or f"job{id}"


def enqueue(job: Job) -> None:
    pass


def dequeue(job: Job) -> int:
    return job.id


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    for instance in funcgraph.instances().values():
        instance.close()
    events.clear()
    events.log.clear()
    assert len(events) == 0
    assert funcgraph.users() == []


@pytest.fixture
def one() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("one") as instance:
        yield instance


@pytest.fixture
def queue() -> None:
    """Define the two events of a queue."""
    events.define(f"f:q/in {HERE}.enqueue job=job.id:u64 name=job.name:string")
    events.define(f"f:q/out {HERE}.dequeue job=job.id:u64 who=job.name:string")


def hits(instance: funcgraph.Instance) -> list[str]:
    """Return the text of each event in an instance's trace: with a stack, it has several lines."""
    return re.findall(r"\d: (\w+: .*(?:\n=> .*)*)$", instance.trace(), re.MULTILINE)


def rows(text: str) -> list[str]:
    """Return the rows of a histogram with single blanks."""
    return [re.sub(" +", " ", line) for line in text.splitlines() if line.startswith("{")]


def run(*jobs: int) -> None:
    for id in jobs:
        job = Job(id)
        enqueue(job)
        dequeue(job)


# ---- the example of histogram.rst: how long between two events of the same job


@pytest.mark.usefixtures("queue")
def test_a_match_generates_an_event_with_what_both_have(one: funcgraph.Instance) -> None:
    events.define("s:latency u64 lat; u64 job; char who[8]; char name[]")
    made = one.events["synthetic/latency"]
    made.enable = True
    one.events["q/in"].trigger = "hist:keys=job:ts0=common_timestamp,name=name"
    match = "onmatch(q.in).latency($lat,job,who,$name)"
    one.events["q/out"].trigger = f"hist:keys=job:lat=common_timestamp-$ts0:{match}"
    run(1, 22222)
    dequeue(Job(1))  # it was taken
    dequeue(Job(3))  # it was never put in
    found = [re.sub(r"lat=\d+", "lat=N", text) for text in hits(one)]
    assert found == [
        "latency: lat=N job=1 who=job1 name=job1",
        "latency: lat=N job=22222 who=job22222 name=job22222",
    ]
    assert rows(one.events["q/out"].hist) == ["{ job: 1 } hitcount: 1", "{ job: 22222 } hitcount: 1"]


@pytest.mark.usefixtures("queue")
def test_the_histogram_over_it_has_what_a_model_counts(one: funcgraph.Instance) -> None:
    """Eight threads put jobs in and take them out, some twice, some never: the matches are the model's."""
    events.define("s:latency u64 lat; u64 job")
    one.events["q/in"].trigger = "hist:keys=job:ts0=common_timestamp:size=8192"
    match = "onmatch(q.in).latency($lat,job)"
    one.events["q/out"].trigger = f"hist:keys=job:lat=common_timestamp-$ts0:{match}:size=8192"
    made = one.events["synthetic/latency"]
    made.trigger = "hist:keys=job.buckets=1000:vals=lat"
    matched: list[int] = []

    def work(thread: int) -> None:
        own = []
        for n in range(500):
            job = Job(1000 * thread + n)
            waits = False
            for step in (n % 2, n % 3, n % 7):
                if step:
                    enqueue(job)
                    waits = True
                else:
                    dequeue(job)
                    own += [job.id] if waits else []
                    waits = False
        matched.extend(own)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    model = Counter(job - job % 1000 for job in matched)
    assert sum(model.values()) > 1000
    found = re.findall(r"job: ~ (\d+)-\d+ } hitcount: +(\d+)", made.hist)
    assert {int(low): int(hits) for low, hits in found} == model
    assert f"    Hits: {len(matched)}\n" in one.events["q/out"].hist
    assert len(re.findall("^{", one.events["q/out"].hist, re.MULTILINE)) == len(set(matched))


@pytest.mark.usefixtures("queue")
def test_a_field_of_the_matching_event_is_that_of_its_hit(one: funcgraph.Instance) -> None:
    events.define("s:both u64 job; char put[]; char taken[]")
    one.events["synthetic/both"].enable = True
    one.events["q/in"].trigger = "hist:keys=job if job > 1"
    one.events["q/out"].trigger = "hist:keys=job:onmatch(q.in).both(job,name,who)"
    for id in (1, 2):
        enqueue(Job(id, "put"))
        dequeue(Job(id, "taken"))
    assert hits(one) == ["both: job=2 put=put taken=taken"]
    assert one.events["q/in"].trigger.count("\n") == 1  # what keeps the field is not shown
    with pytest.raises(OSError) as busy:
        events.delete("-:q/in")
    assert busy.value.errno == errno.EBUSY
    one.events["q/out"].trigger = "!hist:keys=job:onmatch(q.in).both(job,name,who)"
    one.events["q/in"].trigger = "!hist:keys=job if job > 1"
    events.delete("-:q/in")


@pytest.mark.usefixtures("queue")
def test_fields_of_events_can_be_named_with_their_event(one: funcgraph.Instance) -> None:
    events.define("s:both u64 job; char put[]; char taken[]")
    one.events["synthetic/both"].enable = True
    one.events["q/in"].trigger = "hist:keys=job"
    command = "hist:keys=job:onmatch(q.in).both(q.out.job,q.in.name,who)"
    one.events["q/out"].trigger = command
    enqueue(Job(2, "put"))
    dequeue(Job(2, "taken"))
    assert hits(one) == ["both: job=2 put=put taken=taken"]
    assert "onmatch(q.in).both(q.out.job,q.in.name,who)" in one.events["q/out"].trigger
    one.events["q/out"].trigger = f"!{command}"
    for wrong in ("q.in.nosuch", "q.out.nosuch", "q.nosuch.name", "nosuch.in.name"):
        with pytest.raises(HistError, match="Couldn't find field"):
            one.events["q/out"].trigger = f"hist:keys=job:onmatch(q.in).both(job,{wrong},who)"
    one.events["q/in"].trigger = "!hist:keys=job"


@pytest.mark.usefixtures("queue")
def test_a_value_is_what_the_field_is(one: funcgraph.Instance) -> None:
    events.define(f"f:q/any {HERE}.dequeue any=job.name n=job.id")
    events.define("s:kinds u8 small; bool yes; f64 real; value any; char text[]; char c; unsigned long st[]")
    one.events["synthetic/kinds"].enable = True
    params = "n,n,n,any,any,n,common_stacktrace"
    one.events["q/any"].trigger = f"hist:keys=n:onmatch(q.any).kinds({params})"
    dequeue(Job(258, "née"))
    job = Job(65)
    job.name = {}  # type: ignore[assignment]
    dequeue(job)
    stack = f"st=STACK:\n=> {HERE}.dequeue\n=> "
    first, second = hits(one)
    assert first.startswith(f"kinds: small=2 yes=1 real=258.0 any='née' text=née c=2 {stack}")
    assert second.startswith(f"kinds: small=65 yes=1 real=65.0 any=dict(0) text=(fault) c=65 {stack}")


def test_a_signed_field_takes_its_own_type_alone(one: funcgraph.Instance) -> None:
    events.define(f"f:q/in {HERE}.enqueue id=job.id:u32")
    events.define("s:signed s32 id")
    with pytest.raises(HistError, match="Param type doesn't match synthetic event field type"):
        one.events["q/in"].trigger = "hist:keys=id:onmatch(q.in).signed(id)"
    with pytest.raises(HistError, match="Couldn't find synthetic event"):
        one.events["q/in"].trigger = "hist:keys=id:onmatch(q.in).nosuch(id)"
    assert one.events["q/in"].trigger.startswith("# Available")


@pytest.mark.usefixtures("queue")
def test_keys_are_found_by_value_whatever_their_types(one: funcgraph.Instance) -> None:
    events.define(f"f:q/untyped {HERE}.dequeue job=job.id")
    one.events["q/in"].trigger = "hist:keys=job:ts0=common_timestamp"
    one.events["q/untyped"].trigger = "hist:keys=job:lat=common_timestamp-$ts0"
    run(1, 2, 3)
    assert len(rows(one.events["q/untyped"].hist)) == 3


@pytest.mark.usefixtures("queue")
def test_nothing_is_taken_by_a_hit_that_does_not_count(one: funcgraph.Instance) -> None:
    spec = "hist:keys=job:lat=common_timestamp-$ts0"
    one.events["q/in"].trigger = "hist:keys=job:ts0=common_timestamp"
    one.events["q/out"].trigger = f"{spec}:pause"
    run(1)
    one.events["q/out"].trigger = f"{spec}:cont"
    dequeue(Job(1))
    assert rows(one.events["q/out"].hist) == ["{ job: 1 } hitcount: 1"]


# ---- what is in use


def busy(change: Callable[[], None]) -> None:
    with pytest.raises(OSError) as refused:
        change()
    assert refused.value.errno == errno.EBUSY


@pytest.mark.usefixtures("queue")
def test_what_others_use_stays_until_they_let_go(one: funcgraph.Instance) -> None:
    events.define("s:latency u64 lat")
    put, match = "hist:keys=job:ts0=common_timestamp", "hist:keys=job:onmatch(q.in).latency($ts0)"
    q_in, q_out = one.events["q/in"], one.events["q/out"]
    q_in.trigger = put
    q_out.trigger = match

    def remove_put() -> None:
        q_in.trigger = f"!{put}"

    busy(remove_put)
    busy(lambda: events.delete("-:latency"))
    q_in.remove_histograms()  # quietly not those that are used
    assert q_in.trigger != NONE
    q_out.trigger = f"!{match}"
    remove_put()
    events.delete("-:latency")
    assert (q_in.trigger, q_out.trigger) == (NONE, NONE)


@pytest.mark.usefixtures("queue")
def test_a_closed_instance_lets_go(one: funcgraph.Instance) -> None:
    events.define("s:latency u64 lat")
    events.define("e:on synthetic/latency l=$lat")
    with funcgraph.Instance("brief") as brief:
        brief.events["q/in"].trigger = "hist:keys=job:ts0=common_timestamp"
        brief.events["q/out"].trigger = "hist:keys=job:onmatch(q.in).latency($ts0)"
        brief.events["eprobes/on"].enable = True
        one.events["synthetic/latency"].enable = True
        run(1)
        busy(lambda: events.delete("-:on"))
    run(2)
    assert len(hits(one)) == 1
    events.delete("-:on")
    one.events["synthetic/latency"].enable = False
    events.delete("-:latency")


@pytest.mark.usefixtures("queue")
def test_a_name_on_two_events_needs_its_event(one: funcgraph.Instance) -> None:
    one.events["q/in"].trigger = "hist:keys=job:v=job"
    one.events["q/out"].trigger = "hist:keys=job:v=job"
    events.define(f"f:q/last {HERE}.dequeue job=job.id:u64")
    with pytest.raises(HistError, match="not unique"):
        one.events["q/last"].trigger = "hist:keys=job:vals=$v"
    one.events["q/last"].trigger = "hist:keys=job:vals=q.in.$v"
    run(5)
    assert rows(one.events["q/last"].hist) == ["{ job: 5 } hitcount: 1 v: 5"]


def test_an_event_does_not_make_itself(one: funcgraph.Instance) -> None:
    events.define(f"f:q/in {HERE}.enqueue job=job.id:u64")
    events.define("s:again u64 n")
    one.events["synthetic/again"].enable = True
    one.events["synthetic/again"].trigger = "hist:keys=n:onmatch(synthetic.again).again(n)"
    one.events["q/in"].trigger = "hist:keys=job:onmatch(q.in).again(job)"
    enqueue(Job(3))
    assert hits(one) == ["again: n=3"]
    assert rows(one.events["synthetic/again"].hist) == ["{ n: 3 } hitcount: 1"]


@pytest.mark.usefixtures("queue")
def test_instances_that_go_while_others_match_change_nothing(one: funcgraph.Instance) -> None:
    events.define("s:latency u64 job")
    one.events["q/in"].trigger = "hist:keys=job:v=job:size=8192"
    one.events["q/out"].trigger = "hist:keys=job:onmatch(q.in).latency($v):size=8192"
    one.events["synthetic/latency"].trigger = "hist:keys=job:size=8192"
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            with funcgraph.Instance("brief") as brief:
                brief.events["q/in"].trigger = "hist:keys=job:w=job"
                brief.events["q/out"].trigger = "hist:keys=job:onmatch(q.in).latency($w)"

    other = threading.Thread(target=come_and_go)
    other.start()
    threads = [threading.Thread(target=run, args=range(n, n + 500)) for n in range(1000, 4000, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    other.join()
    assert "    Hits: 1500\n    Entries: 1500\n    Dropped: 0\n" in one.events["q/out"].hist
    assert "    Entries: 1500\n" in one.events["synthetic/latency"].hist


# ---- tables with a name


@pytest.mark.usefixtures("queue")
def test_a_table_is_shared_by_those_of_its_name(one: funcgraph.Instance) -> None:
    q_in, q_out = one.events["q/in"], one.events["q/out"]
    q_in.trigger = "hist:name=all:keys=job:size=256"
    q_out.trigger = "hist:name=all:keys=job if job > 1"
    run(1, 2)
    assert rows(q_in.hist) == rows(q_out.hist) == ["{ job: 1 } hitcount: 1", "{ job: 2 } hitcount: 2"]
    assert (
        q_out.trigger == "hist:name=all:keys=job:vals=hitcount:sort=hitcount:size=256 if job > 1 [active]\n"
    )
    with pytest.raises(HistError, match="Named hist trigger doesn't match existing named trigger"):
        q_out.trigger = "hist:name=all:keys=who"
    q_in.trigger = "hist:name=all:keys=job:clear"
    assert rows(q_out.hist) == []
    q_in.trigger = "hist:name=all:keys=job:pause"
    run(3)
    assert rows(q_in.hist) == ["{ job: 3 } hitcount: 1"]
    q_in.trigger = "!hist:name=all:keys=job"
    run(3)
    assert rows(q_out.hist) == ["{ job: 3 } hitcount: 2"]
    with funcgraph.Instance("two") as two:  # names are an instance's own
        two.events["q/in"].trigger = "hist:name=all:keys=job"
        assert rows(two.events["q/in"].hist) == []


def test_fields_of_other_types_share_no_table(one: funcgraph.Instance) -> None:
    events.define(f"f:q/in {HERE}.enqueue job=job.id:u64")
    events.define(f"f:q/out {HERE}.dequeue job=job.name:string")
    one.events["q/in"].trigger = "hist:name=all:keys=job"
    with pytest.raises(HistError, match="Named hist trigger doesn't match existing named trigger"):
        one.events["q/out"].trigger = "hist:name=all:keys=job"


# ---- events on events


@pytest.mark.usefixtures("queue")
def test_an_event_on_a_synthetic_event(one: funcgraph.Instance) -> None:
    events.define("s:taken u64 job; char who[]")
    made = events.define('e:shop/late synthetic/taken n=$job:u8 $who x=\\5 t=\\"hi" c=$comm if job >= 300')
    assert made.text == 'e:shop/late synthetic.taken n=$job:u8 arg2=$who x=\\5 t=\\"hi" c=$comm'
    one.events["q/out"].trigger = "hist:keys=job:onmatch(q.out).taken(job,who)"
    late = one.events["shop/late"]
    late.filter = "n != 45"
    folder = "events/synthetic/taken"
    assert one.files[f"{folder}/enable"] == "0\n"
    late.enable = True
    assert one.files[f"{folder}/enable"] == "0*\n"
    run(299, 300, 301)
    (text,) = hits(one)
    assert re.fullmatch(r'late: n=44 arg2="job300" x=5 t="hi" c="[^"]+"', text)
    late.trigger = "hist:keys=n"
    run(301)
    assert rows(late.hist) == ["{ n: 45 } hitcount: 1"]
    busy(lambda: events.delete("-:late"))
    busy(lambda: events.delete("-:taken"))
    late.enable = False
    late.trigger = "!hist:keys=n"
    assert one.files[f"{folder}/enable"] == "0\n"
    busy(lambda: events.delete("-:taken"))
    events.delete("-:late")
    one.events["q/out"].trigger = "!hist:keys=job:onmatch(q.out).taken(job,who)"
    events.delete("-:taken")


@pytest.mark.usefixtures("queue")
@pytest.mark.parametrize(
    ("line", "number", "message"),
    [
        ("e:on q/in $job", errno.ENODEV, "Attached event does not exist"),
        ("e:on eprobes/first", errno.ENODEV, "Attached event does not exist"),
        ("e:on synthetic/taken n=$nosuch", errno.EINVAL, "Invalid $-variable specified"),
        ("e:on synthetic/taken n=$job.x", errno.EINVAL, "Invalid fetch argument"),
        ("e:on synthetic/taken n=$st", errno.EINVAL, "Failed to register probe event"),
        ("e:on synthetic/taken if job == nosuch", errno.EINVAL, "event filter parse error"),
        ("e:first synthetic/taken", errno.EEXIST, "already used"),
        ("s:taken u64 x", errno.EEXIST, "Event already exists"),
    ],
)
def test_what_cannot_be_made_leaves_nothing(line: str, number: int, message: str) -> None:
    events.define("s:taken u64 job; unsigned long st[]")
    events.define("e:first synthetic/taken $job")
    before = events.read()
    with pytest.raises(ProbeError) as refused:
        events.define(line)
    assert refused.value.errno == number and message in str(refused.value)
    assert events.read() == before


# ---- stacks in variables and fields, and joins of histograms


def stacks_in(text: str, name: str) -> list[list[str]]:
    """Return the functions of this module in each stack of a histogram's text."""
    found = re.findall(rf"{re.escape(name)}:\n((?: {{9}}\S+\n)+)", text)
    ours = [[line.split()[0] for line in stack.splitlines()] for stack in found]
    return [[function.removeprefix(f"{HERE}.") for function in stack if HERE in function] for stack in ours]


def red(job: Job) -> None:
    enqueue(job)


def blue(job: Job) -> None:
    enqueue(job)


@pytest.mark.usefixtures("queue")
def test_a_stack_goes_from_a_variable_through_an_event_to_a_key(one: funcgraph.Instance) -> None:
    """The block_lat example of histogram.rst: who put in what is taken out later."""
    events.define("s:block_lat u64 job; u64 delta; unsigned long[] stack")
    one.events["q/in"].trigger = "hist:keys=job:ts=common_timestamp.usecs,st=common_stacktrace"
    one.events[
        "q/out"
    ].trigger = (
        "hist:keys=job:delta=common_timestamp.usecs-$ts,s=$st:onmax($delta).trace(block_lat,job,$delta,$s)"
    )
    one.events["synthetic/block_lat"].enable = True
    one.events["synthetic/block_lat"].trigger = "hist:keys=stack.stacktrace:vals=delta"
    for id, put in enumerate((red, blue, red, red)):
        put(Job(id, "job"))
    for id in range(4):
        dequeue(Job(id, "job"))
    text = one.events["synthetic/block_lat"].hist
    assert "hist:keys=stack.stacktrace:vals=hitcount,delta:" in one.events["synthetic/block_lat"].trigger
    assert [stack[:2] for stack in stacks_in(text, "stack.stacktrace")] == [
        ["enqueue", "blue"],
        ["enqueue", "red"],
    ]
    assert re.findall(r"hitcount: +(\d+)", text) == ["1", "3"]
    assert sum("red" in hit for hit in hits(one)) == 3 and sum("blue" in hit for hit in hits(one)) == 1


@pytest.mark.usefixtures("queue")
def test_several_stacks_of_one_hit_are_apart(one: funcgraph.Instance) -> None:
    events.define("s:two unsigned long[] put; unsigned long[] taken; u64 job")
    events.define("s:again unsigned long[] put; unsigned long[] taken; u64 job")
    one.events["q/in"].trigger = "hist:keys=job:st=common_stacktrace"
    one.events["q/out"].trigger = "hist:keys=job:onmatch(q.in).two($st,common_stacktrace,job)"
    one.events["synthetic/two"].trigger = "hist:keys=job:onmatch(synthetic.two).again(taken,put,job)"
    one.events["synthetic/again"].trigger = "hist:keys=put.stacktrace,taken.stacktrace"
    red(Job(1, "job"))
    dequeue(Job(1, "job"))
    text = one.events["synthetic/again"].hist
    assert stacks_in(text, "put.stacktrace")[0][0] == "dequeue"
    assert stacks_in(text, "taken.stacktrace")[0][:2] == ["enqueue", "red"]


@pytest.mark.usefixtures("queue")
@pytest.mark.parametrize(
    "command",
    [
        "hist:keys=stack",
        "hist:keys=stack.hex",
        "hist:keys=stack+1",
        "hist:keys=job:vals=stack.stacktrace",
        "hist:keys=job.stacktrace",
        "hist:keys=job:x=stack.stacktrace+1",
    ],
)
def test_what_a_stack_cannot_be(one: funcgraph.Instance, command: str) -> None:
    events.define("s:block_lat u64 job; unsigned long[] stack")
    with pytest.raises(HistError):
        one.events["synthetic/block_lat"].trigger = command
    assert one.events["synthetic/block_lat"].trigger.startswith("# Available")


@pytest.mark.usefixtures("queue")
def test_histograms_are_joined_by_their_first_keys(one: funcgraph.Instance) -> None:
    """The kernel's combined histograms: two latencies of one job, added up in a third histogram."""
    events.define("s:waking u64 job; u64 first")
    events.define("s:sum u64 job; u64 total")
    one.events["q/in"].trigger = "hist:keys=job:one=job*10,two=job*100"
    one.events["q/out"].trigger = "hist:keys=job:got=$one:onmatch(q.in).waking(job,$got)"
    combined = "hist:keys=job,first:total=$two+first:onmatch(synthetic.waking).sum(job,$total)"
    one.events["synthetic/waking"].trigger = combined
    one.events["synthetic/sum"].trigger = "hist:keys=job,total"
    for id in (3, 4):
        enqueue(Job(id, "job"))
        dequeue(Job(id, "job"))
    text = one.events["synthetic/sum"].hist
    assert re.findall(r"job: +(\d+), total: +(\d+) }", text) == [("3", "330"), ("4", "440")]


# ---- recorded, and in other processes


@pytest.mark.usefixtures("queue")
def test_it_is_in_a_saved_trace_and_in_a_trace_dat(one: funcgraph.Instance, fg: Funcgraph) -> None:
    events.define("s:taken u64 job; char who[8]; unsigned long st[]")
    one.events["synthetic/taken"].enable = True
    one.events["q/out"].trigger = "hist:keys=job:onmatch(q.out).taken(job,who,common_stacktrace)"
    run(7)
    one.save(fg.trace)
    with funcgraph.open(fg.trace) as trace:
        (event,) = trace.events()
        fields = dict(event.fields)
        assert (event.type and event.type.name, fields["job"], fields["who"]) == ("taken", 7, "job7")
    printed = f"taken: job=7 who=job7 st=STACK:\n=> {HERE}.dequeue\n"
    assert printed in fg.run("report", "-i", fg.trace).stdout
    assert fg.run("convert", fg.trace, "trace.dat").returncode == 0
    assert printed in fg.run("report", "-i", "trace.dat").stdout
    if shutil.which("trace-cmd"):
        command = ["trace-cmd", "report", "-i", "trace.dat"]
        text = subprocess.run(command, cwd=fg.folder, capture_output=True, text=True, check=True).stdout
        assert re.search(r"taken: +job=7 who=job7 st=\{test_synthetic.dequeue", text), text


@pytest.mark.usefixtures("queue")
def test_a_forked_child_goes_on_without_the_parents(one: funcgraph.Instance) -> None:
    events.define("s:taken u64 job")
    events.define("e:on synthetic/taken n=$job")
    one.events["synthetic/taken"].enable = one.events["eprobes/on"].enable = True
    one.events["q/in"].trigger = "hist:keys=job:v=job"
    one.events["q/out"].trigger = "hist:keys=job:onmatch(q.in).taken($v)"
    run(1)
    child = os.fork()
    if not child:
        code = 1
        try:
            run(2)
            with funcgraph.Instance("child") as own:
                own.events["eprobes/on"].enable = True
                own.events["q/out"].trigger = "hist:keys=job:onmatch(q.out).taken(job)"
                run(3)
                code = 0 if hits(own)[-1] == "on: n=3" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    run(4)
    assert [text for text in hits(one) if text.startswith("taken")] == ["taken: job=1", "taken: job=4"]
