/* The library whose functions the tests hook. */
#ifndef FG_TARGET_H
#define FG_TARGET_H

#include <immintrin.h>
#include <setjmp.h>
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

long target_add(long a, long b);
/* Calls itself @depth times. */
long target_recurse(long depth);
/* Ends with a jump to target_add. */
long target_tail(long a, long b);
/* Calls @run between two statements. */
void target_call(void (*run)(void *arg), void *arg);
int target_sum(int n, ...);
double target_sum_doubles(int n, ...);
long target_twelve(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k,
                   long l);
long double target_long_double(long double a, long double b);

struct target_pair {
    long a, b;
};
struct target_mixed {
    long a;
    double b;
};
struct target_large {
    long words[9];
};
struct target_pair target_make_pair(long a, long b);
struct target_mixed target_make_mixed(long a, double b);
struct target_large target_make_large(long first);
_Complex long double target_make_complex(long double a, long double b);

/* Needs AVX. */
__m256d target_vector(__m256d a, __m256d b);

void target_longjmp(jmp_buf *buffer);
/* Sets errno. */
void target_fail(int error);

/* ---- target_code.S: displaced instructions of their own */

/* Checks that all registers are what target_fill_registers() set, changes those that it may, and sets
 * results. */
void target_check_registers(void);
/* Sets all registers, calls target_check_registers(), and checks them. 0: all are right; else the
 * number of the first one that is not. */
long target_fill_registers(void);
/* As target_fill_registers(), with the upper halves of vector registers (AVX). */
long target_fill_vectors(void);
void target_check_vectors(void);
/* 4 * @n + 3, or 2 * @n + 3 if that is more than 5. It has no room for a hook at its entry. */
long target_place(long n);
/* Its first instruction reads memory relative to rip: returns *target_word(). */
long target_read_word(void);
long *target_word(void);
/* The first one of many functions with three instructions in their first bytes: each returns @n + 1. */
#define TARGET_MANY 1000
#define TARGET_MANY_BYTES 16
long target_many(long n);
/* Its first instructions jump, if @n is 0: 10, else 20. */
long target_branch(long n);
/* Calls @run with the stack off by 8, as hand-written code does. */
void target_misaligned(void (*run)(void));
long target_leaf(long a);

/* ---- target_throw.cc */

void target_throw(int value);
/* Throws through a destructor that counts. */
void target_throw_through(int value);
int target_count_destroyed(void);
/* Calls @run, and returns the int that it throws; 0: nothing. */
int target_catch(void (*run)(void *arg), void *arg);
/* Catches what target_throw() throws, and throws it again. */
void target_rethrow(int value);

#ifdef __cplusplus
}
#endif
#endif
