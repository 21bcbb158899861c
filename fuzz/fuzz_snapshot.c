/* SPDX-License-Identifier: Apache-2.0 */
/* A memory snapshot of any bytes: the pickle, the trace, and the owners of its peak. */
#include "check_trace.h"
#include "memory_file.h"

#include "analysis/memory/memory.h"
#include "trace/reader.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_memory_peaks *peaks;
    struct lpo_err err = { 0 };
    char path[64];
    int fd = memory_file(data, size, path, sizeof path);

    t->sources = 1; /* as lpo_trace_read() counts */
    lpo_snapshot_reader.sniff(path, data, size);
    if (lpo_snapshot_reader.read(path, t, &err) < 0) {
        insist(lpo_err_cause(&err)[0] != '\0');
    } else {
        check_trace(t);
        peaks = lpo_memory_peaks_create(t);
        for (size_t i = 0; i < peaks->rows.len; i++)
            insist(peaks->rows.at[i].allocator < t->allocators.len &&
                   peaks->rows.at[i].older_bytes >= 0);
        lpo_memory_peaks_destroy(peaks);
    }
    close(fd);
    return 0;
}
