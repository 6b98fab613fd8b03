"""A pandas script: one report goes row by row and parses the same dates again, the other by columns."""

from __future__ import annotations

import numpy as np
import pandas as pd

RATES = {"EUR": 1.0, "USD": 0.9, "CHF": 1.1}


def sales(rows: int) -> pd.DataFrame:
    """Make a table; its dates are five days, as texts."""
    return pd.DataFrame(
        {
            "day": [f"2026-03-{n % 5 + 1:02}" for n in range(rows)],
            "price": [float(n % 90) for n in range(rows)],
            "currency": [("EUR", "USD", "CHF")[n % 3] for n in range(rows)],
        }
    )


def parse(text: str) -> pd.Timestamp:
    return pd.to_datetime(text, format="%Y-%m-%d")


def net(row: pd.Series) -> float:
    return row["price"] * RATES[row["currency"]]


def nearest(prices: np.ndarray) -> float:
    """Return the smallest difference of two prices, of all pairs: a table of n x n."""
    differences = np.abs(prices[:, None] - prices)
    return float(differences[differences > 0].min())


def slow_report(frame: pd.DataFrame) -> pd.Series:
    """A call of Python code for each row, and one more for its date."""
    days = frame["day"].map(parse)
    return frame.apply(net, axis=1).groupby(days).sum()


def report(frame: pd.DataFrame) -> pd.Series:
    """The same by columns."""
    days = pd.to_datetime(frame["day"], format="%Y-%m-%d")
    return (frame["price"] * frame["currency"].map(RATES)).groupby(days).sum()


for rows in (10, 40, 1000) * 4:
    frame = sales(rows)
    assert slow_report(frame).round(6).equals(report(frame).round(6))
    assert nearest(frame["price"].to_numpy()) == 1.0
