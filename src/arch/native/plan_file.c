/* See plan_file.h. */
#define _GNU_SOURCE
#include "arch/native/plan_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/hash_table.h"

#define MOST_BYTES (256u << 20)
#define DISTANCE_BYTES 4u

/* ---- the tables */

/* Takes the next table. Its size cannot overflow: a count has 32 bits. */
static const void *take(const uint8_t *memory, size_t *at, uint64_t count, size_t item)
{
    const void *table = memory + *at;

    *at = (*at + count * item + FG_PLAN_ALIGNMENT - 1) & ~(size_t)(FG_PLAN_ALIGNMENT - 1);
    return table;
}

static bool take_tables(const uint8_t *memory, size_t bytes, struct fg_plan_file *plan)
{
    const struct fg_plan_header *header = plan->header;
    size_t at = sizeof(*header), end;

    plan->functions = take(memory, &at, header->functions, sizeof(plan->functions[0]));
    plan->fix_ups = take(memory, &at, header->fix_ups, sizeof(plan->fix_ups[0]));
    plan->code = take(memory, &at, header->code_bytes, 1);
    plan->names = (const char *)memory + at;
    end = at + header->name_bytes;
    return end == bytes || (take(memory, &at, header->name_bytes, 1) && at == bytes);
}

static bool check_header(const struct fg_plan_header *header, size_t bytes, uint16_t machine,
                         struct fg_native_refusal *refusal)
{
    if (memcmp(header->magic, FG_PLAN_MAGIC, sizeof(header->magic)) != 0)
        return fg_native_refuse(refusal, "it is no plan");
    if (header->version != FG_PLAN_VERSION)
        return fg_native_refuse(refusal, "version %u, not %u", header->version, FG_PLAN_VERSION);
    if (header->machine != machine)
        return fg_native_refuse(refusal, "it is for machine %u, not %u", header->machine, machine);
    if (header->file_bytes != bytes)
        return fg_native_refuse(refusal, "%zu bytes, not %llu", bytes,
                                (unsigned long long)header->file_bytes);
    if (!header->build_id_bytes)
        return fg_native_refuse(refusal, "its object has no build id");
    if (header->build_id_bytes > FG_PLAN_BUILD_ID_BYTES)
        return fg_native_refuse(refusal, "a build id of %u bytes", header->build_id_bytes);
    if (header->text_begin > header->text_end)
        return fg_native_refuse(refusal, "its text ends before it begins");
    return true;
}

/* ---- the functions */

static const char *bad_fix_ups(const struct fg_plan_file *plan, const struct fg_plan_function *function)
{
    if ((uint64_t)function->fix_up + function->fix_ups > plan->header->fix_ups)
        return "has fix-ups outside of their table";
    for (uint32_t i = 0; i < function->fix_ups; i++) {
        const struct fg_plan_fix_up *fix_up = &plan->fix_ups[function->fix_up + i];

        if (fix_up->kind != FG_PLAN_FIX_UP_DISPLACEMENT_32)
            return "has a fix-up of an unknown kind";
        if (fix_up->at + DISTANCE_BYTES > fix_up->end || fix_up->end > function->moved)
            return "has a fix-up outside of its moved instructions";
    }
    return NULL;
}

/* What must hold for a function that can be hooked. */
static const char *bad_hook(const struct fg_plan_file *plan, const struct fg_plan_function *function)
{
    uint64_t first = function->address + function->patch;

    if (!function->displaced || function->displaced > FG_PLAN_ORIGINAL_BYTES)
        return "has no displaced bytes, or too many";
    if (!function->instructions || function->instructions > function->displaced)
        return "has a wrong number of instructions";
    if (first + function->displaced > plan->header->text_end)
        return "is outside of the text";
    if ((uint64_t)function->code + function->moved > plan->header->code_bytes)
        return "has moved instructions outside of their table";
    return bad_fix_ups(plan, function);
}

static const char *bad_function(const struct fg_plan_file *plan, uint32_t i)
{
    const struct fg_plan_function *function = &plan->functions[i];
    const struct fg_plan_header *header = plan->header;

    if (function->address < header->text_begin || function->address >= header->text_end)
        return "is outside of the text";
    if (i && function->address <= plan->functions[i - 1].address)
        return "is not in order";
    if (function->name >= header->name_bytes)
        return "has a name outside of their table";
    if (function->reason >= FG_PLAN_NR_REASONS)
        return "cannot be hooked for an unknown reason";
    return function->reason == FG_PLAN_HOOKABLE ? bad_hook(plan, function) : NULL;
}

static bool overlaps(const struct fg_plan_file *plan, uint32_t i)
{
    const struct fg_plan_function *function = &plan->functions[i];

    return function->reason == FG_PLAN_HOOKABLE && i + 1 < plan->header->functions &&
           function->address + function->patch + function->displaced > plan->functions[i + 1].address;
}

bool fg_plan_check(const void *memory, size_t bytes, uint16_t machine, struct fg_plan_file *plan,
                   struct fg_native_refusal *refusal)
{
    const struct fg_plan_header *header = memory;

    *plan = (struct fg_plan_file){.header = header, .bytes = bytes};
    if (bytes < sizeof(*header))
        return fg_native_refuse(refusal, "it is too short");
    if (!check_header(header, bytes, machine, refusal))
        return false;
    if (!take_tables(memory, bytes, plan))
        return fg_native_refuse(refusal, "its tables do not fill it");
    if (fg_hash_bytes(FG_HASH_BYTES_BEGIN, header + 1, bytes - sizeof(*header)) != header->checksum)
        return fg_native_refuse(refusal, "it is damaged: its checksum is wrong");
    if (header->name_bytes && plan->names[header->name_bytes - 1])
        return fg_native_refuse(refusal, "its last name has no end");
    for (uint32_t i = 0; i < header->functions; i++) {
        const char *bad = overlaps(plan, i) ? "overlaps the next one" : bad_function(plan, i);

        if (bad)
            return fg_native_refuse(refusal, "function %u %s", i, bad);
    }
    return true;
}

/* ---- the file */

static bool check_file(const struct stat *status, struct fg_native_refusal *refusal)
{
    if (!S_ISREG(status->st_mode))
        return fg_native_refuse(refusal, "it is no regular file");
    if (status->st_uid != geteuid() && status->st_uid != 0)
        return fg_native_refuse(refusal, "it is of another user");
    if (status->st_mode & (S_IWGRP | S_IWOTH))
        return fg_native_refuse(refusal, "others can write it");
    if ((uint64_t)status->st_size > MOST_BYTES)
        return fg_native_refuse(refusal, "it is too large");
    return true;
}

static bool read_all(int fd, uint8_t *into, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t n = read(fd, into + at, bytes - at);

        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Reads the file into memory of its own: a mapping would change with the file. */
static void *read_file(int fd, size_t *bytes, struct fg_native_refusal *refusal)
{
    struct stat status;
    void *memory;

    if (fstat(fd, &status) != 0) {
        fg_native_refuse(refusal, "%s", strerror(errno));
        return NULL;
    }
    if (!check_file(&status, refusal))
        return NULL;
    *bytes = (size_t)status.st_size;
    memory = malloc(*bytes + 1);
    if (memory && read_all(fd, memory, *bytes))
        return memory;
    free(memory);
    fg_native_refuse(refusal, "%s", memory ? "it cannot be read" : strerror(ENOMEM));
    return NULL;
}

bool fg_plan_file_open(const char *path, uint16_t machine, struct fg_plan_file *plan,
                       struct fg_native_refusal *refusal)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    size_t bytes = 0;
    void *memory;

    if (fd < 0)
        return fg_native_refuse(refusal, "%s", strerror(errno));
    memory = read_file(fd, &bytes, refusal);
    close(fd);
    if (!memory)
        return false;
    if (fg_plan_check(memory, bytes, machine, plan, refusal))
        return true;
    free(memory);
    return false;
}

void fg_plan_file_close(struct fg_plan_file *plan)
{
    free((void *)(uintptr_t)plan->header);
    *plan = (struct fg_plan_file){0};
}
