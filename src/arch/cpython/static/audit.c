/* The events py/audit and py/import, from an audit hook (PEP 578).
 *
 * An audit hook cannot be taken away. So it is added when somebody wants one of these events for the first
 * time in the process. From then on CPython makes a tuple of the arguments of each audited operation, and
 * calls the hook, which returns at once while nobody wants the events. */
#include "arch/cpython/base/compat/audit.h"

#include <errno.h>
#include <string.h>

#include "arch/cpython/base/callback.h"
#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/static/static_event.h"
#include "arch/cpython/static/text_writer.h"

static void report_audit(const char *event, PyObject *args)
{
    struct fg_static_site site = fg_static_site_here();
    struct fg_text_writer text = {0};
    struct fg_fetched values[6];

    fg_text_write_items(&text, args, 0);
    values[0] = fg_static_text(event);
    values[1] = fg_text_writer_value(&text);
    values[2] = fg_static_function(&site);
    values[3] = fg_static_line(&site);
    values[4] = fg_fetched_object(args);
    fg_static_hit(FG_STATIC_AUDIT, &site, values);
}

/* True for the search for a module. The other event of this name is the loading of an extension module from a
 * file, whose name is the second argument. */
static bool is_search(const char *event, PyObject *args)
{
    return strcmp(event, "import") == 0 && PyTuple_GET_SIZE(args) == 5 &&
           PyTuple_GET_ITEM(args, 1) == Py_None;
}

static void report_import(PyObject *args)
{
    struct fg_static_site site = fg_static_site_here();
    const struct fg_fetched values[] = {
        fg_fetched_object(PyTuple_GET_ITEM(args, 0)),
        fg_static_function(&site),
        fg_static_line(&site),
    };

    fg_static_hit(FG_STATIC_IMPORT, &site, values);
}

static int on_audit(const char *event, PyObject *args, void *data)
{
    bool is_audit = fg_static_is_enabled(FG_STATIC_AUDIT), is_import = fg_static_is_enabled(FG_STATIC_IMPORT);
    fg_exception aside;

    (void)data;
    if ((!is_audit && !is_import) || fg_untraced || !fg_has_tstate() || fg_is_finalizing() || !args ||
        !PyTuple_Check(args))
        return 0;
    aside = fg_exception_set_aside();
    if (is_import && is_search(event, args))
        report_import(args);
    if (is_audit)
        report_audit(event, args);
    fg_exception_put_back(aside);
    return 0;
}

/* A hook of the program may refuse others. CPython then returns 0 if it raised RuntimeError. */
static int start(struct fg_event_source *source, void *scope)
{
    (void)source, (void)scope;
    if (fg_has_audit_hook(on_audit))
        return 0;
    if (PySys_AddAuditHook(on_audit, NULL) < 0)
        return -EIO;
    return fg_has_audit_hook(on_audit) ? 0 : -EPERM;
}

static void stop(struct fg_event_source *source, void *scope)
{
    (void)source, (void)scope;
}

const struct fg_event_source_ops fg_audit_source = {start, stop};
