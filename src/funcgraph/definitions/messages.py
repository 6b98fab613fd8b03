"""What can be wrong with a definition: the one table of messages, with the number of each error.

The texts are those of Linux 7.2, as its error_log prints them. Those at the end are ours: for what the kernel
does not have.
"""

from __future__ import annotations

from errno import E2BIG, EBUSY, EEXIST, EILSEQ, EINVAL, ENODEV, ENOENT, EOPNOTSUPP
from typing import NamedTuple

__all__ = ["Message"]


class Message(NamedTuple):
    """A kind of error: its number in errno, and its text."""

    errno: int
    text: str


# The kind of event, its name.
NO_MATCHING_TYPE = Message(EINVAL, "No matching dynamic event type")
NO_GROUP_NAME = Message(EINVAL, "Group name is not specified")
GROUP_TOO_LONG = Message(EINVAL, "Group name is too long")
BAD_GROUP_NAME = Message(EINVAL, "Group name must follow the same rules as C identifiers")
NO_EVENT_NAME = Message(EINVAL, "Event name is not specified")
EVENT_TOO_LONG = Message(EINVAL, "Event name is too long")
BAD_EVENT_NAME = Message(EINVAL, "Event name must follow the same rules as C identifiers")
EVENT_EXIST = Message(EEXIST, "Given group/event name is already used by another event")
DIFF_PROBE_TYPE = Message(EEXIST, "Probe type is different from existing probe")
DIFF_ARG_TYPE = Message(EEXIST, "Argument type or name is different from existing probe")
SAME_PROBE = Message(EEXIST, "There is already the exact same probe event")

# The place of a probe.
BAD_MAXACT = Message(EINVAL, "Invalid maxactive number")
BAD_MAXACT_TYPE = Message(EINVAL, "Maxactive is only for function exit")
MAXACT_TOO_BIG = Message(EINVAL, "Maxactive is too big")
BAD_ADDR_SUFFIX = Message(EINVAL, "Invalid probed address suffix")
BAD_PROBE_ADDR = Message(EINVAL, "Invalid probed address or symbol")
NON_UNIQ_SYMBOL = Message(EINVAL, "The symbol is not unique")
BAD_RETPROBE = Message(EINVAL, "Retprobe address must be an function entry")
BAD_INSN_BNDRY = Message(EILSEQ, "Probe point is not an instruction boundary")
FAIL_REG_PROBE = Message(EINVAL, "Failed to register probe event")
BAD_TP_NAME = Message(EINVAL, "Invalid character in tracepoint name")
NO_EVENT_INFO = Message(EINVAL, "This requires both group and event name to attach")
BAD_ATTACH_EVENT = Message(ENODEV, "Attached event does not exist")
NO_EP_FILTER = Message(EINVAL, "No filter rule after 'if'")

# Fetch arguments.
TOO_MANY_ARGS = Message(E2BIG, "Too many arguments are specified")
NO_ARG_NAME = Message(EINVAL, "Argument name is not specified")
ARG_NAME_TOO_LONG = Message(EINVAL, "Argument name is too long")
BAD_ARG_NAME = Message(EINVAL, "Argument name must follow the same rules as C identifiers")
USED_ARG_NAME = Message(EINVAL, "This argument name is already used")
ARG_TOO_LONG = Message(E2BIG, "Argument expression is too long")
NO_ARG_BODY = Message(EINVAL, "No argument expression")
BAD_FETCH_ARG = Message(EINVAL, "Invalid fetch argument")
BAD_VAR = Message(EINVAL, "Invalid $-variable specified")
BAD_ARG_NUM = Message(EINVAL, "Invalid argument number")
BAD_STACK_NUM = Message(EINVAL, "Invalid stack number")
RETVAL_ON_PROBE = Message(EINVAL, "$retval is not available on probe")
DOUBLE_ARGS = Message(EINVAL, "$arg* can be used only once in the parameters")
NO_BTFARG = Message(ENOENT, "This variable is not found at this probe point")
NOSUP_BTFARG = Message(EINVAL, "BTF is not available or not supported")
NOSUP_ALL_ARGS = Message(EOPNOTSUPP, NOSUP_BTFARG.text)
NO_BTF_FIELD = Message(ENOENT, "This field is not found.")
BAD_MEM_ADDR = Message(EINVAL, "Invalid memory address")
DEREF_NEED_BRACE = Message(EINVAL, "Dereference needs a brace")
BAD_DEREF_OFFS = Message(EINVAL, "Invalid dereference offset")
DEREF_OPEN_BRACE = Message(EINVAL, "Dereference brace is not closed")
BAD_HYPHEN = Message(EINVAL, "Failed to parse single hyphen. Forgot '>'?")
TOO_MANY_OPS = Message(E2BIG, "Dereference is too much nested")
COMM_CANT_DEREF = Message(EINVAL, "$comm can not be dereferenced")
BAD_IMM = Message(EINVAL, "Invalid immediate value")
IMMSTR_NO_CLOSE = Message(EINVAL, "String is not closed with '\"'")

# Types.
BAD_TYPE = Message(EINVAL, "Unknown type is specified")
BAD_BITFIELD = Message(EINVAL, "Invalid bitfield")
NEED_STRING_TYPE = Message(EINVAL, "$comm and immediate-string only accepts string type")
BAD_STRING = Message(EINVAL, "String accepts only memory argument")
ARRAY_NO_CLOSE = Message(EINVAL, "Array is not closed")
BAD_ARRAY_SUFFIX = Message(EINVAL, "Array has wrong suffix")
BAD_ARRAY_NUM = Message(EINVAL, "Invalid array size")
ARRAY_TOO_BIG = Message(EINVAL, "Array number is too big")

# Synthetic events.
SYNTH_BAD_NAME = Message(EINVAL, "Illegal name")
SYNTH_INVALID_CMD = Message(EINVAL, "Command must be of the form: <name> field[;field] ...")
SYNTH_INVALID_DYN_CMD = Message(
    EINVAL, "Command must be of the form: s or -:[synthetic/]<name> field[;field] ..."
)
SYNTH_EVENT_EXISTS = Message(EEXIST, "Event already exists")
SYNTH_TOO_MANY_FIELDS = Message(EINVAL, "Too many fields")
SYNTH_INCOMPLETE_TYPE = Message(EINVAL, "Incomplete type")
SYNTH_INVALID_TYPE = Message(EINVAL, "Invalid type")
SYNTH_INVALID_FIELD = Message(EINVAL, "Invalid field")
SYNTH_INVALID_ARRAY_SPEC = Message(EINVAL, "Invalid array specification")

# Without an entry in error_log, as in the kernel, where they are nothing but a number.
NO_SUCH_EVENT = Message(ENOENT, "There is no such dynamic event")
IN_USE = Message(EBUSY, "The event is in use")
BAD_DELETION = Message(EINVAL, "A deletion must be -:[GROUP/][EVENT]")
WRONG_FILE = Message(EINVAL, "The file does not take this definition")

# Ours.
NO_REGISTER = Message(EINVAL, "Registers cannot be fetched at a Python function")
NO_MEMORY = Message(EINVAL, "Memory cannot be fetched at a Python function")
NO_OBJECT = Message(EINVAL, "Attributes and items cannot be fetched at a native function")
BAD_REGISTER = Message(EINVAL, "Invalid register name")
ARG_INSIDE = Message(EINVAL, "$argN is not available within a native function")
REDACTED = Message(EINVAL, "A value of this name is never recorded")
NO_NATIVE_TYPE = Message(EINVAL, "Only objects have this type")
EXC_ON_PROBE = Message(EINVAL, "$exc is not available on probe")
BAD_INDEX = Message(EINVAL, "Invalid index: must be a number or a quoted key, followed by ']'")
BAD_LINE = Message(EINVAL, "The function has no code at this line")
