"""Where a trace is to be written, and as what.

It is checked before anything runs: a recording must not end in an error.
"""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["DEFAULT_OUTPUT", "check_output", "is_trace_dat"]

DEFAULT_OUTPUT = "trace.fg"


def is_trace_dat(name: str) -> bool:
    """Return whether the trace of this name is to be a trace.dat; any other name is that of a .fg."""
    return name.endswith(".dat")


def check_output(name: str | os.PathLike[str]) -> str:
    """Return the absolute path of a trace to write.

    Args:
        name: the path as given; a symbolic link is followed.

    Raises:
        FileNotFoundError, NotADirectoryError: its folder does not exist, or is not a folder.
        PermissionError: its folder cannot be written.
        IsADirectoryError: the path is a folder.
        OSError: EINVAL: the path is not a regular file. Replacing a device with a trace would do harm.
    """
    given = os.fspath(name)
    output = os.path.realpath(given)
    folder = os.path.dirname(output)
    try:
        mode = os.stat(output).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    except OSError as error:
        raise OSError(error.errno, error.strerror, given) from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a directory", given)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", given)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, f"no folder {folder}", given)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"no permission to write in {folder}", given)
    return output
