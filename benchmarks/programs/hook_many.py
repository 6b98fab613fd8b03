"""Hook all functions of the large libraries that a Python has, and print what it took.

python hook_many.py
"""

from __future__ import annotations

import json
import sqlite3  # noqa: F401
import ssl  # noqa: F401
import time

import funcgraph
from funcgraph import _engine

_OBJECTS = "python", "libpython3*", "libc", "libcrypto", "libssl", "libsqlite3", "libm"


def main() -> None:
    with funcgraph.Instance("many", tracer="function_graph", filter=["main.no_such_function"]) as instance:
        instance.tracing_on = True
        begin = time.perf_counter()
        instance.files["set_ftrace_filter"] = " ".join(f"*:mod:{name}" for name in _OBJECTS)
        seconds = time.perf_counter() - begin
        hooked = sum(is_hooked for _, _, is_hooked, _ in _engine.native_functions())
    print(json.dumps({"seconds": seconds, "hooked": hooked}))


if __name__ == "__main__":
    main()
