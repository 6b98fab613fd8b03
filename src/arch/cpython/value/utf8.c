/* See utf8.h. */
#include "arch/cpython/value/utf8.h"

#include <string.h>

size_t fg_utf8_of(Py_UCS4 c, uint8_t out[4])
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xc0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c >= 0xd800 && c < 0xe000)
        c = 0xfffd;
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xe0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (c & 0x3f));
    return 4;
}

size_t fg_utf8_copy(PyObject *str, char *text, size_t bytes)
{
    size_t used = 0;

    for (Py_ssize_t i = 0; str && PyUnicode_Check(str) && i < PyUnicode_GET_LENGTH(str); i++) {
        uint8_t utf8[4];
        size_t n = fg_utf8_of(PyUnicode_READ_CHAR(str, i), utf8);

        if (used + n >= bytes)
            break;
        memcpy(text + used, utf8, n);
        used += n;
    }
    text[used] = 0;
    return used;
}
