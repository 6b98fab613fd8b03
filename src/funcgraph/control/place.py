"""Where control sockets lie: FOLDER/funcgraph-control-UID/PID-NUMBER.sock.

Where somebody else has taken the folder's name, it is FOLDER/funcgraph-control-UID-NUMBER.

Traced processes import this module, so it imports only what Python has loaded already. The folder is made,
and the socket's file named, by src/binding/control/place.c.
"""

import os

__all__ = ["PREFIX", "SUFFIX", "folders"]

PREFIX = "funcgraph-control-"  # place.c has these names too
SUFFIX = ".sock"


def folders(environ: "dict[str, str] | os._Environ[str]") -> "list[str]":
    """Return the folders in which a process with that environment looks for room for its socket, in order.

    They are those of session directories (session/places.py), found without the module tempfile; and the
    user's runtime folder, which a service need not have in its environment, but where nobody else may write.
    """
    temporary = next((environ[name] for name in ("TMPDIR", "TEMP", "TMP") if environ.get(name)), "/tmp")
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
    candidates = [runtime, "/dev/shm", temporary, "/tmp"]
    return list(dict.fromkeys(path for path in candidates if path.startswith("/") and "\0" not in path))
