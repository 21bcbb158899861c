/* SPDX-License-Identifier: Apache-2.0 */
/* The pickle that torch.cuda.memory._dump_snapshot() writes. */

#include "trace/reader.h"
#include "trace/snapshot/private.h"
#include "trace/trace.h"

enum { MOST_GPUS = 64, PROTO = 0x80, STEPS = 4096 };

uint64_t lpo_snapshot_most_steps(const struct lpo_pickle *p)
{
    return p->bytes + STEPS;
}

bool lpo_snapshot_step(struct snapshot *s)
{
    return s->steps < s->most_steps && ++s->steps;
}

/* Another file of the run may have said which GPU it is; then it is the only one of its number. */
static uint16_t device_of(struct lpo_trace *t, int32_t id)
{
    size_t found = 0, same = 0;

    for (size_t i = 0; i < t->devices.len; i++)
        if (t->devices.at[i].id == id) {
            found = i;
            same++;
        }
    return same == 1 ? (uint16_t)found : lpo_trace_device(t, id, -1);
}

struct snapshot_gpu *lpo_snapshot_gpu(struct snapshot *s, int64_t id)
{
    struct lpo_trace *t = s->t;

    for (size_t i = 0; i < s->gpus.len; i++)
        if (s->gpus.at[i].id == id)
            return &s->gpus.at[i];
    if (id < 0 || id >= MOST_GPUS) {
        s->damaged++;
        return NULL;
    }
    lpo_vec_push(&t->allocators, (struct lpo_allocator){ .device = device_of(t, (int32_t)id),
                                                         .source = LPO_ALLOCATOR_SNAPSHOT,
                                                         .gpu_free_bytes = LPO_NO_TIME,
                                                         .refused_owner = LPO_NONE });
    lpo_vec_push(&s->gpus, (struct snapshot_gpu){ .id = (int32_t)id,
                                                  .allocator = (uint32_t)t->allocators.len - 1 });
    return &s->gpus.at[s->gpus.len - 1];
}

int64_t lpo_snapshot_bytes(struct snapshot *s, const struct lpo_pickle_value *dict, const char *key)
{
    int64_t bytes = lpo_snapshot_pickle_int(dict, key, -1);

    if (bytes >= 0 && bytes < SNAPSHOT_MOST_BYTES)
        return bytes;
    s->damaged++;
    return -1;
}

void lpo_snapshot_add(struct snapshot *s, int64_t *sum, int64_t bytes)
{
    static const int64_t most = (int64_t)1 << 60;

    if (*sum > most || *sum < -most)
        s->damaged++;
    else
        *sum += bytes;
}

static int fill(struct snapshot *s, const struct lpo_pickle *p, struct lpo_err *err)
{
    const struct lpo_pickle_value *segments = lpo_snapshot_pickle_get(&p->root, "segments");

    if (!segments || segments->kind != LPO_PICKLE_LIST)
        return lpo_fail(err, LPO_E_FORMAT,
                        "the pickle has no list 'segments': it was not written by "
                        "torch.cuda.memory._dump_snapshot()");
    if (s->t->epoch_ns == LPO_NO_TIME && s->t->sources <= 1)
        s->t->epoch_ns = 0; /* times are those of the day */
    lpo_snapshot_segments(s, segments);
    lpo_snapshot_history(s, lpo_snapshot_pickle_get(&p->root, "device_traces"));
    if (s->steps == s->most_steps)
        return lpo_fail(err, LPO_E_LIMIT,
                        "the snapshot names its parts more often than it can "
                        "have written them");
    if (s->damaged)
        lpo_trace_note(s->t, s->damaged, "numbers of the memory snapshot that cannot be right");
    return 0;
}

static int read_snapshot(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_pickle p = { 0 };
    struct snapshot s = { .t = into };
    int rc = lpo_snapshot_pickle_read(a, path, &p, err);

    if (rc < 0)
        return rc;
    s.most_steps = lpo_snapshot_most_steps(&p);
    s.owners = lpo_map_u64_create(0);
    rc = fill(&s, &p, err);
    for (size_t i = 0; i < s.gpus.len; i++)
        lpo_vec_free(&s.gpus.at[i].blocks);
    lpo_vec_free(&s.gpus);
    lpo_map_u64_destroy(s.owners);
    return rc;
}

static bool sniff_snapshot(const char *path, const unsigned char *head, size_t len)
{
    (void)path;
    return len > 2 && head[0] == PROTO && head[1] >= 2 && head[1] <= 5;
}

const struct lpo_reader lpo_snapshot_reader = {
    .name = "snapshot",
    .summary = "memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot, a pickle)",
    .sniff = sniff_snapshot,
    .read = read_snapshot,
};
