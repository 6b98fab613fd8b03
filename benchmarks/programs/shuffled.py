"""Calls fifty functions in random order, some of which call another: no pattern for a compressor to find.

Usage: shuffled.py CALLS
"""

import random
import sys


def make(number):
    def called(depth):
        total = sum(range(depth % 7))
        return total if depth < 4 else functions[(number * 7 + depth) % len(functions)](depth // 3)

    called.__name__ = f"called_{number}"
    called.__qualname__ = called.__name__
    called.__code__ = called.__code__.replace(co_name=called.__name__, co_qualname=called.__name__)
    return called


functions = [make(number) for number in range(50)]


def main(calls):
    random.seed(13)
    made = 0
    while made < calls:
        order = random.choices(functions, k=1000)
        for depth, function in enumerate(order):
            function(depth * 7919 % 12)
        made += 1000


main(int(sys.argv[1]))
