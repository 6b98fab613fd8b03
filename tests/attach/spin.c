/* Loaded by a test's program: spin() keeps the GIL until SIGUSR2 comes, and says when it has begun. */
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;

static void end(int number)
{
    (void)number;
    is_over = 1;
}

void spin(void)
{
    signal(SIGUSR2, end);
    (void)!write(STDOUT_FILENO, "ready\n", 6);
    while (!is_over)
        ;
}
