/* See crc32.h. Eight bytes at a time ("slicing by 8": Kounavis and Berry, "A systematic approach to building
 * high performance software-based CRC generators", 2005). Little-endian, as all of tracedata is (wire.h). */
#include "tracedata/base/crc32.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0xedb88320u
#define SLICES 8

/* tables[k][b]: the checksum of byte b with k bytes of zeros after it. Written once, by make_tables(). */
static uint32_t tables[SLICES][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        tables[0][byte] = crc;
    }
    for (int slice = 1; slice < SLICES; slice++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t crc = tables[slice - 1][byte];

            tables[slice][byte] = crc >> 8 ^ tables[0][crc & 0xff];
        }
}

uint32_t fg_crc32(uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *at = data;

    pthread_once(&tables_once, make_tables);
    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint32_t low, high;

        memcpy(&low, at, sizeof(low));
        memcpy(&high, at + 4, sizeof(high));
        low ^= crc;
        crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
              tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
              tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
    }
    for (; bytes; bytes--, at++)
        crc = crc >> 8 ^ tables[0][(crc ^ *at) & 0xff];
    return ~crc;
}
