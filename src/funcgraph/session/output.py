"""Where a trace is to be written, and as what.

It is checked before anything runs: a recording must not end in an error.
"""

from __future__ import annotations

import errno
import os

from funcgraph.output_file import check_target, folder_of, resolve

__all__ = ["DEFAULT_OUTPUT", "check_output", "is_trace_dat"]

DEFAULT_OUTPUT = "trace.fg"


def is_trace_dat(name: str) -> bool:
    """Return whether the trace of this name is to be a trace.dat; any other name is that of a .fg."""
    return name.endswith(".dat")


def check_output(name: str | os.PathLike[str]) -> str:
    """Return the absolute path of a trace to write.

    Args:
        name: the path as given; output_file.resolve() says which symbolic links are followed.

    Raises:
        FileNotFoundError, NotADirectoryError: its folder does not exist, or is not a folder.
        PermissionError: its folder cannot be written; or there is a link or a file of another user, and
            others may write in the folder.
        IsADirectoryError: the path is a folder.
        OSError: EINVAL: the path is not a regular file. Replacing a device with a trace would do harm.
    """
    given = os.fspath(name)
    output = resolve(given)
    with folder_of(output) as (folder, last):
        check_target(folder, last or ".", given)
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=folder):
            reason = f"no permission to write in {os.path.dirname(output)}"
            raise PermissionError(errno.EACCES, reason, given)
    return output
