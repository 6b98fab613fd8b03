"""The file README of a tracefs: the kernel's mini-HOWTO, for what is here.

Scripts look here for what a tracefs can do, so the syntax stands as the kernel's README has it. What is in a
table elsewhere (triggers, types, modifiers, actions) is taken from there.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["readme"]

# The syntax of each kind of definition (definition.COMPONENTS).
_DEFINITIONS = {
    "p": "p[:[<group>/][<event>]] <place> [<args>]",
    "r": "r[maxactive][:[<group>/][<event>]] <place> [<args>]",
    "f": "f[:[<group>/][<event>]] <func-name>[%return] [<args>]",
    "t": "t[:[<group>/][<event>]] <tracepoint> [<args>]",
    "s": "s:[synthetic/]<event> <field> [<field>]",
    "e": "e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>]",
}

# What each modifier of a histogram's field prints (hist_expression.MODIFIERS, and ranges).
_MODIFIERS = {
    "hex": "the number in hexadecimal",
    "sym": "the function",
    "sym-offset": "the function, and the offset in it",
    "execname": "the thread's name",
    "syscall": "the name of a system call",
    "log2": "a power of two",
    "usecs": "the time in microseconds",
    "percent": "the share of all rows",
    "graph": "a bar",
    "stacktrace": "the functions of a stack",
    "string": "the text",
    "buckets=N": "a range of N numbers",
}

# When each handler of a histogram acts (hist_actions.HANDLERS).
_HANDLERS = {
    "onmatch": ("onmatch(matching.event)", "the event of the variables was hit before"),
    "onmax": ("onmax(var)", "the variable is higher than ever before"),
    "onchange": ("onchange(var)", "the variable has changed"),
}

_ACTIONS = {
    "trace(<synthetic_event>,param list)": "make a synthetic event",
    "save(field,...)": "keep fields of this hit",
    "snapshot()": "take a snapshot of the buffer",
}

_TEXT = """\
tracing mini-HOWTO:

This is the tracefs of one Python process. Its functions are named module.qualname.

# echo 0 > tracing_on : quick way to stop recording
# echo 1 > tracing_on : quick way to record again

 Important files:
  trace                 - What the buffer holds
                          To clear the buffer write into this file: echo > trace
  trace_pipe            - The lines as they come; what was read is gone
  current_tracer        - What is recorded of each call
  available_tracers     - The tracers to write into current_tracer
  error_log             - The last 8 errors in commands, with the place of each
  buffer_size_kb        - The size of the buffer, which all threads share
  buffer_total_size_kb  - The same, to read
  buffer_subbuf_size_kb - The size of a page of trace_pipe_raw
  trace_clock           - The clock of the times, when the buffer is read
  timestamp_mode        - absolute: each record has its own time
  trace_marker          - A text written into this file is in the trace
  trace_marker_raw      - An id of 4 bytes and data, written at once, are in the trace
  printk_formats        - Empty: texts are formatted when they are recorded
  tracing_cpumask       - A bit for each lane that is shown
  instances             - mkdir instances/foo makes a buffer of its own, with all of these files
                          rmdir instances/foo removes it
  trace_options         - Options of the buffer, the text and the tracer
                          "no" before an option turns it off
  options               - A file for each option: 0 or 1
  saved_cmdlines        - Thread ids and names of threads
  saved_cmdlines_size   - How many of them are listed
  saved_tgids           - Thread ids and process id

  available_filter_functions - The functions that can be traced now
  available_filter_functions_addrs - The same, with the numbers that stand for them in records
  kallsyms              - The same, as /proc/kallsyms has the kernel's
  enabled_functions     - The functions that are traced, and by how many
  set_ftrace_filter     - Trace only these functions
             accepts: func_full_name or glob-matching-pattern: shop.* cart.Cart.add
             modules: :mod:<module-name>, or PATTERN:mod:<module-name>
             numbers: a line of available_filter_functions
              remove: echo '!shop.*' >> set_ftrace_filter
            triggers: a command that is done when the function is called
              Format: <function>:<trigger>[:count]
             trigger: {commands}
             example: echo shop.fail:traceoff:3 > set_ftrace_filter
              remove: echo '!<function>:<trigger>' > set_ftrace_filter
                      echo '!<function>:<trigger>:0' > set_ftrace_filter, of one with a count
  set_ftrace_notrace    - Never trace these functions; takes no triggers
  set_ftrace_pid        - Trace only these threads
  set_ftrace_notrace_pid - Do not trace these threads
  set_graph_function    - Trace these functions and all that they call
  set_graph_notrace     - Trace neither these functions nor what they call
  max_graph_depth       - Levels of calls that are traced (0: all)
  tracing_thresh        - Microseconds that a call takes at least (0: all calls)
  value_depth           - Levels of parts of values that are recorded (0: none)
  value_string_size     - Bytes that are kept of a text in a value (0: 48, or 256 with parts)
  value_redact          - Words of names whose values are never recorded: password|token
  tracing_max_latency   - The longest time that a latency tracer has seen
  function_profile_enabled - 1: count and time the calls of the functions
  trace_stat            - The tables of that

  snapshot              - A second buffer: the file says what to write
  free_buffer           - Closing it empties the buffer and makes it small

  dynamic_events        - Create/append/remove/show the events of this process
  kprobe_events         - Create/append/remove/show those at places in functions
  kprobe_profile        - How often each of these was hit, and missed
             accepts: one definition a line
              Format: {definitions}
                      -:[<group>/][<event>]
               place: [<module>:]<symbol>[+<offset>], or <symbol>:<line>
   place (kretprobe): [<module>:]<symbol>[+<offset>]%return
                args: <name>=fetcharg[:type]
            fetcharg: $arg<N>, $arg*, $retval, $exc, $comm, $stack<index>, $symbol,
                      <argname>[->field[->field|.field...]], <argname>[<index>], <argname>:len,
                      $<efield>, \\imm-value, \\"imm-string"
     kernel return probes support: $retval, $exc, $arg<N>, $comm, <argname>
                type: {types},
                      b<bit-width>@<bit-offset>/<container-size>,
                      <type>\\[<array-size>\\]
               field: <stype> <name>;
               stype: {field_types},
                      char[<size>], char[], unsigned long[]
              efield: a field of the event that an 'e' is attached to
  synthetic_events      - Create/append/remove/show events that histograms make of others
             example: echo 'slow u64 lat; char name[]; unsigned long[] stack' >> synthetic_events
  available_events      - The events
  set_event             - Turn events on by name: GROUP:EVENT; '!' before one turns it off
  set_event_pid         - See events of these threads only
  set_event_notrace_pid - See no events of these threads
  show_event_filters    - The filters of all events
  show_event_triggers   - The triggers of all events

  events/               - The folder of events:
      enable            - 0 or 1: all of them
  events/<system>/      - The events of a group:
      enable            - 0 or 1: all of the group
      filter            - A filter for those of the group that have its fields
  events/<system>/<event>/ - An event:
      enable            - 0 or 1
      filter            - Only hits that pass it are recorded
      format            - Its fields
      id                - Its number
      hist              - Its histograms
      trigger           - What a hit does besides
              Format: <trigger>[:count][if <filter>]
             trigger: {triggers}
             example: echo 'traceoff:3 if amount < 0' > events/shop/pay/trigger
              remove: echo '!<trigger>' > events/shop/pay/trigger
      hist trigger      - Counts the hits by keys, and adds up values
              Format: hist:keys=<field1[,field2,...]>
                      [:<var1>=<field|var_ref|numeric_literal>[,<var2>=...]]
                      [:values=<field1[,field2,...]>]
                      [:sort=<field1[,field2,...]>]
                      [:size=#entries]
                      [:pause][:continue][:clear]
                      [:name=histname1]
                      [:nohitcount]
                      [:<handler>.<action>]
                      [if <filter>]
                keys: can be any field, or the special string 'common_stacktrace'
           operators: + - * / between fields, variables and numbers
{hist}

  per_cpu/cpuN/         - The buffer of one lane: the number that the text has for a thread
      trace, trace_pipe - Its lines
      trace_pipe_raw    - Its records, in pages as events/header_page describes them
      stats             - Its figures
      snapshot          - What the snapshot has of it
      buffer_size_kb    - The size of the buffer
"""
_INDENT = "\n" + " " * 22
_LINE_LENGTH = 78


def readme() -> str:
    """Return the text."""
    from funcgraph.definitions.definition import COMPONENTS
    from funcgraph.definitions.field import FIELD_TYPES, TYPE_ALIASES
    from funcgraph.definitions.synthetic_definition import TYPES
    from funcgraph.events.hist_actions import HANDLERS
    from funcgraph.events.hist_expression import MODIFIERS
    from funcgraph.events.trigger import KINDS
    from funcgraph.instance.commands import COMMANDS

    hist = [
        *_explained("modifiers", {f".{name}": _MODIFIERS[name] for name in (*MODIFIERS, "buckets=N")}),
        *_explained("handlers", dict(_HANDLERS[name] for name in HANDLERS)),
        *_explained("actions", _ACTIONS),
    ]
    return _TEXT.format(
        commands=_wrapped(_with_operands(COMMANDS)),
        triggers=_wrapped(_with_operands(KINDS)),
        definitions=_INDENT.join(_DEFINITIONS[kind] for kind in COMPONENTS),
        types=_wrapped(_joined_sizes([*FIELD_TYPES, *TYPE_ALIASES])),
        field_types=_wrapped(_joined_sizes(TYPES)),
        hist="\n".join(hist),
    )


def _with_operands(names: Iterable[str]) -> list[str]:
    """Return triggers as they are written: some name an event."""
    return [f"{name}:<system>:<event>" if name.endswith(("_event", "_hist")) else name for name in names]


def _joined_sizes(types: Iterable[str]) -> list[str]:
    """Return types with those that differ in their size alone as one: s8/16/32/64."""
    joined: dict[str, str] = {}
    for name in types:
        letter, size = name[:1], name[1:]
        if letter in joined and size.isdecimal():
            joined[letter] += f"/{size}"
        else:
            joined[letter if size.isdecimal() else name] = name
    return list(joined.values())


def _wrapped(words: Iterable[str]) -> str:
    """Return words with commas between them, in lines that begin where the first one does."""
    lines = [""]
    for word in words:
        if lines[-1] and len(_INDENT) + len(lines[-1]) + len(word) > _LINE_LENGTH:
            lines.append("")
        lines[-1] += f", {word}" if lines[-1] else word
    return f",{_INDENT}".join(lines)


def _explained(title: str, meanings: dict[str, str]) -> list[str]:
    """Return lines that say what each word means."""
    width = max(map(len, meanings))
    heads = [f"{title:>20}: ", *[" " * 22] * (len(meanings) - 1)]
    return [
        f"{head}{word:{width}}  {meaning}"
        for head, (word, meaning) in zip(heads, meanings.items(), strict=True)
    ]
