"""A service that runs for ever in a container; another container records it (docs/guides/containers.md)."""

import itertools
import time

PRICES = {"tea": 3, "cake": 5}


def price(item):
    return PRICES[item]


def checkout(items):
    return sum(price(item) for item in items)


def main():
    for items in itertools.cycle([("tea",), ("tea", "cake")]):
        checkout(items)
        time.sleep(0.01)


if __name__ == "__main__":
    main()
