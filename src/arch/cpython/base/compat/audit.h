/* The audit hooks of the process (PEP 578). */
#ifndef FG_COMPAT_AUDIT_H
#define FG_COMPAT_AUDIT_H

#include "arch/cpython/base/compat/python.h"

#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_audit.h"
#endif
#include "internal/pycore_runtime.h"

/* True if the hook was added. CPython only ever adds hooks, so nobody changes what is read here. */
static inline bool fg_has_audit_hook(Py_AuditHookFunction hook)
{
#if PY_VERSION_HEX >= 0x030C0000
    const struct _Py_AuditHookEntry *entry = _PyRuntime.audit_hooks.head;
#else
    const struct _Py_AuditHookEntry *entry = _PyRuntime.audit_hook_head;
#endif

    while (entry && entry->hookCFunction != hook)
        entry = entry->next;
    return entry;
}

#endif
