"""A function that runs inside of malloc() is traced without an allocation by the tracer.

A preloaded allocator calls a hooked function while it works, as the C library's does if its inner functions
are hooked, and ends the program if it is entered again by the same thread. So it sees what would wait for
ever for the allocator's lock.

Broken by hand: the writer made the path of the recorder's lock file with asprintf() when its ring was full
(as it once did: CPython's test_ssl hung); a child allocated the table of its ring's owners with calloc().
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from builds import needs_gil
from conftest import Funcgraph
from planned import build, needs_plans

pytestmark = needs_plans

ALLOCATOR = """
    #include <pthread.h>
    #include <stddef.h>
    #include <stdlib.h>
    #include <unistd.h>

    static __thread int inside __attribute__((tls_model("initial-exec")));

    void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
    void __libc_free(void *);

    __attribute__((noinline)) long step_inside(long n)
    {
        __asm__ volatile("" : "+r"(n));
        return n + 1;
    }
    /* glibc keeps the values of the first 32 keys in the thread, and allocates memory for those of others. */
    __attribute__((constructor)) static void use_up_keys(void)
    {
        pthread_key_t key;

        for (int i = 0; getenv("MANY_KEYS") && i < 40; i++)
            pthread_key_create(&key, NULL);
    }
    static void begin(void)
    {
        static const char text[] = "the allocator was entered again\\n";

        if (inside++) {
            (void)!write(2, text, sizeof(text) - 1);
            _exit(99);
        }
        step_inside(1);
    }
    #define ALLOCATE(call) void *result; begin(); result = call; inside--; return result
    void *malloc(size_t size) { ALLOCATE(__libc_malloc(size)); }
    void *calloc(size_t count, size_t size) { ALLOCATE(__libc_calloc(count, size)); }
    void *realloc(void *memory, size_t size) { ALLOCATE(__libc_realloc(memory, size)); }
    void free(void *memory) { begin(); __libc_free(memory); inside--; }
"""
ALLOCATE = """
    import os, sys, threading
    def allocate(rounds=3000):
        for size in range(rounds):
            bytearray(1000 + size)
    def in_threads(n):
        threads = [threading.Thread(target=allocate) for _ in range(n)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
"""


@pytest.fixture
def preloaded(fg: Funcgraph, tmp_path: Path) -> Funcgraph:
    library = build(tmp_path, ALLOCATOR, "-Wl,--build-id", language="c", name="liballocator.so")
    fg.env["LD_PRELOAD"] = str(library)
    return fg


@needs_gil("its objects are not made by malloc()")
def test_records_with_full_rings_in_threads_and_children(preloaded: Funcgraph) -> None:
    script = preloaded.script(
        ALLOCATE
        + """
    in_threads(8)
    for _ in range(3):
        if not (child := os.fork()):
            in_threads(2)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """
    )
    done = preloaded.record("-b", "64", "-l", "step_inside:mod:liballocator", sys.executable, script)
    assert done.returncode == 0, done.stderr
    assert preloaded.calls()["step_inside [liballocator]"] > 2 * 3000 * (8 + 3 * 2)


@needs_gil("its objects are not made by malloc()")
def test_a_thread_that_would_allocate_for_its_task_is_traced_from_its_first_python_call(
    preloaded: Funcgraph,
) -> None:
    preloaded.env["MANY_KEYS"] = "1"
    script = preloaded.script(ALLOCATE + "    in_threads(8)\n")
    for patterns, traced in ((), 0), (("-l", "__main__.allocate"), 8 * 3000):
        done = preloaded.record("-l", "step_inside:mod:liballocator", *patterns, sys.executable, script)
        assert done.returncode == 0, done.stderr
        assert preloaded.calls()["step_inside [liballocator]"] >= traced


def test_traces_in_memory_with_more_threads_than_room(preloaded: Funcgraph) -> None:
    script = preloaded.script(
        ALLOCATE
        + """
    from funcgraph import Instance
    with Instance("x", tracer="function_graph", filter=["step_inside:mod:liballocator"]) as instance:
        instance.buffer_size_kb = 64
        instance.tracing_on = True
        for _ in range(3):
            in_threads(24)
            instance.snapshot()
        instance.tracing_on = False
        print(instance.trace().count("step_inside [liballocator]") > 100)
    """
    )
    done = preloaded.plain(sys.executable, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True\n"


@needs_gil("its objects are not made by malloc()")
def test_each_other_user_sees_calls_in_threads(preloaded: Funcgraph) -> None:
    """Events with values and stacks, histograms, snapshots, function commands, the profiler: all at once."""
    script = preloaded.script(
        ALLOCATE
        + """
    import funcgraph
    from funcgraph import FunctionProfile, Instance
    INSIDE = "step_inside:mod:liballocator"
    funcgraph.dynamic_events.define("f:mem/in liballocator:step_inside n=$arg1:u64 text=+0($stack1):string")
    funcgraph.dynamic_events.define("f:mem/out liballocator:step_inside%return n=$retval:u64 $comm")
    with (Instance("x", tracer="function", filter=[INSIDE]) as instance,
          FunctionProfile(filter=[INSIDE]) as profile):
        instance.buffer_size_kb = 64
        for name, trigger in (("in", "hist:keys=n,common_pid:vals=hitcount"), ("in", "stacktrace:50"),
                              ("out", "snapshot:5"), ("out", "hist:keys=n.log2,common_stacktrace:sort=n")):
            instance.files.write(f"events/mem/{name}/trigger", trigger, append=True)
        for name in ("in", "out"):
            instance.events[f"mem/{name}"].filter = "n < 100"
            instance.events[f"mem/{name}"].enable = True
        for command in ("stacktrace:5", "snapshot:3", "enable_event:mem:in:2"):
            instance.function_commands.add(f"{INSIDE}:{command}")
        instance.tracing_on = True
        in_threads(24)
        instance.tracing_on = False
        hist = instance.files["events/mem/in/hist"]
    print([row.hit > 24 * 2 * 3000 for row in profile.rows()], "n:          1" in hist, "Hits: 0" in hist)
    """
    )
    done = preloaded.plain(sys.executable, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[True] True False\n"
