/* Functions to hook, with what a calling convention has: each has room for a hook at its entry
 * (CMakeLists.txt). */
#include "target/target.h"

#include <errno.h>

long target_add(long a, long b)
{
    return a + b;
}

/* A call that is no jump, whatever the compiler. */
#ifdef __clang__
#define CALLS_ITSELF __attribute__((optnone))
#else
#define CALLS_ITSELF __attribute__((optimize("O1", "no-optimize-sibling-calls")))
#endif

CALLS_ITSELF long target_recurse(long depth)
{
    return depth ? 1 + target_recurse(depth - 1) : 0;
}

long target_tail(long a, long b)
{
    return target_add(a * 2, b);
}

void target_call(void (*run)(void *arg), void *arg)
{
    run(arg);
    __asm__ volatile(""); /* not a jump */
}

int target_sum(int n, ...)
{
    va_list args;
    int sum = 0;

    va_start(args, n);
    while (n--)
        sum += va_arg(args, int);
    va_end(args);
    return sum;
}

double target_sum_doubles(int n, ...)
{
    va_list args;
    double sum = 0;

    va_start(args, n);
    while (n--)
        sum += va_arg(args, double);
    va_end(args);
    return sum;
}

long target_twelve(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k,
                   long l)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l;
}

long double target_long_double(long double a, long double b)
{
    return a / b;
}

struct target_pair target_make_pair(long a, long b)
{
    return (struct target_pair){a, b};
}

struct target_mixed target_make_mixed(long a, double b)
{
    return (struct target_mixed){a, b};
}

struct target_large target_make_large(long first)
{
    struct target_large large;

    for (long i = 0; i < 9; i++)
        large.words[i] = first + i;
    return large;
}

_Complex long double target_make_complex(long double a, long double b)
{
    return a + b * (_Complex long double)1.0iL;
}

__attribute__((target("avx"))) __m256d target_vector(__m256d a, __m256d b)
{
    return _mm256_add_pd(a, b);
}

void target_longjmp(jmp_buf *buffer)
{
    longjmp(*buffer, 1);
}

void target_fail(int error)
{
    errno = error;
}
