/* See gate.h. */
#include "arch/cpython/hook/gate.h"

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/hook/greenlet.h"

void fg_gate_open(struct fg_interp *interp)
{
    PyCodeObject *gate = atomic_exchange(&interp->gate, NULL);

    if (gate)
        fg_slow_path_release();
    Py_XDECREF(gate);
}

static bool is_site_main(fg_pyframe *frame)
{
    PyCodeObject *code = fg_pyframe_code(frame);
    PyObject *module = fg_dict_get(frame->f_globals, "__name__");
    bool is_main = PyUnicode_CompareWithASCIIString(code->co_qualname, "main") == 0 && module &&
                   PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "site") == 0;

    Py_XDECREF(module);
    return is_main;
}

void fg_gate_wait_for_site(void)
{
    struct fg_interp *interp = fg_interp_known();
    fg_pyframe *frame = fg_complete_pyframe(fg_current_pyframe(fg_tstate()));

    while (frame && !is_site_main(frame))
        frame = fg_complete_pyframe(frame->previous);
    if (!frame || !interp || atomic_load(&interp->gate))
        return;
    atomic_store(&interp->gate, (PyCodeObject *)Py_NewRef(fg_pyframe_code(frame)));
    fg_slow_path_hold();
}

bool fg_gate_check_slow(PyThreadState *tstate)
{
    struct fg_interp *interp = fg_interp_known();
    const PyCodeObject *gate = interp ? atomic_load_explicit(&interp->gate, memory_order_relaxed) : NULL;
    /* On 3.11 the evaluator's frame is not linked to its caller yet: the chain is the thread's. */
    fg_pyframe *frame = gate ? fg_complete_pyframe(fg_current_pyframe(tstate)) : NULL;

    while (frame && fg_pyframe_code(frame) != gate)
        frame = fg_complete_pyframe(frame->previous);
    if (frame)
        return true;
    if (gate) {
        fg_gate_open(interp);
        /* while the gate was shut no function was met, so its import was not noticed */
        fg_greenlet_look_for();
    }
    return false;
}
