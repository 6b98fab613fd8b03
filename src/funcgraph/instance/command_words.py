"""Function commands among the words of set_ftrace_filter: where the functions end and the command begins."""

__all__ = ["COMMANDS", "EVENT_COMMANDS", "split_command"]

EVENT_COMMANDS = ("enable_event", "disable_event")
#: The commands that a function can have.
COMMANDS = ("traceon", "traceoff", "snapshot", "stacktrace", "dump", "cpudump", *EVENT_COMMANDS)
_OF_MODULE = ":mod:"


def split_command(word: str) -> tuple[str, str] | None:
    """Return a word's functions, and its command with what follows it; None: it is a pattern.

    `shop.pay:traceoff:3` has the functions `shop.pay`. Those of `malloc:mod:libc:traceoff` are
    `malloc:mod:libc`, and `malloc:mod:libc` alone is a pattern. The names of C++ have colons: only behind
    `:mod:` can they have a command.
    """
    names, of_module, rest = word.rpartition(_OF_MODULE)
    module, colon, command = rest.partition(":")
    functions, has_command, own_command = word.partition(":")
    if of_module and command.partition(":")[0] in COMMANDS:
        return f"{names}{_OF_MODULE}{module}", command
    if of_module and not colon and own_command.partition(":")[0] not in COMMANDS:
        return None
    return (functions, own_command) if has_command else None
