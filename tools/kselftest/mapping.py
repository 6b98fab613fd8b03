"""What stands for the kernel's names in the selftests: one table of rewritings.

Functions of the kernel are functions of `kernel.py`, tracepoints are static events, what a shell makes the
kernel do (a fork, a ping) is a request to the program. The tests themselves, their order, what they demand
and what they write to tracefs, stay.
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
    Rewriting(_EVERYWHERE, r"\( ?echo \"forked\"", "( program fork"),
    Rewriting(_EVERYWHERE, r"nice -n 1 ping \$LOCALHOST -c (\d)", r"program ping \1"),
    Rewriting(_EVERYWHERE, r"ping \$LOCALHOST -c 1 \|\|.*", "program fork"),
    Rewriting(_EVERYWHERE, r"ping \$LOCALHOST -c (\d)", r"program ping \1"),
    Rewriting(_EVERYWHERE, r" ping:program", ""),
    Rewriting("*/filter/*", r"ls > /dev/null", "program fork"),
    Rewriting("*/fgraph-retval.tc", r"echo > /proc/interrupts", "program fork"),
    Rewriting("*/add_remove_eprobe.tc", r"cd \$FG_TRACING", "program chdir"),
    Rewriting("*/kprobe_args_*.tc", r'"p:test \$FUNCTION_FORK" >> kprobe_events', r"\g<0>; program fork"),
    # What is at the place of an argument's register is the argument. What a pointer leads to is an attribute.
    Rewriting("*/kprobe_args_*.tc", r"\+0\(\$\{ARG1\}\):char(?!\[)", r"\\$arg1[0]:char"),
    Rewriting("*/kprobe_args_*.tc", r"\+0\(\$\{ARG1\}\)", r"\\$arg1"),
    # Functions.
    Rewriting(_EVERYWHERE, rf"{_ALONE}({'|'.join(FUNCTIONS)})\b(?!/)", r"kernel.\1"),
    Rewriting(_EVERYWHERE, rf"{_ALONE}schedule\b(?!/)", "kernel.schedule"),
    Rewriting("*/kprobe_eventname.tc", r"kernel\.vfs_read", "vfs_read"),
    Rewriting("*/func-filter-glob.tc", r"'(\^?)((?:sch|mutex|\[Ss\])[^' ]*)'", r"'\1kernel.\2'"),
    Rewriting("*/func-filter-glob.tc", r"sch\?dule\"", 'kernel.sch?dule"'),
    Rewriting("*/func_set_ftrace_file.tc", r"'!([mc])\*", r"'!kernel.\1*"),
    Rewriting("*/func_set_ftrace_file.tc", r"'\^([mc])\.\*", r"'^kernel.\1.*"),
    Rewriting("*/test_duplicates.tc", r"\+0\((\$arg2)\)", r"\1"),
    Rewriting("*/kprobe_ftrace.tc", r" stack_trace_filter", ""),  # it asks for a file that it does not use
    # Offsets are those of bytecode; names of functions have dots.
    Rewriting("*/trigger-hist.tc", r"\[_a-zA-Z\]\[_a-zA-Z\]\*", "[_.a-zA-Z]*"),
    Rewriting("*/multiple_kprobes.tc", r"OFFS=5", "OFFS=0"),
    Rewriting("*/multiple_kprobes.tc", r"grep -v \.\*\S*", "grep -v '<'"),
    # The text of a value that is returned, as kernels after 6.12 have it.
    Rewriting("*/fgraph-retval.tc", r"'= -5'", "'ret=-5'"),
    # Tracepoints. In tests of pids, an event that all threads hit.
    Rewriting("*/event-*pid.tc", r"\bsched([/:.])sched_switch", r"py\1raise"),
    Rewriting("*/event-*pid.tc", r"grep sched_switch", "grep raise"),
    Rewriting("*/event-*pid.tc", r"\"pid=\$mypid\"", '-e "-$mypid "'),
    Rewriting("*/event-*pid.tc", r"enable_system signal", "enable_system py"),
    # A task of the kernel is a task of asyncio; kmem raises and catches.
    Rewriting(_EVERYWHERE, r"\bsched([/:.])sched_process_fork", r"asyncio\1task_create"),
    Rewriting(_EVERYWHERE, r"\bsched([/:.])sched_(?:waking|wakeup)", r"asyncio\1task_create"),
    Rewriting(_EVERYWHERE, r"\bsched([/:.])sched_switch", r"asyncio\1task_switch"),
    Rewriting(_EVERYWHERE, r"\bsched([/:.])sched_process_exec", r"asyncio\1task_create"),
    Rewriting(_EVERYWHERE, r"\bsched([/:.])sched_process_exit", r"asyncio\1task_done"),
    Rewriting(_EVERYWHERE, r"\b(grep -q|grep) sched(_\w+)? ", r"\1 task_ "),
    Rewriting("*/event/*", r"\bgrep sched_switch", "grep task_switch"),
    Rewriting(_EVERYWHERE, r"events/sched\b", "events/asyncio"),
    Rewriting(_EVERYWHERE, r"'sched:\*'", "'asyncio:*'"),
    Rewriting(_EVERYWHERE, r"\bkmem([/:.])(?:kmalloc|kmem_cache_free)", r"py\1raise"),
    Rewriting("*/filter/*", r"grep kmem_cache_free", "grep raise"),
    Rewriting("*/filter/*", r"\[\^\+\]\*", "[^ ]*"),
    Rewriting("*/filter/*", r"call_site", "function"),
    Rewriting("*/tracing-error-log.tc", r"events/signal/signal_generate", "events/py/raise"),
    Rewriting("*/tracing-error-log.tc", r"\bsig\b", "line"),
    Rewriting("*/tracing-error-log.tc", r"\bcomm\b", "type"),
    Rewriting("*/trigger/*", r"grep child ", "grep id "),
    Rewriting("*/trigger-hist*.tc", r"call_site", "function"),
    Rewriting("*/trigger-hist*.tc", r"bytes_req", "line"),
    Rewriting("*/trigger-hist*.tc", r"bytes_alloc", "function"),
    Rewriting("*/test_duplicates.tc", r"syscalls/sys_enter_open ", "py/import "),
    Rewriting(_EVERYWHERE, r"\bsyscalls([/:.])sys_(?:enter|exit)_(?:openat|chdir)", r"py\1audit"),
    Rewriting("*/*eprobe*.tc", r'SYSTEM="syscalls"', 'SYSTEM="py"'),
    Rewriting("*/add_remove_eprobe.tc", r'EVENT="\w+"', 'EVENT="audit"'),
    Rewriting("*/add_remove_eprobe.tc", r"\+0\(\\\$filename\):ustring", r"\\$args:string"),
    Rewriting("*/add_remove_eprobe.tc", r"'file=\"\$FG_TRACING\"", "'file=\".*/tracing"),
    Rewriting("*/test_duplicates.tc", r"\+0\(\$filename\):ustring", r"$args:string"),
    Rewriting("*/eprobes_syntax_errors.tc", r"dfd", "line"),
    # Tracepoints that a `t` names.
    Rewriting("*/add_remove_tprobe.tc", r"=kmem_cache_alloc", "=raise"),
    Rewriting("*/add_remove_tprobe.tc", r"=kmem_cache_free", "=gc_done"),
    Rewriting("*/tprobe_syntax_errors.tc", r"kernel\.kfree", "raise"),
    Rewriting("*/add_remove_btfarg.tc", r"tpevent \$TP ptr", "tpevent raise line"),
    Rewriting("*/add_remove_btfarg.tc", r"tpevent \$TP ", "tpevent raise "),
    Rewriting("*/add_remove_btfarg.tc", r"ptr=ptr", "line=line"),
    Rewriting("*/add_remove_btfarg.tc", r"TP2=kmem_cache_alloc", "TP2=raise"),
    Rewriting("*/add_remove_btfarg.tc", r"TP4=sched_wakeup", "TP4=task_create"),
    Rewriting("*/add_remove_btfarg.tc", r"\bs->object_size", "type->object_size"),
    Rewriting("*/add_remove_btfarg.tc", r"\bp->se", "name->se"),
    # Fields.
    Rewriting("*/trigger/*", r"\bparent_pid\b", "parent_id"),
    Rewriting("*/trigger/*", r'grep -o "child_pid', 'grep -o " id'),  # and not in parent_id
    Rewriting("*/trigger/*", r"\bchild_pid\b", "id"),
    Rewriting("*/trigger/*", r"\bparent_comm\b", "parent"),
    Rewriting("*/trigger/*", r"\bchild_comm\b", "name"),
    Rewriting("*/trigger/*", r"\b(prev|next)_pid\b", r"\1_id"),
    Rewriting("*/trigger/*", r"\b(prev|next)_comm\b", r"\1_name"),
    Rewriting("*/trigger/*", r"\bprev_prio\b", "next_coro"),
    Rewriting("*/trigger/*", r"\bint prio\b", "u64 parent_id"),
    Rewriting("*/trigger/*", r"(?<!\$)\bprio\b", "parent_id"),
    Rewriting("*/trigger/*", r"synthetic_prio", "synthetic_parent_id"),
    Rewriting("*/trigger-synthetic-event-dynstring.tc", r"=filename:", "=name:"),
    Rewriting("*/trigger-trace-marker-*.tc", r"keys=pid", "keys=id"),
    Rewriting("*/trigger-synthetic-event-stack*.tc", r" if prev_state[^']*", ""),
    Rewriting("*/trigger-synthetic-event-stack*.tc", r'"=>\.\*sched"', '"=>.*asyncio"'),
    Rewriting("*/trigger-snapshot-action-hist.tc", r'"comm=ping"', "'name=\"ping\"'"),
    Rewriting("*/inter-event/*", r"\bpid_t pid\b", "u64 id"),
    Rewriting("*/inter-event/*", r"(?<![\w$])pid\b(?!_)", "id"),
    Rewriting("*/inter-event/*", r"(?<![\w$/])comm\b", "name"),
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
