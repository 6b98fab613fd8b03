/* See hook.h. */
#include "arch/native/hook.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arch/native/call.h"
#include "arch/native/change.h"
#include "arch/native/code.h"
#include "arch/native/domain.h"
#include "arch/native/object.h"
#include "arch/native/plan_file.h"
#include "arch/native/pool.h"
#include "arch/native/system.h"
#include "arch/native/unwind.h"
#include "engine/core/mutex.h"
#include "engine/core/root.h"
#include "engine/core/sync.h"
#include "engine/core/task.h"
#include "engine/graph/user_list.h"
#include "engine/users/meet.h"

#define MOST_TRIES 3u     /* of one change of hooks */
#define MOST_TAKE_OFFS 8u /* if threads stay where they are in the way, or cannot be stopped */
#define RESERVE 256u      /* changes at a time where no memory is to be had */

struct fg_native_object {
    struct fg_native_object *next;
    char *name;
    struct fg_plan_file plan;
    struct fg_loaded_object loaded;
    struct fg_pool pool;
    struct fg_native_hook **hooks; /* by the function's number in the plan; NULL: it has no record */
};

struct fg_native_hook {
    struct fg_native_function entry; /* first: what the record refers to */
    struct fg_native_object *object;
    const struct fg_plan_function *function;
    struct fg_func *func;
    uintptr_t trampoline; /* 0: none yet */
    const char *refusal;
    bool is_hooked, changes;
    struct fg_native_hook *next; /* of those to be changed */
};

static struct {
    pthread_mutex_t lock;
    bool is_ready;
    struct fg_native_object *objects;
    struct fg_native_hook *changes;
    size_t nr_hooked;
    unsigned take_offs;
    int pid;
} native = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- making hooks match the users */

static uintptr_t address_of(const struct fg_native_hook *hook)
{
    return hook->object->loaded.base + hook->function->address + hook->function->patch;
}

static bool is_place(const struct fg_plan_function *function)
{
    return function->flags & FG_PLAN_PLACE;
}

/* The address of the place that a plan is for; 0: it is for all functions of its object. */
static uint64_t place_of(const struct fg_plan_file *plan)
{
    return plan->header->functions && is_place(&plan->functions[0]) ? plan->functions[0].address : 0;
}

static bool make_trampoline(struct fg_native_hook *hook, const struct fg_code_writer *writer)
{
    const struct fg_plan_function *function = hook->function;
    const struct fg_plan_file *plan = &hook->object->plan;
    struct fg_trampoline trampoline = {
        .site = {.func = hook->func, .address = address_of(hook), .displaced = function->displaced},
        .code = plan->code + function->code,
        .code_bytes = function->moved,
        .fix_ups = plan->fix_ups + function->fix_up,
        .nr_fix_ups = function->fix_ups,
        .base = hook->object->loaded.base,
        .is_place = is_place(function),
    };

    hook->trampoline = fg_pool_make(&hook->object->pool, writer, &trampoline);
    return hook->trampoline != 0;
}

/* True if the function's bytes are still those that were planned for. */
static bool has_planned_bytes(const struct fg_native_hook *hook, const struct fg_code_writer *writer)
{
    uint8_t bytes[FG_PLAN_ORIGINAL_BYTES];

    return fg_code_read(writer, address_of(hook), bytes, hook->function->displaced) ==
               hook->function->displaced &&
           memcmp(bytes, hook->function->original, hook->function->displaced) == 0;
}

/* True if another place has displaced some of the same bytes. If it is off by now, a thread may still be in
 * its trampoline, and go on where its displaced bytes end: nothing else may be there. */
static bool is_taken(const struct fg_native_object *object, const struct fg_plan_function *place)
{
    uintptr_t begin = object->loaded.base + place->address + place->patch;

    for (const struct fg_native_object *other = native.objects; other; other = other->next) {
        const struct fg_native_hook *hook =
            place_of(&other->plan) && other != object ? other->hooks[0] : NULL;

        if (hook && hook->trampoline && begin < address_of(hook) + hook->function->displaced &&
            address_of(hook) < begin + place->displaced)
            return true;
    }
    return false;
}

static const char *refuse_to_hook(struct fg_native_hook *hook, const struct fg_code_writer *writer)
{
    if (is_taken(hook->object, hook->function))
        return "another place has displaced some of its bytes";
    if ((hook->function->flags & FG_PLAN_CALLS) && fg_machine_has_shadow_stack())
        return "a shadow stack is on, and it begins with a call";
    if (!has_planned_bytes(hook, writer))
        return "its bytes are not those of its file";
    if (!hook->trampoline && !make_trampoline(hook, writer))
        return "there is no room for its trampoline within reach";
    return NULL;
}

static void describe(const struct fg_native_hook *hook, struct fg_code_change *change)
{
    uint8_t jump[FG_CHANGE_BYTES];

    *change = (struct fg_code_change){.address = address_of(hook), .bytes = fg_machine_jump_bytes};
    fg_machine_make_jump(jump, change->address, hook->trampoline);
    memcpy(hook->is_hooked ? change->from : change->to, jump, change->bytes);
    memcpy(hook->is_hooked ? change->to : change->from, hook->function->original, change->bytes);
    change->from_is_single = hook->is_hooked;
    change->arg = (void *)(uintptr_t)hook;
}

static bool write_pools(const struct fg_code_writer *writer)
{
    for (struct fg_native_object *object = native.objects; object; object = object->next) {
        if (!fg_pool_write(&object->pool, writer))
            return false;
    }
    return true;
}

/* Memory for some changes at a time. */
struct room {
    struct fg_code_change *changes;
    struct fg_stop_range *ranges;
    size_t n;
};

/* A call that finds the kill switch thrown takes all hooks off, and may be within the program's allocator.
 * The lock of hooks is held. */
static struct room reserve(void)
{
    static struct fg_code_change changes[RESERVE];
    static struct fg_stop_range ranges[RESERVE];

    return (struct room){changes, ranges, RESERVE};
}

static void room_free(const struct room *room)
{
    if (room->changes == reserve().changes)
        return;
    free(room->changes);
    free(room->ranges);
}

/* Threads stop once for each time that the room is full: so it is for all changes, if that can be had. */
static struct room room_for_all(void)
{
    struct room room = {.n = 0};

    for (const struct fg_native_hook *hook = native.changes; hook; hook = hook->next)
        room.n++;
    if (room.n <= RESERVE)
        return reserve();
    room.changes = calloc(room.n, sizeof(room.changes[0]));
    room.ranges = calloc(room.n, sizeof(room.ranges[0]));
    if (room.changes && room.ranges)
        return room;
    room_free(&room);
    return reserve();
}

/* Collects the changes that can be made, from @hook on, until the room is full. Returns how many, and in
 * @rest where to go on. */
static size_t collect(struct fg_native_hook *hook, const struct room *room,
                      const struct fg_code_writer *writer, struct fg_native_hook **rest)
{
    size_t n = 0;

    for (; hook && n < room->n; hook = hook->next) {
        hook->refusal = hook->is_hooked ? NULL : refuse_to_hook(hook, writer);
        if (!hook->refusal)
            describe(hook, &room->changes[n++]);
    }
    *rest = hook;
    return n;
}

static void set_hooked(struct fg_native_hook *hook, bool is_hooked)
{
    hook->is_hooked = is_hooked;
    native.nr_hooked += is_hooked ? 1 : (size_t)-1;
}

/* Somebody else has changed the first instructions of a hooked function, and may have kept our jump to come
 * back to it. That hook stays as it is, with its trampoline, and nothing else of ours is safe. */
static void lose(struct fg_native_hook *hook)
{
    set_hooked(hook, false);
    fg_kill("somebody else has changed the first instructions of %s [%s], which is hooked",
            hook->func->qualname, hook->func->module);
}

static void note(const struct fg_code_change *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct fg_native_hook *hook = changes[i].arg;

        if (changes[i].is_done)
            set_hooked(hook, !hook->is_hooked);
        else if (hook->is_hooked && changes[i].is_foreign)
            lose(hook);
        else
            hook->refusal = changes[i].refusal;
    }
}

/* Makes changes from @hook on, until the room is full. Returns why none could be made, or NULL. */
static const char *apply_some(struct fg_native_hook *hook, const struct room *room,
                              const struct fg_code_writer *writer, struct fg_native_hook **rest)
{
    size_t n = collect(hook, room, writer, rest);
    static struct fg_native_refusal refusal; /* the lock is held */

    if (!write_pools(writer))
        return "its trampoline cannot be written";
    if (!fg_code_change(room->changes, room->ranges, n, writer, &refusal))
        return refusal.text;
    note(room->changes, n);
    return NULL;
}

static const char *apply_all(const struct room *room, const struct fg_code_writer *writer)
{
    struct fg_native_hook *hook = native.changes;
    const char *why = NULL;

    while (hook && !why)
        why = apply_some(hook, room, writer, &hook);
    return why;
}

/* Those that were made before something went wrong are no changes any longer: drop_changes(). */
static void refuse_all(const char *why)
{
    for (struct fg_native_hook *hook = native.changes; hook && why; hook = hook->next)
        hook->refusal = why;
}

static void apply(const struct room *room)
{
    struct fg_code_writer writer;

    if (fg_code_open(&writer) != 0) {
        refuse_all("/proc/self/mem cannot be written");
        return;
    }
    refuse_all(apply_all(room, &writer));
    fg_code_close(&writer);
}

static void sync_begin(void)
{
    fg_mutex_lock(&native.lock);
}

static void add_change(struct fg_native_hook *hook)
{
    hook->changes = true;
    hook->next = native.changes;
    native.changes = hook;
}

static void sync(struct fg_func *func)
{
    struct fg_native_hook *hook = func->arch_data;

    if (hook && hook->func == func && !hook->changes)
        add_change(hook);
}

static bool must_change(const struct fg_native_hook *hook)
{
    bool is_needed = fg_func_has_users(hook->func) && !fg_is_killed();

    return is_needed != hook->is_hooked;
}

static void for_each_hook(void (*visit)(struct fg_native_hook *hook, void *arg), void *arg)
{
    for (const struct fg_native_object *object = native.objects; object; object = object->next) {
        for (uint32_t i = 0; i < object->plan.header->functions; i++) {
            if (object->hooks[i])
                visit(object->hooks[i], arg);
        }
    }
}

static void add_hooked(struct fg_native_hook *hook, void *arg)
{
    (void)arg;
    if (hook->is_hooked && !hook->changes)
        add_change(hook);
}

/* Drops the changes that are made, or not needed any longer. What could not be hooked is not tried
 * again by itself. */
static void drop_changes(bool drops_refused)
{
    struct fg_native_hook *list = native.changes, *next;

    native.changes = NULL;
    for (struct fg_native_hook *hook = list; hook; hook = next) {
        next = hook->next;
        if (!must_change(hook))
            hook->refusal = NULL;
        hook->changes = must_change(hook) && (hook->is_hooked || !drops_refused);
        if (hook->changes)
            add_change(hook);
    }
}

/* Makes those changes that are needed. */
static void make_changes(bool is_killed)
{
    if (is_killed)
        for_each_hook(add_hooked, NULL);
    drop_changes(false);
    if (native.changes) {
        struct room room = is_killed ? reserve() : room_for_all();

        apply(&room);
        room_free(&room);
    }
    drop_changes(true);
}

static void sync_end(void)
{
    unsigned tries = 0;
    bool is_killed;

    do {
        is_killed = fg_is_killed();
        make_changes(is_killed);
        /* Thrown meanwhile: what was hooked goes again. And hooks that should go are left if a thread got no
         * processor for long: all threads run before the next try. */
    } while (fg_is_killed() != is_killed || (native.changes && ++tries < MOST_TRIES));
    fg_mutex_unlock(&native.lock);
}

static int own_pid(void)
{
    return (int)FG_SYSCALL(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* In a call that finds the kill switch thrown. It may be within the allocator. A child of vfork() has its
 * parent's memory, and cannot stop the parent's threads. */
static void take_off(void)
{
    if (own_pid() != native.pid || !fg_mutex_trylock(&native.lock))
        return;
    if (native.nr_hooked && native.take_offs++ < MOST_TAKE_OFFS)
        make_changes(true);
    fg_mutex_unlock(&native.lock);
}

static const struct fg_arch_ops arch_ops = {
    .name = "native",
    .sync = sync,
    .sync_begin = sync_begin,
    .sync_end = sync_end,
};

struct fg_domain fg_native_domain = {.arch = &arch_ops, .is_global = true};

/* ---- starting */

static void fork_child(void)
{
    native.pid = own_pid();
    fg_stop_fork_child();
    fg_native_entries_fork_child(fg_task_own());
    fg_mutex_unlock(&native.lock);
}

static void fork_prepare(void)
{
    fg_mutex_lock(&native.lock);
}

static void fork_parent(void)
{
    fg_mutex_unlock(&native.lock);
}

static void note_own_text(const void *own)
{
    struct fg_loaded_object object;

    if (own && fg_object_at((uintptr_t)own, &object))
        fg_native_own_text = (struct fg_native_text){object.begin, object.end - object.begin};
}

static bool start(const void *own, struct fg_native_refusal *refusal)
{
    const char *why = fg_machine_refusal();

    if (why)
        return fg_native_refuse(refusal, "%s", why);
    if (pthread_atfork(fork_prepare, fork_parent, fork_child) != 0)
        return fg_native_refuse(refusal, "memory is short");
    fg_native_unwind_prepare();
    fg_task_on_exit(fg_native_entries_end);
    fg_native_take_off = take_off;
    native.pid = own_pid();
    note_own_text(own);
    return true;
}

bool fg_native_start(const void *own, struct fg_native_refusal *refusal)
{
    /* What is set up once for tasks calls functions of the C library. It must not happen in one of their
     * hooks: that would wait for itself. */
    fg_task_fence_is_light();
    fg_mutex_lock(&native.lock);
    if (!native.is_ready)
        native.is_ready = start(own, refusal);
    fg_mutex_unlock(&native.lock);
    return native.is_ready;
}

/* ---- objects */

static bool is_same(const struct fg_plan_file *a, const struct fg_plan_file *b)
{
    return a->header->build_id_bytes == b->header->build_id_bytes &&
           memcmp(a->header->build_id, b->header->build_id, a->header->build_id_bytes) == 0 &&
           place_of(a) == place_of(b);
}

static struct fg_native_object *find_same(const struct fg_plan_file *plan)
{
    struct fg_native_object *object = native.objects;

    while (object && !is_same(&object->plan, plan))
        object = object->next;
    return object;
}

static size_t count_hookable(const struct fg_plan_file *plan)
{
    size_t n = 0;

    for (uint32_t i = 0; i < plan->header->functions; i++)
        n += plan->functions[i].reason == FG_PLAN_HOOKABLE;
    return n;
}

/* Finds the object and reserves its trampolines. */
static bool bind_object(struct fg_native_object *object, struct fg_native_refusal *refusal)
{
    const struct fg_plan_header *header = object->plan.header;
    size_t n = count_hookable(&object->plan);

    if (!fg_object_find(header->build_id, header->build_id_bytes, &object->loaded))
        return fg_native_refuse(refusal, "no object with its build id is loaded");
    if (object->loaded.base + header->text_begin < object->loaded.begin ||
        object->loaded.base + header->text_end > object->loaded.end)
        return fg_native_refuse(refusal, "its functions are not in the text of the object");
    if (object->loaded.begin == fg_native_own_text.begin)
        return fg_native_refuse(refusal, "it is for a library of funcgraph itself");
    if (!n)
        return fg_native_refuse(refusal, "none of its functions can be hooked");
    if (place_of(&object->plan) && is_taken(object, &object->plan.functions[0]))
        return fg_native_refuse(refusal, "another place has displaced some of its bytes");
    object->hooks = calloc(header->functions, sizeof(object->hooks[0]));
    if (!object->hooks)
        return fg_native_refuse(refusal, "memory is short");
    return fg_pool_reserve(&object->pool, object->loaded.begin, object->loaded.end, n,
                           place_of(&object->plan) != 0, refusal);
}

static struct fg_native_object *object_new(struct fg_plan_file *plan, const char *name,
                                           struct fg_native_refusal *refusal)
{
    struct fg_native_object *object = calloc(1, sizeof(*object));

    if (!object) {
        fg_native_refuse(refusal, "memory is short");
        return NULL;
    }
    object->plan = *plan;
    object->name = strdup(name);
    if (object->name && bind_object(object, refusal)) {
        object->next = native.objects;
        native.objects = object;
        return object;
    }
    free(object->hooks);
    free(object->name);
    free(object);
    return NULL;
}

struct fg_native_object *fg_native_open(const char *path, const char *name, struct fg_native_refusal *refusal)
{
    struct fg_native_object *object, *same;
    struct fg_plan_file plan;

    if (!fg_plan_file_open(path, fg_machine_elf, &plan, refusal))
        return NULL;
    fg_mutex_lock(&native.lock);
    same = find_same(&plan);
    object = same ? same : object_new(&plan, name, refusal);
    fg_mutex_unlock(&native.lock);
    if (same || !object)
        fg_plan_file_close(&plan);
    return object;
}

const char *fg_native_name(const struct fg_native_object *object)
{
    return object->name;
}

/* ---- functions */

/* The name of a function that patterns select, after @name, which is another of its names. NULL: the
 * first, the best one. Returns NULL if there is none. */
static const char *selected_name(const struct fg_native_object *object, uint32_t i,
                                 const struct fg_patterns *patterns, const char *name)
{
    const struct fg_plan_file *plan = &object->plan;
    const char *end = plan->names + plan->header->name_bytes;

    name = name ? name + strlen(name) + 1 : plan->names + plan->functions[i].name;
    for (; name < end && *name; name += strlen(name) + 1) {
        if (fg_patterns_match_native(patterns, name, object->name))
            return name;
    }
    return NULL;
}

#define NO_FUNCTION UINT32_MAX

/* The number of the function at an address. */
static uint32_t function_at(const struct fg_native_object *object, uintptr_t address)
{
    const struct fg_plan_function *functions = object->plan.functions;
    uint32_t low = 0, high = object->plan.header->functions;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (functions[middle].address < address - object->loaded.base)
            low = middle + 1;
        else
            high = middle;
    }
    return low < object->plan.header->functions && functions[low].address == address - object->loaded.base
               ? low
               : NO_FUNCTION;
}

/* A function to hook, and its name. */
struct meaning {
    uint32_t i;
    const char *name;
};

/* What patterns mean by an ifunc: the function that it has chosen, by the ifunc's name. */
static struct meaning chosen(const struct fg_native_object *object, uint32_t resolver,
                             const struct fg_patterns *patterns)
{
    const char *name = NULL;

    while ((name = selected_name(object, resolver, patterns, name))) {
        uintptr_t address = fg_object_symbol(&object->loaded, name);
        uint32_t i = address ? function_at(object, address) : NO_FUNCTION;

        if (i != NO_FUNCTION && object->plan.functions[i].reason == FG_PLAN_HOOKABLE)
            return (struct meaning){i, name};
    }
    return (struct meaning){NO_FUNCTION, NULL};
}

/* What patterns mean by an entry of the plan. */
static struct meaning meaning_of(const struct fg_native_object *object, uint32_t i,
                                 const struct fg_patterns *patterns)
{
    if (object->plan.functions[i].reason == FG_PLAN_IFUNC_RESOLVER)
        return chosen(object, i, patterns);
    return (struct meaning){i, selected_name(object, i, patterns, NULL)};
}

/* Makes the record of a function. NULL: memory is short. */
static struct fg_native_hook *hook_new(struct fg_native_object *object, uint32_t i, const char *name)
{
    const struct fg_plan_function *function = &object->plan.functions[i];
    struct fg_native_hook *hook = calloc(1, sizeof(*hook));
    struct fg_func_desc desc = {
        .module = object->name,
        .qualname = name,
        .file = "",
        .args = is_place(function) ? "" : fg_machine_argument_names,
        .line = function->size,
        .flags = FG_FUNC_NATIVE | (is_place(function) ? FG_FUNC_PLACE : 0),
        .arch_data = hook,
        .domain = &fg_native_domain,
    };

    if (!hook)
        return NULL;
    hook->entry.address = object->loaded.base + function->address;
    hook->object = object;
    hook->function = function;
    hook->func = fg_func_meet(&desc);
    if (hook->func)
        return hook;
    free(hook);
    return NULL;
}

static struct fg_func *func_at(const void *list, size_t i)
{
    return ((struct fg_func *const *)list)[i];
}

/* Makes the records that are missing of what patterns mean by entries with @reason, and adds them to @funcs.
 * Returns how many entries they mean; -ENOMEM. */
static long meet_all(struct fg_native_object *object, const struct fg_patterns *patterns,
                     enum fg_plan_reason reason, struct fg_func **funcs, size_t *n)
{
    long meant = 0;

    for (uint32_t i = 0; i < object->plan.header->functions; i++) {
        struct meaning meaning = {.name = NULL};

        if (object->plan.functions[i].reason == reason)
            meaning = meaning_of(object, i, patterns);
        meant += meaning.name != NULL;
        if (!meaning.name || object->hooks[meaning.i])
            continue;
        object->hooks[meaning.i] = hook_new(object, meaning.i, meaning.name);
        if (!object->hooks[meaning.i])
            return -ENOMEM;
        funcs[(*n)++] = object->hooks[meaning.i]->func;
    }
    return meant;
}

/* Ifuncs are first: a person knows the functions that they choose by the ifuncs' names. */
static long meet_in_order(struct fg_native_object *object, const struct fg_patterns *patterns,
                          struct fg_func **funcs, size_t *n)
{
    long chosen = meet_all(object, patterns, FG_PLAN_IFUNC_RESOLVER, funcs, n);
    long meant = chosen < 0 ? chosen : meet_all(object, patterns, FG_PLAN_HOOKABLE, funcs, n);

    return meant < 0 ? meant : chosen + meant;
}

long fg_native_meet(struct fg_native_object *object, const struct fg_patterns *patterns)
{
    struct fg_func **funcs = calloc(object->plan.header->functions, sizeof(funcs[0]));
    size_t n = 0;
    long meant;

    if (!funcs)
        return -ENOMEM;
    fg_mutex_lock(&native.lock);
    meant = meet_in_order(object, patterns, funcs, &n);
    fg_mutex_unlock(&native.lock);
    fg_sync_many(func_at, funcs, n);
    free(funcs);
    return meant;
}

struct state_visit {
    void (*visit)(const struct fg_native_state *state, void *arg);
    void *arg;
};

static void visit_state(struct fg_native_hook *hook, void *arg)
{
    const struct state_visit *visit = arg;
    const struct fg_native_state state = {hook->func,       hook->object->name, hook->func->qualname,
                                          address_of(hook), hook->is_hooked,    hook->refusal};

    visit->visit(&state, visit->arg);
}

void fg_native_for_each(void (*visit)(const struct fg_native_state *state, void *arg), void *arg)
{
    fg_mutex_lock(&native.lock);
    for_each_hook(visit_state, &(struct state_visit){visit, arg});
    fg_mutex_unlock(&native.lock);
}
