"""Writing a trace while a program runs, and reading traces."""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, Final, Literal, Protocol, Self, TypeAlias, TypeVar, final, type_check_only

from typing_extensions import Buffer

@type_check_only
class _HasFileno(Protocol):
    def fileno(self) -> int: ...

_Descriptor: TypeAlias = int | _HasFileno

@type_check_only
class FunctionRows(Protocol):
    """Functions as a Reader takes them, see Reader.set_names()."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[str, str, int]]: ...

# Compression: src/binding/tracedata/python_codec.c

@type_check_only
class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...

CODECS: Final[tuple[str, ...]]  # all that there can be, the best first

def codec_names() -> tuple[str, ...]:
    """Return the names of the codecs that are there: "zstd", "zlib" and "none", the best first.

    Loads the C libraries, if the system has them.
    """

def provide_codec(
    name: str, compress: Callable[[bytes], bytes], decompressor: Callable[[], _Decompressor], /
) -> bool:
    """Hand in a codec that the system has no C library for. It stays for good.

    Its callables are called by threads that record or read a trace, in the main interpreter. They should not
    run Python code: an exception that a signal's handler raises there would be lost.

    Args:
        name: "zstd" or "zlib".
        compress: returns its argument compressed.
        decompressor: returns a new object that decompresses, as `zlib.decompressobj` does.

    Returns:
        Whether it was taken. It is not if the codec is there, nor in another interpreter than the main one.

    Raises:
        ValueError: another name.
    """

# Reading: src/binding/tracedata/reader.c, kernel.c

HEAD_PARTS: Final[tuple[str, ...]]  # of a trace.dat
KERNEL_ROLES: Final[tuple[str, ...]]  # what the records of an event can be
KERNEL_FIELDS: Final[tuple[str, ...]]  # those that are read, by their names in the kernel

REPORT_OPTIONS: Final[
    tuple[tuple[str, int, Literal["on", "off", "auto"], str], ...]
]  # name, bit, default, help

# A selection (selection.c): of each function bits, 1: its calls are selected, 2: and all that they call;
# whether any function has bit 1, bit 2; the first and last time; levels of calls (0: all); nanoseconds that
# a call ran at least; whether calls are hidden; the selected events (None: all): type, program of a
# filter (None: all of that type), and fields of the event: type, count, offset, fault bit; which calls are
# selected by their values (None: all): for each function a u32, 1 + the place of its filter, 0 for none;
# filters, their fields, and their attributes (number of the argument, -1 of the result, -2 of the exception;
# name); how many calls around each are shown; whether all that they call is; what is called with what was met
# of the attributes of each filter: whether any call has the value, whether any such value has the attribute,
# and, if none has, names of attributes that these have. What it raises ends the reading.
SelectionTuple: TypeAlias = tuple[
    bytes,
    bool,
    bool,
    int,
    int,
    int,
    int,
    bool,
    list[tuple[int, bytes | None, list[tuple[str, int, int, int]]]] | None,
    tuple[
        bytes,
        list[tuple[bytes, list[tuple[str, int, int, int]], list[tuple[int, bytes]]]],
        int,
        bool,
        Callable[[list[list[tuple[bool, bool, list[str]]]]], None],
    ]
    | None,
]

# The fields of a call, beside its arguments: name, type, offset, fault bit (FG_CALL_FIELDS in call_image.h).
CALL_FIELDS: Final[tuple[tuple[str, str, int, int], ...]]
CALL_ARGUMENTS_AT: Final[int]  # where its arguments begin, 4 bytes each
CALL_MOST_ARGUMENTS: Final[int]
CALL_ATTRIBUTES_AT: Final[int]  # where the attributes begin that a filter names, 4 bytes each
CALL_MOST_ATTRIBUTES: Final[int]

# Groups of calls by a value (value_groups.h): the value as recorded, or its size; calls, those that raised,
# those whose duration is known; total, shortest and longest of these; the sum of the binary logarithms;
# begin, end and task of the longest; counts by duration (u32, four for each power of two).
ValueGroupTuple: TypeAlias = tuple[bytes, int, int, int, int, int, int, float, int, int, int, bytes]
# Groups, and what the calls are that came when there were too many groups.
ValueGroupingTuple: TypeAlias = tuple[list[ValueGroupTuple], ValueGroupTuple | None]
# By value, by size.
ValueFieldTuple: TypeAlias = tuple[ValueGroupingTuple, ValueGroupingTuple]
# An attribute: whether it is of an argument, the number of the argument, or of the outcome; its name.
ValueAttributeTuple: TypeAlias = tuple[bool, int, str, ValueFieldTuple]
# Of a function: its index, all its calls, the sum of the squares of the logarithms, how many did not end, its
# arguments, its results and exceptions, and attributes of all of these.
ValuesTuple: TypeAlias = tuple[
    int,
    ValueGroupTuple,
    float,
    int,
    list[ValueFieldTuple],
    list[ValueFieldTuple],
    list[ValueAttributeTuple],
]

# Calls of a function (struct fg_ranked_calls): key, how many ended, how many did not; the longest one
# (number, begin_ns, end_ns, task, resumes); groups (calls, least_ns, most_ns): slow, typical; when the chosen
# calls began, 64-bit words, and the group of each, bytes.
SlowCallsTuple: TypeAlias = tuple[
    int, int, int, tuple[int, int, int, int, int] | None, list[tuple[int, int, int]], bytes, bytes
]

LOCKSTEP_DIFFERENCES: Final[tuple[str, ...]]  # FG_LOCKSTEP_DIFFERENCES in lockstep.h

# What Reader.lockstep() takes of a trace (struct fg_lockstep_side): functions, tasks, select_unknown and
# selection as of calls(); a 32-bit word for each function, and one more for those without a name: the number
# of its name; the number of the root's name, or -1; when the root began.
LockstepSideTuple: TypeAlias = tuple[
    FunctionRows,
    list[tuple[int, int, int, str, int, int, bool]],
    bool,
    SelectionTuple | None,
    Buffer,
    int,
    int,
]
# Side 0 or 1, two of the tasks that have calls in it, and (lane, tid) of tasks that are not in the list.
LockstepThreadsTuple: TypeAlias = tuple[int, tuple[int, int], list[tuple[int, int]]]
# A beginning or an end (struct fg_lockstep_moment): kind, function, depth, name, time_ns, values.
MomentTuple: TypeAlias = tuple[int, int, int, int, int, bytes]
# Where sides differ (struct fg_lockstep_place): what, calls, nr_roots, root_ns of both, path (names), before
# (depth, name), and the moment of each; None: it has no further call.
LockstepPlaceTuple: TypeAlias = tuple[
    int,
    int,
    int,
    tuple[int, int],
    list[int],
    list[tuple[int, int]],
    tuple[MomentTuple | None, MomentTuple | None],
]
# Threads, if one has several; the first value that differs; the first call that does; the calls of both from
# there on (depth, name); how often each calls functions of a name, 64-bit words by the number of the name.
LockstepTuple: TypeAlias = tuple[
    LockstepThreadsTuple | None,
    LockstepPlaceTuple | None,
    LockstepPlaceTuple | None,
    tuple[list[tuple[int, int]], list[tuple[int, int]]],
    tuple[bytes, bytes],
]

EXCEPTION_FATES: Final[tuple[str, ...]]  # FG_EXCEPTION_FATES in exceptions.h

# An exception (struct fg_exception): number, type, fate, identity, begin_ns, raised_ns, left_ns, task,
# handler, frames (function, caller_line); number, function and type of the one before it; and its cause, a
# recorded value, or nothing.
ExceptionTuple: TypeAlias = tuple[
    int, str, int, int, int, int, int, int, int, list[tuple[int, int]], int, int, str, bytes
]
# Groups (the first one, count, last_number, last_ns), how many there are, how many are in no group, and the
# one that is returned by itself.
ExceptionsTuple: TypeAlias = tuple[
    list[tuple[ExceptionTuple, int, int, int]], int, int, ExceptionTuple | None
]

# Calls repeated below others (struct fg_repeat_group): below, function, kind, runs, calls, ran_ns,
# repeated_ns, most, most_begin_ns, most_end_ns, most_task, text.
RepeatGroupTuple: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int, bytes]
# Calls of a function over the run (struct fg_repeat_function): function, calls, hits, hit_ns, differing,
# repeated, best_calls, best_ns, best arguments, is_none, is_partial.
RepeatFunctionTuple: TypeAlias = tuple[int, int, int, int, int, int, int, int, bytes, int, int]
# Results that callers discard (struct fg_discards_function): function, calls, results, discarded, ran_ns,
# longest_begin_ns, longest_end_ns, longest_task.
DiscardsFunctionTuple: TypeAlias = tuple[int, int, int, int, int, int, int, int]
# These, exceptions, how many counts were forgotten; numbers of calls, of those that did not end, of those
# that are suspended at the end; names of folded imports.
RepeatsTuple: TypeAlias = tuple[
    list[RepeatGroupTuple],
    list[RepeatFunctionTuple],
    list[DiscardsFunctionTuple],
    ExceptionsTuple,
    int,
    tuple[int, int, int],
    list[str],
]

MATCH_DIFFERENCES: Final[tuple[str, ...]]  # FG_MATCH_DIFFERENCES in call_matcher.h

# A line (struct fg_expected_line): number of its function's name; least, most (2**32 - 1: any number); lines
# that it calls (-1: any calls; None: it may call anything); arguments, name and glob (None: any); whether
# others may follow; a glob for the result, or None; whether it raises.
ExpectedLineTuple: TypeAlias = tuple[
    int, int, int, tuple[int, ...] | None, tuple[tuple[str, str], ...] | None, bool, str | None, bool
]
# What is expected (struct fg_expectation): names of functions, one or two globs each; lines, the sections at
# their end; how many of these there are; names of functions.
ExpectationTuple: TypeAlias = tuple[
    tuple[tuple[str, ...], ...], tuple[ExpectedLineTuple, ...], int, tuple[str, ...]
]
# Where calls differ (struct fg_match_difference): the calls around it, what, lines, the calls before it (0:
# none), and the call itself (0: none).
MatchDifferenceTuple: TypeAlias = tuple[list[int], int, list[int], tuple[int, int], int]
# Threads (number of the first outermost call, the task in which it ended, differences by section); outermost
# calls that ended in other tasks than was supposed (number, task); (lane, tid) of tasks that are not in the
# list; how many calls there are; a byte for each function, and one for those without a name: whether it was
# called.
ExpectTuple: TypeAlias = tuple[
    list[tuple[int, int, list[MatchDifferenceTuple | None]]],
    list[tuple[int, int]],
    list[tuple[int, int]],
    int,
    bytes,
]

def match_calls(
    expectation: ExpectationTuple,
    calls: tuple[tuple[int, int, str, str, int], ...],
    most_steps: int,
    /,
) -> MatchDifferenceTuple | None:
    """Compare calls with an expectation of one section; return where they first differ, or None.

    Args:
        expectation: what is expected.
        calls: depth, function, arguments, result, end (index in CALL_ENDS), each after the call around it.
            The difference has their places, from 1.
        most_steps: as of Reader.expect().

    Raises:
        ValueError: a number is impossible.
        OverflowError: it takes more steps.
    """

def match_functions(pattern: str, functions: list[tuple[str, str]], /) -> bytes:
    """Match a filter pattern, as of `funcgraph record -l`, with functions.

    Args:
        pattern: a glob over names, also with `:mod:MODULE`.
        functions: of each its name, with its module, and its module.

    Returns:
        A byte for each function: 1 if the pattern matches it, else 0.

    Raises:
        ValueError: it is no pattern; the text says why, and at which column.
    """

@final
class Reader:
    """An opened trace.

    Args:
        path: its path, or a descriptor, which stays the caller's.
        progress: called now and then by the methods and iterators that read the trace, with the share of what
            they read that is done, 0 to 1. What it raises ends the reading.

    Raises:
        ValueError: the file is not a whole trace; the message says why.
        NotImplementedError: it is compressed, and nothing here can decompress it: provide_codec().
        OSError: it cannot be opened or read.
    """

    def __new__(
        cls,
        path: str | bytes | PathLike[str] | int,
        progress: Callable[[float], object] | None = None,
    ) -> Reader: ...
    @property
    def meta(self) -> bytes | None:
        """The trace's own JSON, not decoded; None of a kernel's trace, which trace-cmd recorded."""
    @property
    def nr_unlisted(self) -> int:
        """How many functions a .fg has, if they are so many that `meta` lists none; else 0."""
    def function(self, number: int, /) -> str:
        """Return one of the functions that `meta` does not list, as JSON, as the list would have it.

        Raises:
            IndexError: there is none.
        """
    @property
    def buffer_names(self) -> list[bytes]:
        """The names of a trace.dat's buffers, as they are in its head."""
    @property
    def clock(self) -> bytes:
        """The clocks in a trace.dat's head, the trace's own in brackets; empty if it has none."""
    @property
    def nr_cpus(self) -> int:
        """How many lanes each buffer has."""
    def part(self, name: str, /) -> bytes:
        """Return a part of a trace.dat's head, decompressed.

        Args:
            name: one of HEAD_PARTS. FG_DAT_PARTS in dat_head.h says what each has.

        Raises:
            ValueError: no such part, or it is damaged.
            OSError: the file cannot be read.
        """
    def set_formats(self, events: list[tuple[int, str, str, tuple[tuple[int, int], ...]]], /) -> None:
        """Describe the events of a kernel's trace, once, before anything else is read.

        Args:
            events: id, name, one of KERNEL_ROLES, and offset and size of each of KERNEL_FIELDS: (0, 0) for a
                field that it does not have.

        Raises:
            ValueError: two events have one id, or one lacks a field of its role.
        """
    def scan(self) -> tuple[list[tuple[int, int, int, int, int]], bytes, list[tuple[int, int]]]:
        """Read all records of a kernel's trace, for what its head does not tell.

        Returns:
            Tasks, each with lane, tid, first_ns, last_ns and number of events; addresses of functions, as
            64-bit words; of each lane the numbers of events and of lost ones. Data after damage in a lane is
            left out.

        Raises:
            OSError: the file cannot be read.
        """
    def set_addresses(self, rows: bytes, /) -> None:
        """Tell where the addresses of a kernel's trace lie, before `set_names`.

        Args:
            rows: sorted; of each address: itself (8 bytes), the function's index (4), the offset in it (4).

        Raises:
            ValueError: they are not sorted.
        """
    @property
    def imports(self) -> list[str]:
        """Names of the imports that were folded since set_names(): `import json`."""
    @property
    def nr_lanes(self) -> int:
        """How many lanes the trace has in all buffers."""
    def set_names(
        self,
        functions: FunctionRows,
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        select_unknown: bool,
        /,
    ) -> None:
        """Hand in the names of the trace's JSON: before events are read, and again while no ReportIterator
        exists.

        Args:
            functions: by index: name, argument names joined by ',', size in bytes of native code (else 0).
                They are gone through once, so that they need not be there all at a time.
            tasks: lane, tid, pid, name, first_ns, last_ns, selected. Only events of selected tasks are read.
            select_unknown: read the events of tasks that are not listed too.
        """
    def set_events(self, types: list[tuple[str, str, int, str]], /) -> None:
        """Hand in the kinds of events of the trace's JSON, once, before events are read. A .fg has its own.

        Args:
            types: by number: system, name, where the fields begin, "TYPE NAME COUNT OFFSET;..."

        Raises:
            ValueError: one of them cannot be.
        """
    def report(
        self,
        buffers: list[tuple[str, int, int, int, str | None]],
        header: int,
        color: bool,
        selection: SelectionTuple | None = None,
        folds: bytes | None = None,
        links: tuple[tuple[bytes, int] | None, ...] | None = None,
        /,
    ) -> ReportIterator:
        """Return an iterator over the report's text, in pieces of whole lines.

        Args:
            buffers: for each of the trace's buffers: the layout, 'function_graph', 'function' or, of a
                kernel's trace, 'trace-cmd'; bits of REPORT_OPTIONS; events and lost records, for the header;
                the prefix of each line, or None.
            header: the number of the buffer whose header is printed.
            color: add escape sequences for a terminal.
            selection, folds: as of summary().
            links: for each function what makes terminals' links of its name and of places in it: an address,
                in which a zero byte stands for the line, and the line on which it begins.

        Raises:
            ValueError: the trace has another number of buffers. From the iterator: the file is damaged.
            OSError: from the iterator: the file cannot be read.
        """
    def summary(
        self, selection: SelectionTuple | None = None, folds: bytes | None = None, /
    ) -> tuple[list[tuple[int, int, int, int, int, int, int, int, int, int, int]], list[tuple[int, int]]]:
        """Read the whole trace; return a row for each function with events, and one for each kind of event
        that was hit.

        Args:
            selection: the events that are read; None: all.
            folds: to make one call of each import: what each function is in imports, enum fg_fold_mark. None:
                imports stay as they are.

        Returns:
            Rows of index, calls, resumes, exceptions, total_ns, self_ns, min_ns, max_ns, ended, ended_ns,
            native_ns. The index after the last function's stands for all functions that the trace does not
            name, the one after that for all folded imports. Then rows of number and hits: of the trace's
            event_types.

        Raises:
            ValueError: the file is damaged.
            OSError: it cannot be read.
        """

    def call_tree(
        self, group: str, selection: SelectionTuple | None = None, folds: bytes | None = None, /
    ) -> tuple[
        list[tuple[int, int, int, int, int, int, int, int, int, int, int]], tuple[memoryview[int], ...]
    ]:
        """Read the whole trace; return what summary() does, and the merged call tree.

        Args:
            group: one of TREE_GROUPS: what has a root of its own.
            selection: what is counted; None: all.
            folds: as of summary(). Imports have the indexes after that of functions without a name, in the
                order of `imports`.

        Returns:
            The rows of summary(), and columns as in TREE_COLUMNS: an item for each path of functions, parents
            before their children. A root has the parent 2**32 - 1, and as its function the number of its
            group: 0, a process id, or a task's place in the list of tasks.

        Raises:
            ValueError: another group; or the file is damaged.
            OSError: it cannot be read.
        """

    def columns(
        self,
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        select_unknown: bool,
        size: int,
        selection: SelectionTuple | None = None,
        /,
    ) -> ColumnsIterator:
        """Return an iterator over all events. set_names() need not be called; several iterators may be used
        at the same time.

        Args:
            tasks, select_unknown: as of set_names(). The event of a task has its place in this list.
            size: events in a batch, 1 to 2**24.
            selection: the events that are read; None: all.

        Raises:
            ValueError: `size` is impossible. Here or from the iterator: the file is damaged.
            OSError: likewise: the file cannot be read.
        """
    def calls(
        self,
        functions: FunctionRows,
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        select_unknown: bool,
        size: int,
        selection: SelectionTuple | None = None,
        texts: bool = True,
        numbers: tuple[int, ...] = ...,
        /,
    ) -> CallsIterator:
        """Return an iterator over all calls, in the order of their ends; those that did not end come last.

        Args:
            functions, tasks, select_unknown: as of set_names().
            size: calls in a batch, 1 to 2**24; a few more if one event ends several.
            selection: the events that are read; None: all.
            texts: whether arguments and results are printed; else their texts are empty.
            numbers: of calls, ascending: only these are returned. Default: all.

        Raises:
            ValueError, OSError: as columns().
        """
    def call_values(
        self,
        functions: FunctionRows,
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        select_unknown: bool,
        function_mask: bytes,
        selection: SelectionTuple | None,
        /,
    ) -> list[ValuesTuple]:
        """Read the whole trace, and group the calls of some functions by each of their values.

        Args:
            functions, tasks, select_unknown, selection: as of calls().
            function_mask: a byte for each function; not 0: its calls are grouped.

        Raises:
            ValueError: the file is damaged.
            OverflowError: more than 64 of these functions were called.
            OSError: it cannot be read.
        """
    def repeats(
        self,
        functions: FunctionRows,
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        select_unknown: bool,
        function_mask: bytes,
        least: int,
        selection: SelectionTuple | None,
        folds: bytes | None,
        /,
    ) -> RepeatsTuple:
        """Read the whole trace, and return which calls were made more than once, or for nothing.

        Args:
            functions, tasks, select_unknown, selection: as of calls().
            function_mask: a byte for each function; not 0: its calls are compared.
            least: so many calls below one call are a repetition, at least 2.
            folds: as of summary().

        Raises:
            ValueError: `least` is less than 2; or the file is damaged.
            OSError: it cannot be read.
        """
    def exceptions(
        self,
        functions: FunctionRows,
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        select_unknown: bool,
        number: int,
        selection: SelectionTuple | None,
        folds: bytes | None,
        /,
    ) -> tuple[ExceptionsTuple, tuple[int, int, int], list[str]]:
        """Read the whole trace, and return where exceptions were raised and handled.

        Args:
            functions, tasks, select_unknown, selection: as of calls().
            number: of the exception that is returned by itself, from 1; 0: none.
            folds: as of summary().

        Returns:
            The exceptions; numbers of calls, of those that did not end, of those that are suspended at the
            end; names of folded imports.

        Raises:
            ValueError: the file is damaged.
            OSError: it cannot be read.
        """
    def call_index(
        self,
        functions: FunctionRows,
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        most_bytes: int,
        progress: Callable[[int], object] | None = None,
        /,
    ) -> CallIndex:
        """Read the whole trace, and return the index of its calls.

        Args:
            functions, tasks: as of set_names().
            most_bytes: of spans, cells and marks; if more are needed, the shortest spans are in cells only.
            progress: called now and then with the number of events that were read. What it raises ends the
                making, and comes from this call.

        Raises:
            ValueError: `most_bytes` is less than 1, or the file is damaged.
            OSError: it cannot be read.
        """
    def load_call_index(self, fd: int, key: bytes, nr_functions: int, nr_tasks: int, /) -> CallIndex:
        """Read the index of the trace's calls from what CallIndex.save() wrote, instead of making it.

        Args:
            fd: the file.
            key: 32 bytes, as for CallIndex.save().
            nr_functions, nr_tasks: how many call_index() gets of them.

        Raises:
            ValueError: it has another key, does not fit the trace, or is damaged.
            OSError: it cannot be read.
        """
    def run_table(
        self,
        functions: FunctionRows,
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        func_flags: bytes,
        most_runs: int,
        most_roots: int,
        /,
    ) -> tuple[ColumnTuple, ColumnTuple, int]:
        """Read the whole trace, and return when each root, a coroutine or a greenlet, has a thread. Of a
        kernel's trace the roots are CPUs, and their runs tell which thread has them.

        Args:
            functions, tasks: as of set_names().
            func_flags: the flags of each function, u8.
            most_runs: if there are more, those of a root that are close together become one; of CPUs the
                shortest are left out.
            most_roots: the later ones are only counted.

        Returns:
            Columns of the roots as in ROOT_COLUMNS, of their runs as in RUN_COLUMNS, by root and time; and
            how many roots were left out.

        Raises:
            ValueError: a number is less than 2, or the file is damaged.
            OSError: it cannot be read.
        """
    def slow_calls(
        self,
        functions: FunctionRows,
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        select_unknown: bool,
        keys: Buffer,
        selection: SelectionTuple | None,
        limits: tuple[int, int],
        /,
    ) -> SlowCallsTuple | None:
        """Read the whole trace; return which calls of a function took long, and which about as long as most:
        slow_calls.h.

        Args:
            functions, tasks, select_unknown, selection: as of calls().
            keys: a 32-bit word for each function: 0: it is left out. Of several keys, that is returned whose
                calls took the most time.
            limits: how many calls are sorted at most, and how many of a group are chosen at most; the others
                are left out evenly.

        Returns:
            None: there is no call.

        Raises:
            ValueError: a limit is less than 1, or the file is damaged.
            OSError: it cannot be read.
        """
    def expect(
        self,
        functions: FunctionRows,
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        select_unknown: bool,
        selection: SelectionTuple | None,
        expectation: ExpectationTuple,
        threads: Buffer,
        sections: bytes,
        nr_threads: int,
        moved: tuple[tuple[int, int], ...],
        most_steps: int,
        /,
    ) -> ExpectTuple:
        """Read the whole trace, and compare its calls with an expectation: expect.h.

        Args:
            functions, tasks, select_unknown, selection: as of calls().
            expectation: what is expected. Its functions are those of the trace, and "<unknown>".
            threads: a 32-bit word for each task: the number of its thread. Other tasks have none.
            sections: a byte for each section of the first thread, of the second one, and so on: whether the
                section is of the thread.
            nr_threads: how many threads there are.
            moved: outermost calls that end in other tasks than they begin in: number, and task at the end.
            most_steps: look at so many pairs of a call and a place in the lines at most.

        Raises:
            ValueError: the file is damaged; a number is impossible.
            OverflowError: it takes more steps.
            OSError: it cannot be read.
        """
    def lockstep(
        self, one: LockstepSideTuple, reader: Reader, other: LockstepSideTuple, nr_names: int, ahead: int, /
    ) -> LockstepTuple:
        """Read two traces side by side; return where their calls first differ: lockstep.h.

        Args:
            one: what is read of this trace.
            reader, other: the other trace, which may be the same, and what is read of it.
            nr_names: above all numbers of names.
            ahead: how many events of each are read at most after the place where their calls differ, as far
                as the trace can be read there; 2**64 - 1: all, which can fail.

        Raises:
            ValueError: an argument is impossible, or a file is damaged.
            OSError: it cannot be read.
        """
    def call_parts(
        self,
        functions: FunctionRows,
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        classes: Buffer,
        begins: Buffer,
        groups: Buffer,
        gil: Buffer,
        ready: Buffer,
        sizes: tuple[int, int],
        gc: tuple[int, int],
        /,
    ) -> tuple[list[tuple[int, int, int, int, int]], list[tuple[int, int, int]]]:
        """Read the trace; return what chosen calls spent their time on: call_parts.h.

        Args:
            functions, tasks: as of set_names().
            classes: a byte for each function: a number of CALL_PARTS, and 128: its calls are chosen.
            begins: when the chosen calls began, sorted 64-bit words.
            groups: a byte for each of them: its group.
            gil, ready: stretches of tasks: 64-bit words begin and end, 32-bit words task and label; by task,
                then begin, or end.
            sizes: how many groups and labels there are.
            gc: types of the events at which a collection begins and ends; 0: there are none.

        Returns:
            Rows of group, number of CALL_PARTS, key, nanoseconds and count; of each group how many calls were
            found, how many of these did not end, and how long they took in all.

        Raises:
            ValueError: an argument is impossible, or the file is damaged.
            OSError: it cannot be read.
        """
    def fileno(self) -> int:
        """Return the file's descriptor, which is the Reader's own."""
    @property
    def end(self) -> int | None:
        """Where the chunks of a .fg end in the file, for Follower; None of a trace.dat."""
    @property
    def is_complete(self) -> bool:
        """Whether the recording had ended when the file was opened."""
    @property
    def whole_bytes(self) -> int:
        """How many bytes a .fg had when it was complete; 0: it never was, or it is a trace.dat."""

@final
class ReportIterator:
    """The text of a report, piece by piece. Made by Reader.report()."""

    def __iter__(self) -> ReportIterator: ...
    def __next__(self) -> bytes: ...
    def holes(self) -> list[tuple[int, int, bytes]]:
        """Return what the latest piece lacks, of a kernel's trace: the texts of events that are not calls.

        Returns:
            For each: where in the piece it is missing, the event's id, and the record.
        """

# Merged call trees: src/binding/tracedata/summary.c

TREE_COLUMNS: Final[tuple[str, ...]]  # the names of a tree's columns
TREE_GROUPS: Final[tuple[str, ...]]  # "all", "process", "task"

# Parts of calls: src/binding/tracedata/call_parts.c; call_parts.h describes them

CALL_PARTS: Final[tuple[str, ...]]  # by number

# Events as columns: src/binding/tracedata/base/column.c, columns.c, follower.c

COLUMNS: Final[tuple[str, ...]]  # the names of a batch's columns, in the order of ColumnTuple
KINDS: Final[tuple[str, ...]]  # of events, by the number in the column "kind"

ColumnTuple: TypeAlias = tuple[memoryview[Any], ...]  # a batch: of each column, as in COLUMNS

@final
class ColumnsIterator:
    """Batches of events. Made by Reader.columns()."""

    def __iter__(self) -> ColumnsIterator: ...
    def __next__(self) -> ColumnTuple: ...
    def unknown_tasks(self) -> list[tuple[int, int]]:
        """Return (lane, tid) of the tasks that events had so far, but the list of tasks has not. Their
        numbers follow those of that list."""

# Calls as columns: src/binding/tracedata/calls.c; FG_CALL_COLUMNS in call_columns.h describes them

CALL_COLUMNS: Final[tuple[str, ...]]  # the names of a batch's columns
CALL_ENDS: Final[tuple[str, ...]]  # by the number in the column "ended"

@final
class CallsIterator:
    """Batches of calls. Made by Reader.calls()."""

    def __iter__(self) -> CallsIterator: ...
    def __next__(self) -> ColumnTuple: ...
    def unknown_tasks(self) -> list[tuple[int, int]]:
        """As of ColumnsIterator."""

# The index of a trace's calls: src/binding/tracedata/call_index.c; call_index.h and index_query.h describe it

SPAN_COLUMNS: Final[tuple[str, ...]]  # the names of the columns of spans
SPAN_ENDS: Final[tuple[str, ...]]  # by the number in the column "ended"; their number: a cell
MARK_KINDS: Final[tuple[str, ...]]  # by number

# When coroutines and greenlets run: src/binding/tracedata/run_table.c; run_table.h describes it

ROOT_COLUMNS: Final[tuple[str, ...]]  # the names of the columns of roots
RUN_COLUMNS: Final[tuple[str, ...]]  # and of their runs

@final
class CallIndex:
    """The index of a trace's calls. Made by Reader.call_index().

    Spans are returned as columns, as in SPAN_COLUMNS. Where there is at most one, there is a row or none.
    Each method raises ValueError if there is no such lane.
    """

    @property
    def unknown_tasks(self) -> list[tuple[int, int]]:
        """(lane, tid) of the tasks that the list of tasks has not; their numbers follow those of it."""
    @property
    def base(self) -> int:
        """Spans of less than 4**base ns are in cells only."""
    @property
    def nr_spans(self) -> int:
        """How many spans there are one by one."""
    @property
    def nr_bytes(self) -> int:
        """How many bytes spans, cells and marks have."""
    def runs(self) -> tuple[ColumnTuple, ColumnTuple, int] | None:
        """Return the runs that were saved with it, as Reader.run_table(); None: there are none."""
    def save(self, fd: int, key: bytes, runs: tuple[ColumnTuple, ColumnTuple, int] | None = None, /) -> None:
        """Write the index to an empty file, for Reader.load_call_index().

        Args:
            fd: the file.
            key: 32 bytes that say which trace it is of.
            runs: what Reader.run_table() returned, if it was asked for.

        Raises:
            ValueError: that is not what run_table() returned.
            OSError: it cannot be written.
        """
    def lanes(self) -> list[tuple[int, int, int, int, int, int]]:
        """Return of each lane: the number of its first task, first_ns, last_ns, calls, spans and depths."""
    def picture(
        self, lane: int, begin_ns: int, end_ns: int, pixels: int, first_depth: int, last_depth: int, /
    ) -> ColumnTuple:
        """Return what a picture of a part of a lane shows, with cells for what is shorter than a pixel.

        Raises:
            ValueError: also if `end_ns` is not after `begin_ns`, or `pixels` is 0.
            OSError: the trace cannot be read.
        """
    def innermost(self, lane: int, time_ns: int, /) -> ColumnTuple:
        """Return the innermost span that is in progress at a time."""
    def parents(self, lane: int, depth: int, time_ns: int, /) -> ColumnTuple:
        """Return the spans that are in progress at a time at lower depths, the innermost first."""
    def next_span(
        self, function: int, after_ns: int, lane: int = 0xFFFFFFFF, raised: bool = False, /
    ) -> ColumnTuple:
        """Return the first span of a function, in a lane or (2**32 - 1) in all, that begins after a time.

        Args:
            raised: only those that an exception ended.
        """
    def previous_span(
        self, function: int, before_ns: int, lane: int = 0xFFFFFFFF, raised: bool = False, /
    ) -> ColumnTuple:
        """Return the last span of a function that begins before a time, likewise."""
    def rank(self, function: int, begin_ns: int, /) -> int | None:
        """Return how many spans of a function, in all lanes, begin before a time; None: it is not known."""
    def functions(self) -> list[tuple[int, int, int, int, int]]:
        """Return of each function that was called: number, calls, spans, calls that raised, nanoseconds."""
    def longest(self, function: int, least_ns: int, most: int, /) -> ColumnTuple:
        """Return at most `most` spans of a function that took at least so long, the longest first."""
    def durations(self, function: int, /) -> list[int]:
        """Return how many whole calls of a function had a duration of 0, 1, ... 64 bits."""
    def marks(
        self, lane: int, kind: int, begin_ns: int, end_ns: int, most: int, /
    ) -> list[tuple[int, int, int]]:
        """Return time, count and function of at most `most` marks of a lane, in order of time."""

@final
class Follower:
    """Follows a .fg that still grows.

    Args:
        fd: its descriptor, which stays the caller's.
        start: where to begin: the offset after a chunk, or 0.

    Raises:
        ValueError: the file is no .fg.
        OSError: it cannot be read.
    """

    def __new__(cls, fd: int, start: int) -> Self: ...
    def read(self, size: int, /) -> ColumnTuple | None:
        """Return the next events, at most `size` (1 to 2**24); None if there are none now.

        The column "task" has the number of a task in the order of their first events here.

        Raises:
            ValueError: `size` is impossible.
            OSError: the file cannot be read.
        """
    def describe(self, first_function: int, first_task: int, first_event: int, /) -> bytes:
        """Return JSON like the trace's own, with the functions, tasks and kinds of events from these on."""
    def counts(self) -> tuple[int, int, int]:
        """Return how many functions, tasks and kinds of events describe() knows."""
    def has_ended(self) -> bool:
        """Return whether the file was complete when it was last read."""
    def damaged_at(self) -> int | None:
        """Return the offset of the first damaged chunk of events, or None."""

# Exports: src/binding/tracedata/export/slicer.c, perfetto.c

SLICES: Final[tuple[str, ...]]  # the names of the columns of slices, in the order of SliceTuple
SliceTuple: TypeAlias = tuple[memoryview[Any], ...]  # of each column, as in SLICES: FG_SLICES in slices.h
SLICE_WHATS: Final[tuple[str, ...]]  # what a slice can be, by number
SLICE_ONLY_END: Final[int]  # flags of a slice
SLICE_WHOLE: Final[int]
SLICE_IRQ: Final[int]
SLICE_LOST_END: Final[int]

@final
class Slicer:
    """Makes slices of batches of events: when each stretch of each call begins and ends.

    Args:
        has_times: whether the trace's clock counts nanoseconds.
        whats: the kinds of slices that are made: a bit, 1 << number in SLICE_WHATS, for each.
        first_id: the number of the first call, 1 to 2**64 - 1.
    """

    def __new__(cls, has_times: bool, whats: int = 0xFFFFFFFF, first_id: int = 1) -> Slicer: ...
    def add(self, columns: ColumnTuple, threads: Buffer, pids: Buffer, /) -> SliceTuple:
        """Return the slices of a batch of events.

        Args:
            columns: the batch.
            threads: of each task the number of its thread, u32.
            pids: of each task its process, i32.

        Raises:
            ValueError: an array is not what it should be, or an event has an impossible task or depth.
            RuntimeError: another thread uses it.
        """
    def finish(self) -> SliceTuple:
        """Return the ends of the calls that are in progress, and rows of those that are suspended."""

_CallT = TypeVar("_CallT", bound=tuple[Any, ...])

def call_objects(
    type: type[_CallT],
    functions: Sequence[object],
    tasks: Sequence[object],
    ends: Sequence[object],
    slices: SliceTuple,
    columns: ColumnTuple,
    /,
) -> list[_CallT]:
    """Return an object for each slice, all of them ends of calls.

    Args:
        type: the type of the objects: a tuple with the fields of funcgraph.tracedata.calls.Call.
        functions, tasks: what the fields for a function and a task are, by number; None: it is not there.
        ends: likewise what a slice can be, by number in SLICE_WHATS.
        slices: as from Slicer.add().
        columns: the batch that they were made of.

    Raises:
        TypeError, ValueError: an argument is not what it should be.
    """

PERFETTO_NOTES: Final[tuple[str, ...]]  # names of annotations, by number; 0 has none
PERFETTO_SEQUENCE: Final[int]  # the number of the sequence of packets
PERFETTO_DELTA_CLOCK: Final[int]  # the clock of packets: counts from the packet before
PERFETTO_FIRST_TRACK: Final[int]  # the uuid of the track of thread 0
PERFETTO_ARG0: Final[int]  # the number of the annotation name arg0
PERFETTO_FIRST_NAME: Final[int]  # and of the first name of an argument

@final
class PerfettoEncoder:
    """Encodes slices as packets of a Perfetto trace.

    Args:
        clock: Perfetto's number of the trace's clock.
        start_ns: from what the time of the first packet counts.
        func_flags: the flags of each function, u8.
        first_argument: of each function, where its numbers begin in `arguments`, u32; and the end.
        arguments: numbers of annotation names, u32.

    Raises:
        ValueError: an array is not what it should be.
    """

    def __new__(
        cls, clock: int, start_ns: int, func_flags: Buffer, first_argument: Buffer, arguments: Buffer
    ) -> PerfettoEncoder: ...
    def write(self, columns: ColumnTuple | None, threads: Buffer, slices: SliceTuple, /) -> bytes:
        """Return the packets of some slices, and of calls that the function tracer recorded.

        Args:
            columns: the events that the slices came from; None: the slices are the last ones.
            threads: of each task the number of its thread, u32.
            slices: as from Slicer.

        Raises:
            ValueError: an array is not what it should be.
            RuntimeError: another thread uses it.
        """
    def new_tracks(self) -> list[tuple[int, int, int]]:
        """Return uuid, thread and function of tracks of tasks that packets have had since the last call."""

# Writing: src/binding/tracedata/write/recorder.c, convert.c

def convert(
    source: str | bytes | PathLike[str] | int,
    output: str | bytes | PathLike[str] | int,
    /,
    *,
    version: int = 7,
    compression: str | None = None,
    values_are_texts: bool = False,
    progress: Callable[[float], object] | None = None,
) -> int | None:
    """Write a trace.dat of a .fg trace, complete or not.

    There is a whole trace at `output` or none.

    Args:
        source: path or descriptor of the .fg trace.
        output: path of the trace.dat. A regular file is replaced; links are refused (output_file.py). Or
            the descriptor of an empty file, open for reading and writing.
        version: 6 or 7.
        compression: of version 7: 'zstd', 'zlib', 'none'; None: the best that is there.
        values_are_texts: fields of any type of value are texts, as event_format() says; False: they are
            numbers if all values in the trace are.
        progress: called now and then with the share that is done, 0 to 1. What it raises ends the writing.

    Returns:
        The offset of the first damaged place in `source`, whose events count as lost; None: there is none.

    Raises:
        ValueError: `source` is not a .fg trace, or is compressed with what is not there; an unknown version
            or compression, or one that is not there.
        IsADirectoryError: `output` is a folder.
        OSError: a file cannot be read or written; or `output` is a device or the like.
    """

def real_time() -> tuple[int, int, int | None]:
    """Return the same instant on two clocks.

    Returns:
        CLOCK_MONOTONIC and CLOCK_REALTIME, in ns, read within some 100 ns; and how far CLOCK_REALTIME may be
        off, in ns, as the kernel knows it (adjtimex(2), maxerror); None: nothing synchronises it.
    """

def ring_file_bytes(buffer_bytes: int, /) -> int:
    """Return the size of the largest file that a ring buffer of so many bytes has, in bytes."""

def join_rotation(files: tuple[_Descriptor, ...], into: int, /) -> None:
    """Write one trace of the files that a recording was rotated into: a ring is one in all of them.

    Args:
        files: objects with a descriptor, or descriptors, in any order.
        into: the descriptor of an empty file.

    Raises:
        ValueError: one is no .fg trace, or is damaged.
        OSError: a file cannot be read or written.
    """

def join(
    parts: tuple[tuple[int, str | None, int, int, int, int, int, int | None], ...],
    meta: str,
    output: str | bytes | PathLike[str],
    progress: Callable[[float], object] | None = None,
    /,
) -> tuple[int, int]:
    """Write one .fg trace of several.

    There is a whole trace at `output` or none. What the parts say of their host and clock is replaced.

    Args:
        parts: of each: the descriptor of a .fg trace; the name of its host, or None: all parts are of one
            host; the host's number, below 65536: parts with one number have clocks that agree; two instants
            of the host's CLOCK_MONOTONIC, each with the trace's time then, in ns; and how far off the
            trace's times may be, in ns, or None: not known.
        meta: the trace's description, a JSON object.
        output: path of the trace; a file of that name is replaced.
        progress: called now and then with the share that is done, 0 to 1. What it raises ends the writing.

    Returns:
        How many records it has; how many damaged places the parts have, whose events are missing.

    Raises:
        ValueError: a part is no .fg trace.
        OSError: ENOSPC: the parts have too many processes; or a file cannot be read or written.
    """

def header_page() -> str:
    """Return how a page of a trace.dat begins: the kernel's file events/header_page."""

def header_event() -> str:
    """Return how a record in it begins: the kernel's file events/header_event."""

def event_format(system: str, name: str, fields: str, fields_at: int, id: int, /) -> str:
    """Return the format text of an event, as the kernel's file events/SYSTEM/NAME/format has it.

    It is the text that a trace.dat has of the event. A field of any kind of value is a text in it.

    Args:
        system, name: the event's names.
        fields, fields_at: as _engine.Event has them.
        id: its number.

    Raises: OSError: EINVAL: these describe no event. MemoryError.
    """

def replace_file(path: str | bytes | PathLike[str], data: bytes | bytearray | memoryview, /) -> None:
    """Write a file that appears under its name when it is whole, or not at all. A file of that name is
    replaced.

    Raises:
        OSError: it cannot be written; ENOTSUP: the path is a device or the like.
    """

CLOCKS: Final[tuple[str, ...]]  # those a trace can have, by the kernel's names (trace_clock)

@final
class Recorder:
    """Drains ring-buffer files into a spool, a .fg trace, while programs run.

    The spool is a self-contained file that only grows: it can be read at any time, and its contents survive
    this process. It is locked while it is open, so no two recorders append to one spool. Rings are numbered
    from 0 in the order in which they are added. A method that moves data releases the GIL; a call from
    another thread then raises RuntimeError.

    An error of the spool (no space left) loses nothing: what could not be appended stays in the ring, and the
    call may be repeated.

    Args:
        part: path of the spool; or the descriptor of an empty file without a name, open for reading and
            writing, which stays the caller's.
        clock: one of CLOCKS: the clock of the trace's times. A resumed spool has its own.
        resume: take in the spool that a recorder left at `part`, and append to it. Damaged places and an
            incomplete end are skipped. Without `resume`, the spool is created and must not exist.
        compress: with the best codec that there is; False: not at all, which loads no library.
        buffer_kb: the most that the sub-buffers of a ring may have together, in KiB: what its process was
            asked for. A larger ring is damaged. 0: any size that a ring may have.

    Raises:
        FileExistsError: `part` exists, without `resume`.
        BlockingIOError: another recorder has the spool open.
        ValueError: `clock` is unknown; with `resume`, the file is not a spool. From any method: the recorder
            is closed.
        OSError: the file cannot be created or read.

    Example:
        >>> recorder = Recorder("trace.fg")
        >>> with open("/run/user/1000/funcgraph-1/4711.0.ring", "r+b") as file:
        ...     ring = recorder.add_ring(file.fileno(), "4711.0.ring")
        >>> while not recorder.info(ring)["finished"]:
        ...     recorder.drain(ring)
        >>> recorder.finish(ring)
        >>> recorder.complete("{}")
        >>> recorder.close()
        >>> convert("trace.fg", "trace.dat")
    """

    def __new__(
        cls,
        part: str | PathLike[str] | int,
        *,
        clock: str = "mono",
        resume: bool = False,
        compress: bool = True,
        buffer_kb: int = 0,
    ) -> Self: ...
    def add_ring(self, fd: int, name: str = "", /, *, private: bool = False) -> int:
        """Map an open ring-buffer file. Return its number, for the other methods.

        A file that the resumed spool knows gets its former number, and what the spool has of it is not
        drained again.

        Its process may truncate the file at any time. So that this does not end the recorder, a handler of
        SIGBUS is installed while there are such rings.

        Args:
            fd: for reading and writing. It stays the caller's. There is no path, as the folder may be another
                user's.
            name: of the file, by which a resumed spool knows it.
            private: no other process has the file, so no handler is needed.

        Raises:
            ValueError: the file is not a ring buffer, or is damaged.
            FileExistsError: this recorder has it mapped already.
            OSError: no such descriptor; memory or descriptors are short; or the spool cannot be written.
        """

    def drain(self, ring: int, /) -> int:
        """Drain the sub-buffers that are full now, and new symbols; wake a waiting writer.

        Returns:
            How many records were drained.

        Raises:
            ValueError: no such ring is mapped. Or its owner has damaged it, as the text says ("its file was
                truncated by its owner"): it is given up, and the spool has what was drained before.
            OSError: the spool cannot be written (ENOSPC, EIO ...).
        """

    def finish(self, ring: int, /) -> None:
        """Drain the rest of a ring and unmap its file, which stays.

        Only for a ring whose writer has finished, was stopped, or is gone. Sub-buffers that are not full are
        drained too, and so are those that a killed recorder had claimed.

        Raises:
            ValueError: as of drain().
            OSError: the spool cannot be written; the ring stays mapped.
        """

    def stop_writer(self, ring: int, /) -> None:
        """Ask the ring's writer to stop recording. Its program goes on without tracing.

        Raises:
            ValueError: no such ring is mapped.
        """

    def info(self, ring: int, /) -> dict[str, Any]:
        """Return the figures of a ring, also after finish().

        Returns:
            "pid"; "instance": its name, "" for the top one; "finished": the writer closed the ring itself;
            "killed": the broken invariant that stopped the tracing of the process, or None; "records" and
            "bytes" drained so far; "lost": records dropped, overwritten or damaged; "overrun": calls not
            traced because a shadow stack was full; "waits" and "wait_ns": how often and how long its threads
            waited for the recorder; "tasks" that wrote; "cut": 1 if names are missing, as the symbols found
            no room; "functions": those that may be recorded; "seen": all that ran; "processes": 1.

        Raises:
            ValueError: no such ring.
        """

    def totals(self) -> dict[str, int]:
        """Return the figures of all rings together.

        Returns:
            "records", "bytes", "lost", "overrun", "waits", "wait_ns", "cut": sums; "tasks": a thread counts
            once, however many instances recorded it; "processes" that were traced; "functions" that have a
            record: the same function of several processes counts once.
        """

    def seen_functions(self) -> list[tuple[str, str]]:
        """Return `module.qualname` and module of each function that ran, recorded or not."""

    def matched(self) -> int:
        """Return how many of the functions that ran so far may be recorded."""

    def heaviest(self, count: int, /) -> list[tuple[str, float]]:
        """Return the functions with the most bytes in the spool, by a sample of it.

        Args:
            count: how many at most, 1 to 32.

        Returns:
            The name of each, and its share of all bytes, from 0 to 1; the heaviest first.

        Raises:
            OSError: the spool cannot be read.
        """

    def describe(self, meta: str, /) -> None:
        """Append what the recording was asked for; it replaces what was appended before.

        Args:
            meta: a JSON object, whose members are added to the trace's own JSON; the trace's members win.

        Raises:
            ValueError: `meta` is not a JSON object.
            OSError: it cannot be appended.
        """
    def description(self) -> str:
        """Return the latest text that describe() or complete() appended, also before a resume; '' if none."""
    def complete(self, meta: str, /) -> None:
        """Append the latest counts, `meta` as describe() does, and the footer: the trace is complete.

        Raises:
            ValueError: `meta` is not a JSON object.
            OSError: they cannot be appended; the spool is an incomplete trace, and the call may be repeated.
        """
    def size(self) -> int:
        """Return the bytes of the spool: those of the file now."""
    def rotate(self, part: str | PathLike[str] | int, /) -> tuple[list[int], dict[str, int]]:
        """Complete the trace, without a description of its own, and go on in another spool.

        The new spool is self-contained: it begins with the latest description and with all mapped rings. It
        has nothing of finished rings, so the recorder's memory is that of one spool. No record is lost or in
        both files. Each file tells its own counts.

        Args:
            part: path of the new spool, or the descriptor of an empty file, as `Recorder` takes it.

        Returns:
            The former number of each mapped ring, in the order of their new numbers: 0, 1, ...; and the
            figures of the trace that is complete, as totals().

        Raises:
            FileExistsError: `part` exists.
            OSError: a file cannot be written; EINVAL: the spool was resumed. The recorder goes on with the
                old one, and rings have their old numbers.
        """
    def dump(self, output: str | PathLike[str], segments: tuple[int, ...], meta: str, /) -> dict[str, int]:
        """Write a trace of what earlier spools and this one hold, and go on.

        What the tasks have written so far into the sub-buffers that they own is in it, too. There is a whole
        trace at `output` or none. Drain the rings before.

        Args:
            output: path of the trace; a regular file is replaced.
            segments: descriptors of the spools before this one, that rotate() left, the oldest first.
            meta: a JSON object, as complete() takes it.

        Returns:
            "records": how many the trace has; "lost": how many of these tasks' records were lost among them.

        Raises:
            ValueError: `meta` is not a JSON object.
            OSError: no space, no permission, or `output` is a device or the like.
        """
    def assemble(
        self,
        output: str | PathLike[str] | int,
        meta: str,
        /,
        *,
        version: int = 6,
        compression: str | None = None,
    ) -> None:
        """Make a trace.dat of the spool as it is now.

        There is a whole trace at `output` or none. The spool does not change, so a call that failed may be
        repeated.

        Args:
            output: path of the trace.dat. A regular file is replaced; links are refused (output_file.py).
                Or the descriptor of an empty file, open for reading and writing.
            meta: a JSON object, whose members are added to the trace's own JSON; the trace's members win.
            version: of trace.dat. trace-cmd reads 7 from its version 3.1 on.
            compression: of version 7: one of codec_names(); None: the first of them.

        Raises:
            ValueError: `meta` is not a JSON object; no such version or compression, or not on this system.
            IsADirectoryError: `output` is a folder.
            OSError: no space, no permission, or `output` is a device or the like.
        """

    def close(self) -> None:
        """Close the spool and unmap all rings; the files stay. May be called twice."""
