/* See unwind.h. The stubs' frames have a personality routine (Itanium C++ ABI, "Exception Handling",
 * 1.3 and 2.5), which an unwinder calls when it passes them. There is nothing to clean up in a stub: it
 * goes on to the caller. */
#define _GNU_SOURCE
#include "arch/native/unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <unwind.h>

#include "arch/native/machine.h"
#include "engine/core/task.h"

/* The unwinder of libgcc_s. Others that a program brings along may keep their contexts differently. */
static struct {
    uintptr_t begin, end;
    uintptr_t (*get_ip)(const struct _Unwind_Context *context);
} unwinder;

static int find_text(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    uintptr_t address = *(uintptr_t *)arg;

    (void)bytes;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type != PT_LOAD || address < begin || address >= begin + segment->p_memsz)
            continue;
        unwinder.begin = begin;
        unwinder.end = begin + segment->p_memsz;
        return 1;
    }
    return 0;
}

void fg_native_unwind_prepare(void)
{
    void *library = unwinder.get_ip ? NULL : dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    uintptr_t address = library ? (uintptr_t)dlsym(library, "_Unwind_GetIP") : 0;

    if (address && dl_iterate_phdr(find_text, &address))
        unwinder.get_ip = (uintptr_t(*)(const struct _Unwind_Context *))address;
}

/* The call that is unwound is the newest one of this stack: those inside it were unwound before. */
static struct fg_native_entry *newest_on_stack(uintptr_t stack)
{
    struct fg_task *task = fg_task_self;
    struct fg_native_entry *entry = task ? task->native.newest : NULL;

    while (entry && atomic_load_explicit(&entry->stack, memory_order_relaxed) < stack)
        entry = entry->next;
    return entry;
}

__attribute__((used, visibility("hidden"))) _Unwind_Reason_Code
fg_native_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                      struct _Unwind_Exception *exception, struct _Unwind_Context *context)
{
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    bool is_known = caller >= unwinder.begin && caller < unwinder.end;
    struct fg_native_entry *entry;

    (void)version, (void)kind, (void)exception;
    if (!(actions & _UA_CLEANUP_PHASE))
        return _URC_CONTINUE_UNWIND;
    entry = is_known ? fg_machine_entry_at(unwinder.get_ip(context))
                     : newest_on_stack((uintptr_t)__builtin_frame_address(0));
    if (entry)
        fg_native_unwound(entry, !(actions & _UA_FORCE_UNWIND));
    return _URC_CONTINUE_UNWIND;
}
