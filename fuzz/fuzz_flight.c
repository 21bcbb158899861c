/* SPDX-License-Identifier: Apache-2.0 */
/* Flight recorders of any bytes, given twice as two ranks: the reader, and who is missing where. */
#include "check_trace.h"
#include "memory_file.h"

#include "analysis/ranks/flight.h"
#include "trace/reader.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_verdict(const struct lpo_trace *t, const struct lpo_flight_verdict *v)
{
    insist(v->call < t->flight_calls.len);
    insist(v->other == LPO_NONE || v->other < t->flight_calls.len);
    insist(v->last == LPO_NONE || v->last < t->flight_calls.len);
    insist(v->waiting.len > 0);
    insist(v->kind != LPO_FLIGHT_MISSING || v->missing.len > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_flight *f;
    struct lpo_err err = { 0 };
    char path[64];
    int fd = memory_file(data, size, path, sizeof path);

    lpo_flight_reader.sniff(path, data, size);
    for (uint32_t rank = 0; rank < 2; rank++) {
        t->sources = rank + 1; /* as lpo_trace_read() counts */
        t->file_rank = rank + 1;
        if (lpo_flight_reader.read(path, t, &err) < 0)
            insist(lpo_err_cause(&err)[0] != '\0');
    }
    check_trace(t);
    f = lpo_ranks_flight_create(t);
    for (size_t i = 0; i < f->verdicts.len; i++)
        check_verdict(t, &f->verdicts.at[i]);
    insist(f->dumps <= 2);
    lpo_ranks_flight_destroy(f);
    close(fd);
    return 0;
}
