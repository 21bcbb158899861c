/* SPDX-License-Identifier: Apache-2.0 */
/* Waits between streams and of the host: events of the category cuda_sync, which newer profilers
 * record on demand. An event is named by the correlation id of the call that recorded it. */

#include "trace/kineto/private.h"
#include "trace/trace.h"

enum { MOST = 1 << 24 }; /* of each: some 800 MB of text */

struct wait {
    int64_t recorded_by; /* correlation id; LPO_NO_TIME */
    int32_t device;      /* as the file numbers it */
    struct lpo_wait row;
};

struct lpo_kineto_waits {
    struct lpo_map_u64 *records; /* correlation id to a row of `times` */
    LPO_VEC(int64_t) times;
    LPO_VEC(struct wait) waits;
};

struct lpo_kineto_waits *lpo_kineto_waits_create(void)
{
    struct lpo_kineto_waits *w = lpo_xcalloc(1, sizeof *w);

    w->records = lpo_map_u64_create(0);
    return w;
}

void lpo_kineto_waits_destroy(struct lpo_kineto_waits *w)
{
    if (!w)
        return;
    lpo_map_u64_destroy(w->records);
    lpo_vec_free(&w->times);
    lpo_vec_free(&w->waits);
    free(w);
}

/* cudaEventRecord, hipEventRecord, cuEventRecord: a trace has millions of other calls. */
static bool records_event(const struct lpo_json_pull_text *name)
{
    static const char word[] = "EventRecord";

    for (size_t at = 2; at <= 4; at++)
        if (name->len >= at + sizeof word - 1 && memcmp(name->at + at, word, sizeof word - 1) == 0)
            return true;
    return false;
}

void lpo_kineto_waits_call(struct lpo_kineto_waits *w, const struct kineto_event *e)
{
    bool fresh;
    uint32_t *row;

    if (!records_event(&e->name) || w->times.len == MOST)
        return;
    row = lpo_map_u64_put(w->records, (uint64_t)e->correlation, &fresh);
    if (!fresh)
        return;
    *row = (uint32_t)w->times.len;
    lpo_vec_push(&w->times, e->start_ns);
}

static bool is_stream(int64_t n)
{
    return n >= 0 && n < LPO_NONE;
}

void lpo_kineto_waits_add(struct lpo_kineto_waits *w, const struct kineto_event *e)
{
    static const struct {
        const char *name;
        enum lpo_wait_kind kind;
    } kinds[] = {
        { "Stream Wait Event", LPO_WAIT_STREAM_FOR_EVENT },
        { "Event Sync", LPO_WAIT_HOST_FOR_EVENT },
        { "Stream Sync", LPO_WAIT_HOST_FOR_STREAM },
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && w->waits.len < MOST; i++)
        if (e->name.len == strlen(kinds[i].name) &&
            memcmp(e->name.at, kinds[i].name, e->name.len) == 0) {
            bool event = kinds[i].kind != LPO_WAIT_HOST_FOR_STREAM;
            bool stream = kinds[i].kind != LPO_WAIT_HOST_FOR_EVENT;

            if ((event && !is_stream(e->on_stream)) || (stream && !is_stream(e->stream)))
                return;
            lpo_vec_push(&w->waits,
                         (struct wait){ e->recorded_by,
                                        (int32_t)e->device,
                                        { .ns = e->start_ns,
                                          .record_ns = LPO_NO_TIME,
                                          .stream = stream ? (uint32_t)e->stream : LPO_NONE,
                                          .on_stream = event ? (uint32_t)e->on_stream : LPO_NONE,
                                          .kind = (uint8_t)kinds[i].kind } });
            return;
        }
}

void lpo_kineto_waits_settle(const struct lpo_kineto_waits *w, struct lpo_trace *t,
                             const struct lpo_map *rows, const uint16_t *devices, uint16_t process,
                             int64_t shift)
{
    for (size_t i = 0; i < w->waits.len; i++) {
        const struct wait *x = &w->waits.at[i];
        struct lpo_wait row = x->row;
        const uint64_t *device = lpo_map_find(rows, (const char *)&x->device, sizeof x->device);
        const uint32_t *at = x->recorded_by == LPO_NO_TIME
                                 ? NULL
                                 : lpo_map_u64_find(w->records, (uint64_t)x->recorded_by);

        if (!device)
            continue;
        row.ns += shift;
        row.device = devices[*device];
        row.process = process;
        if (at)
            row.record_ns = w->times.at[*at] + shift;
        lpo_vec_push(&t->waits, row);
    }
}
