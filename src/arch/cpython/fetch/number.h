/* The number that a fetched value is. */
#ifndef FG_CPYTHON_FETCH_NUMBER_H
#define FG_CPYTHON_FETCH_NUMBER_H

#include "arch/cpython/value/fetched.h"

/* Of an int, a float, a numpy scalar: SIGNED, UNSIGNED, BIG or REAL. What is not an object stays as it
 * is. Subclasses count if they have not replaced the conversion. Any other object: FAULT. */
struct fg_fetched fg_fetched_number(struct fg_fetched from);

/* What float() makes of an int or float. Return: false: it is neither, or an int of 1024 bits or
 * more, for which CPython's function may raise. */
bool fg_fetched_real_number(struct fg_fetched from, double *real);

/* Bits of an int in two's complement, as a number without a sign: @n of them from bit @first on, which lie
 * in its lowest 64. Anything else: FAULT. */
struct fg_fetched fg_fetched_bits(struct fg_fetched from, uint64_t first, uint64_t n);

/* What bool() makes of it. Return: 0 or 1; -1: only the program's code could tell. */
int fg_fetched_truth(struct fg_fetched from);

#endif
