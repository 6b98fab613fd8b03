"""Calls four functions in random order, each from the one before, to a depth of eight: 87,380 paths.

Usage: paths.py DESCENTS
"""

import random
import sys


def north(depth):
    return walk(depth)


def east(depth):
    return walk(depth)


def south(depth):
    return walk(depth)


def west(depth):
    return walk(depth)


def walk(depth):
    if depth:
        random.choice((north, east, south, west))(depth - 1)


def main():
    random.seed(1)
    for _ in range(int(sys.argv[1])):
        walk(8)


if __name__ == "__main__":
    main()
