"""Times the work of four Dask workers that record it; prints {"recorded": [...], "collected": [...]}, in s.

Usage: dask_job.py ROUNDS

In rounds of "collected" a collector brings the workers' traces to this process while they work. In rounds of
"recorded" the traces stay where they are. The two take turns.
"""

import json
import sys
import tempfile
import time

from distributed import Client, LocalCluster

import funcgraph.dask

TASKS, FIB = 400, 20


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def work(client):
    begin = time.perf_counter()
    client.gather([client.submit(fib, FIB, pure=False) for _ in range(TASKS)])
    return time.perf_counter() - begin


def recorded(client, collects):
    record = funcgraph.dask.Record(filter=["*.fib"])
    client.register_plugin(record)
    with tempfile.TemporaryDirectory() as folder:
        collector = record.collector(client, f"{folder}/copies")
        if collects:
            collector.start()
        seconds = work(client)
        record.collect(client, f"{folder}/all.fg", collector=collector)
    client.unregister_worker_plugin(record.name)
    return seconds


def main():
    modes = {"recorded": False, "collected": True}
    seconds = {mode: [] for mode in modes}
    settings = {"n_workers": 4, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        work(client)
        for _ in range(int(sys.argv[1])):
            for mode, collects in modes.items():
                seconds[mode].append(recorded(client, collects))
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
