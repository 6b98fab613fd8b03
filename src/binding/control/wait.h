/* A client that waits for records of an instance. Neither asking for it nor the answer needs the interpreter
 * lock: this thread knows these messages itself.
 *
 * A message of a wait has no header, where all others have JSON: four zeros, "WAIT", the handle of the
 * instance and what the client saw, all in little-endian 32-bit numbers. The answer is JSON, {"ok":true} if
 * there is news, {"ok":false} if there was none for FG_WAIT_MS. Nothing else may be sent meanwhile. */
#ifndef FG_CONTROL_WAIT_H
#define FG_CONTROL_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "binding/base/waits.h"
#include "binding/control/client.h"

#define FG_WAIT_MS 1000u

/**
 * typedef fg_wait_request - Ask for news, as struct fg_waits.
 * Context: the server's thread; takes no interpreter lock.
 */
typedef enum fg_news fg_wait_poll(int handle, uint32_t seen);

/**
 * fg_wait_begin() - Have a client wait, if its message says so.
 * Return: false: it is another message.
 */
bool fg_wait_begin(struct fg_client *client, uint64_t now_ms);

/**
 * fg_wait_check() - Look whether there is news for a client that waits.
 * Return: true: ask again soon.
 */
bool fg_wait_check(struct fg_client *client, fg_wait_poll *poll, uint64_t now_ms);

/* Ends a wait whose time has come. Return: the bytes of the answer, a frame from malloc(); 0: not yet. */
size_t fg_wait_end(struct fg_client *client, uint64_t now_ms, uint8_t **answer);

#endif
