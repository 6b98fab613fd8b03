/* The compiler features that the engine uses. */
#ifndef FG_COMPILER_H
#define FG_COMPILER_H

#define fg_likely(x) __builtin_expect(!!(x), 1)
#define fg_unlikely(x) __builtin_expect(!!(x), 0)
#define FG_COLD __attribute__((cold, noinline))
/* A path that few calls take: kept out of line, but not cold. */
#define FG_NOINLINE __attribute__((noinline))
/* A hook. With link-time optimisation the compiler inlines the engine's path of a call into it. */
#define FG_HOT __attribute__((hot, flatten))

#define fg_container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#if defined(__x86_64__)
#define fg_pause() __builtin_ia32_pause()
#else
#define fg_pause() ((void)0)
#endif

#if defined(__SANITIZE_THREAD__)
#define FG_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FG_TSAN 1
#endif
#endif

#endif
