/* CRC-32, the one of zlib, gzip and PNG (polynomial 0xedb88320, reflected): finds damage in a file. */
#ifndef FG_CRC32_H
#define FG_CRC32_H

#include <stddef.h>
#include <stdint.h>

/**
 * fg_crc32() - Continue a checksum.
 * @crc: the checksum of the bytes before; 0 at the beginning
 *
 * The checksum of data does not depend on the pieces in which it is handed in.
 *
 * Return: the checksum of the bytes so far, as zlib.crc32() of Python. Any thread.
 */
uint32_t fg_crc32(uint32_t crc, const void *data, size_t bytes);

#endif
