/* See pandas.h. */
#include "arch/cpython/value/pandas.h"

#include <string.h>

#include "arch/cpython/base/compat/integer.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/base/compat/parts.h"
#include "arch/cpython/value/numpy.h"
#include "arch/cpython/value/slots.h"
#include "arch/cpython/value/table_get.h"
#include "arch/cpython/value/value_out.h"

#if FG_HAVE_BORROWED_READS

#define MAX_BASES 16
#define MAX_BLOCKS 64 /* of a frame whose columns do not tell how many they are */

/* ---- classes */

/* Classes in C have their module in the name, those in Python as an attribute. */
static bool is_in_pandas(const PyTypeObject *type)
{
    PyObject *dict = fg_type_dict((PyTypeObject *)type), *module;
    struct fg_table table;

    if (strncmp(type->tp_name, "pandas.", 7) == 0)
        return true;
    if (!dict || !fg_is_class_in_python(type))
        return false;
    table = fg_table_of_dict(dict);
    module = fg_table_get(&table, "__module__");
    return module && fg_is_str(module) && PyUnicode_IS_ASCII(module) &&
           strncmp(PyUnicode_DATA(module), "pandas", 6) == 0;
}

/* True for a class of this name in pandas, and for those that have it as a base. */
static bool is_a(const PyTypeObject *type, const char *name)
{
    for (int i = 0; i < MAX_BASES && type && type != &PyBaseObject_Type; i++, type = type->tp_base) {
        if (strcmp(fg_type_name(type), name) == 0 && is_in_pandas(type))
            return true;
    }
    return false;
}

/* An array of pandas with one of numpy in it: of texts, dates, categories. */
static bool is_backed(PyObject *object)
{
    return is_a(Py_TYPE(object), "NDArrayBacked");
}

static enum fg_pandas_kind kind_named(const char *name)
{
    static const char *const names[] = {"DataFrame", "Series", "Index"};

    for (int i = 0; i < 3; i++) {
        if (*name == *names[i] && strcmp(name, names[i]) == 0)
            return FG_PANDAS_FRAME + i;
    }
    return FG_PANDAS_NONE;
}

enum fg_pandas_kind fg_pandas_kind(const PyTypeObject *type)
{
    for (int i = 0; i < MAX_BASES && type && fg_is_class_in_python(type); i++, type = type->tp_base) {
        enum fg_pandas_kind kind = kind_named(type->tp_name);

        if (kind != FG_PANDAS_NONE && is_in_pandas(type))
            return kind;
    }
    return FG_PANDAS_NONE;
}

static PyObject *attribute(PyObject *object, const char *name)
{
    struct fg_table table = fg_table_of_instance(object);

    return fg_table_get(&table, name);
}

/* ---- what an object refers to */

/* Objects of one kind. */
struct reference {
    PyObject *object; /* the latest, borrowed; NULL: there is none */
    bool are_several;
};

struct references {
    struct reference blocks, axes; /* of a manager: a tuple and a list */
    struct reference array;
    struct reference backed; /* is_backed() */
};

static void note(struct reference *reference, PyObject *object)
{
    reference->are_several |= reference->object && reference->object != object;
    reference->object = object;
}

/* The only object of its kind; NULL: there is none, or there are several. */
static PyObject *only(const struct reference *reference)
{
    return reference->are_several ? NULL : reference->object;
}

static bool are_blocks(PyObject *tuple)
{
    PyObject *first = PyTuple_GET_SIZE(tuple) > 0 ? PyTuple_GET_ITEM(tuple, 0) : NULL;

    return first && is_a(Py_TYPE(first), "Block");
}

static bool are_axes(PyObject *list)
{
    return PyList_GET_SIZE(list) > 0 && fg_pandas_kind(Py_TYPE(PyList_GET_ITEM(list, 0))) == FG_PANDAS_INDEX;
}

static int visit(PyObject *object, void *arg)
{
    struct references *found = arg;

    if (PyTuple_CheckExact(object) && are_blocks(object))
        note(&found->blocks, object);
    else if (PyList_CheckExact(object) && are_axes(object))
        note(&found->axes, object);
    else if (fg_is_ndarray(object))
        note(&found->array, object);
    else if (is_backed(object))
        note(&found->backed, object);
    return 0;
}

static struct references references_of(PyObject *object)
{
    struct references found = {.array.object = NULL};
    traverseproc traverse = Py_TYPE(object)->tp_traverse;

    if (traverse)
        traverse(object, visit, &found);
    return found;
}

/* ---- lengths; -1: not known */

/* The array of numpy in one of pandas, or the object itself. NULL: it is another one. */
static PyObject *array_in(PyObject *values)
{
    struct references found;

    if (!values || fg_is_ndarray(values))
        return values;
    if (!is_backed(values))
        return NULL;
    found = references_of(values);
    return only(&found.array);
}

static Py_ssize_t dimension(PyObject *array, int which)
{
    struct fg_fetched shape = array ? fg_ndarray_attr(array, "shape") : fg_fetched_fault();

    return shape.kind == FG_FETCHED_LENGTHS && which < (int)shape.n ? shape.lengths[which] : -1;
}

static int dimensions(PyObject *array)
{
    return dimension(array, 0) < 0 ? 0 : dimension(array, 1) < 0 ? 1 : 2;
}

static Py_ssize_t range_length(PyObject *range)
{
    int64_t length;

    return fg_int_is_compact(((struct fg_range *)range)->length, &length) ? (Py_ssize_t)length : -1;
}

static Py_ssize_t index_length(PyObject *index)
{
    PyObject *range = attribute(index, "_range"), *codes = attribute(index, "_codes");

    if (fg_pandas_kind(Py_TYPE(index)) != FG_PANDAS_INDEX)
        return -1;
    if (range && Py_IS_TYPE(range, &PyRange_Type))
        return range_length(range);
    if (codes && PyList_Check(codes) && PyList_GET_SIZE(codes) > 0) /* a level's number for each row */
        return dimension(array_in(PyList_GET_ITEM(codes, 0)), 0);
    return dimension(array_in(attribute(index, "_data")), 0);
}

/* ---- managers of frames and series */

struct manager {
    PyObject *axes;   /* a list; NULL: not found */
    PyObject *blocks; /* a tuple; NULL: not found, or there are none */
};

/* Those of a series are attributes, those of a frame members of a structure. */
static struct manager manager_of(PyObject *object)
{
    PyObject *manager = attribute(object, "_mgr"), *axes, *blocks;
    struct references found;

    if (!manager || !is_in_pandas(Py_TYPE(manager)))
        return (struct manager){NULL, NULL};
    axes = attribute(manager, "axes");
    blocks = attribute(manager, "blocks");
    if (axes && PyList_CheckExact(axes) && blocks && PyTuple_CheckExact(blocks))
        return (struct manager){axes, are_blocks(blocks) ? blocks : NULL};
    found = references_of(manager);
    return (struct manager){only(&found.axes), only(&found.blocks)};
}

static Py_ssize_t axis_length(const struct manager *manager, Py_ssize_t which)
{
    return which < PyList_GET_SIZE(manager->axes) ? index_length(PyList_GET_ITEM(manager->axes, which)) : -1;
}

/* The values of a block: those of several columns are rows of one array. NULL: they are none of numpy. */
static PyObject *block_array(PyObject *block)
{
    struct references found;

    if (!is_a(Py_TYPE(block), "Block"))
        return NULL;
    found = references_of(block);
    return found.array.object ? only(&found.array) : array_in(only(&found.backed));
}

/* The number of columns, and of rows if an array tells. */
static void sum_blocks(const struct manager *manager, Py_ssize_t *columns, Py_ssize_t *rows)
{
    Py_ssize_t n = manager->blocks ? PyTuple_GET_SIZE(manager->blocks) : 0, sum = 0;

    if (!n || n > MAX_BLOCKS)
        return;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *array = block_array(PyTuple_GET_ITEM(manager->blocks, i));
        int nd = dimensions(array);

        sum += nd == 2 ? dimension(array, 0) : 1;
        if (nd)
            *rows = dimension(array, nd - 1);
    }
    *columns = sum;
}

static bool frame_shape(const struct manager *manager, struct fg_pandas_shape *shape)
{
    Py_ssize_t columns = axis_length(manager, 0), rows = axis_length(manager, 1);
    Py_ssize_t summed = -1, seen = -1;

    if (columns < 0 || rows < 0)
        sum_blocks(manager, &summed, &seen);
    *shape = (struct fg_pandas_shape){2, {rows < 0 ? seen : rows, columns < 0 ? summed : columns}, NULL};
    return shape->lengths[0] >= 0 && shape->lengths[1] >= 0;
}

/* Only values that are an array of numpy have its data type: in one of pandas that may be of numbers for
 * categories. */
static bool series_shape(const struct manager *manager, struct fg_pandas_shape *shape)
{
    PyObject *block = manager->blocks ? PyTuple_GET_ITEM(manager->blocks, 0) : NULL;
    struct references found = block ? references_of(block) : (struct references){.array.object = NULL};
    Py_ssize_t length = axis_length(manager, 0);

    *shape = (struct fg_pandas_shape){1, {length, 0}, only(&found.array)};
    if (length < 0 && block)
        shape->lengths[0] = dimension(block_array(block), 0);
    return shape->lengths[0] >= 0;
}

bool fg_pandas_shape(PyObject *object, struct fg_pandas_shape *shape)
{
    enum fg_pandas_kind kind = fg_pandas_kind(Py_TYPE(object));
    struct manager manager;

    if (kind == FG_PANDAS_NONE)
        return false;
    if (kind == FG_PANDAS_INDEX) {
        PyObject *data = attribute(object, "_data");

        *shape =
            (struct fg_pandas_shape){1, {index_length(object), 0}, data && fg_is_ndarray(data) ? data : NULL};
        return shape->lengths[0] >= 0;
    }
    manager = manager_of(object);
    if (!manager.axes)
        return false;
    return kind == FG_PANDAS_FRAME ? frame_shape(&manager, shape) : series_shape(&manager, shape);
}

#else

enum fg_pandas_kind fg_pandas_kind(const PyTypeObject *type)
{
    (void)type;
    return FG_PANDAS_NONE;
}

bool fg_pandas_shape(PyObject *object, struct fg_pandas_shape *shape)
{
    (void)object, (void)shape;
    return false;
}

#endif
