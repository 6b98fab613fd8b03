/* Requests, answered by a Python function in the server's thread: it has a thread state only meanwhile. */
#ifndef FG_CONTROL_HANDLER_H
#define FG_CONTROL_HANDLER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

/* A function that is imported at the first request. */
struct fg_handler {
    const char *module, *function;
    void (*woken)(void); /* what the engine calls to wake readers, from then on */
};

/* A fg_server_request. @context: begins with a struct fg_handler */
size_t fg_handler_request(void *context, uint32_t client, const uint8_t *message, size_t bytes,
                          uint8_t **answer);

#endif
