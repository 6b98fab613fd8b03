/* Memoryviews of bytes that a user keeps on the shadow stack.
 *
 * A memoryview must never show freed memory, but the program may keep slices of it, or buffers taken from
 * it, for any length of time. So a view shows a buffer object, not the shadow stack: bytes are copied to
 * the buffer when a callback asks for a view, and copied back when the callback ends. Then the view is
 * released. Whatever still refers to the buffer is made to raise:
 *
 *     memoryview ---.
 *     slice --------+--> managed buffer --> fg_buffer
 *     slice --------'    (CPython's; one flag of it makes all of its views raise)
 *
 * A managed buffer with that flag never releases the buffer object. Both linger in a list until we hold
 * the last reference to the managed buffer. Then the flag is cleared, and the managed buffer frees itself
 * and the buffer object. */
#include "binding/core/view.h"

#include <string.h>

#include "arch/cpython/base/lock.h"
#include "binding/base/types.h"
#include "binding/core/callback.h"
#include "binding/core/client.h"

#define FIRST_MAX_LINGERS 32u

struct fg_buffer {
    PyObject_HEAD struct fg_buffer *next;
    void *words; /* on the shadow stack, while the callback runs */
    size_t bytes;
    PyObject *view;
    _PyManagedBufferObject *managed; /* while it lingers */
    _Alignas(16) char data[FGRAPH_MAX_DATA_BYTES];
};

static int get_buffer(PyObject *object, Py_buffer *view, int flags)
{
    struct fg_buffer *self = (struct fg_buffer *)object;

    return PyBuffer_FillInfo(view, object, self->data, (Py_ssize_t)self->bytes, 0, flags);
}

static PyType_Slot slots[] = {
    {Py_tp_doc, "Buffer of a memoryview of reserved data."},
    {Py_tp_dealloc, fg_dealloc_plain},
    {Py_bf_getbuffer, get_buffer},
    {0, NULL},
};

PyType_Spec fg_buffer_spec = {
    .name = "funcgraph._engine.DataBuffer",
    .basicsize = sizeof(struct fg_buffer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* ---- views that outlive their callback */

static PyMemoryViewObject *memoryview_of(const struct fg_buffer *buffer)
{
    return (PyMemoryViewObject *)buffer->view;
}

static bool is_released(const PyMemoryViewObject *view)
{
    return view->flags & _Py_MEMORYVIEW_RELEASED;
}

/* Whether the managed buffer has no other view. */
static bool is_alone(const PyMemoryViewObject *view)
{
    return view->mbuf->exports == (is_released(view) ? 0 : 1);
}

/* Removes the buffers whose managed buffer nobody else holds. Under FG_LOCK_VIEWS; the caller frees them
 * without it. */
static struct fg_buffer *take_free_lingers(struct fg_engine_state *state)
{
    struct fg_buffer *found = NULL;

    for (struct fg_buffer **at = &state->lingers; *at;) {
        struct fg_buffer *buffer = *at;

        if (Py_REFCNT(buffer->managed) != 1) {
            at = &buffer->next;
            continue;
        }
        *at = buffer->next;
        buffer->next = found;
        found = buffer;
        state->nr_lingers--;
    }
    return found;
}

static void free_lingers(struct fg_buffer *buffer)
{
    while (buffer) {
        struct fg_buffer *next = buffer->next;

        buffer->managed->flags &= ~_Py_MANAGED_BUFFER_RELEASED;
        Py_CLEAR(buffer->managed);
        Py_DECREF(buffer);
        buffer = next;
    }
}

/* Makes all views of the managed buffer raise. Steals the reference to the buffer. */
FG_COLD static void linger(struct fg_engine_state *state, struct fg_buffer *buffer)
{
    struct fg_buffer *found = NULL;

    buffer->managed = (_PyManagedBufferObject *)Py_NewRef(memoryview_of(buffer)->mbuf);
    buffer->managed->flags |= _Py_MANAGED_BUFFER_RELEASED;
    Py_CLEAR(buffer->view);
    fg_lock(FG_LOCK_VIEWS);
    buffer->next = state->lingers;
    state->lingers = buffer;
    if (++state->nr_lingers > state->max_lingers) {
        found = take_free_lingers(state);
        /* The limit grows with the list, so that the cost of a search per added buffer is constant. */
        state->max_lingers = 2 * state->nr_lingers + FIRST_MAX_LINGERS;
    }
    fg_unlock(FG_LOCK_VIEWS);
    free_lingers(found);
}

/* The program kept the view, but nothing refers to its buffer. */
FG_COLD static void release(struct fg_buffer *buffer)
{
    PyObject *result = PyObject_CallMethod(buffer->view, "release", NULL);

    if (!result)
        PyErr_Clear();
    Py_XDECREF(result);
}

/* The callback is over. Steals the reference. If `spare` is given, a view that nobody kept goes there. */
static void settle(struct fg_engine_state *state, struct fg_buffer *buffer, fg_spare *spare)
{
    PyMemoryViewObject *view = memoryview_of(buffer);

    memcpy(buffer->words, buffer->data, buffer->bytes);
    if (fg_unlikely(!is_alone(view) || view->exports)) {
        linger(state, buffer);
        return;
    }
    if (spare && fg_likely(Py_REFCNT(view) == 1 && !is_released(view))) {
        buffer->view = NULL; /* from now on the view holds the buffer */
        fg_spare_put(spare, view);
    } else if (Py_REFCNT(view) != 1) {
        release(buffer);
    }
    Py_CLEAR(buffer->view);
    Py_DECREF(buffer);
}

void fg_views_settle(struct fg_callback *callback)
{
    struct fg_buffer *buffer = callback->buffers;

    callback->buffers = NULL;
    while (buffer) {
        struct fg_buffer *next = buffer->next;

        settle(callback->self->state, buffer, NULL);
        buffer = next;
    }
}

/* ---- views */

/* The buffer of a view of these words that this callback has already, borrowed; or NULL. */
static struct fg_buffer *find_buffer(const struct fg_callback *callback, const void *words)
{
    struct fg_buffer *buffer = callback->buffers;

    while (buffer && (buffer->words != words || is_released(memoryview_of(buffer))))
        buffer = buffer->next;
    return buffer;
}

static struct fg_buffer *buffer_new(struct fg_engine_state *state, void *words, size_t bytes)
{
    struct fg_buffer *buffer = PyObject_New(struct fg_buffer, state->buffer_type);

    if (!buffer)
        return NULL;
    buffer->words = words;
    buffer->bytes = bytes;
    buffer->managed = NULL;
    memcpy(buffer->data, words, bytes);
    buffer->view = PyMemoryView_FromObject((PyObject *)buffer);
    if (!buffer->view)
        Py_CLEAR(buffer);
    return buffer;
}

/* Copies back the bytes of released views of the same words, which must not overwrite those of a new view
 * later. */
static void write_back(const struct fg_callback *callback, const void *words)
{
    for (struct fg_buffer *buffer = callback->buffers; buffer; buffer = buffer->next) {
        if (buffer->words == words && buffer->bytes) {
            memcpy(buffer->words, buffer->data, buffer->bytes);
            buffer->bytes = 0;
        }
    }
}

PyObject *fg_view_of(struct fg_callback *callback, void *words, size_t bytes)
{
    struct fg_buffer *buffer = find_buffer(callback, words);

    if (buffer)
        return Py_NewRef(buffer->view);
    write_back(callback, words);
    buffer = buffer_new(callback->self->state, words, bytes);
    if (!buffer)
        return NULL;
    buffer->next = callback->buffers;
    callback->buffers = buffer;
    return Py_NewRef(buffer->view);
}

/* ---- entry data: each callback has one view */

struct fg_buffer *fg_entry_data_take(struct fg_engine_state *state, fg_spare *spare, void *words,
                                     size_t bytes)
{
    PyObject *view = fg_spare_take(spare);
    struct fg_buffer *buffer;

    if (fg_unlikely(!view))
        return buffer_new(state, words, bytes);
    buffer = (struct fg_buffer *)Py_NewRef(PyMemoryView_GET_BASE(view));
    buffer->view = view;
    buffer->words = words;
    memcpy(buffer->data, words, bytes);
    return buffer;
}

PyObject *fg_entry_data_view(const struct fg_buffer *buffer)
{
    return buffer->view;
}

void fg_entry_data_settle(struct fg_engine_state *state, struct fg_buffer *buffer, fg_spare *spare)
{
    settle(state, buffer, spare);
}
