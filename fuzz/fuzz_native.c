/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of our own format made of any bytes: the result must be a trace whose rows point at
 * existing rows. A wrong checksum would stop every mutation at its frame, so the input is also cut
 * at each block mark and framed anew. */
#include "check_trace.h"
#include "framed.h"

#include <string.h>

#include "trace/native/native.h"
#include "trace/times.h"
#include "util/budget.h"
#include "util/err.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_once(const void *bytes, size_t len)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_trace_mark mark = lpo_trace_mark(t);

    /* as of any file: an event that ends before it begins has no length, and is counted */
    if (lpo_native_read_bytes(bytes, len, t, NULL) == 0 &&
        lpo_trace_times_check(t, &mark, NULL) == 0)
        check_trace(t);
}

/* With every row kept; with the ranges summed; with the GPU operations summed too. */
static void read_it(const void *bytes, size_t len)
{
    const struct lpo_budget usual = *lpo_budget();
    struct lpo_budget small = usual;

    read_once(bytes, len);
    small.range_bytes = 0;
    lpo_budget_use(&small);
    read_once(bytes, len);
    small.gpu_record_bytes = 0;
    lpo_budget_use(&small);
    read_once(bytes, len);
    lpo_budget_use(&usual);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_STR framed = { 0 };

    read_it(data, size);
    framed_input(&framed, LPOT_MAGIC "\1\0\0\0\0\0\0", data, size);
    read_it(framed.at, framed.len);
    return 0;
}
