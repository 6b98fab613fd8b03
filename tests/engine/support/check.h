/* Checks for the C tests. A failed check prints its location and the values, and ends the program. */
#ifndef FG_CHECK_H
#define FG_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: in %s: not true: %s\n", __FILE__, __LINE__, __func__, #condition);       \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

#define CHECK_EQ(got, expected)                                                                              \
    do {                                                                                                     \
        long long check_got = (long long)(got), check_expected = (long long)(expected);                      \
                                                                                                             \
        if (check_got != check_expected) {                                                                   \
            fprintf(stderr, "%s:%d: in %s: %s is %lld, expected %s, %lld\n", __FILE__, __LINE__, __func__,   \
                    #got, check_got, #expected, check_expected);                                             \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

#define CHECK_TEXT(got, expected)                                                                            \
    do {                                                                                                     \
        const char *check_got = (got), *check_expected = (expected);                                         \
                                                                                                             \
        if (strcmp(check_got, check_expected) != 0) {                                                        \
            fprintf(stderr, "%s:%d: in %s: %s is \"%s\", expected \"%s\"\n", __FILE__, __LINE__, __func__,   \
                    #got, check_got, check_expected);                                                        \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

#define NR_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
