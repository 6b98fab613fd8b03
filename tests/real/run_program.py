"""Runs a program of programs/ in one of several ways: `run_program.py PROGRAM WAY [OUTPUT]`.

Every way imports the same modules and makes the same preparations. So the calls of `work` minus those of
`idle` are exactly the calls of the program's main(). The other ways count these calls with a profiler, and
write JSON to OUTPUT: [[file, line, name, calls], ...].
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
    """Prepare, but do not run main()."""


def work(main, output):
    """Run main()."""
    main()
    gc.collect()


def cprofile(main, output):
    """Run main() under cProfile. Its calls include resumes of generators and coroutines."""
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        main()
        gc.collect()
    finally:
        profiler.disable()
    # A C function has a str instead of a code object. pstats keeps only one of two equal labels; this keeps
    # both.
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
    """Run main() with a profile function in every thread that counts "call" events: starts and resumes."""
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
    """Run main() under funcgraph's function profiler: calls, without resumes. Names begin with the module."""
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
    typing.get_type_hints(idle)  # from 3.14 on typing imports annotationlib at its first use
    gc.disable()  # so garbage is collected only where the program does so, the same in every way
    assert _lsprof
    random.seed(0)
    WAYS[way](module.main, rest[0] if rest else None)
