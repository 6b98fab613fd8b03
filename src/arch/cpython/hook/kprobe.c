/* See kprobe.h. */
#include "arch/cpython/hook/kprobe.h"

#include <errno.h>

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/opcode.h"
#include "arch/cpython/base/lock.h"
#include "arch/cpython/hook/hooks.h"
#include "arch/cpython/read/code.h"

/* ---- places in a code object */

/* The bytecode as it was compiled, without CPython's later specialization. NULL with an exception. */
static PyObject *compiled(PyCodeObject *code)
{
    return PyCode_GetCode(code);
}

static Py_ssize_t first_traceable(const PyCodeObject *code)
{
    return code->_co_firsttraceable * (Py_ssize_t)sizeof(_Py_CODEUNIT);
}

/* The offset of the first prefix (EXTENDED_ARG) of the instruction at `offset`. */
static Py_ssize_t with_prefixes(PyObject *bytes, Py_ssize_t offset)
{
    while (offset >= 2 && fg_opcode_at(bytes, offset - 2) == EXTENDED_ARG)
        offset -= 2;
    return offset;
}

static int offset_in(const PyCodeObject *code, PyObject *bytes, Py_ssize_t offset)
{
    Py_ssize_t size = PyBytes_GET_SIZE(bytes), first = first_traceable(code);

    if (offset < 0 || offset >= size)
        return -EINVAL;
    if (offset % 2 || fg_opcode_at(bytes, offset) == CACHE)
        return -EILSEQ;
    if (offset == 0)
        offset = first;
    /* RESUME sets up the call and has no visible effect. Skip it, with its cache (3.15). */
    while (offset < size && (fg_opcode_at(bytes, offset) == RESUME || fg_opcode_at(bytes, offset) == CACHE))
        offset += 2;
    if (offset < first || offset >= size || fg_opcode_is_silent(fg_opcode_at(bytes, offset)) ||
        fg_opcode_is_skipped(bytes, offset))
        return -EINVAL;
    return (int)with_prefixes(bytes, offset);
}

int fg_kprobe_offset(PyCodeObject *code, int offset)
{
    PyObject *bytes = compiled(code);
    int result = bytes ? offset_in(code, bytes, offset) : -ENOMEM;

    if (!bytes)
        PyErr_Clear();
    Py_XDECREF(bytes);
    return result;
}

/* The line that begins at an instruction; -1: none that has an event. */
static int line_at(PyCodeObject *code, PyObject *bytes, Py_ssize_t at)
{
    return fg_opcode_is_lineless(fg_opcode_at(bytes, at)) ? -1 : PyCode_Addr2Line(code, (int)at);
}

static bool has_line(PyCodeObject *code, PyObject *bytes, int line)
{
    for (Py_ssize_t at = first_traceable(code); at < PyBytes_GET_SIZE(bytes); at += 2) {
        if (line_at(code, bytes, at) == line)
            return true;
    }
    return false;
}

static int find_line(PyCodeObject *code, int line)
{
    PyObject *bytes = compiled(code);
    int error = !bytes ? -ENOMEM : has_line(code, bytes, line) ? 0 : -EINVAL;

    if (!bytes)
        PyErr_Clear();
    Py_XDECREF(bytes);
    return error;
}

int fg_kprobe_find_place(struct fg_kprobe *kp, PyCodeObject *code, int line, int offset)
{
    int found = line ? find_line(code, line) : fg_kprobe_offset(code, offset);

    kp->line = line;
    kp->offset = line ? 0 : found;
    return found < 0 ? found : 0;
}

static int add_line(PyObject *lines, int line)
{
    PyObject *number = PyLong_FromLong(line);
    int error = number ? PySet_Add(lines, number) : -1;

    Py_XDECREF(number);
    return error;
}

static int add_lines(PyObject *lines, PyCodeObject *code, PyObject *bytes)
{
    for (Py_ssize_t at = first_traceable(code); at < PyBytes_GET_SIZE(bytes); at += 2) {
        int line = line_at(code, bytes, at);

        if (line > 0 && add_line(lines, line) != 0)
            return -1;
    }
    return 0;
}

PyObject *fg_kprobe_lines(PyCodeObject *code)
{
    PyObject *bytes = compiled(code), *lines = PySet_New(NULL), *sorted = NULL;

    if (bytes && lines && add_lines(lines, code, bytes) == 0)
        sorted = PySequence_List(lines);
    if (sorted && PyList_Sort(sorted) != 0)
        Py_CLEAR(sorted);
    Py_XDECREF(bytes);
    Py_XDECREF(lines);
    return sorted;
}

/* ---- the operations that the engine's half needs */

#ifdef Py_GIL_DISABLED
static void lock(void)
{
    fg_lock(FG_LOCK_KPROBES);
}

static void unlock(void)
{
    fg_unlock(FG_LOCK_KPROBES);
}
#endif

static void keep(void *owner)
{
    Py_INCREF((PyObject *)owner);
}

static void drop(void *owner)
{
    Py_DECREF((PyObject *)owner);
}

/* Return: 0; -EIO with an exception: CPython fires no events for this code. */
static int listen_to(struct fg_func *func)
{
    return fg_hooks_listen(func) == 0 ? 0 : -EIO;
}

const struct fg_kprobe_arch fg_kprobe_cpython = {
#ifdef Py_GIL_DISABLED
    .lock = lock,
    .unlock = unlock,
#endif
    .keep = keep,
    .drop = drop,
    .listen = listen_to,
    .sync = fg_hooks_sync,
};

void fg_kprobe_function_gone(struct fg_func *func)
{
    fg_kprobes_forget(&fg_kprobe_cpython, func);
}

unsigned fg_kprobe_kinds(struct fg_func *func)
{
    return fg_kprobes_kinds(&fg_kprobe_cpython, func);
}

bool fg_kprobe_is_at_offset(struct fg_func *func, int offset)
{
    return fg_kprobes_are_at(&fg_kprobe_cpython, func,
                             &(struct fg_kprobe_place){.line = 0, .offset = offset});
}

static bool hit(const struct fg_kprobe_site *site, const struct fg_kprobe_place *place)
{
    return fg_func_interp(site->func) == fg_interp_known() &&
           fg_kprobes_hit(&fg_kprobe_cpython, site->func, place, site);
}

bool fg_kprobe_hit_line(const struct fg_kprobe_site *site, int line)
{
    return hit(site, &(struct fg_kprobe_place){.line = line, .offset = -1});
}

bool fg_kprobe_hit_offset(const struct fg_kprobe_site *site, int offset)
{
    return hit(site, &(struct fg_kprobe_place){.line = 0, .offset = offset});
}
