/* Reading what a function profile has counted. */
#ifndef FG_PROFILE_FIGURES_H
#define FG_PROFILE_FIGURES_H

#include "engine/profile/function_profile.h"

/* The figures of one function. */
struct fg_profile_figures {
    char *name, *file;
    uint32_t line, func;
    uint64_t hit;     /* calls that began */
    uint64_t time_ns; /* of those that ended */
    double variance;  /* the kernel's s^2: the sample variance of a call's time, in ns^2 */
};

/**
 * fg_function_profile_read() - The figures of all functions that were called, in no order.
 * @tid: the thread in which they were called; 0: all threads
 * @figures: set to an array for fg_profile_figures_free()
 * @n: set to its length
 *
 * Return: 0; -ESRCH: no such thread, or it has ended, and only the sum of all threads has
 * its calls; -ENOMEM.
 * Context: any thread, at any time. Takes the engine's lock.
 */
int fg_function_profile_read(struct fg_function_profile *profile, int tid,
                             struct fg_profile_figures **figures, size_t *n);
void fg_profile_figures_free(struct fg_profile_figures *figures, size_t n);

/**
 * fg_function_profile_tids() - The living threads that called a function.
 * @n: set to how many
 *
 * Return: an array for free(); NULL: no memory.
 * Context: as fg_function_profile_read().
 */
int *fg_function_profile_tids(struct fg_function_profile *profile, size_t *n);

#endif
