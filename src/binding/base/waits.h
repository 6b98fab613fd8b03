/* What funcgraph._engine gives to funcgraph._control: waiting for records without the interpreter lock, and
 * a thread that is no part of the program. */
#ifndef FG_BINDING_WAITS_H
#define FG_BINDING_WAITS_H

#include <stdint.h>

#define FG_WAITS_ATTRIBUTE "_waits"
#define FG_WAITS_CAPSULE "funcgraph._engine." FG_WAITS_ATTRIBUTE

enum fg_news {
    FG_NEWS,      /* a reader should look again */
    FG_NEWS_SOON, /* a record may be being written: ask again soon */
    FG_NO_NEWS,   /* until a reader is woken */
};

struct fg_waits {
    /* Asks whether an instance has news for a reader that saw its count @seen, and has the next news wake the
     * readers. An instance that is gone has news. Any thread. */
    enum fg_news (*poll)(int handle, uint32_t seen);
    /* Sets what is called to wake the readers: in any thread, and in handlers of signals. */
    void (*on_wake)(void (*woken)(void));
    /* Native calls of the calling thread are never traced from now on. Once in a thread. */
    void (*hide_thread)(void);
};

#endif
