"""Keeps THREADS threads alive at once. Prints the process's memory in KiB at that time, as JSON.

Usage: live_threads.py THREADS
"""

import json
import sys
import threading

from threads import memory_kb, work


def live(barrier):
    work()
    barrier.wait()
    barrier.wait()


def main():
    count = int(sys.argv[1])
    barrier = threading.Barrier(count + 1)
    threads = [threading.Thread(target=live, args=(barrier,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    barrier.wait()
    print(json.dumps(memory_kb()))
    barrier.wait()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
