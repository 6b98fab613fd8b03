/* See event.h. */
#include "engine/event/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/root.h"
#include "engine/graph/users.h"
#include "engine/ring/ring_symbols.h"
#include "engine/tracer/instance_symbols.h"
#include "engine/tracer/instance_tracer.h"

/* Under the engine's lock. */
static struct {
    struct fg_event *first;
    uint32_t latest_number;
} events;

static void put_symbol(struct fg_instance *instance, const struct fg_event *event)
{
    const char *const strings[] = {event->system, event->name, event->fields};
    struct fg_symbol symbol = {
        .type = FG_SYMBOL_EVENT, .id = event->number, .line = event->fields_at, .nr_strings = 3};

    fg_ring_put_symbol(&instance->ring, &symbol, strings);
}

/* ---- files. Engine's lock held. */

static struct fg_event_files *files_of(const struct fg_event *event)
{
    return atomic_load_explicit(&event->files, memory_order_relaxed);
}

static uint32_t count_files(const struct fg_event_files *list)
{
    uint32_t n = 0;

    for (uint32_t i = 0; list && i < list->n; i++)
        n += atomic_load_explicit(&list->files[i], memory_order_relaxed) != NULL;
    return n;
}

/* The place of an instance's file in a list, which may be NULL; NULL: it has none. */
static _Atomic(struct fg_event_file *) *find_place(struct fg_event_files *list,
                                                   const struct fg_instance *instance)
{
    for (uint32_t i = 0; list && i < list->n; i++) {
        const struct fg_event_file *file = atomic_load_explicit(&list->files[i], memory_order_relaxed);

        if (file && file->instance == instance)
            return &list->files[i];
    }
    return NULL;
}

/* A copy of the list, which may be NULL, with one file more. It takes the place of the instance's file in the
 * list, *replaced. NULL: no memory. */
static struct fg_event_files *list_with(const struct fg_event_files *old, struct fg_event_file *file,
                                        struct fg_event_file **replaced)
{
    uint32_t n = count_files(old) + 1;
    struct fg_event_files *list = malloc(sizeof(*list) + n * sizeof(list->files[0]));

    if (!list)
        return NULL;
    list->n = 0;
    for (uint32_t i = 0; old && i < old->n; i++) {
        struct fg_event_file *kept = atomic_load_explicit(&old->files[i], memory_order_relaxed);

        if (kept && kept->instance == file->instance)
            *replaced = kept;
        else if (kept)
            atomic_init(&list->files[list->n++], kept);
    }
    atomic_init(&list->files[list->n++], file);
    return list;
}

/* Memory that callbacks may still read. */
struct leftover {
    struct fg_event_files *list;
    struct fg_event_file *files;
};

static void publish(struct fg_event *event, struct fg_event_files *list, struct leftover *left)
{
    left->list = files_of(event);
    /* release: a hit that sees the list sees its files */
    atomic_store_explicit(&event->files, list, memory_order_release);
}

/* Takes an instance's file away from an event. */
static bool unpublish_file(struct fg_event *event, const struct fg_instance *instance, struct leftover *left)
{
    _Atomic(struct fg_event_file *) *place = find_place(files_of(event), instance);
    struct fg_event_file *file;

    if (!place)
        return false;
    file = atomic_load_explicit(place, memory_order_relaxed);
    atomic_store_explicit(place, NULL, memory_order_relaxed);
    file->next = left->files;
    left->files = file;
    return true;
}

/* Without locks. */
static void free_leftover(struct leftover *left)
{
    if (!left->list && !left->files)
        return;
    fg_users_synchronize();
    free(left->list);
    while (left->files) {
        struct fg_event_file *file = left->files;

        left->files = file->next;
        fg_event_filter_free(file->want.filter);
        free(file);
    }
}

/* ---- events */

static void event_destroy(struct fg_event *event)
{
    free(event->system);
    free(event->name);
    free(event->fields);
    free(event);
}

static void put_symbols(struct fg_instance *instance)
{
    fg_engine_lock();
    for (struct fg_event *event = events.first; event; event = event->next) {
        _Atomic(struct fg_event_file *) *place = find_place(files_of(event), instance);

        if (place && atomic_load_explicit(place, memory_order_relaxed)->want.records)
            put_symbol(instance, event);
    }
    fg_engine_unlock();
}

/* The lists that become empty stay with their events, which go on as before. */
static void stopping(struct fg_instance *instance)
{
    struct leftover left = {0};

    fg_engine_lock();
    for (struct fg_event *event = events.first; event; event = event->next)
        unpublish_file(event, instance, &left);
    fg_engine_unlock();
    free_leftover(&left);
    instance->nr_events = 0;
}

static const struct fg_instance_event_ops event_ops = {put_symbols, stopping};

int fg_event_new(const char *system, const char *name, const char *fields, uint32_t fields_at,
                 struct fg_event **made)
{
    struct fg_event *event = calloc(1, sizeof(*event));

    if (!event)
        return -ENOMEM;
    event->system = strdup(system);
    event->name = strdup(name);
    event->fields = strdup(fields);
    event->fields_at = fields_at;
    if (!event->system || !event->name || !event->fields) {
        event_destroy(event);
        return -ENOMEM;
    }
    fg_instance_set_event_ops(&event_ops);
    fg_engine_lock();
    event->number = ++events.latest_number;
    event->next = events.first;
    events.first = event;
    fg_engine_unlock();
    *made = event;
    return 0;
}

/* ---- enabling */

/* Counts an event of the instance, which takes a slot for the first one. */
static int count_event(struct fg_instance *instance)
{
    int error = 0;

    if (instance->nr_events++ == 0) {
        error = fg_instance_update_slot(instance);
        if (!error)
            fg_instance_put_functions(instance); /* a hit may name any of them */
    }
    if (error)
        instance->nr_events--;
    return error;
}

static void uncount_event(struct fg_instance *instance)
{
    if (--instance->nr_events == 0)
        fg_instance_update_slot(instance); /* leaving never fails */
}

static int put_file(struct fg_event *event, struct fg_event_file *file)
{
    struct leftover left = {0};
    struct fg_event_files *list;

    fg_engine_lock();
    list = list_with(files_of(event), file, &left.files);
    if (list)
        publish(event, list, &left);
    fg_engine_unlock();
    free_leftover(&left);
    return list ? 0 : -ENOMEM;
}

static void remove_file(struct fg_event *event, const struct fg_instance *instance)
{
    struct leftover left = {0};

    fg_engine_lock();
    unpublish_file(event, instance, &left);
    if (!count_files(files_of(event)))
        publish(event, NULL, &left);
    fg_engine_unlock();
    free_leftover(&left);
}

/* Whether the instance wants something of the event, and whether it is records. */
static struct fg_event_want wanted(struct fg_event *event, const struct fg_instance *instance)
{
    _Atomic(struct fg_event_file *) *place;
    struct fg_event_want want = {0};

    fg_engine_lock();
    place = find_place(files_of(event), instance);
    if (place)
        want = atomic_load_explicit(place, memory_order_relaxed)->want;
    fg_engine_unlock();
    return want;
}

static struct fg_event_file *file_new(struct fg_instance *instance, int handle,
                                      const struct fg_event_want *want)
{
    size_t bytes = want->nr_triggers * sizeof(want->triggers[0]);
    struct fg_event_file *file = malloc(sizeof(*file) + bytes);

    if (!file)
        return NULL;
    *file = (struct fg_event_file){.instance = instance, .handle = handle, .want = *want};
    if (bytes)
        memcpy(file->triggers, want->triggers, bytes);
    return file;
}

/* The caller may change the instance. */
static int put_new_file(struct fg_event *event, struct fg_instance *instance, int handle,
                        const struct fg_event_want *want)
{
    struct fg_event_file *file = file_new(instance, handle, want);
    int error = file ? put_file(event, file) : -ENOMEM;

    if (error)
        free(file);
    return error;
}

/* The caller may change the instance. */
static int set(struct fg_event *event, struct fg_instance *instance, int handle,
               const struct fg_event_want *want)
{
    bool recorded = wanted(event, instance).records, is_first = want->records && !recorded;
    int error = is_first ? count_event(instance) : 0;

    if (error)
        return error;
    if (is_first)
        put_symbol(instance, event);
    if (want->records || want->nr_triggers)
        error = put_new_file(event, instance, handle, want);
    else
        remove_file(event, instance);
    if (error ? is_first : recorded && !want->records)
        uncount_event(instance);
    return error;
}

/* Return: the instance, which the caller may change until change_end(); NULL with *error. */
static struct fg_instance *change_begin(int handle, int *error)
{
    struct fg_instance *instance = fg_instance_get(handle);

    *error = instance ? fg_instance_change_begin(instance) : -EINVAL;
    if (instance && *error) {
        fg_instance_put(instance);
        return NULL;
    }
    return instance;
}

static void change_end(struct fg_instance *instance)
{
    fg_instance_change_end(instance);
    fg_instance_put(instance);
}

int fg_event_set(struct fg_event *event, int handle, const struct fg_event_want *want)
{
    int error;
    struct fg_instance *instance = change_begin(handle, &error);

    if (instance) {
        error = set(event, instance, handle, want);
        change_end(instance);
    }
    return error;
}

bool fg_event_is_recorded(struct fg_event *event, int handle)
{
    struct fg_instance *instance = fg_instance_get(handle);
    bool is_recorded = instance && wanted(event, instance).records;

    if (instance)
        fg_instance_put(instance);
    return is_recorded;
}

bool fg_event_is_used(struct fg_event *event)
{
    bool is_used;

    fg_engine_lock();
    is_used = count_files(files_of(event)) > 0;
    fg_engine_unlock();
    return is_used;
}

/* ---- the end of an event */

/* An event of the instance is gone. If another thread changes the instance now, an unneeded slot stays until
 * the instance's next event. */
static void uncount_of(int handle)
{
    struct fg_instance *instance = fg_instance_get(handle);

    if (!instance)
        return;
    instance->nr_events--;
    if (fg_instance_change_begin(instance) == 0) {
        fg_instance_update_slot(instance);
        fg_instance_change_end(instance);
    }
    fg_instance_put(instance);
}

void fg_event_free(struct fg_event *event)
{
    struct fg_event **at = &events.first;
    struct leftover left = {0};
    struct fg_event_files *list;

    fg_engine_lock();
    while (*at != event)
        at = &(*at)->next;
    *at = event->next;
    list = files_of(event);
    for (uint32_t i = 0; list && i < list->n; i++) {
        const struct fg_event_file *file = atomic_load_explicit(&list->files[i], memory_order_relaxed);

        if (file)
            unpublish_file(event, file->instance, &left);
    }
    publish(event, NULL, &left);
    fg_engine_unlock();
    for (const struct fg_event_file *file = left.files; file; file = file->next) {
        if (file->want.records)
            uncount_of(file->handle);
    }
    free_leftover(&left);
    event_destroy(event);
}

/* ---- hits */

/* Here a function's place is its id; readers make addresses of them. */
static void fill_common(const struct fg_event *event, const struct fg_event_site *site, uint8_t *image)
{
    struct fg_event_common common = {.type = (uint16_t)event->number, .pid = site->task->tid};
    const uint64_t func = site->func, caller = site->caller.func;

    memcpy(image, &common, sizeof(common));
    if (event->fields_at >= FG_EVENT_ENTRY_FIELDS_AT)
        memcpy(image + FG_EVENT_PLAIN_FIELDS_AT, &func, sizeof(func));
    if (event->fields_at > FG_EVENT_ENTRY_FIELDS_AT)
        memcpy(image + FG_EVENT_ENTRY_FIELDS_AT, &caller, sizeof(caller));
}

/* What is wanted when the event is hit: its record first, so that a trigger which stops recording leaves it.
 * */
static void hit_file(const struct fg_event_file *file, const struct fg_event *event,
                     const struct fg_event_site *site, const uint8_t *image, uint32_t bytes)
{
    const struct fg_event_want *want = &file->want;

    if (want->records && (!want->filter || fg_event_filter_matches(want->filter, image, bytes)))
        fg_event_record(file->instance, event->number, site, image + event->fields_at,
                        bytes - event->fields_at);
    for (uint32_t i = 0; i < want->nr_triggers; i++)
        fg_trigger_run(file->triggers[i], file->instance, site, image, bytes);
}

void fg_event_hit(struct fg_event *event, const struct fg_event_site *site, uint8_t *image, uint32_t bytes)
{
    /* acquire: pairs with publish() */
    struct fg_event_files *list = atomic_load_explicit(&event->files, memory_order_acquire);

    if (!list)
        return;
    fill_common(event, site, image);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct fg_event_file *file = atomic_load_explicit(&list->files[i], memory_order_acquire);

        if (file)
            hit_file(file, event, site, image, bytes);
    }
}
