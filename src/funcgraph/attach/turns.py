"""Short turns of the GIL while a busy program loads funcgraph.

Each access to a file gives up the GIL, and a program that never sleeps keeps it for
`sys.getswitchinterval()`, 5 ms. Loading a module accesses ten.

The attacher sends this module's text. So it loads no other module, and cannot begin with a `__future__`.
"""

import sys

TYPE_CHECKING = False  # as typing's, without importing typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    Arguments = ParamSpec("Arguments")
    Result = TypeVar("Result")

_SHORT_S = 0.0001


def with_short_gil_turns(function: "Callable[Arguments, Result]") -> "Callable[Arguments, Result]":
    """Decorate a function: while it runs, a thread that wants the GIL gets it after 0.1 ms.

    The program's own setting is back at its end, unless the program has changed it meanwhile.
    """

    def in_turns(*args: "Arguments.args", **kwargs: "Arguments.kwargs") -> "Result":
        interval = sys.getswitchinterval()
        if interval <= _SHORT_S:
            return function(*args, **kwargs)
        sys.setswitchinterval(_SHORT_S)
        try:
            return function(*args, **kwargs)
        finally:
            if abs(sys.getswitchinterval() - _SHORT_S) < _SHORT_S / 2:  # kept as a number of microseconds
                sys.setswitchinterval(interval)

    return in_turns
