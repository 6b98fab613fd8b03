/* See late_source.h. */
#include "arch/cpython/static/late_source.h"

#include <errno.h>
#include <stddef.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/latency/call_hook.h"
#include "arch/cpython/static/peek.h"

const struct fg_late_source *const fg_late_sources[] = {&fg_asyncio_late, &fg_thread_late, NULL};

/* Of one interpreter. Under its GIL. */
static struct state {
    void *owner;
    unsigned nr_events; /* that have started */
    bool is_waiting;
} states[sizeof(fg_late_sources) / sizeof(*fg_late_sources)];

static struct state *state_of(const struct fg_late_source *source)
{
    size_t i = 0;

    while (fg_late_sources[i] != source)
        i++;
    return &states[i];
}

/* While a module is being imported, its functions may be missing: the import system says so in the spec.
 * PyImport_GetModule() would run code for that. */
static bool is_initializing(PyObject *module)
{
    PyObject *spec = fg_peek(module, "__spec__");
    PyObject *initializing = spec ? fg_peek(spec, "_initializing") : NULL;
    bool is = initializing == Py_True;

    Py_XDECREF(spec);
    Py_XDECREF(initializing);
    return is;
}

static bool is_imported(const char *name)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules && PyDict_CheckExact(modules) ? fg_dict_get(modules, name) : NULL;
    bool is = module && module != Py_None && !is_initializing(module);

    Py_XDECREF(module);
    return is;
}

bool fg_late_source_is_waiting(const struct fg_late_source *source)
{
    return state_of(source)->is_waiting;
}

void fg_late_source_look(const struct fg_late_source *source)
{
    struct state *state = state_of(source);
    fg_exception aside;

    if (!state->is_waiting)
        return;
    aside = fg_exception_set_aside();
    if (is_imported(source->module)) {
        state->is_waiting = false;
        source->install();
    }
    fg_exception_put_back(aside);
}

static int first_start(const struct fg_late_source *source)
{
    if (!FG_HAVE_CALL_HOOKS)
        return -EOPNOTSUPP;
    if (is_imported(source->module))
        return source->install();
    state_of(source)->is_waiting = true;
    return 0;
}

int fg_late_source_start(const struct fg_late_source *source, void *scope)
{
    struct state *state = state_of(source);
    int error;

    if (state->nr_events && state->owner != scope)
        return -EBUSY;
    error = state->nr_events ? 0 : first_start(source);
    if (error)
        return error;
    state->owner = scope;
    state->nr_events++;
    return 0;
}

void fg_late_source_stop(const struct fg_late_source *source)
{
    struct state *state = state_of(source);

    if (--state->nr_events)
        return;
    if (!state->is_waiting)
        source->remove();
    state->is_waiting = false;
}
