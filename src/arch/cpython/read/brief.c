/* See brief.h. */
#include "arch/cpython/read/brief.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both lists are sorted. tests/binding/graph/test_brief.py calls each function of the first. */
static const char *const brief[] = {
    "_thread.RLock._is_owned",
    "_thread.RLock.release",
    "_thread.get_ident",
    "_thread.lock.locked",
    "_thread.lock.release",
    "builtins.callable",
    "builtins.chr",
    "builtins.delattr",
    "builtins.dict.get",
    "builtins.dict.items",
    "builtins.dict.keys",
    "builtins.dict.setdefault",
    "builtins.dict.values",
    "builtins.getattr",
    "builtins.globals",
    "builtins.hasattr",
    "builtins.id",
    "builtins.isinstance",
    "builtins.issubclass",
    "builtins.iter",
    "builtins.len",
    "builtins.list.append",
    "builtins.ord",
    "builtins.set.add",
    "builtins.set.discard",
    "builtins.setattr",
    "builtins.str.endswith",
    "builtins.str.startswith",
    "collections.deque.append",
    "collections.deque.appendleft",
    "collections.deque.pop",
    "collections.deque.popleft",
    "re.Match.end",
    "re.Match.span",
    "re.Match.start",
    "sys._getframe",
    "sys.exc_info",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.time",
    "time.time_ns",
};

/* The names in funcgraph/answers/waits.py, which the same test compares. */
static const char *const waiting[] = {
    "__enter__",
    "__exit__",
    "_accept",
    "_acquire_restore",
    "accept",
    "acquire",
    "acquire_lock",
    "close",
    "connect",
    "connect_ex",
    "copy_file_range",
    "do_handshake",
    "fdatasync",
    "flock",
    "flush",
    "fork_exec",
    "fstat",
    "fsync",
    "get",
    "getaddrinfo",
    "gethostbyaddr",
    "gethostbyname",
    "gethostbyname_ex",
    "getnameinfo",
    "input",
    "join",
    "listdir",
    "lockf",
    "lstat",
    "open",
    "open_code",
    "pause",
    "peek",
    "poll",
    "posix_spawn",
    "posix_spawnp",
    "pread",
    "preadv",
    "pwrite",
    "pwritev",
    "read",
    "read1",
    "readall",
    "readinto",
    "readinto1",
    "readline",
    "readlines",
    "readv",
    "recv",
    "recv_into",
    "recvfrom",
    "recvfrom_into",
    "recvmsg",
    "recvmsg_into",
    "scandir",
    "select",
    "send",
    "sendall",
    "sendfile",
    "sendmsg",
    "sendmsg_afalg",
    "sendto",
    "shutdown",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "sleep",
    "splice",
    "start_joinable_thread",
    "stat",
    "sync",
    "truncate",
    "wait",
    "wait3",
    "wait4",
    "waitid",
    "waitpid",
    "write",
    "writelines",
    "writev",
};

static int compare(const void *name, const void *item)
{
    return strcmp(name, *(const char *const *)item);
}

bool fg_brief_has(const char *module, const char *qualname)
{
    char name[64];
    int n = snprintf(name, sizeof(name), "%s.%s", module, qualname);

    return n > 0 && (size_t)n < sizeof(name) &&
           bsearch(name, brief, sizeof(brief) / sizeof(brief[0]), sizeof(brief[0]), compare) != NULL;
}

bool fg_may_wait(const char *name)
{
    return bsearch(name, waiting, sizeof(waiting) / sizeof(waiting[0]), sizeof(waiting[0]), compare) != NULL;
}
