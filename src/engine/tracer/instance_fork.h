/* What becomes of instances in a forked child. */
#ifndef FG_INSTANCE_FORK_H
#define FG_INSTANCE_FORK_H

/* Once: installs handlers around fork (pthread_atfork) for all of the engine. */
void fg_instances_install_fork_handlers(void);

#endif
