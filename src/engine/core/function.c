/* The table of function records. */
#include "engine/core/function.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"
#include "engine/core/pattern.h"
#include "engine/core/root.h"

/* Free records of one arch, linked through arch_data. */
struct pool {
    const struct fg_arch_ops *arch;
    struct fg_func *free;
};

static struct {
    struct fg_func **live;
    size_t n, capacity;
    struct pool *pools;
    size_t nr_pools, pools_capacity;
    uint32_t next_id;
} funcs = {.next_id = 1};

struct fg_func **fg_func_table(size_t *n)
{
    *n = funcs.n;
    return funcs.live;
}

uint32_t fg_func_count(void)
{
    size_t n;

    fg_engine_lock();
    n = funcs.n;
    fg_engine_unlock();
    return (uint32_t)n;
}

static char *append(char **at, const char *text, size_t bytes)
{
    char *start = *at;

    memcpy(start, text, bytes);
    *at += bytes;
    return start;
}

/* All strings in one allocation: "module.qualname", then the parts. */
static bool copy_strings(struct fg_func *func, const struct fg_func_desc *desc)
{
    size_t module = strlen(desc->module), qualname = strlen(desc->qualname);
    size_t file = strlen(desc->file) + 1, args = strlen(desc->args) + 1;
    char *at = malloc(2 * (module + qualname + 2) + file + args);

    if (!at)
        return false;
    func->name = append(&at, desc->module, module);
    append(&at, ".", 1);
    append(&at, desc->qualname, qualname + 1);
    func->module = append(&at, desc->module, module + 1);
    func->qualname = append(&at, desc->qualname, qualname + 1);
    func->file = append(&at, desc->file, file);
    func->args = append(&at, desc->args, args);
    return true;
}

/* A linear search: there are as many pools as arches. NULL: memory is short. */
static struct pool *pool_of(const struct fg_arch_ops *arch)
{
    for (size_t i = 0; i < funcs.nr_pools; i++) {
        if (funcs.pools[i].arch == arch)
            return &funcs.pools[i];
    }
    if (fg_array_reserve(&funcs.pools, &funcs.pools_capacity, funcs.nr_pools + 1) != 0)
        return NULL;
    funcs.pools[funcs.nr_pools] = (struct pool){arch, NULL};
    return &funcs.pools[funcs.nr_pools++];
}

static struct fg_func *record_take(const struct fg_arch_ops *arch)
{
    struct pool *pool = pool_of(arch);
    struct fg_func *func = pool ? pool->free : NULL;

    if (!func)
        return pool ? calloc(1, sizeof(*func)) : NULL;
    pool->free = func->arch_data;
    return func;
}

static void record_give_back(struct fg_func *func, const struct fg_arch_ops *arch)
{
    struct pool *pool = pool_of(arch); /* never NULL: the record was taken from this pool */

    func->arch_data = pool->free;
    pool->free = func;
}

struct fg_func *fg_func_new(const struct fg_func_desc *desc)
{
    struct fg_func *func;

    if (fg_array_reserve(&funcs.live, &funcs.capacity, funcs.n + 1) != 0)
        return NULL;
    func = record_take(desc->domain->arch);
    if (!func)
        return NULL;
    if (!copy_strings(func, desc)) {
        record_give_back(func, desc->domain->arch);
        return NULL;
    }
    atomic_store(&func->entry_hook_only, false);
    atomic_store(&func->may_silence_calls, false);
    atomic_store(&func->has_silent_calls, false);
    func->id = funcs.next_id++;
    func->line = desc->line;
    func->flags = desc->flags;
    func->arch_data = desc->arch_data;
    func->domain = desc->domain;
    func->irq = false;
    return func;
}

void fg_func_insert(struct fg_func *func)
{
    func->live = true;
    func->index = (uint32_t)funcs.n;
    funcs.live[funcs.n++] = func;
}

static void table_remove(struct fg_func *func)
{
    func->live = false;
    funcs.live[func->index] = funcs.live[--funcs.n];
    funcs.live[func->index]->index = func->index;
}

void fg_func_delete(struct fg_func *func)
{
    if (func->live)
        table_remove(func);
    free(func->name);
    func->name = func->module = func->qualname = func->file = func->args = NULL;
    record_give_back(func, func->domain->arch);
}

bool fg_func_is(struct fg_func *func, uint32_t id)
{
    bool answer;

    fg_engine_lock();
    answer = func->live && func->id == id;
    fg_engine_unlock();
    return answer;
}

bool fg_func_if_live(struct fg_func *func, bool (*visit)(void *arch_data))
{
    bool answer;

    fg_engine_lock();
    answer = func->live && visit(func->arch_data);
    fg_engine_unlock();
    return answer;
}

/* Records which of a set's whole names are names of functions. */
struct names_met {
    const void *scope;
    const struct fg_patterns *set;
    bool *met; /* indexed by the name's position among the set's whole names */
};

static void note_name(struct fg_func *func, void *arg)
{
    struct names_met *names = arg;
    size_t at;

    if (fg_domain_is_seen(func->domain, names->scope) && fg_patterns_find_name(names->set, func->name, &at))
        names->met[at] = true;
}

bool fg_func_any_unknown(const void *scope, const struct fg_patterns *set, bool (*could_be)(const char *name))
{
    struct names_met names = {scope, set, set->nr_names ? calloc(set->nr_names, sizeof(bool)) : NULL};
    bool any = false;

    if (names.met)
        fg_func_for_each(note_name, &names);
    for (size_t i = 0; i < set->nr_names && !any; i++)
        any = !(names.met && names.met[i]) && could_be(set->items[set->order[i]].name);
    free(names.met);
    return any;
}

void fg_func_for_each(void (*visit)(struct fg_func *func, void *arg), void *arg)
{
    fg_engine_lock();
    for (size_t i = 0; i < funcs.n; i++)
        visit(funcs.live[i], arg);
    fg_engine_unlock();
}
