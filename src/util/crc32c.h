/* SPDX-License-Identifier: Apache-2.0 */
/* util/crc32c.h - CRC-32C (Castagnoli), by instruction where the CPU has one. */
#pragma once

#include "util/base.h"

/* Start with 0; feed the result back in to continue. */
uint32_t lpo_crc32c(uint32_t crc, const void *bytes, size_t len);
