/* Registering an FgraphOps and unregistering it. */
#include "binding/graph/registration.h"

#include <errno.h>

#include "arch/cpython/register/users.h"
#include "binding/base/critical_section.h"
#include "binding/base/raise.h"
#include "binding/graph/ops_filter.h"
#include "binding/graph/users.h"
#include "engine/graph/user.h"

static struct fg_python_ops *check_ops(PyObject *module, PyObject *object)
{
    if (PyObject_TypeCheck(object, fg_engine_state(module)->ops_type))
        return (struct fg_python_ops *)object;
    fg_raise_type("ops", "FgraphOps", object);
    return NULL;
}

/* A registration starts afresh: enables an object that was disabled. */
static int enable(struct fg_python_ops *self)
{
    int error = 0;

    Py_BEGIN_CRITICAL_SECTION(self);
    if (fg_user_slot(&self->ops) < 0 && atomic_exchange(&self->client.is_disabled, false)) {
        error = fg_ops_apply_filters(self);
        if (error)
            atomic_store(&self->client.is_disabled, true);
    }
    Py_END_CRITICAL_SECTION();
    return error;
}

PyObject *fg_register(PyObject *module, PyObject *object)
{
    struct fg_python_ops *self = check_ops(module, object);
    int error;

    if (!self)
        return NULL;
    if (fg_engine_check_open(fg_engine_state(module), "users can no longer be registered") != 0)
        return NULL;
    if (enable(self) != 0 || fg_ops_refuse_native(self) != 0)
        return NULL;
    Py_INCREF(self); /* the engine's reference */
    error = fg_cpython_register(&self->ops);
    if (!error)
        Py_RETURN_NONE;
    Py_DECREF(self);
    return fg_raise_registration(error, (PyObject *)self);
}

PyObject *fg_unregister(PyObject *module, PyObject *object)
{
    struct fg_python_ops *self = check_ops(module, object);

    if (!self)
        return NULL;
    if (fg_cpython_unregister(&self->ops) != 0)
        return fg_raise_os_error(
            EINVAL, PyUnicode_FromFormat("%R is not registered in this interpreter", (PyObject *)self));
    Py_DECREF(self); /* the engine's reference */
    Py_RETURN_NONE;
}
