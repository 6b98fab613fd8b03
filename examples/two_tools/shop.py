"""The traced program: a small shop that knows nothing of the tools."""

from __future__ import annotations

import json
import time

PRICES = {"tea": 4, "coffee": 7, "cake": 9}
ORDERS = ['{"tea": 2}', '{"cake": 1, "coffee": 2}', '{"wine": 1}', '{"tea": 1, "cake": 1}']


def run() -> int:
    """Serve all orders; return the earnings."""
    earned = 0
    for line in ORDERS:
        earned += serve(line)
    return earned


def serve(line: str) -> int:
    try:
        total = price(json.loads(line))
    except KeyError:
        return refuse()
    archive(line, total)
    return total


def price(order: dict[str, int]) -> int:
    total = 0
    for name, count in order.items():
        total += price_of(name) * count
    return total


def price_of(name: str) -> int:
    return PRICES[name]


def archive(line: str, total: int) -> None:
    time.sleep(0.002)  # the archive is on another machine


def refuse() -> int:
    return 0


def refund(total: int) -> int:
    return -total
