/* See event.h. */
#include "engine/event/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/root.h"
#include "engine/event/event_tids.h"
#include "engine/tracer/instance_snapshot.h"
#include "engine/tracer/instance_symbols.h"
#include "engine/tracer/instance_tracer.h"
#include "engine/trigger/trigger.h"
#include "engine/users/users.h"
#include "engine/writer/ring_symbols.h"

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

/* The place of an owner's file in a list, which may be NULL; NULL: it has none. */
static _Atomic(struct fg_event_file *) *find_place(struct fg_event_files *list, const void *owner)
{
    for (uint32_t i = 0; list && i < list->n; i++) {
        const struct fg_event_file *file = atomic_load_explicit(&list->files[i], memory_order_relaxed);

        if (file && file->owner == owner)
            return &list->files[i];
    }
    return NULL;
}

/* A copy of the list, which may be NULL, with one file more. It takes the place of its owner's file in the
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
        struct fg_event_file *other = atomic_load_explicit(&old->files[i], memory_order_relaxed);

        if (other && other->owner == file->owner)
            *replaced = other;
        else if (other)
            atomic_init(&list->files[list->n++], other);
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

/* Takes an owner's file away from an event. */
static bool unpublish_file(struct fg_event *event, const void *owner, struct leftover *left)
{
    _Atomic(struct fg_event_file *) *place = find_place(files_of(event), owner);
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

static bool is_recorded(const struct fg_event_request *want)
{
    return want->records && (!want->soft || atomic_load_explicit(&want->soft->is_on, memory_order_relaxed));
}

/* Whether records are written into the instance: its user needs a slot then. */
static bool writes(const struct fg_event_request *want)
{
    bool does = want->records;

    for (uint32_t i = 0; i < want->nr_triggers && !does; i++)
        does = fg_trigger_writes(want->triggers[i]);
    return does;
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

        if (place && writes(&atomic_load_explicit(place, memory_order_relaxed)->want))
            put_symbol(instance, event);
    }
    fg_engine_unlock();
}

static _Atomic(void (*)(struct fg_instance *instance)) also_stopping;

/* The lists that become empty stay with their events, which go on as before. */
static void stopping(struct fg_instance *instance)
{
    void (*also)(struct fg_instance * instance) = atomic_load(&also_stopping);
    struct leftover left = {0};

    if (also)
        also(instance);
    fg_engine_lock();
    for (struct fg_event *event = events.first; event; event = event->next)
        unpublish_file(event, instance, &left);
    fg_engine_unlock();
    free_leftover(&left);
    fg_event_tids_exchange(instance, NULL);
    instance->nr_events = 0;
}

static const struct fg_instance_event_ops event_ops = {put_symbols, stopping};

void fg_event_watch_instances(void (*stopping_too)(struct fg_instance *instance))
{
    if (stopping_too)
        atomic_store(&also_stopping, stopping_too);
    fg_instance_set_event_ops(&event_ops);
}

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
    fg_event_watch_instances(NULL);
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
int fg_event_take_slot(struct fg_instance *instance)
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

static void remove_file(struct fg_event *event, const void *owner)
{
    struct leftover left = {0};

    fg_engine_lock();
    unpublish_file(event, owner, &left);
    if (!count_files(files_of(event)))
        publish(event, NULL, &left);
    fg_engine_unlock();
    free_leftover(&left);
}

/* What is known of an instance's file; nothing if it has none. */
struct use {
    bool writes, is_recorded;
};

static struct use use_of(struct fg_event *event, const struct fg_instance *instance)
{
    _Atomic(struct fg_event_file *) *place;
    struct use use = {false, false};

    fg_engine_lock();
    place = find_place(files_of(event), instance);
    if (place) {
        const struct fg_event_file *file = atomic_load_explicit(place, memory_order_relaxed);

        use = (struct use){writes(&file->want), is_recorded(&file->want)};
    }
    fg_engine_unlock();
    return use;
}

static struct fg_event_file *file_new(struct fg_instance *instance, int handle,
                                      const struct fg_event_request *want)
{
    size_t bytes = want->nr_triggers * sizeof(want->triggers[0]);
    struct fg_event_file *file = malloc(sizeof(*file) + bytes);

    if (!file)
        return NULL;
    *file = (struct fg_event_file){.owner = instance, .instance = instance, .handle = handle, .want = *want};
    if (bytes)
        memcpy(file->triggers, want->triggers, bytes);
    file->want.triggers = file->triggers;
    return file;
}

/* The caller may change the instance. */
static int put_new_file(struct fg_event *event, struct fg_instance *instance, int handle,
                        const struct fg_event_request *want)
{
    struct fg_event_file *file = file_new(instance, handle, want);
    int error = file ? put_file(event, file) : -ENOMEM;

    if (error)
        free(file);
    return error;
}

/* The kernel allocates it with the trigger, too. */
static int make_room_for_snapshots(struct fg_instance *instance, const struct fg_event_request *want)
{
    for (uint32_t i = 0; i < want->nr_triggers; i++) {
        if (fg_trigger_takes_snapshots(want->triggers[i]))
            return fg_instance_alloc_snapshot(instance);
    }
    return 0;
}

/* The caller may change the instance. */
static int set(struct fg_event *event, struct fg_instance *instance, int handle,
               const struct fg_event_request *want)
{
    bool wrote = use_of(event, instance).writes, is_first = writes(want) && !wrote;
    int error = make_room_for_snapshots(instance, want);

    if (!error && is_first)
        error = fg_event_take_slot(instance);
    if (error)
        return error;
    if (is_first)
        put_symbol(instance, event);
    if (want->records || want->nr_triggers)
        error = put_new_file(event, instance, handle, want);
    else
        remove_file(event, instance);
    if (error ? is_first : wrote && !writes(want))
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

int fg_event_set(struct fg_event *event, int handle, const struct fg_event_request *want)
{
    int error;
    struct fg_instance *instance = change_begin(handle, &error);

    if (instance) {
        error = set(event, instance, handle, want);
        change_end(instance);
    }
    return error;
}

int fg_event_set_tids(int handle, struct fg_tids *tids)
{
    int error;
    struct fg_instance *instance = change_begin(handle, &error);

    if (instance) {
        fg_instance_set_event_ops(&event_ops); /* there may be no event yet */
        fg_event_tids_exchange(instance, tids);
        change_end(instance);
    }
    return error;
}

bool fg_event_is_recorded(struct fg_event *event, int handle)
{
    struct fg_instance *instance = fg_instance_get(handle);
    bool is_on = instance && use_of(event, instance).is_recorded;

    if (instance)
        fg_instance_put(instance);
    return is_on;
}

bool fg_event_is_used(struct fg_event *event)
{
    bool is_used;

    fg_engine_lock();
    is_used = count_files(files_of(event)) > 0;
    fg_engine_unlock();
    return is_used;
}

/* ---- listeners, and questions about triggers */

int fg_event_listen(struct fg_event *event, struct fg_event_listener *listener)
{
    struct fg_event_file *file = calloc(1, sizeof(*file));
    int error;

    if (!file)
        return -ENOMEM;
    file->owner = file->listener = listener;
    error = put_file(event, file);
    if (error)
        free(file);
    return error;
}

void fg_event_unlisten(struct fg_event *event, const struct fg_event_listener *listener)
{
    remove_file(event, listener);
}

bool fg_event_has_listeners(struct fg_event *event)
{
    struct fg_event_files *list;
    bool found = false;

    fg_engine_lock();
    list = files_of(event);
    for (uint32_t i = 0; list && i < list->n; i++) {
        const struct fg_event_file *file = atomic_load_explicit(&list->files[i], memory_order_relaxed);

        found |= file && file->listener;
    }
    fg_engine_unlock();
    return found;
}

static bool visit_triggers(const struct fg_event_files *list,
                           bool (*visit)(const struct fg_trigger *trigger, const void *arg), const void *arg)
{
    for (uint32_t i = 0; list && i < list->n; i++) {
        const struct fg_event_file *file = atomic_load_explicit(&list->files[i], memory_order_relaxed);

        for (uint32_t k = 0; file && k < file->want.nr_triggers; k++) {
            if (visit(file->triggers[k], arg))
                return true;
        }
    }
    return false;
}

bool fg_event_find_trigger(bool (*visit)(const struct fg_trigger *trigger, const void *arg), const void *arg)
{
    bool found = false;

    fg_engine_lock();
    for (const struct fg_event *event = events.first; event && !found; event = event->next)
        found = visit_triggers(files_of(event), visit, arg);
    fg_engine_unlock();
    return found;
}

/* ---- the end of an event */

/* An event of the instance is gone. If another thread changes the instance now, an unneeded slot stays until
 * the instance's next event. */
void fg_event_leave_slot(int handle)
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
            unpublish_file(event, file->owner, &left);
    }
    publish(event, NULL, &left);
    fg_engine_unlock();
    for (const struct fg_event_file *file = left.files; file; file = file->next) {
        if (writes(&file->want))
            fg_event_leave_slot(file->handle);
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
    const struct fg_event_request *want = &file->want;

    if (file->listener) {
        file->listener->hit(file->listener, site, image, bytes);
        return;
    }
    if (!fg_event_is_seen_in(file->instance, site->task->tid))
        return;
    if (is_recorded(want) && (!want->filter || fg_event_filter_matches(want->filter, image, bytes)))
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

        if (file && (!site->only || site->only == file->handle))
            hit_file(file, event, site, image, bytes);
    }
}
