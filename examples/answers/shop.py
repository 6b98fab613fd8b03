"""A shop on sqlite with three faults, which docs/guides/answers.md finds: a slow currency, one query for each
order, a lookup that fails again and again."""

from __future__ import annotations

import sqlite3

RATES = {"EUR": 1.0, "USD": 1.1}


def query(database: sqlite3.Connection, statement: str) -> list[tuple[int, ...]]:
    return database.execute(statement).fetchall()


def items_of(database: sqlite3.Connection, order: int) -> list[tuple[int, ...]]:
    return query(database, f"SELECT price FROM item WHERE order_id = {order}")


def rate(currency: str) -> float:
    return RATES[currency]


def convert(amount: int, currency: str) -> float:
    if currency == "JPY":  # nobody has a rate for it: it is computed, slowly
        guess = 0.0
        for n in range(1, 20_000):
            guess += 1 / n
        return amount * guess
    try:
        return amount * rate(currency)
    except KeyError:
        return float(amount)


def page(database: sqlite3.Connection, orders: range) -> float:
    total = 0.0
    for order in orders:
        for (price,) in items_of(database, order):
            total += convert(price, ("EUR", "USD", "JPY", "CHF")[order % 4])
    return total


def main() -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE item (order_id, price)")
    database.executemany("INSERT INTO item VALUES (?, ?)", [(n // 2, n) for n in range(80)])
    orders = range(40)
    for _ in range(3):
        page(database, orders)


main()
