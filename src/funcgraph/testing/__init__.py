"""Function graphs in tests: a plugin for pytest, and calls to assert in any test.

with funcgraph.testing.calls("shop.*") as calls:
    shop.order(3)
assert calls == '''
    shop.validate
    shop.save(amount=3, ...)
'''

pytest imports this room in each of its runs, so nothing is imported before it is used.
"""

TYPE_CHECKING = False  # as typing's, without importing typing
if TYPE_CHECKING:
    from funcgraph.testing.call_record import calls
    from funcgraph.testing.call_sequence import Calls

__all__ = ["Calls", "calls"]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name == "calls":
        from funcgraph.testing.call_record import calls

        return calls
    if name == "Calls":
        from funcgraph.testing.call_sequence import Calls

        return Calls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
