"""Texts as cells of a table that a spreadsheet may open."""

from __future__ import annotations

__all__ = ["not_formula"]

# What a formula begins with, in one spreadsheet or another; white space before it is skipped.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def not_formula(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would take it for a formula.

    Who names a function, a thread or an exception in a traced program must run nothing on the machine of who
    reads the table. (OWASP, "CSV Injection")
    """
    return f"'{text}" if text.startswith(_FORMULA) else text
