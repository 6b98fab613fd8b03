/* See object.h. */
#define _GNU_SOURCE
#include "arch/native/object.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

struct request {
    const uint8_t *build_id; /* NULL: by address */
    size_t bytes;
    uintptr_t address;
    struct fg_loaded_object *object;
};

static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

/* True if a segment of notes has this build id. */
static bool has_build_id(const uint8_t *notes, size_t bytes, const struct request *request)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(notes + at);
        size_t name = at + sizeof(*note), content = name + padded(note->n_namesz);

        at = content + padded(note->n_descsz);
        if (at > bytes)
            return false;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof("GNU") &&
            memcmp(notes + name, "GNU", sizeof("GNU")) == 0)
            return note->n_descsz == request->bytes &&
                   memcmp(notes + content, request->build_id, request->bytes) == 0;
    }
    return false;
}

static bool is_meant(const struct dl_phdr_info *info, const struct request *request)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

        if (request->build_id && segment->p_type == PT_NOTE &&
            has_build_id((const uint8_t *)begin, segment->p_memsz, request))
            return true;
        if (!request->build_id && segment->p_type == PT_LOAD && request->address - begin < segment->p_memsz)
            return true;
    }
    return false;
}

static void note_text(const struct dl_phdr_info *info, struct fg_loaded_object *object)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        if (!object->end || begin < object->begin)
            object->begin = begin;
        if (begin + segment->p_memsz > object->end)
            object->end = begin + segment->p_memsz;
    }
}

static int visit(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct request *request = arg;

    (void)bytes;
    if (!is_meant(info, request))
        return 0;
    *request->object = (struct fg_loaded_object){.base = info->dlpi_addr, .path = info->dlpi_name};
    note_text(info, request->object);
    return 1;
}

bool fg_object_find(const uint8_t *build_id, size_t bytes, struct fg_loaded_object *object)
{
    struct request request = {.build_id = build_id, .bytes = bytes, .object = object};

    return dl_iterate_phdr(visit, &request) != 0;
}

bool fg_object_at(uintptr_t address, struct fg_loaded_object *object)
{
    struct request request = {.address = address, .object = object};

    return dl_iterate_phdr(visit, &request) != 0;
}

uintptr_t fg_object_symbol(const struct fg_loaded_object *object, const char *name)
{
    void *handle = dlopen(*object->path ? object->path : NULL, RTLD_LAZY | RTLD_NOLOAD);
    uintptr_t address = handle ? (uintptr_t)dlsym(handle, name) : 0;

    if (handle)
        dlclose(handle);
    return address >= object->begin && address < object->end ? address : 0;
}
