/* Plans that are refused: each with one reason, before anything of them is used. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/native/machine.h"
#include "arch/native/plan_file.h"
#include "engine/core/root.h"
#include "support/check.h"
#include "support/native.h"
#include "support/planned.h"
#include "target/target.h"

static struct planned planned;

static const char *check(void)
{
    static struct fg_native_refusal refusal;
    struct fg_plan_file plan;

    refusal.text[0] = 0;
    planned_seal(&planned);
    return fg_plan_check(planned.bytes, planned.size, fg_machine_elf, &plan, &refusal) ? "" : refusal.text;
}

/* Makes a plan with one flaw, and checks that it is refused for it. */
#define CHECK_REFUSED(flaw, reason)                                                                          \
    do {                                                                                                     \
        planned = planned_make(false);                                                                       \
        CHECK_TEXT(check(), "");                                                                             \
        flaw;                                                                                                \
        CHECK(strstr(check(), reason) != NULL);                                                              \
        free(planned.bytes);                                                                                 \
    } while (0)

static struct fg_plan_function *function(const char *name)
{
    return planned_function(&planned, name);
}

static void test_headers(void)
{
    CHECK_REFUSED(planned.bytes[0]++, "no plan");
    CHECK_REFUSED(planned_header(&planned)->version++, "version 2");
    CHECK_REFUSED(planned_header(&planned)->machine = 183, "machine 183");
    CHECK_REFUSED(planned_header(&planned)->file_bytes++, "bytes, not");
    CHECK_REFUSED(planned.size -= 8, "bytes, not");
    CHECK_REFUSED(planned.size = 100, "too short");
    CHECK_REFUSED(planned_header(&planned)->build_id_bytes = 0, "no build id");
    CHECK_REFUSED(planned_header(&planned)->build_id_bytes = 33, "33 bytes");
    CHECK_REFUSED(planned_header(&planned)->text_begin = UINT64_MAX, "ends before");
    CHECK_REFUSED(planned_header(&planned)->functions++, "do not fill");
    CHECK_REFUSED(planned_header(&planned)->functions = UINT32_MAX, "do not fill");
    CHECK_REFUSED(planned_header(&planned)->fix_ups = UINT32_MAX, "do not fill");
    CHECK_REFUSED(planned_header(&planned)->code_bytes = UINT32_MAX, "do not fill");
    CHECK_REFUSED(planned_header(&planned)->name_bytes += 8, "do not fill");
}

static void test_functions(void)
{
    struct fg_plan_function *add;

    CHECK_REFUSED(function("target_add")->reason = FG_PLAN_NR_REASONS, "unknown reason");
    CHECK_REFUSED(function("target_add")->name = UINT32_MAX, "name outside");
    CHECK_REFUSED(function("target_add")->displaced = 0, "no displaced bytes");
    CHECK_REFUSED(function("target_check_vectors")->displaced = 17, "or too many");
    CHECK_REFUSED(function("target_add")->instructions = 0, "number of instructions");
    CHECK_REFUSED(function("target_add")->instructions = 6, "number of instructions");
    CHECK_REFUSED(function("target_leaf")->code = UINT32_MAX, "outside of their table");
    CHECK_REFUSED(function("target_leaf")->moved = 255, "outside of their table");
    CHECK_REFUSED(function("target_read_word")->fix_up = UINT32_MAX, "outside of their table");
    CHECK_REFUSED(function("target_add")->patch = 250, "overlaps the next one");
    CHECK_REFUSED(add = function("target_fill_registers"); add->address = add[1].address, "not in order");
    CHECK_REFUSED(planned_header(&planned)->text_begin = function("target_add")->address + 1,
                  "outside of the text");
}

static void test_fix_ups(void)
{
    CHECK_REFUSED(planned_fix_up(&planned, function("target_branch"))->kind = 1, "unknown kind");
    CHECK_REFUSED(planned_fix_up(&planned, function("target_branch"))->end = 10, "outside of its moved");
    CHECK_REFUSED(planned_fix_up(&planned, function("target_branch"))->at = 6, "outside of its moved");
    CHECK_REFUSED(planned_fix_up(&planned, function("target_branch"))->at = 255, "outside of its moved");
}

static void test_damage_is_noticed(void)
{
    struct fg_native_refusal refusal;
    struct fg_plan_file plan;

    planned = planned_make(false);
    for (size_t i = sizeof(struct fg_plan_header); i < planned.size; i++) {
        planned.bytes[i] ^= 0x10;
        CHECK(!fg_plan_check(planned.bytes, planned.size, fg_machine_elf, &plan, &refusal));
        CHECK(strstr(refusal.text, "checksum") != NULL);
        planned.bytes[i] ^= 0x10;
    }
    free(planned.bytes);
}

/* Any bytes at all, with a right checksum: checked, and never a read outside. Runs under
 * AddressSanitizer, too. */
static void test_random_damage_is_harmless(void)
{
    uint64_t random = 88172645463325252u;

    for (int i = 0; i < 20000; i++) {
        planned = planned_make(false);
        for (int k = 0; k < 3; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            planned.bytes[random % planned.size] = (uint8_t)(random >> 40);
        }
        check();
        free(planned.bytes);
    }
}

/* ---- files, and what the process has */

static const char *open_refusal(const char *path)
{
    static struct fg_native_refusal refusal;

    refusal.text[0] = 0;
    return fg_native_open(path, "target", &refusal) ? "" : refusal.text;
}

static void test_files(void)
{
    char *path;

    planned = planned_make(false);
    path = planned_write(&planned);
    CHECK_EQ(chmod(path, 0620), 0);
    CHECK_TEXT(open_refusal(path), "others can write it");
    CHECK_EQ(chmod(path, 0600), 0);
    if (geteuid() == 0) {
        CHECK_EQ(chown(path, 1, 1), 0);
        CHECK_TEXT(open_refusal(path), "it is of another user");
        CHECK_EQ(chown(path, 0, 0), 0);
    }
    CHECK_TEXT(open_refusal("/tmp"), "it is no regular file");
    CHECK_TEXT(open_refusal("/nonexistent"), strerror(ENOENT));
    unlink(path);
    free(path);
    free(planned.bytes);
}

/* Opens the plan; sets *object. */
static const char *open_with(struct fg_native_object **object)
{
    static struct fg_native_refusal refusal;
    char *path;

    planned_seal(&planned);
    path = planned_write(&planned);
    refusal.text[0] = 0;
    *object = fg_native_open(path, "target", &refusal);
    unlink(path);
    free(path);
    return refusal.text;
}

/* Plans that fit no object here, and one whose function has other bytes: that function alone is not
 * hooked. */
static void test_objects(void)
{
    struct fg_native_object *object, *same;
    struct probe probe;
    uint32_t refused;

    planned = planned_make(false);
    planned_header(&planned)->build_id[0]++;
    CHECK_TEXT(open_with(&object), "no object with its build id is loaded");
    planned_header(&planned)->build_id[0]--;
    planned_header(&planned)->text_end += 1 << 20;
    CHECK_TEXT(open_with(&object), "its functions are not in the text of the object");
    planned_header(&planned)->text_end -= 1 << 20;
    function("target_add")->original[3] ^= 1;
    CHECK_TEXT(open_with(&object), "");
    free(planned.bytes);
    planned = planned_make(false);
    CHECK_TEXT(open_with(&same), "");
    CHECK(same == object); /* the first plan stays */
    free(planned.bytes);
    native_probe(&probe, "*:mod:target");
    CHECK_EQ(native_meet(object, "target_add:mod:target"), 1);
    CHECK_EQ(native_hooked(&refused), 0);
    CHECK_EQ(refused, 1);
    CHECK_EQ(native_meet(object, "target_[ab]*:mod:target"), 2);
    CHECK_EQ(native_hooked(&refused), 1);
    CHECK_EQ(refused, 1);
    CHECK_EQ(target_add(1, 1), 2);
    native_finish(&probe, 0);
}

int main(void)
{
    struct fg_native_refusal refusal;

    CHECK_EQ(fg_engine_init(NULL), 0);
    CHECK(fg_native_start(NULL, &refusal));
    test_headers();
    test_functions();
    test_fix_ups();
    test_damage_is_noticed();
    test_random_damage_is_harmless();
    test_files();
    test_objects();
    return 0;
}
