"""The file README of a tracefs: the kernel's mini-HOWTO, for what is here."""

from __future__ import annotations

__all__ = ["README"]

README = """\
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
  trace_clock           - The clock of the times, when the buffer is read
  timestamp_mode        - absolute: each record has its own time
  trace_marker          - A text written into this file is in the trace
  tracing_cpumask       - A bit for each lane
  instances             - mkdir instances/foo makes a buffer of its own, with all of these files
                          rmdir instances/foo removes it
  trace_options         - Options of the buffer, the text and the tracer
                          "no" before an option turns it off
  options               - A file for each option: 0 or 1
  saved_cmdlines        - Thread ids and names of threads
  saved_cmdlines_size   - How many of them are listed
  saved_tgids           - Thread ids and process id

  available_filter_functions - The functions that can be traced now
  enabled_functions     - The functions that are traced, and by how many
  set_ftrace_filter     - Trace only these functions
             accepts: names, and globs with *, ? and [...]: shop.* cart.Cart.add
             modules: :mod:NAME, or PATTERN:mod:NAME
             numbers: a line of available_filter_functions
              remove: echo '!shop.*' >> set_ftrace_filter
            commands: FUNCTION:COMMAND[:COUNT], done when the function is called
             command: traceon, traceoff
                      enable_event:GROUP:EVENT
                      disable_event:GROUP:EVENT
                      stacktrace
                      snapshot
                      dump
                      cpudump
             example: echo shop.fail:traceoff:3 > set_ftrace_filter
              remove: echo '!FUNCTION:COMMAND' > set_ftrace_filter
                      echo '!FUNCTION:COMMAND:0' > set_ftrace_filter, of one with a count
  set_ftrace_notrace    - Never trace these functions; takes no commands
  set_ftrace_pid        - Trace only these threads
  set_graph_function    - Trace these functions and all that they call
  set_graph_notrace     - Trace neither these functions nor what they call
  max_graph_depth       - Levels of calls that are traced (0: all)
  tracing_thresh        - Microseconds that a call takes at least (0: all calls)
  tracing_max_latency   - The longest time that a latency tracer has seen
  function_profile_enabled - 1: count and time the calls of the functions
  trace_stat            - The tables of that

  snapshot              - A second buffer: the file says what to write
  free_buffer           - Closing it empties the buffer and makes it small

  dynamic_events        - The events of this process, one definition a line
                          Append to add, '-:GROUP/EVENT' to remove
  kprobe_events         - Those of them that are at places within functions
           Format: f[:[GROUP/][EVENT]] FUNCTION[%return] [ARGS]
                   t[:[GROUP/][EVENT]] GROUP/EVENT [ARGS]
                   p[:[GROUP/][EVENT]] FUNCTION[:LINE|+OFFSET] [ARGS]
                   r[:[GROUP/][EVENT]] FUNCTION [ARGS]
                   e[:[GROUP/][EVENT]] GROUP.EVENT [ARGS] [if FILTER]
                   s:[synthetic/]EVENT FIELD [; FIELD]...
                   -:[GROUP/][EVENT]
  synthetic_events      - Events that histograms make of others
             example: echo 'slow u64 lat; char name[]' >> synthetic_events
  available_events      - The events
  set_event             - Turn events on by name: GROUP:EVENT; '!' before one turns it off
  set_event_pid         - See events of these threads only
  set_event_notrace_pid - See no events of these threads
  show_event_filters    - The filters of all events
  show_event_triggers   - The triggers of all events

  events/               - The folder of events:
      enable            - 0 or 1: all of them
  events/GROUP/         - The events of a group:
      enable            - 0 or 1: all of the group
      filter            - A filter for those of the group that have its fields
  events/GROUP/EVENT/   - An event:
      enable            - 0 or 1
      filter            - Only hits that pass it are recorded
      format            - Its fields
      id                - Its number
      hist              - Its histograms
      trigger           - What a hit does besides: TRIGGER[:COUNT] [if FILTER]
             trigger: traceon, traceoff, stacktrace, snapshot
                      enable_event:GROUP:EVENT, disable_event:GROUP:EVENT
                      enable_hist:GROUP:EVENT, disable_hist:GROUP:EVENT
                      hist:keys=FIELD[,FIELD]... and more, see the document
             example: echo 'traceoff:3 if amount < 0' > events/shop/pay/trigger
              remove: echo '!TRIGGER' > events/shop/pay/trigger

  per_cpu/cpuN/         - The buffer of one lane: the number that the text has for a thread
      trace, trace_pipe - Its lines
      trace_pipe_raw    - Its records, in pages as events/header_page describes them
      stats             - Its figures
      snapshot          - What the snapshot has of it
      buffer_size_kb    - The size of the buffer
"""
