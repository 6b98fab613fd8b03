"""Finds `funcgraph.h`, the header of the C API."""

import os


def get_include() -> str:
    """Return the folder that holds `funcgraph.h`, for the compiler's -I.

        Extension("mine", ["mine.c"], include_dirs=[funcgraph.get_include()])

    docs/reference/c-api.md describes what the header declares.
    """
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
