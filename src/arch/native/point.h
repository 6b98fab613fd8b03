/* Where in a function its hook is. */
#ifndef FG_NATIVE_POINT_H
#define FG_NATIVE_POINT_H

enum fg_native_point {
    FG_NATIVE_ENTRY,
    FG_NATIVE_RETURN,
    FG_NATIVE_PLACE, /* at an instruction within it */
};

#endif
