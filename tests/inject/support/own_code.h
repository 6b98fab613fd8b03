/* The code of the test itself, as what attaches knows that of a process. */
#ifndef OWN_CODE_H
#define OWN_CODE_H

#include "inject/unwind/code.h"

/* Return: all executable segments that are loaded now. */
struct fg_code own_code(void);

#endif
