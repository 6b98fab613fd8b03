"""Makes a trace's index, or reads it from the cache, and asks it. Prints seconds, bytes and memory as JSON.

Usage: ask_index.py TRACE QUESTIONS
"""

import json
import random
import resource
import sys
import time

import funcgraph


def timed(seconds, name, question, *words):
    start = time.perf_counter()
    answer = question(*words)
    seconds.setdefault(name, []).append(time.perf_counter() - start)
    return answer


def ask(index, count):
    """Ask at random places, for parts from the whole lane down to a millionth of it."""
    choose, seconds = random.Random(1), {}
    lanes = [lane for lane in index.lanes() if lane.calls > 1000]
    functions = [called.function for called in index.functions()]
    for _ in range(count):
        lane, function = choose.choice(lanes), choose.choice(functions)
        length = lane.end_ns - lane.begin_ns
        width = int(length * 10 ** -choose.uniform(0, 6)) or 1
        begin = lane.begin_ns + int(choose.random() * (length - width))
        timed(seconds, "spans", index.spans, lane, begin, begin + width, 1500)
        timed(seconds, "marks", index.marks, lane, begin, begin + width)
        timed(seconds, "histogram", index.histogram, function)
        timed(seconds, "longest_calls", index.longest_calls, function)
        call = timed(seconds, "call_at", index.call_at, lane, begin)
        if call:
            timed(seconds, "parents", index.parents, call)
            timed(seconds, "number_of", index.number_of, call)
            timed(seconds, "next_call", index.next_call, call.function, call.begin_ns)
            timed(seconds, "previous_call", index.previous_call, call.function, call.begin_ns)
    return seconds


def main():
    trace, start = funcgraph.open(sys.argv[1]), time.perf_counter()
    index = trace.index()
    made = time.perf_counter() - start
    seconds = ask(index, int(sys.argv[2]))
    found = {
        "events": trace.nr_events,
        "made_s": made,
        "bytes": index.nr_bytes,
        "seconds": seconds,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
