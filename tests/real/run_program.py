"""Runs one of programs/ in one of several ways: `run_program.py PROGRAM WAY [OUTPUT]`.

Every way imports the same modules and makes the same preparations, so that what `work` calls more than `idle`
are exactly the calls of the program's main(). CPython's own profilers count those in the other two ways and
leave JSON in OUTPUT: [[file, line, name, calls], ...].
"""

import _lsprof
import collections
import cProfile
import gc
import importlib
import json
import os
import random
import sys
import threading
import typing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))


def idle(main, output):
    """Do not run it."""


def work(main, output):
    """Run it."""
    main()
    gc.collect()


def cprofile(main, output):
    """Run it under cProfile. Its calls include resumes of generators and coroutines."""
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        main()
        gc.collect()
    finally:
        profiler.disable()
    # C functions have a str in place of the code. pstats lets one of two equal labels win: all are kept here.
    write(
        output,
        [
            ("", 0, entry.code, entry.callcount)
            if isinstance(entry.code, str)
            else (entry.code.co_filename, entry.code.co_firstlineno, entry.code.co_qualname, entry.callcount)
            for entry in profiler.getstats()
        ],
    )


def setprofile(main, output):
    """Run it with a profile function in every thread that counts "call" events: starts and resumes."""
    counts = collections.Counter()

    def count(frame, event, argument):
        if event == "call":
            code = frame.f_code
            counts[code.co_filename, code.co_firstlineno, code.co_qualname] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        main()
        gc.collect()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    write(output, [(*key, calls) for key, calls in counts.items()])


def function_profile(main, output):
    """Run it under our function profiler: calls, without resumes. The name has the module in front."""
    import funcgraph

    with funcgraph.FunctionProfile() as profiler:
        main()
        gc.collect()
    assert profiler.nmissed == 0
    write(output, [(row.file, row.line, row.name, row.hit) for row in profiler.rows()])


def write(output, rows):
    with open(output, "w", encoding="utf-8") as file:
        json.dump(rows, file)


WAYS = {way.__name__: way for way in (idle, work, cprofile, setprofile, function_profile)}

if __name__ == "__main__":
    program, way, *rest = sys.argv[1:]
    module = importlib.import_module(program)
    typing.get_type_hints(idle)  # from 3.14 on typing imports what reads annotations when it first has to
    gc.disable()  # collections happen where the program asks for them, the same in every way
    assert _lsprof
    random.seed(0)
    WAYS[way](module.main, rest[0] if rest else None)
