/* C++ exceptions. */
#include "target/target.h"

namespace
{
int destroyed;

struct Counter {
    ~Counter()
    {
        destroyed++;
    }
};
} // namespace

void target_throw(int value)
{
    throw value;
}

void target_throw_through(int value)
{
    Counter counter;

    target_throw(value);
    __asm__ volatile("");
}

int target_count_destroyed(void)
{
    return destroyed;
}

int target_catch(void (*run)(void *arg), void *arg)
{
    try {
        run(arg);
    } catch (int value) {
        return value;
    }
    return 0;
}

void target_rethrow(int value)
{
    try {
        target_throw_through(value);
    } catch (int) {
        throw;
    }
}
