/* SPDX-License-Identifier: Apache-2.0 */
#include "util/crc32c.h"

/* Reflected polynomial 0x82f63b78, four bits at a time. */
static const uint32_t nibble[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

/* For processors without the instruction; a table of 16 words stays in the cache of the program
 * that is profiled. */
static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = (crc >> 4) ^ nibble[crc & 15];
        crc = (crc >> 4) ^ nibble[crc & 15];
    }
    return crc;
}

#if defined(__x86_64__)
#define HAS_INSTRUCTION __builtin_cpu_supports("sse4.2")
#define TARGET          __attribute__((target("sse4.2")))
#define STEP8(crc, x)   ((uint32_t)__builtin_ia32_crc32di((crc), (x)))
#define STEP1(crc, x)   __builtin_ia32_crc32qi((crc), (x))
#elif defined(__aarch64__)
#include <sys/auxv.h>
#define HAS_INSTRUCTION (getauxval(AT_HWCAP) & (1u << 7))
#define TARGET
static inline uint32_t arm_step8(uint32_t crc, uint64_t x)
{
    __asm__(".arch_extension crc\n crc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(x));
    return crc;
}
static inline uint32_t arm_step1(uint32_t crc, uint8_t x)
{
    __asm__(".arch_extension crc\n crc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)x));
    return crc;
}
#define STEP8 arm_step8
#define STEP1 arm_step1
#endif

#ifdef HAS_INSTRUCTION
TARGET static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        crc = STEP8(crc, word);
    }
    for (; len; p++, len--)
        crc = STEP1(crc, *p);
    return crc;
}
#endif

uint32_t lpo_crc32c(uint32_t crc, const void *bytes, size_t len)
{
#ifdef HAS_INSTRUCTION
    if (HAS_INSTRUCTION)
        return ~by_instruction(~crc, bytes, len);
#endif
    return ~by_table(~crc, bytes, len);
}
