/* SPDX-License-Identifier: Apache-2.0 */
/* Memory events of a Kineto trace of any bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "memory_file.h"
#include "trace/memory.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lpo_kineto_memory m = { 0 };
    struct lpo_err err = { 0 };
    char path[64];
    int fd = memory_file(data, size, path, sizeof path);

    lpo_kineto_memory(path, &m, &err);
    for (size_t i = 0; i < m.rows.len; i++)
        if (m.rows.at[i].growth_bytes < 0 || m.rows.at[i].largest_bytes < 0 || m.rows.len > 64)
            abort();
    lpo_kineto_memory_free(&m);
    close(fd);
    return 0;
}
