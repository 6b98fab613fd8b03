/* See text.h. */
#include "support/text.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"

static char *read_mappings(const struct fg_loaded_object *object)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], *text = calloc(1, 65536);

    CHECK(maps != NULL);
    while (fgets(line, sizeof(line), maps)) {
        unsigned long begin = strtoul(line, NULL, 16);

        if (begin >= object->begin && begin < object->end)
            strcat(text, line);
        CHECK(!strstr(line, " rwxp ") && !strstr(line, " -wxp "));
    }
    fclose(maps);
    return text;
}

struct text text_of(void *address)
{
    struct text text;
    size_t bytes;

    CHECK(fg_object_at((uintptr_t)address, &text.object));
    bytes = text.object.end - text.object.begin;
    text.bytes = malloc(bytes);
    memcpy(text.bytes, (void *)text.object.begin, bytes);
    text.mappings = read_mappings(&text.object);
    return text;
}

void text_free(struct text *text)
{
    free(text->bytes);
    free(text->mappings);
}

void text_check(struct text *before)
{
    struct text now = text_of((void *)before->object.begin);

    CHECK(memcmp(now.bytes, before->bytes, now.object.end - now.object.begin) == 0);
    CHECK_TEXT(now.mappings, before->mappings);
    text_free(&now);
}
