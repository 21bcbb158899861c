/* SPDX-License-Identifier: Apache-2.0 */
/* Who took part: processes, threads and GPUs of an nsys export. */
#include "trace/nsys/private.h"

#include "util/path.h"

enum { PID_MASK = 0xffffff };

/* Two machines of one report may use the same pid; the second keeps its machine bits. */
static uint16_t new_process(struct lpo_nsys_reading *r, uint64_t gid)
{
    int64_t pid = (int64_t)(gid & PID_MASK);
    uint32_t machine = (uint32_t)(gid >> LPO_NSYS_TID_BITS);
    bool fresh;
    uint32_t *owner = lpo_map_u64_put(r->pids, (uint64_t)pid, &fresh);

    if (fresh)
        *owner = machine;
    return lpo_trace_process(r->t, *owner == machine ? pid : (int64_t)gid, -1);
}

uint16_t lpo_nsys_process(struct lpo_nsys_reading *r, int64_t global_id)
{
    uint64_t gid = (uint64_t)global_id >> LPO_NSYS_TID_BITS;
    uint32_t *slot;
    bool fresh;

    if (r->last_process != LPO_NONE && r->last_gid == gid)
        return (uint16_t)r->last_process;
    slot = lpo_map_u64_put(r->processes, gid, &fresh);
    if (fresh)
        *slot = new_process(r, gid);
    r->last_gid = gid;
    r->last_process = *slot;
    return (uint16_t)*slot;
}

uint32_t lpo_nsys_thread(struct lpo_nsys_reading *r, int64_t global_tid)
{
    uint32_t *slot;
    bool fresh;

    if (r->last_thread != LPO_NONE && r->last_gtid == (uint64_t)global_tid)
        return r->last_thread;
    slot = lpo_map_u64_put(r->threads, (uint64_t)global_tid, &fresh);
    if (fresh) {
        uint16_t process = lpo_nsys_process(r, global_tid);

        *slot = lpo_trace_thread(r->t, process, global_tid & PID_MASK);
    }
    r->last_gtid = (uint64_t)global_tid;
    r->last_thread = *slot;
    return *slot;
}

void lpo_nsys_alive(struct lpo_nsys_reading *r, uint16_t process, int64_t ns)
{
    struct lpo_process *p = &r->t->processes.at[process];

    if (p->end_ns == LPO_NO_TIME || p->end_ns < ns)
        p->end_ns = ns;
}

static uint64_t gpu_key(uint64_t pid, int64_t ordinal)
{
    return pid << 32 | (uint32_t)ordinal;
}

uint16_t lpo_nsys_device(struct lpo_nsys_reading *r, uint16_t process, int64_t ordinal)
{
    if (r->by_gpu) {
        uint64_t pid = (uint64_t)r->t->processes.at[process].pid;
        const uint32_t *gpu = lpo_map_u64_find(r->gpus, gpu_key(pid, ordinal));

        if (gpu)
            ordinal = *gpu;
    }
    return lpo_trace_device(r->t, (int32_t)ordinal, -1);
}

/* CUDA numbers the GPUs that a process may see from 0. Where two processes mean different GPUs by
 * one number, only the GPU's own id keeps them apart. */
static int read_ordinals(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    static const char *const names[] = { "gpuId", "cudaId", "pid", NULL };
    LPO_AUTO(lpo_map_u64) first = lpo_map_u64_create(0);
    struct lpo_nsys_rows rows;
    int rc = lpo_nsys_begin(r->db, &rows, "TARGET_INFO_CUDA_DEVICE", names, err);

    if (rc <= 0)
        return rc;
    while (lpo_nsys_step(&rows, r->t)) {
        uint32_t gpu = (uint32_t)lpo_nsys_int(&rows, 0);
        int64_t ordinal = lpo_nsys_int(&rows, 1);
        uint32_t *seen;
        bool fresh;

        if (lpo_nsys_null(&rows, 0) || lpo_nsys_null(&rows, 1))
            continue;
        *lpo_map_u64_put(r->gpus, gpu_key((uint64_t)lpo_nsys_int(&rows, 2), ordinal), NULL) = gpu;
        seen = lpo_map_u64_put(first, (uint64_t)ordinal, &fresh);
        if (fresh)
            *seen = gpu;
        r->by_gpu |= *seen != gpu;
    }
    lpo_nsys_end(&rows);
    if (r->by_gpu)
        lpo_trace_note(r->t, 0,
                       "processes number the GPUs differently: devices go by the ids of "
                       "the machine, not by CUDA's");
    return 0;
}

/* Columns of TARGET_INFO_GPU, all optional. */
enum { G_ID, G_CUDEVICE, G_NAME, G_SMS, G_MAJOR, G_MINOR, G_MEMORY, G_L2, G_CLOCK };

static void fill_device(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows, int64_t id)
{
    uint16_t row = lpo_trace_device(r->t, (int32_t)id, -1);
    struct lpo_device *d = &r->t->devices.at[row];

    if (d->name == LPO_NONE)
        d->name = lpo_nsys_text(rows, r->t, G_NAME);
    d->sms = (uint32_t)lpo_nsys_int(rows, G_SMS);
    d->cc_major = (uint32_t)lpo_nsys_int(rows, G_MAJOR);
    d->cc_minor = (uint32_t)lpo_nsys_int(rows, G_MINOR);
    d->memory_bytes = (uint64_t)lpo_nsys_int(rows, G_MEMORY);
    d->l2_bytes = (uint64_t)lpo_nsys_int(rows, G_L2);
    d->sm_clock_khz = (uint32_t)(lpo_nsys_int(rows, G_CLOCK) / 1000);
}

/* The ordinal by which GPU operations name this GPU; the GPU's id when no process saw it. */
static int64_t device_id(const struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows)
{
    int64_t id = lpo_nsys_int(rows, G_ID);

    if (r->by_gpu || lpo_nsys_null(rows, G_CUDEVICE))
        return id;
    return lpo_nsys_int(rows, G_CUDEVICE);
}

int lpo_nsys_read_gpus(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    static const char *const names[] = { "id",          "cuDevice",     "name",
                                         "smCount",     "computeMajor", "computeMinor",
                                         "totalMemory", "l2CacheSize",  "clockRate",
                                         NULL };
    struct lpo_nsys_rows rows;
    int rc = read_ordinals(r, err);

    if (rc >= 0)
        rc = lpo_nsys_begin(r->db, &rows, "TARGET_INFO_GPU", names, err);
    if (rc <= 0)
        return rc;
    while (lpo_nsys_step(&rows, r->t)) {
        int64_t id = device_id(r, &rows);

        if (id >= 0 && id < 1024)
            fill_device(r, &rows, id);
    }
    lpo_nsys_end(&rows);
    return 0;
}

/* A program's path holds the user's name; its last part does not. */
static void name_process(struct lpo_nsys_reading *r, uint32_t row, uint32_t path)
{
    struct lpo_process *p = &r->t->processes.at[row];

    if (path != LPO_NONE && p->name == LPO_NONE)
        p->name = lpo_trace_name(r->t, lpo_path_base(lpo_trace_text(r->t, path)));
}

int lpo_nsys_read_names(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    static const char *const processes[] = { "globalPid", "name", NULL };
    static const char *const threads[] = { "globalTid", "nameId", NULL };
    struct lpo_nsys_rows rows;
    int rc = lpo_nsys_begin(r->db, &rows, "PROCESSES", processes, err);

    while (rc > 0 && lpo_nsys_step(&rows, r->t)) {
        const uint32_t *row =
            lpo_map_u64_find(r->processes, (uint64_t)lpo_nsys_int(&rows, 0) >> LPO_NSYS_TID_BITS);

        if (row)
            name_process(r, *row, lpo_nsys_text(&rows, r->t, 1));
    }
    lpo_nsys_end(&rows);
    if (rc >= 0)
        rc = lpo_nsys_begin(r->db, &rows, "ThreadNames", threads, err);
    while (rc > 0 && lpo_nsys_step(&rows, r->t)) {
        const uint32_t *row = lpo_map_u64_find(r->threads, (uint64_t)lpo_nsys_int(&rows, 0));

        if (row && r->t->threads.at[*row].name == LPO_NONE)
            r->t->threads.at[*row].name = lpo_nsys_string(r->db, r->t, lpo_nsys_int(&rows, 1));
    }
    lpo_nsys_end(&rows);
    return rc < 0 ? rc : 0;
}
