/* tests/region/build.h - traces from one line of text, so that a case reads like a picture.
 *
 *     "A 0-100  A1 10-40  k 20-22=500"
 *
 * NAME START-END is a push/pop range of the current thread; `S:NAME 5-9` a start/end range; `k
 * L0-L1=NS` a launch call with a kernel of NS nanoseconds on the GPU; `@2` goes on with thread 2,
 * `#2` with process 2. A range ending in `…` (three dots) is never closed. */
#pragma once

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"

static inline struct lpo_trace *build_trace(const char *text)
{
    struct lpo_trace *t = lpo_trace_create();
    uint16_t process = lpo_trace_process(t, 1, -1);
    uint32_t thread = lpo_trace_thread(t, process, 1);
    uint16_t device = lpo_trace_device(t, 0, -1);
    char *copy = strdup(text), *save = NULL;
    int64_t gpu_ns = 1000000;

    for (char *w = strtok_r(copy, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
        char *span, *end;
        int64_t a, b;

        if (w[0] == '@') {
            thread = lpo_trace_thread(t, process, atoi(w + 1));
            continue;
        }
        if (w[0] == '#') {
            process = lpo_trace_process(t, atoi(w + 1), -1);
            thread = lpo_trace_thread(t, process, 1);
            continue;
        }
        span = strtok_r(NULL, " \n", &save);
        a = strtoll(span, &end, 10);
        b = strtoll(end + 1, &end, 10);
        if (strcmp(w, "k") == 0 || strncmp(w, "k:", 2) == 0) {
            int64_t ns = *end == '=' ? strtoll(end + 1, NULL, 10) : 1;
            uint32_t launch = (uint32_t)t->launches.len;

            lpo_vec_push(&t->launches, (struct lpo_launch){ a, b, thread });
            lpo_vec_push(&t->gpu_ops,
                         (struct lpo_gpu_op){ .start_ns = gpu_ns,
                                              .end_ns = gpu_ns + ns,
                                              .name = lpo_trace_name(t, w[1] ? w + 2 : "kernel"),
                                              .launch = launch,
                                              .stack = LPO_NONE,
                                              .capture = LPO_NONE,
                                              .shape = LPO_NONE,
                                              .metrics = LPO_NONE,
                                              .stream = 7,
                                              .process = process,
                                              .device = device,
                                              .kind = LPO_KERNEL });
            gpu_ns += ns;
        } else {
            bool start_end = strncmp(w, "S:", 2) == 0;

            lpo_vec_push(&t->ranges,
                         (struct lpo_range){ a, b, lpo_trace_name(t, start_end ? w + 2 : w), thread,
                                             0, start_end ? LPO_START_END : LPO_PUSH_POP,
                                             strstr(end, "...") ? LPO_RANGE_OPEN : 0 });
        }
    }
    free(copy);
    t->has_ranges = true;
    return t;
}
