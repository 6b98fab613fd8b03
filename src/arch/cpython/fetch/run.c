/* See run.h. */
#include "arch/cpython/fetch/run.h"

#include <string.h>

#include "arch/cpython/base/compat/dict.h"
#include "arch/cpython/fetch/attr.h"
#include "arch/cpython/fetch/event_values.h"
#include "arch/cpython/fetch/item.h"
#include "arch/cpython/fetch/number.h"
#include "arch/cpython/fetch/store.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/regs.h"
#include "arch/cpython/read/variables.h"
#include "engine/base/compiler.h"
#include "engine/core/task.h"

/* ---- sources: variables */

/* The variables that a run can read: all of a kprobe's frame, the arguments at an entry. */
struct variables {
    fg_pyframe *frame; /* NULL: there are none */
    const PyCodeObject *code;
    PyObject *const *names;
    int n;
    bool is_full; /* a kprobe's */
};

/* At a return the function may have assigned to its arguments. */
static struct variables variables_of(const struct ftrace_regs *regs)
{
    struct variables all = {.is_full = fg_regs_is_full(regs)};

    if (!all.is_full && (regs->ops != &fg_python_regs_ops || regs->value || !regs->frame))
        return all;
    all.frame = regs->frame;
    all.code = fg_pyframe_code(all.frame);
    all.names = ((PyTupleObject *)all.code->co_localsplusnames)->ob_item;
    all.n = all.is_full ? all.code->co_nlocalsplus : fg_code_argument_count(all.code);
    return all;
}

/* Without the GIL another thread may set a cell, and free what was in it. */
static PyObject *in_cell(PyObject *cell)
{
    return FG_HAVE_BORROWED_READS ? ((PyCellObject *)cell)->ob_ref : NULL;
}

/* The variable in a slot that is empty or has a cell. */
FG_NOINLINE static PyObject *rare_variable(const struct variables *all, int slot)
{
    bool is_cell = false;
    PyObject *value = NULL;

    if (all->is_full)
        value = fg_pyframe_place(all->frame, (unsigned)slot, -1, &is_cell);
    else if ((value = fg_pyframe_local(all->frame, slot)))
        is_cell = PyCell_Check(value) && fg_variable_is_in_cell(all->frame, all->code, slot);
    return is_cell ? in_cell(value) : value;
}

static inline PyObject *variable(const struct variables *all, int slot)
{
    PyObject *value = fg_pyframe_local(all->frame, slot);

    return fg_likely(value && !PyCell_Check(value)) ? value : rare_variable(all, slot);
}

/* The code of a module or of a class has its variables in a dict. */
static PyObject *in_namespace(const struct variables *all, const struct fg_fetch_field *field)
{
    PyObject *value = NULL;

#if FG_HAVE_BORROWED_READS
    struct fg_dict_key key = {field->operand.key, field->operand.hash};
    PyObject *locals = all->is_full && !(all->code->co_flags & CO_OPTIMIZED) ? all->frame->f_locals : NULL;
    int32_t entry = -1;

    if (locals && PyDict_CheckExact(locals))
        fg_dict_peek(locals, &key, &entry, &value);
#else
    (void)all, (void)field;
#endif
    return value;
}

/* Names of code objects are interned, as ours are. A code object that somebody put together may have
 * others: two exact str are compared without raising. */
static int search_name(const struct variables *all, PyObject *name)
{
    for (int i = 0; i < all->n; i++) {
        if (all->names[i] == name)
            return i;
    }
    for (int i = 0; i < all->n; i++) {
        if (PyUnicode_Compare(all->names[i], name) == 0)
            return i;
    }
    return -1;
}

/* relaxed: without the GIL another thread may set the slot, and any value will do. */
FG_NOINLINE static PyObject *search_variable(const struct variables *all, const struct fg_fetch_field *field)
{
    int slot = all->frame ? search_name(all, field->operand.key) : -1;

    if (slot >= 0) {
        atomic_store_explicit(field->slot, slot, memory_order_relaxed);
        return variable(all, slot);
    }
    return all->frame ? in_namespace(all, field) : NULL;
}

/* A probe is mostly on one function, or on alike ones: the slot is kept. */
static inline PyObject *by_name(const struct variables *all, const struct fg_fetch_field *field)
{
    int slot = atomic_load_explicit(field->slot, memory_order_relaxed);

    if (fg_likely(slot < all->n && all->names[slot] == field->operand.key))
        return variable(all, slot);
    return search_variable(all, field);
}

/* Argument @n from 0. At a kprobe: what the variable has now. */
static PyObject *nth_argument(const struct variables *all, const struct ftrace_regs *regs, int64_t n)
{
    if (!all->frame)
        return fg_regs_is_c(regs) && n == 0 ? fg_regs_argument(regs, 0) : NULL;
    return n < fg_code_argument_count(all->code) ? variable(all, (int)n) : NULL;
}

/* ---- sources */

static struct fg_fetched thread_name(void)
{
    const struct fg_task *task = fg_task_self;

    if (!task)
        return fg_fetched_fault();
    return (struct fg_fetched){
        .kind = FG_FETCHED_TEXT,
        .text = task->name,
        .n = (uint32_t)strnlen(task->name, sizeof(task->name)),
    };
}

/* A slot of the frame: its variables first, then the evaluation stack. */
static PyObject *stack_item(const struct ftrace_regs *regs, int64_t n)
{
    bool is_cell = false;
    fg_pyframe *frame = fg_regs_frame(regs);
    PyObject *value =
        frame ? fg_pyframe_place(frame, (unsigned)n, fg_regs_stack_depth(regs), &is_cell) : NULL;

    return is_cell ? in_cell(value) : value;
}

static struct fg_fetched raised(PyObject *exception)
{
    return (struct fg_fetched){.kind = exception ? FG_FETCHED_RAISED : FG_FETCHED_FAULT, .object = exception};
}

/* What all fields of a run are read from. */
struct origin {
    const struct ftrace_regs *regs;
    struct variables variables;
    uint32_t func;
};

FG_NOINLINE static struct fg_fetched fetch_source(const struct fg_fetch_field *field,
                                                  const struct origin *origin)
{
    const struct ftrace_regs *regs = origin->regs;

    switch (field->source) {
    case FG_FETCH_ARG:
        if (fg_regs_has_event_values(regs))
            return fg_event_value(regs, field->operand.number - 1);
        return fg_fetched_object(nth_argument(&origin->variables, regs, field->operand.number - 1));
    case FG_FETCH_RETVAL:
        return fg_fetched_object(fg_regs_result(regs));
    case FG_FETCH_EXC:
        return raised(fg_regs_exception(regs));
    case FG_FETCH_COMM:
        return thread_name();
    case FG_FETCH_STACK:
        return fg_fetched_object(stack_item(regs, field->operand.number));
    case FG_FETCH_SYMBOL:
        return (struct fg_fetched){
            .kind = origin->func ? FG_FETCHED_FUNCTION : FG_FETCHED_FAULT,
            .word = origin->func,
        };
    case FG_FETCH_IMM:
        return fg_fetched_object(field->operand.key);
    default:
        return fg_fetched_object(by_name(&origin->variables, field));
    }
}

/* ---- steps */

static inline struct fg_fetched take_step(struct fg_fetched from, const struct fg_fetch_step *step)
{
    if (from.kind == FG_FETCHED_RAISED)
        from.kind = FG_FETCHED_OBJECT;
    switch (step->kind) {
    case FG_FETCH_STEP_ATTR:
        return from.kind == FG_FETCHED_OBJECT ? fg_fetch_attr(from.object, step) : fg_fetched_fault();
    case FG_FETCH_STEP_INDEX:
    case FG_FETCH_STEP_KEY:
        return fg_fetch_item(from, step);
    case FG_FETCH_STEP_LEN:
        return fg_fetch_len(from);
    case FG_FETCH_STEP_BITS:
        return fg_fetched_bits(from, FG_FETCH_FIRST_BIT(step->operand.number),
                               FG_FETCH_NR_BITS(step->operand.number));
    }
    return fg_fetched_fault();
}

static inline struct fg_fetched fetch(const struct fg_fetch_field *field, const struct origin *origin)
{
    struct fg_fetched fetched = field->source == FG_FETCH_NAME
                                    ? fg_fetched_object(by_name(&origin->variables, field))
                                    : fetch_source(field, origin);

    for (uint32_t i = 0; i < field->nr_steps && fetched.kind != FG_FETCHED_FAULT; i++)
        fetched = take_step(fetched, &field->steps[i]);
    return fetched;
}

/* ---- fields */

/* Elements that the sequence does not have are zero. If it is no sequence, all are faults. */
static bool store_array(struct fg_fetched from, const struct fg_field *layout,
                        const struct fg_fetch_operand *getitem, struct fg_fetch_texts *texts, uint32_t later)
{
    uint8_t *at = texts->base + layout->offset;
    uint32_t bytes = fg_field_element_bytes(layout->type);
    struct fg_fetched length = fg_fetch_len(from);
    int64_t n =
        length.kind == FG_FETCHED_SIGNED && length.number < layout->count ? length.number : layout->count;
    bool is_whole = true;

    memset(at, 0, (size_t)layout->count * bytes);
    for (uint32_t i = 0; i < n; i++) {
        if (fg_fetch_store(fg_fetch_nth(from, i, getitem), layout->type, at + i * bytes, texts,
                           fg_fetch_later(layout, i, later)))
            continue;
        fg_field_set_fault(texts->base, layout, i);
        is_whole = false;
    }
    return is_whole && length.kind == FG_FETCHED_SIGNED;
}

/* Return: false: the field, or an element of it, is a fault. */
FG_NOINLINE static bool store_any(struct fg_fetched from, const struct fg_field *layout,
                                  const struct fg_fetch_field *field, struct fg_fetch_texts *texts,
                                  uint32_t later)
{
    if (fg_unlikely(layout->count))
        return store_array(from, layout, &field->getitem, texts, later);
    if (fg_fetch_store(from, layout->type, texts->base + layout->offset, texts, later))
        return true;
    fg_field_set_fault(texts->base, layout, 0);
    return false;
}

static inline bool store(struct fg_fetched from, const struct fg_field *layout,
                         const struct fg_fetch_field *field, struct fg_fetch_texts *texts, uint32_t later)
{
    if (fg_likely(field->int_bytes &&
                  fg_fetch_store_int(from, texts->base + layout->offset, field->int_bytes)))
        return true;
    return store_any(from, layout, field, texts, later);
}

/* From entry data into the image, with its faults. */
static void copy_from_entry(const struct fg_field *layout, const struct fg_fetch_field *field,
                            const uint8_t *entry_data, struct fg_fetch_texts *texts, uint32_t later)
{
    uint32_t n = layout->count ? layout->count : 1, bytes = fg_field_element_bytes(layout->type);
    const uint8_t *stored = entry_data + field->in_entry.offset;
    uint8_t *at = texts->base + layout->offset;

    if (!fg_field_has_text(layout->type)) {
        memcpy(at, stored, (size_t)n * bytes);
        for (uint32_t i = 0; i < n; i++) {
            if (fg_field_is_fault(entry_data, FG_FETCH_MAX_ENTRY_BYTES, &field->in_entry, i))
                fg_field_set_fault(texts->base, layout, i);
        }
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        fg_fetch_copy_text(entry_data, stored + i * bytes, layout->type, at + i * bytes, texts,
                           fg_fetch_later(layout, i, later));
}

/* A field that was read at the entry. */
FG_NOINLINE static bool store_from_entry(const struct fg_field *layout, const struct fg_fetch_field *field,
                                         const uint8_t *entry_data, struct fg_fetch_texts *texts,
                                         uint32_t later)
{
    if (!entry_data)
        return store_any(fg_fetched_fault(), layout, field, texts, later);
    copy_from_entry(layout, field, entry_data, texts, later);
    return true;
}

uint32_t fg_fetch_run(const struct fg_fetch_program *program, const struct ftrace_regs *regs, uint32_t func,
                      const uint8_t *entry_data, uint8_t *image)
{
    struct fg_fetch_texts texts = {image, program->image.fixed_bytes, FG_EVENT_MAX_BYTES};
    struct origin origin = {regs, variables_of(regs), func};
    unsigned faults = 0;

    fg_fetch_count_run(&program->image);
    fg_fetch_clear_faults(image, program->image.faults_at, program->image.fixed_bytes);
    for (uint32_t i = 0; i < program->image.nr_fields; i++) {
        const struct fg_field *layout = &program->image.fields[i];
        const struct fg_fetch_field *field = &program->of[i];
        uint32_t later = program->image.later_text[i];

        if (fg_unlikely(field->is_of_entry))
            faults += !store_from_entry(layout, field, entry_data, &texts, later);
        else
            faults += !store(fetch(field, &origin), layout, field, &texts, later);
    }
    fg_fetch_count_faults(&program->image, faults);
    return texts.used;
}

void fg_fetch_entry(const struct fg_fetch_program *program, const struct ftrace_regs *regs,
                    uint8_t *entry_data)
{
    struct fg_fetch_texts texts = {entry_data, program->entry_fixed, program->entry_bytes};
    struct origin origin = {regs, variables_of(regs), 0};
    unsigned faults = 0;

    fg_fetch_clear_faults(entry_data, program->entry_faults_at, program->entry_fixed);
    for (uint32_t i = 0; i < program->image.nr_fields; i++) {
        const struct fg_fetch_field *field = &program->of[i];

        if (field->is_of_entry)
            faults += !store(fetch(field, &origin), &field->in_entry, field, &texts, field->later_in_entry);
    }
    fg_fetch_count_faults(&program->image, faults);
}
