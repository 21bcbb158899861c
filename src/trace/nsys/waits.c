/* SPDX-License-Identifier: Apache-2.0 */
/* Which stream a call of the host waited for. Waits for events are left out: the export does not
 * say which call recorded an event. */
#include "trace/nsys/private.h"

#include <stdlib.h>

#include "util/map.h"

/* The device of the streams of each process, by its GPU operations: rows of synchronization name
 * device 0 for another one. A number that two devices of a process have is no answer. */
struct streams {
    struct lpo_map_pair rows;  /* (process, stream) */
    LPO_VEC(uint32_t) devices; /* LPO_NONE: several */
};

static void streams_find(struct streams *s, const struct lpo_nsys_reading *r)
{
    for (size_t i = r->first_gpu_op; i < r->t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &r->t->gpu_ops.at[i];
        bool fresh;
        uint32_t row = lpo_map_pair_put(&s->rows, w->process, w->stream, &fresh);

        if (fresh)
            lpo_vec_push(&s->devices, w->device);
        else if (s->devices.at[row] != w->device)
            s->devices.at[row] = LPO_NONE;
    }
}

static void add_wait(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows,
                     const struct streams *s)
{
    int64_t stream = lpo_nsys_int(rows, 1);
    /* a process that only waited is not one more; below the pid are 24 bits of a thread */
    const uint32_t *process = lpo_map_u64_find(r->processes, (uint64_t)lpo_nsys_int(rows, 2) >> 24);
    uint32_t row;

    if (!process || stream < 0 || stream >= LPO_NONE)
        return;
    row = lpo_map_pair_find(&s->rows, *process, (uint64_t)stream);
    if (row == UINT32_MAX || s->devices.at[row] == LPO_NONE)
        return;
    lpo_vec_push(&r->t->waits, (struct lpo_wait){ .ns = lpo_nsys_time(r, rows, 0),
                                                  .record_ns = LPO_NO_TIME,
                                                  .stream = (uint32_t)stream,
                                                  .on_stream = LPO_NONE,
                                                  .process = (uint16_t)*process,
                                                  .device = (uint16_t)s->devices.at[row],
                                                  .kind = LPO_WAIT_HOST_FOR_STREAM });
}

int lpo_nsys_read_waits(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    /* CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE */
    static const char *const names[] = { "start", "streamId", "globalPid", "syncType", NULL };
    struct streams s = { 0 };
    struct lpo_nsys_rows rows;
    int rc = lpo_nsys_begin(r->db, &rows, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", names, err);

    if (rc > 0)
        streams_find(&s, r);
    while (rc > 0 && lpo_nsys_step(&rows, r->t))
        if (lpo_nsys_int(&rows, 3) == 3 && !lpo_nsys_null(&rows, 0) && !lpo_nsys_null(&rows, 1) &&
            !lpo_nsys_null(&rows, 2))
            add_wait(r, &rows, &s);
    lpo_nsys_end(&rows);
    lpo_map_pair_free(&s.rows);
    lpo_vec_free(&s.devices);
    return rc < 0 ? rc : 0;
}
