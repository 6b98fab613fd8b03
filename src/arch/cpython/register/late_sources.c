/* See late_sources.h. */
#include "arch/cpython/register/late_sources.h"

#include "arch/cpython/hook/ended.h"
#include "arch/cpython/register/users.h"
#include "arch/cpython/static/late_source.h"
#include "engine/base/compiler.h"
#include "engine/users/users.h"

#define MAX_SOURCES 4

static struct late_user {
    struct fgraph_ops ops;
    const struct fg_late_source *source;
} users[MAX_SOURCES];

/* A function of the module is called. The user is not needed any longer if the source has hooked in: it is
 * unregistered at the next hooked call outside of callbacks. */
static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    const struct fg_late_source *source = fg_container_of(ops, struct late_user, ops)->source;

    (void)trace, (void)regs;
    if (!fg_late_source_is_waiting(source))
        return 0;
    fg_late_source_look(source);
    if (!fg_late_source_is_waiting(source))
        fg_ended_note(fg_user_of(ops)->scope);
    return 0;
}

static void stop_wait(struct fg_interp *interp)
{
    (void)interp;
    fg_late_sources_follow();
}

static int register_user(struct late_user *user)
{
    struct fg_pattern_error wrong;
    int error = fgraph_edit_filter(&user->ops, FGRAPH_FILTER, &user->source->functions, 1, true, &wrong);

    fg_ended_use(stop_wait);
    user->ops.entryfunc = entry;
    user->ops.name = user->source->module;
    fg_user_of(&user->ops)->is_entry_only = true;
    return error ? error : fg_cpython_register(&user->ops);
}

static int follow(struct late_user *user)
{
    bool is_registered = fg_user_slot(&user->ops) >= 0;

    if (is_registered == fg_late_source_is_waiting(user->source))
        return 0;
    return is_registered ? fg_cpython_unregister(&user->ops) : register_user(user);
}

int fg_late_sources_follow(void)
{
    int error = 0;

    for (int i = 0; !error && i < MAX_SOURCES && fg_late_sources[i]; i++) {
        users[i].source = fg_late_sources[i];
        error = follow(&users[i]);
    }
    return error;
}
