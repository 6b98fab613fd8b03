/* See slow_path.h. */
#include "arch/cpython/hook/slow_path.h"

#include "engine/users/users.h"

_Atomic unsigned fg_slow_path_holds;

void fg_slow_path_hold(void)
{
    atomic_fetch_add(&fg_slow_path_holds, 1);
    fg_plain_hold();
}

void fg_slow_path_release(void)
{
    atomic_fetch_sub(&fg_slow_path_holds, 1);
    fg_plain_release();
}
