"""How much of what could go on for ever is run: little on each change, all of it with FUNCGRAPH_NIGHTLY=1.

`make nightly` sets that variable. Each suite that has a size takes it from here.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

NIGHTLY = os.environ.get("FUNCGRAPH_NIGHTLY") == "1"

#: Random programs against the model of the engine.
MODEL_EXAMPLES = 10_000 if NIGHTLY else 300
#: The same against the model of the package, on each CPython.
CPYTHON_MODEL_EXAMPLES = 10_000 if NIGHTLY else 100
#: Random traces, written as .fg and as trace.dat and read by all readers.
TRACE_EXAMPLES = 5_000 if NIGHTLY else 120
#: Random event filters over random events, against a slow model; damaged texts of filters.
FILTER_EXAMPLES = 20_000 if NIGHTLY else 400
MUTATED_FILTERS = 100_000 if NIGHTLY else 5_000
#: Random definitions of dynamic events, read back; damaged texts of definitions.
DEFINITION_EXAMPLES = 5_000 if NIGHTLY else 200
MUTATED_DEFINITIONS = 100_000 if NIGHTLY else 5_000
#: Damaged texts of histogram triggers.
DAMAGED_TRIGGERS = 100_000 if NIGHTLY else 5_000
#: Damaged texts for the files of events of a live instance.
DAMAGED_WRITES = 100_000 if NIGHTLY else 2_500
#: Damaged writes to all files of a tracefs, and damaged paths.
DAMAGED_REQUESTS = 100_000 if NIGHTLY else 2_500
#: Texts for each argument of the Python API that takes one.
TEXT_ARGUMENTS = 200_000 if NIGHTLY else 6_000
#: Random and damaged requests to a control socket.
REQUESTS = 100_000 if NIGHTLY else 5_000
#: Random and damaged answers of a control socket: verbs that ask for them.
ANSWERED_VERBS = 30_000 if NIGHTLY else 600
#: Folders of a user in which root works while the user exchanges them.
RIGHTS_RACES = 5_000 if NIGHTLY else 60
#: A recorder is killed at one in so many of its calls that change files.
KILLED_CALLS = 1 if NIGHTLY else 7
#: Images in a process's memory, with damaged tables.
DAMAGED_IMAGES = 3_000 if NIGHTLY else 100
#: Objects with damaged headers, tables or code.
DAMAGED_OBJECTS = 20_000 if NIGHTLY else 500
#: An attacher is held at one in so many of its calls, while its process executes a setuid program.
HELD_CALLS = 1 if NIGHTLY else 6
#: Exchange folders whose names lead elsewhere a moment later.
FOLDER_RACES = 400 if NIGHTLY else 40
#: Attachers whose helper its user stops, who looks for it without a pause until the time limits are over.
STOPPED_HELPERS = 3 if NIGHTLY else 1
#: Recordings of one running process, one after the other.
ATTACH_CYCLES = 100 if NIGHTLY else 6
#: Rounds of everything that is done to a running process, which must not grow by one object a round.
GROWTH_ROUNDS = 30 if NIGHTLY else 5
#: Recordings of native functions of a running server, one after the other.
NATIVE_CYCLES = 1_000 if NIGHTLY else 8
#: Attaches, connections and fetched values of a storm.
ATTACH_STORM = 3_000 if NIGHTLY else 16
CONNECTION_STORM = 20_000 if NIGHTLY else 400
FETCH_STORM = 10_000_000 if NIGHTLY else 80_000
#: Seconds of everything at once. tests/engine/graph/test_stress.c reads the variable itself.
STRESS_SECONDS = 60.0 if NIGHTLY else 3.0
#: Memory files of any size that are handed to a recorder as rings; rings that are truncated.
HOSTILE_DESCRIPTORS = 20_000 if NIGHTLY else 300
TRUNCATED_RINGS = 1_000 if NIGHTLY else 20
#: Kinds of hostile programs that root uses a command on; or minutes of all kinds and all commands: as many as
#: `make canary` says.
CANARY_ROUNDS = 13
CANARY_MINUTES = float(os.environ.get("FUNCGRAPH_CANARY_MINUTES", "30" if NIGHTLY else "0"))


def seed() -> int:
    """Return the seed of a random test, and print it: FUNCGRAPH_SEED, at night any number, else 1."""
    chosen = int(os.environ.get("FUNCGRAPH_SEED", "0")) or (time.time_ns() if NIGHTLY else 1)
    print(f"FUNCGRAPH_SEED={chosen}")
    return chosen


def share(*lists: Sequence[Any], of: int) -> list[Any]:
    """Return combinations of one value from each list: one in `of`, or all of them at night.

    Each value is there together with each value of another list, as far as `of` allows. Which combinations
    are taken depends on CPython's version: the versions together run all of them.
    """
    chosen = []
    for numbered in itertools.product(*(enumerate(values) for values in lists)):
        if NIGHTLY or (sum(number for number, _ in numbered) + sys.version_info.minor) % of == 0:
            values = tuple(value for _, value in numbered)
            chosen.append(values if len(values) > 1 else values[0])
    return chosen
