/* See dat_format.h. */
#define PY_SSIZE_T_CLEAN
#include "binding/tracedata/write/dat_format.h"

#include <Python.h>

#include <string.h>

bool fg_dat_format_parse(int version, const char *compression, struct fg_trace_dat_format *format)
{
    uint32_t id = FG_CODEC_NONE;

    *format = (struct fg_trace_dat_format){.version = version};
    if (version != 6 && version != 7) {
        PyErr_Format(PyExc_ValueError, "version must be 6 or 7, got %d", version);
        return false;
    }
    while (compression && id < FG_NR_CODECS && strcmp(compression, fg_codec_name(id)) != 0)
        id++;
    if (id == FG_NR_CODECS) {
        PyErr_Format(PyExc_ValueError, "compression must be 'zstd', 'zlib' or 'none', got '%s'", compression);
        return false;
    }
    if (version == 6 && id != FG_CODEC_NONE) {
        PyErr_Format(PyExc_ValueError, "version 6 has no compression; '%s' needs version 7", compression);
        return false;
    }
    format->codec = version == 7 && compression == NULL ? fg_codec_best() : fg_codec_by_id(id);
    if (format->codec == NULL)
        PyErr_Format(PyExc_ValueError, "this system has no %s library", compression);
    return format->codec != NULL;
}
