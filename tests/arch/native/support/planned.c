/* See planned.h. */
#define _GNU_SOURCE
#include "support/planned.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/hash_table.h"
#include "support/check.h"
#include "target/target.h"

#define MAX_FUNCTIONS 1100

/* A function whose first bytes are moved as they are, but for the operand of one instruction. */
struct head {
    const char *name;
    uint8_t displaced, instructions;
    uint8_t relative; /* the end of an instruction whose last 4 bytes are relative to it; 0: there is none */
};

static const struct head heads[] = {
    {"target_read_word", 7, 1, 7},       {"target_leaf", 8, 3, 0},          {"target_misaligned", 8, 3, 0},
    {"target_check_registers", 6, 1, 0}, {"target_check_vectors", 7, 1, 7},
};

/* Functions with room for a hook: five nops. */
static const char *const with_room[] = {
    "target_add",           "target_recurse",   "target_tail",        "target_call",    "target_sum",
    "target_twelve",        "target_make_pair", "target_sum_doubles", "target_vector",  "target_make_mixed",
    "target_longjmp",       "target_fail",      "target_make_large",  "target_throw",   "target_make_complex",
    "target_throw_through", "target_catch",     "target_long_double", "target_rethrow",
};

/* Starts with a test and a short jump, which becomes a long one. */
static const uint8_t moved_branch[] = {0x48, 0x85, 0xff, 0x0f, 0x84, 0, 0, 0, 0};

struct object {
    uintptr_t base, text_begin, text_end;
    uint8_t build_id[FG_PLAN_BUILD_ID_BYTES];
    uint16_t build_id_bytes;
};

static void read_notes(const uint8_t *at, const uint8_t *end, struct object *object)
{
    while (at < end) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;

        at += sizeof(*note) + ((note->n_namesz + 3) & ~3u);
        if (note->n_type == NT_GNU_BUILD_ID) {
            object->build_id_bytes = (uint16_t)note->n_descsz;
            memcpy(object->build_id, at, note->n_descsz);
        }
        at += (note->n_descsz + 3) & ~3u;
    }
}

static int read_object(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct object *object = arg;

    (void)bytes;
    if (info->dlpi_addr != object->base)
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uint8_t *begin = (const uint8_t *)info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_NOTE)
            read_notes(begin, begin + segment->p_memsz, object);
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
            object->text_begin = segment->p_vaddr;
            object->text_end = segment->p_vaddr + segment->p_memsz;
        }
    }
    return 1;
}

struct plan {
    struct object object;
    struct fg_plan_function functions[MAX_FUNCTIONS];
    struct fg_plan_fix_up fix_ups[MAX_FUNCTIONS];
    uint8_t code[MAX_FUNCTIONS * 16];
    char names[MAX_FUNCTIONS * 32];
    uint32_t nr_functions, nr_fix_ups, code_bytes, name_bytes;
};

static void *address_of(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);

    CHECK(address != NULL);
    return address;
}

static struct fg_plan_function *add_at(struct plan *plan, const char *name, const uint8_t *entry,
                                       uint8_t displaced)
{
    struct fg_plan_function *function = &plan->functions[plan->nr_functions++];

    CHECK(plan->nr_functions < MAX_FUNCTIONS);
    function->address = (uintptr_t)entry - plan->object.base;
    function->name = plan->name_bytes;
    strcpy(plan->names + plan->name_bytes, name);
    plan->name_bytes += (uint32_t)strlen(name) + 2; /* and an empty one */
    function->displaced = displaced;
    function->code = plan->code_bytes;
    function->fix_up = plan->nr_fix_ups;
    memcpy(function->original, entry, FG_PLAN_ORIGINAL_BYTES);
    return function;
}

/* Adds a function without moved instructions. */
static struct fg_plan_function *add(struct plan *plan, const char *name, uint8_t displaced)
{
    return add_at(plan, name, address_of(name), displaced);
}

static void add_with_room(struct plan *plan, const char *name)
{
    static const uint8_t nops[] = {0x90, 0x90, 0x90, 0x90, 0x90};
    struct fg_plan_function *function = add(plan, name, sizeof(nops));

    CHECK(memcmp(function->original, nops, sizeof(nops)) == 0);
    function->flags = FG_PLAN_ROOM;
    function->instructions = sizeof(nops);
}

static void move(struct plan *plan, struct fg_plan_function *function, const uint8_t *code, uint8_t bytes)
{
    memcpy(plan->code + plan->code_bytes, code, bytes);
    plan->code_bytes += bytes;
    function->moved = bytes;
}

static void fix(struct plan *plan, struct fg_plan_function *function, uint8_t end, uint64_t target)
{
    plan->fix_ups[plan->nr_fix_ups++] =
        (struct fg_plan_fix_up){.target = target, .at = (uint8_t)(end - 4), .end = end};
    function->fix_ups++;
}

static void add_head(struct plan *plan, const struct head *head)
{
    struct fg_plan_function *function = add(plan, head->name, head->displaced);
    int32_t distance;

    function->instructions = head->instructions;
    move(plan, function, function->original, head->displaced);
    if (!head->relative)
        return;
    memcpy(&distance, function->original + head->relative - 4, 4);
    fix(plan, function, head->relative, function->address + head->relative + (uint64_t)(int64_t)distance);
}

static void add_branch(struct plan *plan)
{
    struct fg_plan_function *function = add(plan, "target_branch", 5);

    function->instructions = 2;
    move(plan, function, moved_branch, sizeof(moved_branch));
    fix(plan, function, sizeof(moved_branch), function->address + 5 + function->original[4]);
}

static void add_many(struct plan *plan)
{
    const uint8_t *first = address_of("target_many");

    for (size_t i = 0; i < TARGET_MANY; i++) {
        char name[16];
        struct fg_plan_function *function;

        snprintf(name, sizeof(name), "many_%zu", i);
        function = add_at(plan, name, first + i * TARGET_MANY_BYTES, 8);
        function->instructions = 3;
        move(plan, function, function->original, 8);
    }
}

static int compare(const void *a, const void *b)
{
    const struct fg_plan_function *left = a, *right = b;

    return (left->address > right->address) - (left->address < right->address);
}

static void find_object(struct plan *plan)
{
    Dl_info info;

    CHECK(dladdr(address_of("target_add"), &info) != 0);
    plan->object.base = (uintptr_t)info.dli_fbase;
    CHECK(dl_iterate_phdr(read_object, &plan->object) == 1);
}

static void fill(struct plan *plan, bool has_many)
{
    find_object(plan);
    for (size_t i = 0; i < NR_OF(with_room); i++)
        add_with_room(plan, with_room[i]);
    for (size_t i = 0; i < NR_OF(heads); i++)
        add_head(plan, &heads[i]);
    add_branch(plan);
    if (has_many)
        add_many(plan);
    add(plan, "target_fill_registers", 0)->reason = FG_PLAN_TOO_SHORT;
    qsort(plan->functions, plan->nr_functions, sizeof(plan->functions[0]), compare);
}

static void append(struct planned *planned, const void *table, size_t bytes)
{
    memcpy(planned->bytes + planned->size, table, bytes);
    planned->size = (planned->size + bytes + 7) & ~(size_t)7;
}

/* The file of a plan, which is freed. */
static struct planned pack(struct plan *plan)
{
    struct planned planned = {.bytes = calloc(1, sizeof(*plan) + sizeof(struct fg_plan_header) + 64)};
    struct fg_plan_header *header = (struct fg_plan_header *)planned.bytes;

    *header = (struct fg_plan_header){
        .version = FG_PLAN_VERSION,
        .machine = EM_X86_64,
        .build_id_bytes = plan->object.build_id_bytes,
        .text_begin = plan->object.text_begin,
        .text_end = plan->object.text_end,
        .functions = plan->nr_functions,
        .fix_ups = plan->nr_fix_ups,
        .code_bytes = plan->code_bytes,
        .name_bytes = plan->name_bytes,
    };
    memcpy(header->magic, FG_PLAN_MAGIC, sizeof(header->magic));
    memcpy(header->build_id, plan->object.build_id, plan->object.build_id_bytes);
    planned.size = sizeof(*header);
    append(&planned, plan->functions, plan->nr_functions * sizeof(plan->functions[0]));
    append(&planned, plan->fix_ups, plan->nr_fix_ups * sizeof(plan->fix_ups[0]));
    append(&planned, plan->code, plan->code_bytes);
    append(&planned, plan->names, plan->name_bytes);
    header->file_bytes = planned.size;
    planned_seal(&planned);
    free(plan);
    return planned;
}

struct planned planned_make(bool has_many)
{
    struct plan *plan = calloc(1, sizeof(*plan));

    fill(plan, has_many);
    return pack(plan);
}

struct planned planned_make_place(const char *function, uint32_t offset, uint8_t displaced,
                                  uint8_t instructions)
{
    struct plan *plan = calloc(1, sizeof(*plan));
    struct fg_plan_function *place;
    char name[64];

    find_object(plan);
    snprintf(name, sizeof(name), "%s+%u", function, offset);
    place = add_at(plan, name, (const uint8_t *)address_of(function) + offset, displaced);
    place->flags = FG_PLAN_PLACE;
    place->instructions = instructions;
    move(plan, place, place->original, displaced);
    return pack(plan);
}

void planned_seal(struct planned *planned)
{
    struct fg_plan_header *header = planned_header(planned);

    if (planned->size > sizeof(*header))
        header->checksum = fg_hash_bytes(FG_HASH_BYTES_BEGIN, header + 1, planned->size - sizeof(*header));
}

char *planned_write(const struct planned *planned)
{
    char *path = strdup("/tmp/fg-plan-XXXXXX");
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    CHECK_EQ(write(fd, planned->bytes, planned->size), planned->size);
    close(fd);
    return path;
}

struct fg_plan_header *planned_header(struct planned *planned)
{
    return (struct fg_plan_header *)planned->bytes;
}

struct fg_plan_function *planned_function(struct planned *planned, const char *name)
{
    const struct fg_plan_header *header = planned_header(planned);
    struct fg_plan_function *functions = (struct fg_plan_function *)(planned->bytes + sizeof(*header));
    const char *names = (const char *)planned->bytes + planned->size - ((header->name_bytes + 7) & ~7u);

    for (uint32_t i = 0; i < header->functions; i++) {
        if (strcmp(names + functions[i].name, name) == 0)
            return &functions[i];
    }
    CHECK(false);
    return NULL;
}

struct fg_plan_fix_up *planned_fix_up(struct planned *planned, const struct fg_plan_function *function)
{
    const struct fg_plan_header *header = planned_header(planned);

    return (struct fg_plan_fix_up *)(planned->bytes + sizeof(*header) +
                                     header->functions * sizeof(*function)) +
           function->fix_up;
}
