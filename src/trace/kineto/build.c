#include "trace/kineto/build.h"

#include <stdlib.h>
#include <string.h>

/* What is beyond these is no time (the year 2096) and no duration (31 years); within them, start +
 * duration + shift of the clock cannot overflow. */
static const int64_t max_time = 4000000000000000000, max_length = 1000000000000000000;

enum { MAX_LABELS = 65536 };

struct lpo_kineto_build *lpo_kineto_build_create(struct lpo_trace *t)
{
    struct lpo_kineto_build *b = lpo_xcalloc(1, sizeof *b);

    b->t = t;
    b->links = lpo_trace_links_create();
    b->process_rows = lpo_map_create();
    b->thread_rows = lpo_map_create();
    b->device_rows = lpo_map_create();
    b->last_thread = LPO_NONE;
    b->first_gpu_op = t->gpu_ops.len;
    b->first_launch = t->launches.len;
    b->first_range = t->ranges.len;
    b->first_op = t->ops.len;
    return b;
}

void lpo_kineto_build_destroy(struct lpo_kineto_build *b)
{
    if (!b)
        return;
    lpo_trace_links_destroy(b->links);
    lpo_map_destroy(b->process_rows);
    lpo_map_destroy(b->thread_rows);
    lpo_map_destroy(b->device_rows);
    lpo_vec_free(&b->processes);
    lpo_vec_free(&b->threads);
    lpo_vec_free(&b->devices);
    lpo_vec_free(&b->labels);
    lpo_str_free(&b->scratch);
    free(b);
}

static uint32_t text_of(struct lpo_kineto_build *b, const struct lpo_json_pull_text *text)
{
    if (!text->escaped)
        return lpo_trace_namen(b->t, text->at, text->len);
    lpo_str_clear(&b->scratch);
    lpo_json_pull_unescape(text, LPO_PULL_LENIENT, &b->scratch, NULL);
    return lpo_trace_namen(b->t, lpo_str_text(&b->scratch), b->scratch.len);
}

/* "[[8, 128], []]" without its spaces, so that all writers give one text. */
static uint32_t shapes_of(struct lpo_kineto_build *b, const struct lpo_json_pull_text *json)
{
    char *to;

    lpo_str_clear(&b->scratch);
    lpo_str_addn(&b->scratch, json->at, json->len);
    to = b->scratch.at;
    for (size_t i = 0; i < json->len; i++) {
        *to = json->at[i];
        to += (unsigned char)*to > ' ';
    }
    return lpo_trace_namen(b->t, b->scratch.at, (size_t)(to - b->scratch.at));
}

static uint16_t process_of(struct lpo_kineto_build *b, int64_t pid)
{
    bool fresh;
    uint64_t *row = lpo_map_put(b->process_rows, (const char *)&pid, sizeof pid, &fresh);

    if (fresh && b->processes.len < UINT16_MAX) {
        *row = b->processes.len;
        lpo_vec_push(&b->processes, (struct process){ .pid = pid, .end_ns = LPO_NO_TIME });
    } else if (fresh) {
        *row = b->processes.len - 1;
    }
    return (uint16_t)*row;
}

static uint32_t thread_of(struct lpo_kineto_build *b, const struct kineto_event *e)
{
    int64_t key[2] = { e->pid.number, e->tid.number };
    uint64_t *row;
    bool fresh;

    if (b->last_thread != LPO_NONE && key[0] == b->last_pid && key[1] == b->last_tid)
        return b->last_thread;
    row = lpo_map_put(b->thread_rows, (const char *)key, sizeof key, &fresh);
    if (fresh) {
        uint16_t process = process_of(b, key[0]);

        *row = b->threads.len;
        lpo_vec_push(&b->threads, (struct thread){ key[1], process });
    }
    b->last_pid = key[0];
    b->last_tid = key[1];
    b->last_thread = (uint32_t)*row;
    return b->last_thread;
}

static uint16_t device_of(struct lpo_kineto_build *b, int64_t id)
{
    int32_t small = id < INT32_MIN || id > INT32_MAX ? -1 : (int32_t)id;
    bool fresh;
    uint64_t *row = lpo_map_put(b->device_rows, (const char *)&small, sizeof small, &fresh);

    if (fresh && b->devices.len < UINT16_MAX) {
        *row = b->devices.len;
        lpo_vec_push(&b->devices, small);
    } else if (fresh) {
        *row = b->devices.len - 1;
    }
    return (uint16_t)*row;
}

/* Works without args.stream: the tid, or the number at the end of "stream 7". */
static uint32_t stream_of(const struct kineto_event *e)
{
    uint32_t n = 0;
    size_t i = e->tid.word.len;

    if (e->stream != LPO_NO_TIME)
        return (uint32_t)e->stream;
    if (i == 0)
        return (uint32_t)e->tid.number;
    while (i > 0 && e->tid.word.at[i - 1] >= '0' && e->tid.word.at[i - 1] <= '9')
        i--;
    for (; i < e->tid.word.len; i++)
        n = n * 10 + (uint32_t)(e->tid.word.at[i] - '0');
    return n;
}

static uint32_t small(int64_t v)
{
    return v < 0 || v >= LPO_NONE ? LPO_NONE : (uint32_t)v;
}

static uint32_t shape_row(struct lpo_kineto_build *b, const struct kineto_event *e)
{
    struct lpo_shape s = { .registers = small(e->registers),
                           .static_smem = LPO_NONE, /* the source gives the sum alone */
                           .dynamic_smem = small(e->shared_memory) };

    if (e->grid[0] == LPO_NO_TIME && e->block[0] == LPO_NO_TIME)
        return LPO_NONE;
    for (int i = 0; i < 3; i++) {
        s.grid[i] = small(e->grid[i]);
        s.block[i] = small(e->block[i]);
    }
    return lpo_trace_shape(b->t, &s);
}

static void add_gpu_op(struct lpo_kineto_build *b, const struct kineto_event *e, int64_t end_ns)
{
    struct lpo_gpu_op w = { .start_ns = e->start_ns,
                            .end_ns = end_ns,
                            .name = text_of(b, &e->name),
                            .launch = LPO_NONE,
                            .stack = LPO_NONE,
                            .capture = LPO_NONE,
                            .shape = LPO_NONE,
                            .metrics = LPO_NONE,
                            .kind = (uint8_t)(e->kind - KINETO_KERNEL + LPO_KERNEL) };

    if (e->device == LPO_NO_TIME && e->pid.word.len) { /* the legacy profiler: tid is the device */
        w.device = device_of(b, e->tid.number);
    } else {
        w.device = device_of(b, e->device != LPO_NO_TIME ? e->device : e->pid.number);
        w.stream = stream_of(e);
    }
    if (e->kind == KINETO_KERNEL)
        w.shape = shape_row(b, e);
    else if (e->bytes > 0)
        w.bytes = (uint64_t)e->bytes;
    if (e->dur_ns == LPO_NO_TIME)
        w.flags |= LPO_WORK_NO_LENGTH;
    if (e->graph_id != LPO_NO_TIME && e->graph_id != 0)
        w.flags |= LPO_WORK_GRAPH;
    if (e->correlation != LPO_NO_TIME && !(b->t->skip & LPO_SKIP_LAUNCHES))
        lpo_trace_links_op(b->links, (uint32_t)b->t->gpu_ops.len, e->correlation);
    lpo_vec_push(&b->t->gpu_ops, w);
}

static bool holds(const struct lpo_json_pull_text *text, const char *part)
{
    return memmem(text->at, text->len, part, strlen(part)) != NULL;
}

/* Events of the host side: the thread exists from here on. */
static void add_host(struct lpo_kineto_build *b, const struct kineto_event *e, int64_t end_ns)
{
    uint32_t thread = thread_of(b, e);
    uint16_t process = b->threads.at[thread].process;
    struct process *p = &b->processes.at[process];

    if (e->kind == KINETO_CALL)
        p->calls++;
    else
        p->others++;
    if (end_ns > p->end_ns)
        p->end_ns = end_ns;

    if (e->kind == KINETO_CALL && e->correlation != LPO_NO_TIME) {
        struct lpo_call call = { e->start_ns, end_ns, thread, process,
                                 holds(&e->name, "GraphLaunch") };

        lpo_trace_links_call(b->links, e->correlation, &call);
    } else if (e->kind == KINETO_OP) {
        lpo_vec_push(&b->t->ops,
                     (struct lpo_op){ e->start_ns, end_ns, text_of(b, &e->name), thread,
                                      e->shapes.len ? shapes_of(b, &e->shapes) : LPO_NONE,
                                      small(e->sequence) });
    } else if (e->kind == KINETO_RANGE) {
        lpo_vec_push(&b->t->ranges, (struct lpo_range){
                                        .start_ns = e->start_ns,
                                        .end_ns = end_ns,
                                        .name = text_of(b, &e->name),
                                        .thread = thread,
                                        .kind = LPO_PUSH_POP,
                                        .flags = e->dur_ns == LPO_NO_TIME ? LPO_RANGE_OPEN : 0,
                                    });
    }
}

static void add_label(struct lpo_kineto_build *b, const struct kineto_event *e)
{
    bool process = lpo_json_pull_is(&e->name, "process_name");

    if (!e->label.len || b->labels.len >= MAX_LABELS)
        return;
    if (process || lpo_json_pull_is(&e->name, "thread_name"))
        lpo_vec_push(&b->labels, (struct label){ e->pid.number, e->tid.number,
                                                 text_of(b, &e->label), process });
}

void lpo_kineto_build_add(struct lpo_kineto_build *b, const struct kineto_event *e)
{
    struct kineto_event known = *e;
    int64_t end_ns = 0;

    if (e->kind == KINETO_META) {
        add_label(b, e);
        return;
    }
    if (e->kind == KINETO_BAD || e->start_ns > max_time || e->start_ns < -max_time ||
        e->dur_ns > max_length) {
        b->without_time++;
        return;
    }
    if (e->dur_ns < 0) {
        known.dur_ns = LPO_NO_TIME;
        b->without_length++;
    }
    end_ns = e->start_ns + (e->dur_ns < 0 ? 0 : e->dur_ns);
    b->some_ns = e->start_ns;
    if (e->kind == KINETO_KERNEL || e->kind == KINETO_COPY || e->kind == KINETO_SET)
        add_gpu_op(b, &known, end_ns);
    else if (e->kind != KINETO_OTHER)
        add_host(b, &known, end_ns);
}
