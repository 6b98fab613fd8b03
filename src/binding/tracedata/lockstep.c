/* See lockstep.h. */
#include "binding/tracedata/lockstep.h"

#include "binding/base/sequences.h"
#include "binding/tracedata/base/names.h"
#include "binding/tracedata/question.h"
#include "tracedata/answers/lockstep.h"

static const char *const difference_names[] = {
#define X(name, text) text,
    FG_LOCKSTEP_DIFFERENCES(X)
#undef X
};

/* ---- the arguments */

struct side {
    struct fg_question question;
    Py_buffer names;
    Py_ssize_t root; /* -1: none */
    unsigned long long root_ns;
};

static int parse_side(PyObject *tuple, struct side *side)
{
    struct fg_question *question = &side->question;

    return PyArg_ParseTuple(
               tuple,
               "OO!pOy*nK;a side must be (functions, tasks, select_unknown, selection, names, root, root_ns)",
               &question->functions, &PyList_Type, &question->tasks, &question->select_unknown,
               &question->selection, &side->names, &side->root, &side->root_ns)
               ? 0
               : -1;
}

static int check_side(const struct side *side, uint32_t nr_names)
{
    size_t nr_functions = side->question.names.nr_functions + (size_t)1;
    const uint32_t *names = side->names.buf;

    if ((size_t)side->names.len != nr_functions * sizeof(*names)) {
        PyErr_SetString(PyExc_ValueError, "names must have a 32-bit word for each function, and one more");
        return -1;
    }
    for (size_t i = 0; i < nr_functions; i++)
        if (names[i] >= nr_names) {
            PyErr_Format(PyExc_ValueError, "function %zu has the name %u of %u", i, names[i], nr_names);
            return -1;
        }
    if (side->root < -1 || side->root >= (Py_ssize_t)nr_names) {
        PyErr_Format(PyExc_ValueError, "root must be -1 or the number of a name, got %zd", side->root);
        return -1;
    }
    return 0;
}

static void close_side(struct side *side)
{
    fg_question_close(&side->question);
    if (side->names.obj)
        PyBuffer_Release(&side->names);
}

/* ---- what was found */

/* (depth, number of a name) */
static PyObject *call_tuples(const struct fg_lockstep_call *calls, uint32_t n)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < n; i++)
        fg_list_append(&list, Py_BuildValue("(II)", calls[i].depth, calls[i].name));
    return list;
}

static PyObject *path_list(const struct fg_lockstep_place *place)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < place->path_levels; i++)
        fg_list_append(&list, PyLong_FromUnsignedLong(place->path[i]));
    return list;
}

static PyObject *moment_tuple(const struct fg_lockstep_place *place, int side)
{
    const struct fg_lockstep_moment *moment = &place->moments[side];

    if (!place->is_there[side])
        return Py_NewRef(Py_None);
    return Py_BuildValue("(BIIIKy#)", moment->kind, moment->func, moment->call.depth, moment->call.name,
                         (unsigned long long)moment->time_ns, moment->values.data,
                         (Py_ssize_t)moment->values.bytes);
}

static PyObject *place_tuple(const struct fg_lockstep_place *place)
{
    if (!place->is_found)
        return Py_NewRef(Py_None);
    return Py_BuildValue("(iKK(KK)NN(NN))", (int)place->what, (unsigned long long)place->calls,
                         (unsigned long long)place->nr_roots, (unsigned long long)place->root_ns[0],
                         (unsigned long long)place->root_ns[1], path_list(place),
                         call_tuples(place->before, place->nr_before), moment_tuple(place, 0),
                         moment_tuple(place, 1));
}

static PyObject *after_list(const struct fg_lockstep *lockstep, int side)
{
    struct fg_lockstep_call calls[FG_LOCKSTEP_AFTER];

    return call_tuples(calls, fg_lockstep_after(lockstep, side, calls));
}

/* 64-bit words, by name. */
static PyObject *count_bytes(const struct fg_lockstep *lockstep, int side, uint32_t nr_names)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(nr_names * sizeof(uint64_t)));

    for (uint32_t i = 0; bytes && i < nr_names; i++) {
        uint64_t count = fg_lockstep_count(lockstep, side, i);

        memcpy(PyBytes_AS_STRING(bytes) + i * sizeof(count), &count, sizeof(count));
    }
    return bytes;
}

/* (side, two of the tasks with calls, tasks that the list of tasks has not) of the first one with several
 * threads; or None. */
static PyObject *threads_tuple(const struct fg_lockstep *lockstep, const struct side sides[2])
{
    uint32_t tasks[2];

    for (int i = 0; i < 2; i++)
        if (fg_lockstep_threads(lockstep, i, tasks))
            return Py_BuildValue("(i(II)N)", i, tasks[0], tasks[1],
                                 fg_unknown_tasks(&sides[i].question.names));
    Py_RETURN_NONE;
}

static PyObject *lockstep_tuple(const struct fg_lockstep *lockstep, const struct side sides[2],
                                uint32_t nr_names)
{
    return Py_BuildValue("(NNN(NN)(NN))", threads_tuple(lockstep, sides),
                         place_tuple(fg_lockstep_value(lockstep)), place_tuple(fg_lockstep_parting(lockstep)),
                         after_list(lockstep, 0), after_list(lockstep, 1), count_bytes(lockstep, 0, nr_names),
                         count_bytes(lockstep, 1, nr_names));
}

/* ---- reading */

/* Return: 0, or -1 with an exception. */
static int run(struct fg_lockstep *lockstep, struct side sides[2])
{
    struct fg_question *failed;
    int result = 1;

    while (result == 1) {
        if (fg_reader_step(sides[0].question.reader) < 0 || fg_reader_step(sides[1].question.reader) < 0)
            return -1;
        Py_BEGIN_ALLOW_THREADS;
        result = fg_lockstep_run(lockstep, FG_QUESTION_EVENTS / 2);
        Py_END_ALLOW_THREADS;
    }
    if (result == 0)
        return 0;
    failed = &sides[fg_lockstep_failed(lockstep)].question;
    fg_reader_raise(failed->reader, result, failed->merge.reason);
    return -1;
}

static PyObject *read_both(struct side sides[2], uint32_t nr_names, uint64_t ahead)
{
    struct fg_lockstep_side readings[2];
    struct fg_lockstep *lockstep = NULL;
    PyObject *result = NULL;

    for (int i = 0; i < 2; i++)
        readings[i] = (struct fg_lockstep_side){
            .merge = &sides[i].question.merge,
            .names = sides[i].names.buf,
            .root = sides[i].root < 0 ? FG_NO_ROOT : (uint32_t)sides[i].root,
            .root_ns = sides[i].root_ns,
        };
    if (fg_lockstep_new(readings, nr_names, ahead, &lockstep) < 0)
        PyErr_NoMemory();
    else if (run(lockstep, sides) == 0)
        result = lockstep_tuple(lockstep, sides, nr_names);
    fg_lockstep_free(lockstep);
    return result;
}

PyObject *fg_reader_lockstep(PyObject *self, PyObject *args)
{
    struct side sides[2] = {{.root = -1}, {.root = -1}};
    PyObject *tuples[2], *other, *result = NULL;
    unsigned long long ahead;
    unsigned int nr_names;

    if (!PyArg_ParseTuple(args, "O!O!O!IK:lockstep", &PyTuple_Type, &tuples[0], Py_TYPE(self), &other,
                          &PyTuple_Type, &tuples[1], &nr_names, &ahead))
        return NULL;
    sides[0].question.reader = (struct fg_reader *)self;
    sides[1].question.reader = (struct fg_reader *)other;
    if (parse_side(tuples[0], &sides[0]) == 0 && parse_side(tuples[1], &sides[1]) == 0 &&
        fg_question_open(&sides[0].question) == 0 && fg_question_open(&sides[1].question) == 0 &&
        check_side(&sides[0], nr_names) == 0 && check_side(&sides[1], nr_names) == 0)
        result = read_both(sides, nr_names, ahead);
    for (int i = 0; i < 2; i++)
        close_side(&sides[i]);
    return result;
}

int fg_add_lockstep_names(PyObject *module)
{
    return fg_add_names(module, "LOCKSTEP_DIFFERENCES", difference_names, FG_NR_ITEMS(difference_names));
}
