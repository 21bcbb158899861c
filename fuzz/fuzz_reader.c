/* SPDX-License-Identifier: Apache-2.0 */
/* A trace reader given any bytes: READER, which fuzz/meson.build names for each target. */
#include "check_trace.h"
#include "memory_file.h"

#include "trace/reader.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };
    char path[64];
    int fd = memory_file(data, size, path, sizeof path);

    t->sources = 1; /* as lpo_trace_read() counts */
    READER.sniff(path, data, size);
    if (READER.read(path, t, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
    else
        check_trace(t);
    close(fd);
    return 0;
}
