/* See trace_meta.h. */
#include "tracedata/read/fg/trace_meta.h"

#include <ctype.h>
#include <string.h>

#include "tracedata/base/json.h"

/* "a,b,c" as ["a", "b", "c"]. */
static void put_names(struct fg_text *json, const char *names)
{
    const char *end = names + strlen(names);

    fg_text_char(json, '[');
    while (names < end) {
        const char *comma = memchr(names, ',', (size_t)(end - names));
        size_t bytes = (size_t)((comma ? comma : end) - names);

        fg_json_string(json, names, bytes);
        names += bytes;
        if (comma) {
            names++;
            fg_text_lit(json, ", ");
        }
    }
    fg_text_char(json, ']');
}

void fg_trace_meta_put_function(struct fg_text *json, const struct fg_trace_function *function)
{
    const char *text = function->strings;

    fg_text_char(json, '[');
    for (int i = FG_FUNCTION_MODULE; i <= FG_FUNCTION_FILE; i++) {
        size_t bytes = strlen(text);

        fg_json_string(json, text, bytes);
        fg_text_lit(json, ", ");
        text += bytes + 1;
    }
    fg_text_u64(json, function->line, 0, ' ');
    fg_text_lit(json, ", ");
    fg_text_u64(json, function->flags, 0, ' ');
    fg_text_lit(json, ", ");
    put_names(json, text); /* FG_FUNCTION_ARGUMENTS */
    fg_text_char(json, ']');
}

static void put_functions(struct fg_text *json, const struct fg_symbols *symbols, size_t first)
{
    fg_json_key(json, "functions");
    fg_text_char(json, '[');
    for (size_t i = first; i < symbols->nr_matched; i++) {
        fg_text_puts(json, i > first ? ",\n" : "\n");
        fg_trace_meta_put_function(json, fg_symbols_matched(symbols, i));
    }
    fg_text_char(json, ']');
}

static void put_event_types(struct fg_text *json, const struct fg_event_table *events, size_t first)
{
    fg_json_key(json, "event_types");
    fg_text_char(json, '[');
    for (size_t i = first; i < events->nr_types; i++) {
        const struct fg_event_type *type = &events->types[i];

        fg_text_puts(json, i > first ? ",\n[" : "\n[");
        fg_json_string(json, type->system, strlen(type->system));
        fg_text_lit(json, ", ");
        fg_json_string(json, type->name, strlen(type->name));
        fg_text_lit(json, ", ");
        fg_text_u64(json, type->fields_at, 0, ' ');
        fg_text_lit(json, ", ");
        fg_json_string(json, type->fields_text, strlen(type->fields_text));
        fg_text_char(json, ']');
    }
    fg_text_char(json, ']');
}

/* From the task's first record on; 0: its end is not known. */
static struct fg_run_time run_time(const struct fg_trace_task *task)
{
    const struct fg_run_time *first = &task->first_run, *last = &task->last_run;

    if (last->cpu_ns < first->cpu_ns || last->ready_ns < first->ready_ns)
        return (struct fg_run_time){0, 0};
    return (struct fg_run_time){last->cpu_ns - first->cpu_ns, last->ready_ns - first->ready_ns};
}

static void put_tasks(struct fg_text *json, const struct fg_contents *contents, const struct fg_lanes *lanes)
{
    fg_json_key(json, "tasks");
    fg_text_char(json, '[');
    for (size_t i = 0; i < lanes->nr_tasks; i++) {
        const struct fg_lane_task *lane_task = &lanes->tasks[i];
        const struct fg_trace_ring *ring = &contents->rings[lane_task->ring];
        const struct fg_trace_task *task = &ring->tasks[lane_task->task];
        const char *name = task->name ? task->name : "";
        const struct fg_run_time run = run_time(task);

        fg_text_puts(json, i ? ",\n{" : "\n{");
        fg_json_number(json, "lane", lane_task->lane);
        fg_json_number(json, "pid", ring->pid);
        fg_json_number(json, "tid", task->tid);
        fg_json_key(json, "name");
        fg_json_string(json, name, strlen(name));
        fg_json_number(json, "process", lane_task->ring);
        fg_json_number(json, "first_ns", lane_task->first_ns);
        fg_json_number(json, "last_ns", lane_task->last_ns);
        fg_json_number(json, "records", lane_task->events);
        fg_json_number(json, "cpu_ns", run.cpu_ns);
        fg_json_number(json, "ready_ns", run.ready_ns);
        fg_text_char(json, '}');
    }
    fg_text_char(json, ']');
}

static void put_argv(struct fg_text *json, const struct fg_text *argv)
{
    fg_json_key(json, "argv");
    fg_text_char(json, '[');
    for (size_t at = 0; at < argv->bytes;) {
        size_t bytes = strlen(argv->data + at);

        if (at)
            fg_text_lit(json, ", ");
        fg_json_string(json, argv->data + at, bytes);
        at += bytes + 1;
    }
    fg_text_char(json, ']');
}

static uint64_t wait_ns(const struct fg_trace_ring *ring)
{
    return fg_time_scale_span(&ring->scale, ring->state.wait_ticks);
}

static void put_buffers(struct fg_text *json, const struct fg_lanes *lanes)
{
    fg_json_key(json, "buffers");
    fg_text_char(json, '[');
    for (uint32_t i = 0; i < lanes->nr_buffers; i++) {
        if (i)
            fg_text_lit(json, ", ");
        fg_json_string(json, lanes->buffers[i], strlen(lanes->buffers[i]));
    }
    fg_text_char(json, ']');
    fg_json_number(json, "cpus", lanes->nr_cpus);
}

/* Of a merged trace. */
static void put_host(struct fg_text *json, const struct fg_trace_ring *ring)
{
    if (ring->host.name == NULL)
        return;
    fg_json_key(json, "host");
    fg_json_string(json, ring->host.name, strlen(ring->host.name));
    fg_json_key(json, "host_error_ns");
    if (ring->host.error_ns == FG_SPOOL_ERROR_UNKNOWN)
        fg_text_lit(json, "null");
    else
        fg_text_u64(json, ring->host.error_ns, 0, ' ');
}

static void put_processes(struct fg_text *json, const struct fg_contents *contents,
                          const struct fg_lanes *lanes)
{
    fg_json_key(json, "processes");
    fg_text_char(json, '[');
    for (size_t i = 0; i < contents->nr_rings; i++) {
        const struct fg_trace_ring *ring = &contents->rings[i];

        fg_text_puts(json, i ? ",\n{" : "\n{");
        fg_json_number(json, "pid", ring->pid);
        fg_json_number(json, "ppid", ring->ppid);
        fg_json_number(json, "buffer", lanes->ring_buffers[i]);
        put_host(json, ring);
        put_argv(json, &ring->argv);
        fg_json_number(json, "lost", fg_trace_ring_lost(ring));
        fg_json_number(json, "overrun", ring->state.overrun);
        fg_json_number(json, "waits", ring->state.wait_count);
        fg_json_number(json, "wait_ns", wait_ns(ring));
        fg_json_number(json, "symbols_lost", ring->state.symbols_lost);
        fg_json_key(json, "killed");
        if (ring->killed)
            fg_json_string(json, ring->killed, strlen(ring->killed));
        else
            fg_text_lit(json, "null");
        fg_json_key(json, "finished");
        fg_text_puts(json, ring->state.finished ? "true" : "false");
        fg_text_char(json, '}');
    }
    fg_text_char(json, ']');
}

static void put_totals(struct fg_text *json, const struct fg_contents *contents, const struct fg_lanes *lanes)
{
    uint64_t lost = contents->nr_gaps, overrun = 0, waits = 0, waited_ns = 0, events = 0;

    for (size_t i = 0; i < contents->nr_rings; i++) {
        const struct fg_trace_ring *ring = &contents->rings[i];

        lost += fg_trace_ring_lost(ring);
        overrun += ring->state.overrun;
        waits += ring->state.wait_count;
        waited_ns += wait_ns(ring);
    }
    for (size_t i = 0; i < lanes->nr_tasks; i++)
        events += lanes->tasks[i].events;
    fg_json_number(json, "lost", lost);
    fg_json_number(json, "overrun", overrun);
    fg_json_number(json, "waits", waits);
    fg_json_number(json, "wait_ns", waited_ns);
    fg_json_number(json, "events", events);
}

/* What stands within an object's braces. */
static void put_members(struct fg_text *json, const char *object, size_t bytes)
{
    const char *end = object + bytes;

    while (object < end && isspace((unsigned char)*object))
        object++;
    while (end > object && isspace((unsigned char)end[-1]))
        end--;
    if (end - object < 2 || *object != '{' || end[-1] != '}')
        return;
    object++;
    end--;
    while (object < end && isspace((unsigned char)*object))
        object++;
    fg_text_put(json, object, (size_t)(end - object));
}

static void put_own_members(struct fg_text *json, const struct fg_contents *contents,
                            const struct fg_lanes *lanes, size_t first_function, size_t first_event)
{
    fg_json_number(json, "version", 1);
    put_totals(json, contents, lanes);
    put_functions(json, &contents->symbols, first_function);
    put_event_types(json, &contents->events, first_event);
    put_tasks(json, contents, lanes);
    fg_json_key(json, "clock");
    fg_json_string(json, fg_trace_clock_names[contents->clock],
                   strlen(fg_trace_clock_names[contents->clock]));
    put_buffers(json, lanes);
    put_processes(json, contents, lanes);
    fg_text_lit(json, "}\n");
}

void fg_trace_meta_build(struct fg_text *json, const struct fg_contents *contents,
                         const struct fg_lanes *lanes, size_t first_function, const char *extra,
                         size_t extra_bytes)
{
    fg_text_char(json, '{');
    put_members(json, extra, extra_bytes);
    put_own_members(json, contents, lanes, first_function, 0);
}

void fg_trace_meta_build_from(struct fg_text *json, const struct fg_contents *contents,
                              const struct fg_lanes *lanes, size_t first_function, size_t first_event)
{
    fg_text_char(json, '{');
    put_own_members(json, contents, lanes, first_function, first_event);
}
