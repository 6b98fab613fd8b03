"""Commands that last until a process has got on, however slow the machine is."""

from __future__ import annotations

__all__ = ["wait_for_progress"]

# A loop that sleeps gives up its processor at least once in each turn.
_SCRIPT = """
count() { while read -r key value; do
    [ "$key" = voluntary_ctxt_switches: ] && echo "$value"
done < "/proc/$1/status"; }
begin=$(count "$1")
while [ $(($(count "$1") - begin)) -lt "$2" ]; do sleep 0.01; done
"""


def wait_for_progress(pid: int, turns: int = 40) -> list[str]:
    """Return a command that ends when a process whose main thread is a loop that sleeps has got on."""
    return ["sh", "-c", _SCRIPT, "sh", str(pid), str(turns)]
