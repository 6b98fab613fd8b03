"""fprobes in whole programs, with other tools, forks and subinterpreters, and at the interpreter's end.

Each of these edits of the engine made tests here fail: fg_probes_end() does nothing; fg_probes_mute() does
nothing; add_to_matching() skips every second function.
"""

from __future__ import annotations

import sys
import textwrap

import pytest
from conftest import Funcgraph
from test_subinterpreters import program, run

#: Probes a package of the standard library during real work, and compares its counts with cProfile's.
REAL = """
import collections, cProfile, sys
import email, email.policy, email.message, email.parser, email.generator
import email.mime.multipart, email.mime.text
import email.headerregistry, email._header_value_parser, email.contentmanager, email.utils, email.iterators
import funcgraph

def work():
    out = []
    for i in range(30):
        message = email.mime.multipart.MIMEMultipart()
        message["Subject"] = f"number {i} \\u00e9"
        message["From"] = "A Person <a@example.com>"
        message.attach(email.mime.text.MIMEText("x\\n" * 50, "plain", "utf-8"))
        text = message.as_string()
        parsed = email.message_from_string(text, policy=email.policy.default)
        out.append((str(parsed["From"]), parsed["Subject"], parsed.as_bytes()[-40:]))
        for part in parsed.walk():
            if part.get_content_maintype() == "text":
                out.append(part.get_content())
    return [one for one in out if not isinstance(one, tuple)], len(out)

def key(code):
    return code.co_filename, code.co_firstlineno, code.co_qualname

def counted():
    profiler = cProfile.Profile()
    with profiler:
        result = work()
    counts = collections.Counter()
    for entry in profiler.getstats():
        if not isinstance(entry.code, str) and "/email/" in entry.code.co_filename:
            counts[key(entry.code)] += entry.callcount
    return result, counts

work()
expected, plain = counted()
entries, exits, resumes = collections.Counter(), collections.Counter(), collections.Counter()
wrong = []

def entry(fp, entry_ip, ret_ip, regs, data):
    code = entry_ip.code
    entries[key(code)] += 1
    data[:4] = (entry_ip.id & 0xffffffff).to_bytes(4, "little")
    ret_ip and ret_ip.line
    regs.arguments()

def exit(fp, entry_ip, ret_ip, regs, data):
    exits[key(entry_ip.code)] += 1
    if data[:4] != (entry_ip.id & 0xffffffff).to_bytes(4, "little"):
        wrong.append(entry_ip.name)

print(funcgraph.fprobe_count_ips_from_filter("email.*") > 300)
fp = funcgraph.Fprobe(entry, exit, 4)
with funcgraph.registered_fprobe(fp, "email.*"):
    {use}
assert result == expected
assert profiled == plain, [(k, profiled[k], plain[k]) for k in plain if profiled[k] != plain[k]]
generators = {k for k in plain if plain[k] != entries[k]}
for k in generators:
    assert entries[k] < plain[k], (k, entries[k], plain[k])  # cProfile counts each resume
print(len(plain) > 100, len(generators) < 20, entries == exits, not wrong, fp.errors, fp.last_error)
"""


@pytest.mark.parametrize("use", ["result, profiled = counted()", "result, profiled = work(), plain"])
def test_a_real_program_beside_cprofile_and_alone(fg: Funcgraph, use: str) -> None:
    script = fg.script(REAL.replace("{use}", use))
    result = fg.plain(sys.executable, script)
    assert result.stderr == ""
    assert result.stdout.split("\n") == ["True", "True True True True 0 None", ""]


OTHERS = """
import sys
import funcgraph

def leaf(n):
    x = n
    return x

def work():
    return [leaf(i) for i in range(3)]

heard = []

def hear(frame, event, argument):
    if frame.f_code.co_name in ("leaf", "work", "entry", "exit"):
        heard.append((frame.f_code.co_name, event, frame.f_lineno))
    return hear

def alone():
    heard.clear()
    sys.{install}(hear)
    work()
    sys.{install}(None)
    return list(heard)

told = []

def entry(fp, *rest):
    told.append("entry")

def exit(fp, *rest):
    told.append("exit")

before = alone()
fp = funcgraph.Fprobe(entry, exit, 8)
with funcgraph.registered_fprobe(fp, ["__main__.leaf", "__main__.work"]):
    assert alone() == before, (alone(), before)
assert alone() == before
print(len(told), fp.errors)
"""


@pytest.mark.parametrize("install", ["settrace", "setprofile"])
def test_other_tools_hear_what_they_hear_alone(fg: Funcgraph, install: str) -> None:
    result = fg.plain(sys.executable, fg.script(OTHERS.format(install=install)))
    assert (result.stdout, result.stderr) == ("8 0\n", "")


FORK = """
import os, sys
import funcgraph

def probed(action):
    return action()

seen = []
fp = funcgraph.Fprobe(lambda fp, ip, ret_ip, regs, data: data.__setitem__(0, 5),
                      lambda fp, ip, ret_ip, regs, data: seen.append((os.getpid(), data[0])), 1)
funcgraph.register_fprobe(fp, "__main__.probed")
child = probed(os.fork)
probed(lambda: None)
assert seen == [(os.getpid(), 5)] * 2, seen
if not child:
    funcgraph.unregister_fprobe(fp)
    funcgraph.register_fprobe(fp, "__main__.probed")
    probed(lambda: None)
    assert len(seen) == 3
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_fork_in_the_middle_of_a_probed_call(fg: Funcgraph) -> None:
    result = fg.plain(sys.executable, fg.script(FORK))
    assert (result.stdout, result.stderr) == ("7\n", "")


AT_EXIT = """
import atexit, threading
import funcgraph

class Canary:
    def __del__(self, print=print):
        print("canary")

def probed():
    return 1

def entry(fp, ip, ret_ip, regs, data, canary=Canary(), print=print):
    print("entry")

fp = funcgraph.Fprobe(entry, entry, 8)
funcgraph.register_fprobe(fp, "__main__.probed")
funcgraph.kprobe_multi(lambda ctx, print=print: print("multi"), [probed])
{more}
atexit.register(probed)
del fp, entry, Canary  # the engine alone keeps them
"""


@pytest.mark.parametrize(
    ("more", "reported"),
    [
        ("", ["entry", "multi", "entry", "canary"]),
        ("funcgraph.unregister_fprobe_async(fp)", ["multi", "canary"]),
        ("atexit.register(lambda: funcgraph.users())", ["entry", "multi", "entry", "canary"]),
    ],
)
def test_registered_to_the_end_of_the_program(fg: Funcgraph, more: str, reported: list[str]) -> None:
    result = fg.plain(sys.executable, fg.script(AT_EXIT.format(more=more)))
    assert (result.returncode, result.stderr, result.stdout.split()) == (0, "", reported)


DAEMON = """
import threading, time
import funcgraph

def probed():
    time.sleep(0.001)

def forever():
    while True:
        probed()

fp = funcgraph.Fprobe(lambda *args: time.sleep(0.001), lambda *args: time.sleep(0.001))
funcgraph.register_fprobe(fp, "__main__.probed")
for _ in range(4):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
print("end")
"""


def test_daemons_in_the_middle_of_handlers_at_the_end(fg: Funcgraph) -> None:
    for _ in range(5):
        result = fg.plain(sys.executable, fg.script(DAEMON))
        assert (result.returncode, result.stdout, result.stderr) == (0, "end\n", "")


BUSY = """
import atexit, os, threading, time

def probed():
    return 1

def late():
    probed()
    os.write(1, b"late")

atexit.register(late)  # before ours: it runs after that
import funcgraph

inside = threading.Event()

def entry(fp, *rest):
    if threading.get_ident() == here:
        os.write(1, b"handler ")
    else:
        inside.set()
        time.sleep(60)

here = threading.get_ident()
fp = funcgraph.Fprobe(entry)
funcgraph.register_fprobe(fp, "__main__.probed")
probed()
threading.Thread(target=probed, daemon=True).start()
inside.wait(10)
"""


def test_no_handler_while_the_interpreter_ends_around_a_daemon_in_one(fg: Funcgraph) -> None:
    result = fg.plain(sys.executable, fg.script(BUSY))
    assert (result.returncode, result.stdout, result.stderr) == (0, "handler late", "")


@pytest.mark.parametrize("kind", ["legacy", "isolated"])
def test_each_interpreter_has_its_own(fg: Funcgraph, kind: str) -> None:
    out = run(
        fg,
        program(
            kind,
            """
            def f(): pass
            told = []
            fp = funcgraph.Fprobe(
                lambda fp, ip, *rest: told.append(ip.name), lambda *args: told.append("exit")
            )
            funcgraph.register_fprobe(fp, "__main__.f")
            for _ in range(3):
                interpreter = create()
                run(interpreter, code)
                f()
                destroy(interpreter)
                f()
            assert told == ["__main__.f", "exit"] * 6, told
            funcgraph.unregister_fprobe(fp)
            assert funcgraph.users() == []
            print("end")
            """,
            code="""
            def f(): pass
            told = []
            fp = funcgraph.Fprobe(lambda *args: told.append(1), lambda *args: told.append(2), 8)
            funcgraph.register_fprobe_ips(fp, [f])
            link = funcgraph.kprobe_multi(lambda ctx: told.append(3), ["__main__.f"], kind="session")
            f()
            assert told == [1, 3, 3, 2], told
            """,
        ),
    )
    assert out == "end\n"


def test_a_thread_that_ends_in_the_middle_of_a_probed_generator(fg: Funcgraph) -> None:
    script = textwrap.dedent(
        """
        import threading
        import funcgraph

        def numbers():
            yield 1
            yield 2

        seen = []
        fp = funcgraph.Fprobe(lambda fp, ip, ret_ip, regs, data: data.__setitem__(0, 9),
                              lambda fp, ip, ret_ip, regs, data: seen.append(data[0]), 1)
        funcgraph.register_fprobe(fp, "__main__.numbers")
        kept = []

        def start():
            kept.append(numbers())
            next(kept[0])

        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
        assert not seen
        assert list(kept[0]) == [2]
        print(seen)
        """
    )
    result = fg.plain(sys.executable, fg.script(script))
    assert (result.stdout, result.stderr) == ("[9]\n", "")
