"""Runs THREADS short-lived threads. Prints the memory in KiB after the first tenth and after all, as JSON.

Usage: threads.py THREADS
"""

import json
import sys
import threading


def step(n):
    return n + 1


def work():
    total = 0
    for _ in range(50):
        total = step(total)


def memory_kb():
    names = ("RssAnon", "RssShmem", "VmSize")
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return {name: int(fields[name].split()[0]) for name in names}


def run(count):
    for _ in range(count):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def main():
    count = int(sys.argv[1])
    run(count // 10)
    early = memory_kb()
    run(count - count // 10)
    print(json.dumps({"early": early, "late": memory_kb()}))


if __name__ == "__main__":
    main()
