/* See tstate.h. The variable lies in the thread-local block of CPython's module (System V ABI, PT_TLS).
 * It is the one word that equals the thread state while the thread holds it, and is NULL while the
 * thread does not. */
#define _GNU_SOURCE
#include "arch/cpython/base/tstate.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "arch/cpython/base/compat/thread.h"

#define MAX_WORDS 512

_Thread_local PyThreadState *const *fg_tstate_place __attribute__((tls_model("initial-exec")));

#if FG_HAVE_MONITORING

/* 1 + the offset of the variable in its block, in words; 0: not known. */
static _Atomic size_t known_word;

/* The thread-local block of a module, in this thread. */
struct block {
    PyThreadState *const *words;
    size_t n;
};

static int find_block(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct block *block = arg;
    bool is_python = false;

    if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof(info->dlpi_tls_data))
        return 1;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_TLS)
            block->n = segment->p_memsz / sizeof(void *);
        is_python |= segment->p_type == PT_LOAD && (uintptr_t)PyEval_SaveThread >= begin &&
                     (uintptr_t)PyEval_SaveThread < begin + segment->p_memsz;
    }
    block->words = info->dlpi_tls_data;
    return is_python;
}

static struct block python_block(void)
{
    struct block block = {NULL, 0};

    if (dl_iterate_phdr(find_block, &block) == 0 || !block.words)
        block.n = 0;
    return block;
}

/* Drops the words that do not equal `tstate` now. */
static void keep_equal(const struct block *block, const PyThreadState *tstate, bool *candidates)
{
    for (size_t i = 0; i < block->n; i++)
        candidates[i] = candidates[i] && block->words[i] == tstate;
}

/* 1 + the index of the only word that is kept; 0: none is, or more than one. */
static size_t only_candidate(const bool *candidates, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        if (candidates[i] && found)
            return 0;
        if (candidates[i])
            found = i + 1;
    }
    return found;
}

void fg_tstate_init(void)
{
    struct block block = python_block();
    PyThreadState *tstate = fg_tstate_unchecked();
    bool candidates[MAX_WORDS];

    if (atomic_load(&known_word) || block.n > MAX_WORDS)
        return;
    memset(candidates, true, sizeof(candidates));
    keep_equal(&block, tstate, candidates);
    PyEval_SaveThread();
    keep_equal(&block, NULL, candidates);
    PyEval_RestoreThread(tstate);
    keep_equal(&block, tstate, candidates);
    atomic_store(&known_word, only_candidate(candidates, block.n));
}

PyThreadState *fg_tstate_find(void)
{
    PyThreadState *tstate = fg_tstate_unchecked();
    size_t word = atomic_load_explicit(&known_word, memory_order_relaxed);
    struct block block = word && tstate ? python_block() : (struct block){NULL, 0};

    if (word && word <= block.n && block.words[word - 1] == tstate)
        fg_tstate_place = &block.words[word - 1];
    return tstate;
}

#else

struct fg_thread_stack fg_thread_stack(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;

    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &bytes);
        pthread_attr_destroy(&attributes);
    }
    return (struct fg_thread_stack){(uintptr_t)low, bytes};
}

/* `cframe` lies on the C stack of the thread that runs the code. */
bool fg_tstate_runs_here(const PyThreadState *tstate)
{
    static _Thread_local struct fg_thread_stack stack;

    if (!stack.bytes)
        stack = fg_thread_stack();
    return (uintptr_t)tstate->cframe - stack.low < stack.bytes;
}

/* Nothing to find: the variable is one for the process, and the evaluator is passed its value anyway. */
void fg_tstate_init(void)
{
}

PyThreadState *fg_tstate_find(void)
{
    return fg_tstate_unchecked();
}

#endif
