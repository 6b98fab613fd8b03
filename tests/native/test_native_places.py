"""Events at instructions of native functions: `p:NAME SYMBOL+OFFSET:mod:OBJECT`.

Broken by hand: the trampoline did not step over the red zone, and flags were not saved (results of the leaf
function were wrong); branches and tables of jumps were not looked at; a refused place stayed selected.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import Funcgraph
from kill_switch import TRIP
from native_events import BEGIN, printed_lines
from planned import build, elf_at, loaded_object, needs_decoder, needs_plans

from funcgraph.native.place import make_place_plan
from funcgraph.native.plan_file import Plan
from funcgraph.native.reasons import Reason

pytestmark = needs_plans
#: How many places of a real library are tried at once.
MANY_PLACES = 300 if os.environ.get("FUNCGRAPH_NIGHTLY") else 12

#: Offsets are in the comments.
LIBRARY = r"""
    fn sum              # rdi, rsi, and a value in the red zone
    endbr64             # 0
    mov %rdi, -16(%rsp) # 4
    mov %rdi, %rax      # 9
    add %rsi, %rax      # 12
    add $100, %rax      # 15
    cmp $200, %rax      # 19
    ja .Lbig            # 25
    add -16(%rsp), %rax # 27
    ret                 # 32
    .Lbig: mov $7, %eax
    ret
    endfn sum

    fn saved            # callee-saved registers, a call at the place
    push %rbx           # 0
    push %r12           # 1
    mov %rdi, %rbx      # 3
    lea 5(%rdi), %r12   # 6
    call sum@plt        # 10
    add %r12, %rax      # 15
    add $1000, %rbx     # 18
    mov %rbx, %rdx      # 25
    pop %r12
    pop %rbx
    ret
    endfn saved

    fn text             # rdi: a text
    mov %rdi, %rcx      # 0
    xor %eax, %eax      # 3
    lea 1(%rcx), %rsi   # 5
    movzbl 1(%rcx), %eax # 9
    ret
    endfn text

    fn rounds           # a loop whose head is the place
    xor %eax, %eax      # 0
    nop; nop; nop       # 2
    .Lhead: add $3, %rax # 5
    lea -1(%rdi), %rdi  # 9
    test %rdi, %rdi
    jne .Lhead
    ret
    endfn rounds
"""

PROLOGUE = (
    BEGIN
    + r"""
    for name in ("sum", "saved", "text", "rounds"):
        function = getattr(library, name)
        function.restype, function.argtypes = u64, [u64, u64]
    library.text.argtypes = [ctypes.c_char_p]

    def code():
        address = ctypes.cast(library.sum, ctypes.c_void_p).value
        return ctypes.string_at(address & -4096, 4096)

    before = code()
"""
)


def sample(tmp_path: Path) -> Path:
    return build(tmp_path, LIBRARY, "-Wl,--build-id", name="libsample.so")


def program(fg: Funcgraph, tmp_path: Path, text: str, *arguments: str) -> list[str]:
    """Run a program with the library; return the lines that it prints."""
    return printed_lines(fg, sample(tmp_path), PROLOGUE + text, *arguments)


def test_a_place_has_all_registers_and_harms_none(fg: Funcgraph, tmp_path: Path) -> None:
    """The red zone, the flags and the callee-saved registers are as they were, and so are the results."""
    printed = program(
        fg,
        tmp_path,
        """
    def run():
        print(library.sum(20, 30), library.sum(90, 30), library.saved(4, 6))
    for hit in values(run, "p:x/cmp sum+25:mod:libsample a=%ax:u64 di=%di:u64 red=-16(%sp):u64",
                      "p:x/saved saved+18:mod:libsample b=%bx:u64 r=%r12:u64 a=%ax:u64"):
        print(hit)
    print(code() == before, [state[1:] for state in _engine.native_functions()])
    """,
    )
    assert printed == [
        "170 7 123",
        "(sum+25 [libsample]) a=150 di=20 red=20",
        "(sum+25 [libsample]) a=220 di=90 red=90",
        "(sum+25 [libsample]) a=110 di=4 red=4",
        "(saved+18 [libsample]) b=4 r=9 a=123",
        "True [('saved+18', False, None), ('sum+25', False, None)]",
    ]


def test_strings_arrays_the_stack_and_the_instruction_pointer(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    start = ctypes.cast(library.text, ctypes.c_void_p).value
    (hit,) = values(lambda: print(library.text(b"abc")), 'p:x/y text+9:mod:libsample s=+0(%cx):string '
                    'a=-1(%si):u8[3] ip=%ip same=$stack:x64 sp=%sp f=%flags:b1@6/64 who=$comm t=\\\\"kept"')
    print(hit.replace(hex(start + 9), "PLACE"))
    """,
    )
    assert printed[0] == "98"
    match = re.fullmatch(
        r'\(text\+9 \[libsample\]\) s="abc" a=\{97,98,99\} ip=PLACE '
        r'same=(\w+) sp=(\w+) f=1 who="\S+" t="kept"',
        printed[1],
    )
    assert match is not None, printed[1]
    assert match[1] == match[2]


def test_each_round_of_a_loop_is_a_hit(fg: Funcgraph, tmp_path: Path) -> None:
    """Branches to the place itself come to the hook. Filters and histograms see each."""
    printed = program(
        fg,
        tmp_path,
        """
    funcgraph.dynamic_events.define("p:x/y rounds+5:mod:libsample left=%di:u64")
    with Instance("x") as instance:
        event = instance.events["x/y"]
        event.filter = "left & 1"
        event.enable = True
        event.trigger = "hist:keys=left"
        event.trigger = "traceoff:1 if left == 3"
        print(library.rounds(9, 0))
        event.enable = False
        print(*hits(instance), sep="\\n")
        print(sum(row.startswith("{") for row in str(event.hist).splitlines()))
    print(code() == before)
    """,
    )
    hits = [f"(rounds+5 [libsample]) left={left}" for left in (9, 7, 5, 3)]
    assert printed == ["27", *hits, "9", "True"]


def test_a_definition_at_the_entry_has_the_arguments(fg: Funcgraph, tmp_path: Path) -> None:
    """Without an offset it is the hook of the entry, and `r` that of the return."""
    printed = program(
        fg,
        tmp_path,
        """
    lines = ["p:x/in sum:mod:libsample a=$arg1:u64 b=$arg2:u64", "r:x/out sum:mod:libsample r=$retval:u64"]
    print(*values(lambda: library.sum(1, 2), *lines), sep="\\n")
    print(funcgraph.dynamic_events.read(), end="")
    """,
    )
    assert printed == [
        "(sum [libsample]) a=1 b=2",
        "(<unknown> <- sum [libsample]) r=104",
        "p:x/in sum:mod:libsample a=$arg1:u64 b=$arg2:u64",
        "r10:x/out sum:mod:libsample r=$retval:u64",
    ]


def test_two_names_and_two_events_of_one_place(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    lines = ["p:x/y sum+0x19:mod:libsample", "p:x/z sum+25:mod:libsample %di:u8"]
    for hit in values(lambda: library.sum(1, 2), *lines):
        print(hit)
    try:
        funcgraph.dynamic_events.define("p:x/o sum+27:mod:libsample")
    except OSError as error:
        print(error)
    """,
    )
    assert printed[:2] == ["(sum+25 [libsample])", "(sum+25 [libsample]) arg1=1"]
    assert "another place has displaced some of its bytes" in printed[-1]


def test_after_the_kill_switch_the_code_is_as_before(fg: Funcgraph, tmp_path: Path) -> None:
    library = sample(tmp_path)
    text = """
    funcgraph.dynamic_events.define("p:x/y sum+25:mod:libsample")
    instance = Instance("x")
    instance.events["x/y"].enable = True
    library.sum(1, 2)
    print(code() == before)
    trip_kill_switch()
    print(library.sum(1, 2), code() == before)
    """
    script = fg.script(textwrap.dedent(TRIP) + textwrap.dedent(PROLOGUE) + textwrap.dedent(text))
    done = fg.plain(sys.executable, script, str(library))
    assert done.stdout.splitlines() == ["False", "104 True"]


def test_a_running_process_gets_its_places_from_whoever_records_it(fg: Funcgraph, tmp_path: Path) -> None:
    """It has no decoder and no cache. Afterwards its code is as before."""
    library = sample(tmp_path)
    text = (
        PROLOGUE
        + """
    import importlib.abc, time
    sys.modules["iced_x86"] = None
    print("ready", flush=True)
    for line in sys.stdin:
        print(library.sum(1, 2), code() == before, flush=True)
    """
    )
    command = [sys.executable, str(fg.script(text)), str(library)]
    env = {**fg.env, "XDG_CACHE_HOME": str(tmp_path / "none")}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=env) as process:
        assert process.stdin and process.stdout
        assert process.stdout.readline() == "ready\n"
        try:
            place = "p:x/y sum+25:mod:libsample di=%di:u64"
            poke = fg.script(
                f"""
                import os, time
                os.write(os.open("/proc/{process.pid}/fd/0", os.O_WRONLY), b"go\\n")
                time.sleep(0.2)
                """
            )
            done = fg.record("-q", "-P", str(process.pid), "-e", place, "--", sys.executable, str(poke))
            assert (done.returncode, done.stderr) == (0, "")
            assert process.stdout.readline() == "104 False\n"
            process.stdin.write("go\n")
            process.stdin.flush()
            assert process.stdout.readline() == "104 True\n"
        finally:
            process.stdin.close()
    assert fg.run("report").stdout.count("(sum+25 [libsample]) di=1") == 1


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="there is no trace-cmd")
def test_stock_trace_cmd_prints_places(fg: Funcgraph, tmp_path: Path) -> None:
    library = sample(tmp_path)
    script = fg.script("""
    import ctypes, sys
    ctypes.CDLL(sys.argv[1]).text(b"some text")
    """)
    done = fg.record("-e", "p:x/y text+9:mod:libsample s=+0(%cx):string", script, str(library))
    assert done.returncode == 0, done.stderr
    assert '(text+9 [libsample]) s="some text"' in fg.run("report").stdout
    fg.run("export", "trace-dat", "trace.fg", "trace.dat")
    assert '(libsample.text+9) s="some text"' in fg.plain("trace-cmd", "report", "trace.dat").stdout


# ---- what is refused, and why


def reason_at(library: Path, place: str) -> Reason:
    elf = elf_at(library)
    (entry,) = Plan(make_place_plan(elf, place), elf.build_id).entries()
    return entry.reason


REFUSED = r"""
    fn branched             # something jumps to the second of two displaced instructions
    mov %rdi, %rax          # 0
    nop; nop; nop           # 3
    lea 1(%rax), %rax       # 6
    .Linner: lea 2(%rax), %rax # 10
    dec %rdi                # 14
    jne .Linner             # 17
    ret                     # 19
    endfn branched

    fn table                # as a switch does
    lea .Lcases(%rip), %rdx # 0
    movslq (%rdx,%rdi,4), %rax # 7
    add %rdx, %rax          # 11
    jmp *%rax               # 14
    .Lcase: mov $1, %eax    # 16
    .Lother: inc %eax       # 21
    lea 1(%rax), %rax       # 23
    ret
    endfn table
    .section .rodata
    .Lcases: .long .Lother - .Lcases
    .long .Lcase - .Lcases
    .text

    fn calls                # a call that is not the last displaced instruction
    push %rbx               # 0
    lea 3(%rdi), %rdi       # 1
    mov %rdi, %rbx          # 5
    call *%rsi              # 8
    mov %rbx, %rax          # 10
    pop %rbx
    ret
    endfn calls

    fn system               # the kernel tells where it was
    mov $39, %eax           # 0
    syscall                 # 5
    mov %rax, %rdx          # 7
    ret
    endfn system

    fn setjmp
    mov %rdi, %rax          # 0
    mov %rsi, %rdx          # 3
    mov %rsi, %rdx          # 6
    ret
    endfn setjmp

    fn short
    mov $1, %eax            # 0
    lea 1(%rdi), %rax       # 5
    ret                     # 9
    endfn short
    fn next
    ret
    endfn next
"""


@needs_decoder
def test_what_is_doubtful_is_refused(tmp_path: Path) -> None:
    library = build(tmp_path, REFUSED, "-Wl,--build-id")
    found = {
        place: reason_at(library, place)
        for place in (
            *("branched+6", "branched+10", "branched+1", "branched+3", "branched+900", "no_such_function+3"),
            *("table+16", "table+21", "calls+5", "calls+8", "system+5", "setjmp+6", "short+5"),
        )
    }
    assert found == {
        "branched+6": Reason.JUMP_TARGET,
        "branched+10": Reason.HOOKABLE,  # the branch leads to the place itself
        "branched+1": Reason.NO_PLACE,
        "branched+3": Reason.IN_HEAD,
        "branched+900": Reason.NO_PLACE,
        "no_such_function+3": Reason.NO_PLACE,
        "table+16": Reason.HOOKABLE,  # a single instruction
        "table+21": Reason.HOOKABLE,  # a case of the table: its first byte
        "calls+5": Reason.HOOKABLE,  # the call is the last
        "calls+8": Reason.CALL,
        "system+5": Reason.CALL,
        "setjmp+6": Reason.RETURNS_TWICE,
        "short+5": Reason.HOOKABLE,  # its padding is used
    }


@needs_decoder
def test_a_case_of_a_switch_among_displaced_bytes(tmp_path: Path) -> None:
    source = REFUSED.replace(".Lcase: mov $1, %eax    # 16", ".Lcase: mov %rdi, %rax").replace(
        ".Lother: inc", "nop; .Lother: inc"
    )
    library = build(tmp_path, source, "-Wl,--build-id")
    assert reason_at(library, "table+16") is Reason.INDIRECT_JUMP


@needs_decoder
def test_landing_pads_of_exceptions(tmp_path: Path) -> None:
    """In functions that have any, a place is one instruction: nothing leads into it."""
    source = """
    extern "C" void other(int);
    extern "C" int guarded(int n) { try { other(n); } catch (int x) { return x + n * 3; } return n; }
    extern "C" int plain(int n) { other(n); return n * 5 + 7; }
    """
    library = build(tmp_path, source, "-Wl,--unresolved-symbols=ignore-all", "-Wl,--build-id", language="c++")
    elf = elf_at(library)
    for name, has_refusals in (("guarded", True), ("plain", False)):
        entries = [
            next(iter(Plan(make_place_plan(elf, f"{name}+{offset}"), elf.build_id).entries()))
            for offset in range(5, 40)
        ]
        reasons = {entry.reason for entry in entries}
        assert (Reason.INDIRECT_JUMP in reasons) == has_refusals, (name, reasons)
        assert not has_refusals or all(
            entry.instructions == 1 for entry in entries if entry.reason is Reason.HOOKABLE
        )


@needs_decoder
def test_objects_with_restartable_sequences_have_no_places(tmp_path: Path) -> None:
    source = LIBRARY + '\n.section __rseq_cs, "aw", @progbits\n.quad 0\n.text\n'
    assert reason_at(build(tmp_path, source, "-Wl,--build-id"), "sum+25") is Reason.UNSAFE


def test_a_refused_place_says_why(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    for line in ("p:x/y sum+26:mod:libsample", "p:x/y sum+4:mod:libsample", "p:x/y suma+9:mod:libsample"):
        try:
            funcgraph.dynamic_events.define(line)
        except OSError as error:
            print(str(error).splitlines()[-1])
    print(list(funcgraph.dynamic_events), code() == before)
    """,
    )
    assert printed == [
        "libsample: sum+26: no instruction of a function begins there",
        "libsample: sum+4: a hook of the function's entry displaces it",
        "libsample: suma+9: no instruction of a function begins there",
        "[] True",
    ]


# ---- real code


#: Hooks random places of functions that it calls, and does the same as without.
MANY = r"""
    import hashlib, json, sqlite3, zlib
    import funcgraph
    from funcgraph import Instance, _engine

    def work():
        database = sqlite3.connect(":memory:")
        database.execute("create table t(a integer primary key, b text)")
        database.executemany("insert into t(b) values(?)", [(str(n * n),) for n in range(300)])
        query = "select b, count(*), sum(a) from t where b like '%4%' group by length(b)"
        rows = database.execute(query).fetchall()
        text = json.dumps(rows) + str(zlib.crc32(repr(rows).encode())) + str(sorted(map(str, range(50))))
        return hashlib.sha256(text.encode()).hexdigest()

    expected = work()
    for number, place in enumerate(PLACES):
        try:
            funcgraph.dynamic_events.define(f"p:x/e{number} {place} %di %ax")
        except OSError as error:
            assert any(part in str(error) for part in REASONS), error
    with Instance("x") as instance:
        for definition in funcgraph.dynamic_events:
            instance.events[f"x/{definition.event}"].enable = True
        print(any(state[2] for state in _engine.native_functions()))
        assert work() == expected
        assert work() == expected
        lines = instance.trace().count("[libsqlite3]")
    assert work() == expected
    print(lines > 0, any(state[2] for state in _engine.native_functions()))
"""


@needs_decoder
def test_random_places_of_a_real_library_change_nothing(fg: Funcgraph) -> None:
    from funcgraph.native.code import Code
    from funcgraph.native.layout import layout_of

    elf = elf_at(loaded_object(r"libsqlite3\.so[.\d]*"))
    layout = layout_of(elf)
    code = Code(elf.code, layout.starts)
    names = {
        "sqlite3_step",
        "sqlite3_prepare_v2",
        "sqlite3_bind_text",
        "sqlite3_column_type",
        "sqlite3_reset",
    }
    functions = [function for function in layout.functions if names & set(function.names)]
    if MANY_PLACES > 100:
        functions += [function for function in layout.functions if function.size > 100]
    rng = random.Random(5)
    places = []
    while len(places) < MANY_PLACES:
        function = rng.choice(functions)
        instruction = code.covering(function.address + rng.randrange(8, function.size))
        if instruction is not None:
            places.append(f"{function.names[0]}+{instruction.ip - function.address}:mod:libsqlite3")
    reasons = [reason.text for reason in Reason] + ["another place has displaced some of its bytes"]
    done = fg.plain(sys.executable, fg.script(f"    PLACES, REASONS = {places}, {reasons}\n{MANY}"))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout == "True\nTrue False\n"


def test_control_files_and_verbs_take_functions_and_places(fg: Funcgraph, tmp_path: Path) -> None:
    """All in one process, which steers itself: `dynamic_events`, `set_ftrace_filter`, `start` and `set`."""
    printed = program(
        fg,
        tmp_path,
        """
    import os, subprocess
    PLACE, HEAD = "p:{}/place sum+15:mod:libsample a=%ax:u64", "f:{}/head libsample:sum n=$arg1:u64"

    def verb(name, *words):
        command = [sys.executable, "-m", "funcgraph", name, "-P", str(os.getpid()), *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        texts = [line.split(": ", 2)[-1] for line in done.stdout.splitlines() if not line.startswith("#")]
        return [text for text in texts if text]

    with Instance("x") as one:
        one.files.write("set_ftrace_filter", "sum:mod:libsample")
        one.files["current_tracer"] = "function"
        for definition in (PLACE, HEAD):
            one.files.write("dynamic_events", definition.format("x"), append=True)
        print(one.files["dynamic_events"].splitlines())
        print([line for line in one.files["set_ftrace_filter"].splitlines() if line[0] != "#"])
        one.files["events/x/enable"] = "1"
        one.files["tracing_on"] = "1"
        library.sum(1, 2)
        one.files["tracing_on"] = "0"
        one.files["events/x/enable"] = "0"
        print([line.split(": ", 1)[1] for line in one.trace().splitlines() if line[0] == " "])
    funcgraph.serve()
    verb("start", "-e", PLACE.format("y"))
    library.sum(3, 4)
    verb("set", "-e", HEAD.format("y"))
    library.sum(5, 6)
    verb("stop")
    print(verb("show"))
    verb("reset")
    print(code() == before)
    """,
    )
    assert printed == [
        "['p:x/place sum+15:mod:libsample a=%ax:u64', 'f:x/head libsample:sum n=$arg1:u64']",
        "['sum:mod:libsample']",
        "['sum [libsample]', 'head: (sum [libsample]) n=1', 'place: (sum+15 [libsample]) a=3']",
        "['(sum+15 [libsample]) a=7', '(sum [libsample]) n=5', '(sum+15 [libsample]) a=11']",
        "True",
    ]
