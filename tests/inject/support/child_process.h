/* A child, as its attacher knows it. */
#ifndef CHILD_PROCESS_H
#define CHILD_PROCESS_H

#include "inject/thread.h"

/* Return: the child; its memory stays open until the test ends. One at a time. */
const struct fg_process *child_process(pid_t child);

#endif
