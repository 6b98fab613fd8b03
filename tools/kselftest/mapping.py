"""What stands for the kernel's names in the selftests: one table of rewritings.

Functions of the kernel are functions of `kernel.py`, its tracepoints the static events that `tracepoints.py`
declares, its modules those of the folder `modules`. What a shell makes the kernel do (a fork, a ping) is a
request to the program. The tests themselves, their order, what they demand and what they write to tracefs,
stay.
"""

from __future__ import annotations

import re
import shutil
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

#: Functions that a test names alone. With `kernel.` before them they are those of kernel.py.
FUNCTIONS = (
    *("kernel_clone", "_do_fork", "do_exit", "do_execve", "do_sys_open", "do_sys_openat2", "inet_csk_accept"),
    *("vfs_read", "vfs_open", "vfs_symlink", "dput", "kfree", "getname_flags", "proc_reg_write"),
    *("tracefs_create_dir", "eventfs_create_dir", "eventfs_add_dir", "sched_tick", "scheduler_tick"),
    *("wake_up_process", "non_exist_func"),
)

#: What stands before a name that is no function of its own: part of another name, a path, a variable.
_ALONE = r"(?<![\w./$-])"


class Rewriting(NamedTuple):
    """Text that is replaced in some tests.

    Attributes:
        tests: a glob over their paths below the folder.
        pattern: a regular expression.
        replacement: what stands for a match.
    """

    tests: str
    pattern: str
    replacement: str


_EVERYWHERE = "*"

REWRITINGS = (
    # The machine: tracefs is where the program's is mounted, and no setting of the kernel is changed.
    Rewriting("ftracetest", r"(?m)^TRACING_DIR=.*$", 'TRACING_DIR="$FG_TRACING"'),
    Rewriting("ftracetest", r"cat \$sched_rt_runtime", "echo"),
    Rewriting("ftracetest", r"(?m)^  echo .* > \$sched_rt_runtime$", "  :"),
    Rewriting(_EVERYWHERE, r"/sys/kernel/tracing", "$FG_TRACING"),
    Rewriting(_EVERYWHERE, r"/proc/kallsyms", "$FG_TRACING/kallsyms"),
    # A task is a thread of the program.
    Rewriting(_EVERYWHERE, r"read PID _ < /proc/self/stat", "PID=$FG_PID"),
    Rewriting(_EVERYWHERE, r"read mypid rest < /proc/self/stat", "mypid=$FG_PID"),
    # What the kernel does because of a command.
    Rewriting("test.d/functions", r"\Z", '\n. "$FG_STEPS"\n'),
    Rewriting(_EVERYWHERE, r"\( ?echo \"forked\"", "( program run forked"),
    Rewriting(_EVERYWHERE, r"nice -n (\d) ping \$LOCALHOST -c (\d)", r"program ping \2 \1"),
    Rewriting(_EVERYWHERE, r"ping \$LOCALHOST -c 1 \|\|.*", "program run yield"),
    Rewriting(_EVERYWHERE, r"ping \$LOCALHOST -c (\d)", r"program ping \1"),
    Rewriting(_EVERYWHERE, r" ping:program", ""),
    Rewriting(_EVERYWHERE, r"(?m)^( *)ls(?= > /dev/null$|$)", r"\1program run ls"),
    Rewriting(_EVERYWHERE, r"(?<!-q )\b(rmmod|modprobe) (?=[$\w])", r"program \1 "),
    Rewriting("*/fgraph-retval.tc", r"echo > /proc/interrupts", "program run cat"),
    Rewriting("*/add_remove_eprobe.tc", r"\bcd \$FG_TRACING", "program chdir $FG_TRACING"),
    Rewriting("*/kprobe_args_*.tc", r'"p:test \$FUNCTION_FORK" >> kprobe_events', r"\g<0>; program run test"),
    Rewriting(
        "*/trigger-trace-marker-synthetic-kernel.tc", r'echo "hello" > trace_marker', "program mark hello"
    ),
    # What is at the place of an argument's register is the argument. What a pointer leads to is an attribute.
    Rewriting(
        "*/kprobe_args_type.tc",
        r"\\\$stack0:s(.*) \\\$stack0:u(.*) \\\$stack0:x(.*) \\\$stack0:b",
        r"arg1=\\$arg1:s\1 arg2=\\$arg1:u\2 arg3=\\$arg1:x\3 arg4=\\$arg1:b",
    ),
    Rewriting("*/kprobe_args_*.tc", r"\+0\(\$\{ARG1\}\):char(?!\[)", r"\\$arg1[0]:char"),
    Rewriting("*/kprobe_args_*.tc", r"\+0\(\$\{ARG1\}\)", r"\\$arg1"),
    Rewriting("*/test_duplicates.tc", r"\+0\((\$arg2)\)", r"\1"),
    Rewriting(_EVERYWHERE, r"\+0\((\\?\$filename)\)", r"\1"),
    Rewriting("*/trigger-synthetic-eprobe.tc", r"unsigned long filename", "char filename[]"),
    Rewriting("*/add_remove_eprobe.tc", r"'file=\"\$FG_TRACING\"", "'file=\".*/tracing"),
    # Functions.
    Rewriting(_EVERYWHERE, rf"{_ALONE}({'|'.join(FUNCTIONS)})\b(?!/)", r"kernel.\1"),
    Rewriting(_EVERYWHERE, rf"{_ALONE}schedule\b(?!/)", "kernel.schedule"),
    Rewriting("*/kprobe_eventname.tc", r"kernel\.vfs_read", "vfs_read"),
    Rewriting("*/func-filter-glob.tc", r"'(\^?)((?:sch|mutex|\[Ss\])[^' ]*)'", r"'\1kernel.\2'"),
    Rewriting("*/func-filter-glob.tc", r"sch\?dule\"", 'kernel.sch?dule"'),
    Rewriting("*/func_set_ftrace_file.tc", r"'!([mc])\*", r"'!kernel.\1*"),
    Rewriting("*/func_set_ftrace_file.tc", r"'\^([mc])\.\*", r"'^kernel.\1.*"),
    Rewriting("*/kprobe_ftrace.tc", r" stack_trace_filter", ""),  # it asks for a file that it does not use
    # Offsets are those of bytecode; names of functions have dots.
    Rewriting("*/trigger-hist.tc", r"\[_a-zA-Z\]\[_a-zA-Z\]\*", "[_.a-zA-Z]*"),
    Rewriting("*/multiple_kprobes.tc", r"OFFS=5", "OFFS=0"),
    Rewriting("*/multiple_kprobes.tc", r"grep -v \.\*\S*", "grep -v '<'"),
    Rewriting("*/filter/*", r"\[\^\+\]\*", "[^ ]*"),
    # The text of a value that is returned, as kernels after 6.12 have it; a string's field has quotes.
    Rewriting("*/fgraph-retval.tc", r"'= -5'", "'ret=-5'"),
    Rewriting("*/trigger-snapshot-action-hist.tc", r'"comm=ping"', "'comm=\"ping\"'"),
    # Tracepoints that a `t` names, and what their fields lead to.
    Rewriting("*/tprobe_syntax_errors.tc", r"kernel\.kfree", "kfree"),
    Rewriting("*/add_remove_btfarg.tc", r"tpevent \$TP ", "tpevent kfree "),
    Rewriting("*/add_remove_btfarg.tc", r"\bs->object_size", "name->object_size"),
    Rewriting("*/add_remove_btfarg.tc", r"\bp->se", "comm->se"),
)


def write(source: Path, target: Path) -> None:
    """Copy the selftests with the table applied."""
    shutil.copytree(source, target)
    for file in [target / "ftracetest", target / "test.d" / "functions", *target.rglob("*.tc")]:
        name = str(file.relative_to(target))
        text = file.read_text()
        for rewriting in REWRITINGS:
            if fnmatch(name, rewriting.tests):
                text = re.sub(rewriting.pattern, rewriting.replacement, text)
        file.write_text(text)
