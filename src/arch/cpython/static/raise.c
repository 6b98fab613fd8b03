/* The events py/raise and py/reraise: an exception is raised; one that was raised before goes on.
 *
 * CPython reports an exception in each frame that it passes, also where a for loop swallows the
 * StopIteration that ends it. Which of these reports is where it was raised, the traceback tells: it has an
 * entry for each frame that the exception has passed, the latest first. */
#include "arch/cpython/base/compat/raise.h"

#include <errno.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/hook/raises.h"
#include "arch/cpython/static/static_event.h"
#include "arch/cpython/static/text_writer.h"

/* ---- what a report is */

/* True if the exception came to the frame from a function that the frame had called. A function that
 * returned an exception, which is now raised, has a frame object, too. */
static bool comes_from(const PyFrameObject *callee, const PyFrameObject *caller)
{
    return callee->f_back == caller && callee->f_frame->owner == FRAME_OWNED_BY_FRAME_OBJECT &&
           !fg_has_returned(callee->f_frame);
}

enum verdict { NOTHING, RAISED, AGAIN };

static enum verdict judge(const struct fg_raise *raise)
{
    const PyTracebackObject *here = (const PyTracebackObject *)raise->traceback;
    PyCodeObject *code = fg_pyframe_code(raise->frame);

    if (raise->is_reraise)
        return fg_is_reraise(code, raise->offset) ? AGAIN : NOTHING;
    /* A for loop and an await swallow the StopIteration: the frame gets no entry. */
    if (!here || here->tb_frame != raise->frame->frame_obj)
        return NOTHING;
    if (!here->tb_next)
        return RAISED;
    if (comes_from(here->tb_next->tb_frame, here->tb_frame))
        return NOTHING;
    return fg_is_raise(code, raise->offset) ? RAISED : AGAIN;
}

/* ---- what it says */

static PyObject *own(PyObject *text)
{
    return text && PyUnicode_Check(text) ? text : NULL;
}

/* "[Errno 2] No such file or directory: 'x'" */
static bool write_os_error(struct fg_text_writer *writer, PyObject *exception)
{
    const PyOSErrorObject *error = (PyOSErrorObject *)exception;

    if (!PyObject_TypeCheck(exception, (PyTypeObject *)PyExc_OSError) || !error->myerrno ||
        !own(error->strerror))
        return false;
    fg_text_write(writer, "[Errno ");
    fg_text_write_object(writer, error->myerrno);
    fg_text_write(writer, "] ");
    fg_text_write_str(writer, error->strerror);
    if (error->filename && error->filename != Py_None) {
        fg_text_write(writer, ": ");
        fg_text_write_object(writer, error->filename);
    }
    return true;
}

/* What str(exception) is, unless its class has a __str__ of its own. */
static void write_message(struct fg_text_writer *writer, PyObject *exception)
{
    PyObject *args = ((PyBaseExceptionObject *)exception)->args;
    Py_ssize_t n = args && PyTuple_Check(args) ? PyTuple_GET_SIZE(args) : 0;

    if (write_os_error(writer, exception) || n == 0)
        return;
    if (n > 1) {
        fg_text_write_object(writer, args);
        return;
    }
    if (own(PyTuple_GET_ITEM(args, 0)) && !PyObject_TypeCheck(exception, (PyTypeObject *)PyExc_KeyError))
        fg_text_write_str(writer, PyTuple_GET_ITEM(args, 0));
    else
        fg_text_write_object(writer, PyTuple_GET_ITEM(args, 0));
}

static void report(const struct fg_raise *raise, enum fg_static_event event)
{
    struct fg_static_site site = fg_static_site_of(raise->frame);
    struct fg_text_writer message = {0};
    struct fg_fetched values[6];

    write_message(&message, raise->exception);
    values[0] = fg_static_text(fg_type_name(Py_TYPE(raise->exception)));
    values[1] = fg_text_writer_value(&message);
    values[2] = fg_static_function(&site);
    values[3] = fg_fetched_signed(PyCode_Addr2Line(fg_pyframe_code(raise->frame), raise->offset));
    values[4] = fg_fetched_object(fg_pyframe_code(raise->frame)->co_filename);
    values[5] = fg_fetched_object(raise->exception);
    fg_static_hit(event, &site, values);
}

static void on_raise(const struct fg_raise *raise)
{
    enum verdict verdict = judge(raise);
    enum fg_static_event event = verdict == RAISED ? FG_STATIC_RAISE : FG_STATIC_RERAISE;
    fg_exception aside;

    if (verdict == NOTHING || !fg_static_is_enabled(event))
        return;
    aside = fg_exception_set_aside();
    report(raise, event);
    fg_exception_put_back(aside);
}

/* ---- the source. Exceptions that C code raises again are reported as raises. */

static unsigned kinds_of(const struct fg_event_source *source)
{
    return fg_static_of(source) == FG_STATIC_RAISE ? FG_RAISES : FG_RAISES | FG_RERAISES;
}

static int start(struct fg_event_source *source, void *scope)
{
    if (fg_static_of(source) == FG_STATIC_RERAISE && !FG_HAVE_RERAISES)
        return -EOPNOTSUPP;
    return fg_raises_follow(scope, on_raise, kinds_of(source), true);
}

static void stop(struct fg_event_source *source, void *scope)
{
    fg_raises_follow(scope, on_raise, kinds_of(source), false);
}

const struct fg_event_source_ops fg_raise_source = {start, stop};
