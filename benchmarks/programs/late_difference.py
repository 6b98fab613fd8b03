"""Makes two calls of work(N), each of which calls step() N times. The last of these returns another number.

Usage: late_difference.py N
"""

import sys

left = [2, 1]


def step(i):
    return i or left.pop()


def work(n):
    for i in range(n - 1, -1, -1):
        step(i)


work(int(sys.argv[1]))
work(int(sys.argv[1]))
