"""Programs that tests mount: they serve their control socket until they are killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SHOP = """
import time

def tax(amount):
    return amount * 2

def pay(amount):
    return tax(amount) + 1

def slow():
    time.sleep(0.002)
"""

BUSY = """
import funcgraph, shop, sys, time
funcgraph.serve()
print("serves", flush=True)
while True:
    shop.pay(3)
    shop.slow()
    time.sleep(0.002)
"""

IDLE = """
import funcgraph, sys
funcgraph.serve()
print("serves", flush=True)
sys.stdin.read()
"""

#: Starts the same program, and prints its id. Both end with their standard input.
FORKING = """
import funcgraph, os, sys
funcgraph.serve(follow_fork=True)
child = os.fork()
if child:
    print("serves", child, sep="\\n", flush=True)
sys.stdin.read()
"""

#: Has never heard of funcgraph.
UNAWARE = """
import shop, time
print("serves", flush=True)
while True:
    shop.pay(3)
    time.sleep(0.002)
"""


def start_program(folder: Path, text: str) -> subprocess.Popen[str]:
    """Run a program in the folder. Returns when it serves its control socket."""
    (folder / "shop.py").write_text(SHOP)
    process = subprocess.Popen(
        [sys.executable, "-c", text], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "serves\n"
    return process


def end_program(process: subprocess.Popen[str]) -> None:
    """Kill it, if it is there."""
    process.kill()
    process.communicate()
