/* Reserved objects live exactly as long as their frame. */
#include "engine/graph/data.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct fg_func *func;
static _Atomic uint64_t objects[8]; /* each counts its releases */

static void reserve(struct probe *probe, struct ftrace_graph_ent *trace)
{
    CHECK(fgraph_reserve_object(trace, &probe->ops, probe->arg));
    CHECK(!fgraph_reserve_object(trace, &probe->ops, probe->arg));
}

static void retrieve(struct probe *probe, struct ftrace_graph_ret *trace)
{
    CHECK(fgraph_retrieve_object(trace, &probe->ops) == probe->arg);
    CHECK_EQ(*(_Atomic uint64_t *)probe->arg, 0);
}

static void begin(struct probe *probe, int object, size_t data_words)
{
    probe_init(probe, "objects", NULL, data_words);
    probe->on_entry = reserve;
    probe->on_return = retrieve;
    probe->arg = (void *)&objects[object];
    objects[object] = 0;
    probe_register(probe);
}

static void end(struct probe *probe)
{
    CHECK_EQ(probe->bad, 0);
    probe_unregister(probe);
}

/* Fails if objects are dropped before the return functions are called, or not at all. */
static void test_an_object_goes_with_its_frame(void)
{
    struct probe users[3];

    for (int i = 0; i < 3; i++)
        begin(&users[i], i, (size_t)i);
    sim_call_return(func);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(probe_ends(&users[i]), 1);
        CHECK_EQ(objects[i], 1);
        end(&users[i]);
    }
}

/* Fails if the frame of a refused return is popped without dropping its objects. */
static void test_an_object_goes_if_the_return_is_refused(void)
{
    struct probe users[2];

    begin(&users[0], 0, 2);
    users[0].refuse = true;
    sim_call_return(func);
    CHECK_EQ(objects[0], 1);
    objects[0] = 0;
    begin(&users[1], 1, 2);
    sim_call_return(func);
    CHECK_EQ(objects[0], 1);
    CHECK_EQ(objects[1], 1);
    end(&users[0]);
    end(&users[1]);
}

static void *resume_and_return(void *arg)
{
    sim_resume(*(uintptr_t *)arg);
    sim_return(*(uintptr_t *)arg);
    return NULL;
}

static void test_an_object_is_kept_while_its_call_is_suspended(void)
{
    uintptr_t call, closed;
    struct probe user;

    begin(&user, 0, 1);
    call = sim_call(func);
    sim_suspend(call);
    CHECK_EQ(objects[0], 0);
    sim_in_thread(resume_and_return, &call);
    CHECK_EQ(objects[0], 1);
    objects[0] = 0;
    closed = sim_call(func);
    sim_suspend(closed);
    sim_close(closed);
    CHECK_EQ(objects[0], 1);
    CHECK_EQ(probe_ends(&user), 2);
    end(&user);
}

/* Fails if the object is dropped together with the return call: the user is gone, so no return call
 * runs. */
static void test_an_object_outlives_its_user_with_the_frame(void)
{
    struct probe user, other;
    uintptr_t running;

    begin(&user, 0, 1);
    begin(&other, 1, 1);
    running = sim_call(func);
    end(&user);
    CHECK_EQ(objects[0], 0);
    sim_return(running);
    CHECK_EQ(objects[0], 1);
    CHECK_EQ(probe_ends(&user), 0);
    CHECK_EQ(probe_ends(&other), 1);
    end(&other);
}

/* Fails without fg_progress_reap_all in fgraph_unregister. */
static void test_an_object_goes_with_the_last_user_of_its_frame(void)
{
    uintptr_t running, suspended;
    struct probe user;

    begin(&user, 0, 1);
    running = sim_call(func);
    suspended = sim_call(func);
    sim_suspend(suspended);
    end(&user);
    CHECK_EQ(objects[0], 2);
    sim_close(suspended);
    sim_return(running);
    CHECK_EQ(objects[0], 2);
    CHECK_EQ(probe_ends(&user), 0);
}

static void *call_and_end(void *arg)
{
    (void)arg;
    sim_call(func);
    return NULL;
}

static void test_an_object_goes_with_its_thread(void)
{
    struct probe user;

    begin(&user, 0, 1);
    sim_in_thread(call_and_end, NULL);
    CHECK_EQ(objects[0], 1);
    end(&user);
}

/* Fails if a suspended call that cannot be reported is only freed, by fg_parked_free. */
static void test_an_object_goes_with_its_function(void)
{
    struct fg_func *dying = sim_function("m", "dying");
    struct probe user;
    uintptr_t call;

    begin(&user, 0, 1);
    call = sim_call(dying);
    sim_suspend(call);
    sim_free(dying);
    CHECK_EQ(objects[0], 1);
    end(&user);
}

static void test_what_stands_for_a_function_goes_with_it(void)
{
    struct fg_func *dying = sim_function("m", "dying");

    objects[0] = 0;
    atomic_store(&dying->object, (void *)&objects[0]);
    sim_free(dying);
    CHECK_EQ(objects[0], 1);
}

int main(void)
{
    sim_begin();
    func = sim_function("m", "f");
    test_an_object_goes_with_its_frame();
    test_an_object_goes_if_the_return_is_refused();
    test_an_object_is_kept_while_its_call_is_suspended();
    test_an_object_outlives_its_user_with_the_frame();
    test_an_object_goes_with_the_last_user_of_its_frame();
    test_an_object_goes_with_its_thread();
    test_an_object_goes_with_its_function();
    test_what_stands_for_a_function_goes_with_it();
    CHECK(fg_killed() == NULL);
    return 0;
}
