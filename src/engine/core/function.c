/* The registry of function records. */
#include "engine/core/function.h"

#include <stdlib.h>
#include <string.h>

#include "engine/core/pattern.h"
#include "engine/graph/user_list.h"
#include "engine/graph/users.h"
#include "engine/probe/fprobe.h"

static struct {
    struct fg_func **live;
    uint32_t n, capacity;
    struct fg_func *free; /* linked through arch_data */
    uint32_t next_id;
} funcs = {.next_id = 1};

struct fg_func **fg_func_table(uint32_t *n)
{
    *n = funcs.n;
    return funcs.live;
}

uint32_t fg_func_count(void)
{
    uint32_t n;

    fg_engine_lock();
    n = funcs.n;
    fg_engine_unlock();
    return n;
}

static bool make_room(void)
{
    uint32_t capacity = funcs.capacity ? funcs.capacity * 2 : 256;
    struct fg_func **live;

    if (funcs.n < funcs.capacity)
        return true;
    live = realloc(funcs.live, capacity * sizeof(struct fg_func *));
    if (!live)
        return false;
    funcs.live = live;
    funcs.capacity = capacity;
    return true;
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

static struct fg_func *record_take(void)
{
    struct fg_func *func = funcs.free;

    if (func)
        funcs.free = func->arch_data;
    else
        func = calloc(1, sizeof(*func));
    if (func)
        atomic_store(&func->users, &fg_no_users);
    if (func)
        atomic_store(&func->is_deaf, false);
    return func;
}

static void record_give_back(struct fg_func *func)
{
    func->arch_data = funcs.free;
    funcs.free = func;
}

static struct fg_func *new_locked(const struct fg_func_desc *desc)
{
    struct fg_func *func = make_room() ? record_take() : NULL;
    struct fg_user_list *list;

    if (!func)
        return NULL;
    if (!copy_strings(func, desc)) {
        record_give_back(func);
        return NULL;
    }
    func->id = funcs.next_id++;
    func->line = desc->line;
    func->flags = desc->flags;
    func->arch_data = desc->arch_data;
    func->domain = desc->domain;
    func->irq = false;
    func->live = true;
    func->index = funcs.n;
    list = fg_fprobes_find(func) ? fg_users_match(func) : NULL;
    if (!list) {
        fg_fprobes_forget(func);
        free(func->name);
        record_give_back(func);
        return NULL;
    }
    funcs.live[funcs.n++] = func;
    fg_user_list_publish(func, list);
    return func;
}

struct fg_func *fg_func_new(const struct fg_func_desc *desc)
{
    struct fg_func *func;

    fg_engine_lock();
    func = new_locked(desc);
    fg_engine_unlock();
    return func;
}

void fg_func_free(struct fg_func *func)
{
    struct fg_user_list *list;
    void *object, *domain = func->domain;

    fg_abandon_function(func);
    object = atomic_exchange(&func->object, NULL);
    fg_engine_lock();
    list = atomic_load(&func->users);
    fg_user_list_publish(func, &fg_no_users);
    fg_user_list_drop(list); /* a function that dies runs nowhere: nobody iterates its list */
    fg_fprobes_forget(func);
    func->live = false;
    funcs.live[func->index] = funcs.live[--funcs.n];
    funcs.live[func->index]->index = func->index;
    free(func->name);
    func->name = func->module = func->qualname = func->file = func->args = NULL;
    record_give_back(func);
    fg_engine_unlock();
    if (object && fg_engine_arch()->drop_object)
        fg_engine_arch()->drop_object(object, domain);
}

static bool set_irq_locked(struct fg_func *func)
{
    func->irq = true;
    if (!fg_users_rematch(func))
        func->irq = false;
    return func->irq;
}

bool fg_func_set_irq(struct fg_func *func)
{
    const struct fg_arch_ops *arch = fg_engine_arch();
    bool is_new, is_set = true;

    fg_engine_lock();
    is_new = !func->irq;
    if (is_new)
        is_set = set_irq_locked(func);
    fg_engine_unlock();
    if (!is_new || !is_set)
        return is_set;
    arch->sync_begin(); /* it may be hooked only for those that it hides something from */
    arch->sync(func);
    arch->sync_end();
    return true;
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

/* 1 for each of the set's names that was met. */
struct names_met {
    const void *domain;
    const struct fg_patterns *set;
    bool *met;
};

static void note_name(struct fg_func *func, void *arg)
{
    struct names_met *names = arg;
    size_t at;

    if (func->domain == names->domain && fg_patterns_find_name(names->set, func->name, &at))
        names->met[at] = true;
}

bool fg_func_any_unknown(const void *domain, const struct fg_patterns *set,
                         bool (*could_be)(const char *name))
{
    struct names_met names = {domain, set, set->nr_names ? calloc(set->nr_names, sizeof(bool)) : NULL};
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
    for (uint32_t i = 0; i < funcs.n; i++)
        visit(funcs.live[i], arg);
    fg_engine_unlock();
}
