/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/trace.h"

#include "trace/host.h"
#include "trace/merge.h"
#include "trace/metric_rules.h"

/* Keys are the bytes of the row; values its index. */
struct indexes {
    struct lpo_map *processes, *threads, *devices, *domains, *shapes, *stacks, *metrics, *op_args;
    struct lpo_map_pair looks; /* of ranges, by name and domain */
};

struct lpo_trace *lpo_trace_create(void)
{
    struct lpo_trace *t = lpo_xcalloc(1, sizeof *t);
    struct indexes *x = lpo_xcalloc(1, sizeof *x);

    t->names = lpo_map_create();
    t->host = lpo_host_create();
    x->processes = lpo_map_create();
    x->threads = lpo_map_create();
    x->devices = lpo_map_create();
    x->domains = lpo_map_create();
    x->shapes = lpo_map_create();
    x->stacks = lpo_map_create();
    x->metrics = lpo_map_create();
    x->op_args = lpo_map_create();
    t->indexes = x;
    t->epoch_ns = LPO_NO_TIME;
    /* row 0 is the default domain, so that a range of zeros has one */
    lpo_trace_domain(t, "", 0);
    return t;
}

void lpo_trace_destroy(struct lpo_trace *t)
{
    struct indexes *x;

    if (!t)
        return;
    x = t->indexes;
    lpo_trace_duplicates_destroy(t->duplicates);
    lpo_host_destroy(t->host);
    lpo_map_destroy(x->processes);
    lpo_map_destroy(x->threads);
    lpo_map_destroy(x->devices);
    lpo_map_destroy(x->domains);
    lpo_map_destroy(x->shapes);
    lpo_map_destroy(x->stacks);
    lpo_map_destroy(x->metrics);
    lpo_map_destroy(x->op_args);
    lpo_map_pair_free(&x->looks);
    free(x);
    lpo_map_destroy(t->names);
    lpo_vec_free(&t->gpu_ops);
    lpo_vec_free(&t->launches);
    lpo_vec_free(&t->calls);
    lpo_vec_free(&t->marks);
    lpo_vec_free(&t->range_numbers);
    lpo_vec_free(&t->numbers);
    lpo_vec_free(&t->looks);
    lpo_vec_free(&t->windows);
    lpo_vec_free(&t->window_ranges);
    lpo_vec_free(&t->python);
    lpo_vec_free(&t->captures);
    lpo_vec_free(&t->ranges);
    lpo_vec_free(&t->paths);
    lpo_vec_free(&t->open_paths);
    lpo_vec_free(&t->ops);
    lpo_vec_free(&t->op_args);
    lpo_vec_free(&t->op_links);
    lpo_vec_free(&t->captured_launches);
    lpo_vec_free(&t->stacks);
    lpo_vec_free(&t->frames);
    lpo_vec_free(&t->shapes);
    lpo_vec_free(&t->processes);
    lpo_vec_free(&t->threads);
    lpo_vec_free(&t->devices);
    lpo_vec_free(&t->domains);
    lpo_vec_free(&t->metrics);
    lpo_vec_free(&t->summaries);
    for (size_t i = 0; i < t->series.len; i++)
        lpo_vec_free(&t->series.at[i].points);
    lpo_vec_free(&t->series);
    lpo_vec_free(&t->allocators);
    lpo_vec_free(&t->memory_events);
    lpo_vec_free(&t->memory_owners);
    lpo_vec_free(&t->memory_pools);
    lpo_vec_free(&t->rules);
    lpo_vec_free(&t->collectives);
    lpo_vec_free(&t->waits);
    lpo_vec_free(&t->flight_groups);
    lpo_vec_free(&t->flight_calls);
    lpo_vec_free(&t->graph_nodes);
    lpo_vec_free(&t->notes);
    free(t->metric_rows);
    free(t);
}

bool lpo_trace_has_gpu_ops(const struct lpo_trace *t)
{
    return t->gpu_ops.len || (t->summaries.len && t->summaries.at[0].placed);
}

uint64_t lpo_trace_range_count(const struct lpo_trace *t)
{
    const struct lpo_path_losses *lost = &t->path_losses;
    uint64_t count = t->open_paths.len + lost->too_deep + lost->too_long;

    for (size_t i = 0; i < t->ranges.len; i++)
        count += !(t->ranges.at[i].flags & LPO_RANGE_SUMMED);
    for (size_t i = 0; i < t->paths.len; i++)
        count += t->paths.at[i].count;
    return count;
}

/* --- names: a table whose values are their own index ---------------------------------------- */

enum { LONGEST_NAME = 32768, KEPT_NAME = 4096 };

/* Nobody reads a name of a megabyte, and every table, page and search would carry it at each use.
 */
static const char *bound_name(const char *text, size_t *len, struct lpo_str *room)
{
    if (*len <= LONGEST_NAME)
        return text;
    lpo_str_add_bounded(room, text, *len, KEPT_NAME);
    *len = room->len;
    return room->at;
}

uint32_t lpo_trace_namen(struct lpo_trace *t, const char *text, size_t len)
{
    LPO_STR room = { 0 };
    const char *kept = bound_name(text, &len, &room);
    bool fresh;
    uint64_t *slot = lpo_map_put(t->names, kept, len, &fresh);

    if (fresh)
        *slot = lpo_map_count(t->names) - 1;
    return (uint32_t)*slot;
}

uint32_t lpo_trace_name_find(const struct lpo_trace *t, const char *text, size_t len)
{
    LPO_STR room = { 0 };
    const char *kept = bound_name(text, &len, &room);
    const uint64_t *slot = lpo_map_find(t->names, kept, len);

    return slot ? (uint32_t)*slot : LPO_NONE;
}

uint32_t lpo_trace_name(struct lpo_trace *t, const char *text)
{
    return lpo_trace_namen(t, text, strlen(text));
}

const char *lpo_trace_text(const struct lpo_trace *t, uint32_t name)
{
    return name == LPO_NONE ? "" : lpo_map_key(t->names, name, NULL);
}

size_t lpo_trace_text_len(const struct lpo_trace *t, uint32_t name)
{
    size_t len = 0;

    if (name != LPO_NONE)
        lpo_map_key(t->names, name, &len);
    return len;
}

size_t lpo_trace_name_count(const struct lpo_trace *t)
{
    return lpo_map_count(t->names);
}

/* Looks `key` up in `map`; when new, the caller appends the row that *fresh announces. */
static uint32_t row_of(struct lpo_map *map, const void *key, size_t len, size_t next, bool *fresh)
{
    uint64_t *slot = lpo_map_put(map, key, len, fresh);

    if (*fresh)
        *slot = next;
    return (uint32_t)*slot;
}

static int32_t rank_or_that_of_the_file(const struct lpo_trace *t, int32_t rank)
{
    return rank < 0 && t->file_rank ? (int32_t)(t->file_rank - 1) : rank;
}

uint16_t lpo_trace_process(struct lpo_trace *t, int64_t pid, int32_t own_rank)
{
    struct indexes *x = t->indexes;
    int32_t rank = rank_or_that_of_the_file(t, own_rank);
    int64_t key[2] = { pid, rank };
    bool fresh;
    uint32_t row = row_of(x->processes, key, sizeof key, t->processes.len, &fresh);

    /* a trace with more processes than fit folds the rest into the last one, and says so */
    if (fresh && t->processes.len >= UINT16_MAX) {
        lpo_trace_note(t, 0, "more than %d processes: the rest is counted with the last",
                       UINT16_MAX);
        return UINT16_MAX - 1;
    }
    if (fresh)
        lpo_vec_push(&t->processes,
                     (struct lpo_process){
                         .pid = pid, .rank = rank, .name = LPO_NONE, .end_ns = LPO_NO_TIME });
    return row < UINT16_MAX ? (uint16_t)row : UINT16_MAX - 1;
}

uint32_t lpo_trace_thread(struct lpo_trace *t, uint16_t process, int64_t tid)
{
    struct indexes *x = t->indexes;
    int64_t key[2] = { process, tid };
    bool fresh;
    uint32_t row = row_of(x->threads, key, sizeof key, t->threads.len, &fresh);

    if (fresh)
        lpo_vec_push(&t->threads, (struct lpo_thread){ tid, LPO_NONE, process });
    return row;
}

void lpo_trace_say_ranks(struct lpo_trace *t, uint32_t ranks)
{
    t->ranks = ranks > t->ranks ? ranks : t->ranks;
    t->least_ranks = !t->least_ranks || ranks < t->least_ranks ? ranks : t->least_ranks;
}

uint16_t lpo_trace_device(struct lpo_trace *t, int32_t id, int32_t own_rank)
{
    struct indexes *x = t->indexes;
    int32_t rank = rank_or_that_of_the_file(t, own_rank);
    int32_t key[2] = { id, rank };
    bool fresh;
    uint32_t row = row_of(x->devices, key, sizeof key, t->devices.len, &fresh);

    if (fresh && t->devices.len >= UINT16_MAX)
        return UINT16_MAX - 1;
    if (fresh)
        lpo_vec_push(&t->devices, (struct lpo_device){ .id = id, .rank = rank, .name = LPO_NONE });
    return row < UINT16_MAX ? (uint16_t)row : UINT16_MAX - 1;
}

uint16_t lpo_trace_domain(struct lpo_trace *t, const char *name, size_t len)
{
    struct indexes *x = t->indexes;
    bool fresh;
    uint32_t row = row_of(x->domains, name, len, t->domains.len, &fresh);

    if (fresh && t->domains.len >= UINT16_MAX)
        return 0;
    if (fresh)
        lpo_vec_push(&t->domains, lpo_trace_namen(t, name, len));
    return row < UINT16_MAX ? (uint16_t)row : 0;
}

uint32_t lpo_trace_shape(struct lpo_trace *t, const struct lpo_shape *shape)
{
    struct indexes *x = t->indexes;
    bool fresh;
    uint32_t row = row_of(x->shapes, shape, sizeof *shape, t->shapes.len, &fresh);

    if (fresh)
        lpo_vec_push(&t->shapes, *shape);
    return row;
}

uint32_t lpo_trace_op_args(struct lpo_trace *t, const struct lpo_op_args *args)
{
    struct indexes *x = t->indexes;
    bool fresh;
    uint32_t row = row_of(x->op_args, args, sizeof *args, t->op_args.len, &fresh);

    if (fresh)
        lpo_vec_push(&t->op_args, *args);
    return row;
}

uint32_t lpo_trace_op_dims(const struct lpo_trace *t, const struct lpo_op *op)
{
    return op->args == LPO_NONE ? LPO_NONE : t->op_args.at[op->args].dims;
}

uint32_t lpo_trace_stack(struct lpo_trace *t, const struct lpo_frame *frames, size_t count)
{
    struct indexes *x = t->indexes;
    LPO_FREED struct lpo_frame *key = lpo_xcalloc(count, sizeof *key);
    bool fresh;
    uint32_t row;

    for (size_t i = 0; i < count; i++) { /* field by field: padding must not make keys differ */
        key[i].name = frames[i].name;
        key[i].domain = frames[i].domain;
        key[i].kind = frames[i].kind;
        key[i].visit = frames[i].visit;
    }
    row = row_of(x->stacks, (const char *)key, count * sizeof *key, t->stacks.len, &fresh);
    if (fresh) {
        lpo_vec_push(&t->stacks, (struct lpo_stack){ (uint32_t)t->frames.len, (uint32_t)count });
        for (size_t i = 0; i < count; i++)
            lpo_vec_push(&t->frames, key[i]);
    }
    return row;
}

static void widen_metrics(struct lpo_trace *t)
{
    size_t wide = t->metric_cap ? t->metric_cap * 2 : 16;
    double *rows =
        lpo_xrealloc(NULL, (t->metric_rows_cap ? t->metric_rows_cap : 1) * wide, sizeof *rows);

    for (size_t r = 0; r < t->nmetric_rows; r++) {
        for (size_t c = 0; c < t->metric_cap; c++)
            rows[r * wide + c] = t->metric_rows[r * t->metric_cap + c];
        for (size_t c = t->metric_cap; c < wide; c++)
            rows[r * wide + c] = NAN;
    }
    free(t->metric_rows);
    t->metric_rows = rows;
    t->metric_cap = wide;
    if (t->metric_rows_cap == 0)
        t->metric_rows_cap = 1;
}

uint32_t lpo_trace_metric(struct lpo_trace *t, const char *name, size_t len, const char *unit)
{
    struct indexes *x = t->indexes;
    bool fresh;
    uint32_t row = row_of(x->metrics, name, len, t->metrics.len, &fresh);

    if (fresh) {
        uint32_t id = lpo_trace_namen(t, name, len);

        lpo_vec_push(&t->metrics, (struct lpo_metric){
                                      id, unit && *unit ? lpo_trace_name(t, unit) : LPO_NONE,
                                      (uint8_t)lpo_trace_metric_combine(lpo_trace_text(t, id)) });
        if (t->metrics.len > t->metric_cap)
            widen_metrics(t);
    }
    return row;
}

void lpo_trace_metric_expect(struct lpo_trace *t, size_t columns)
{
    if (t->nmetric_rows > 0 || columns <= t->metric_cap || columns > 65536)
        return;
    t->metric_cap = columns;
    t->metric_rows_cap = 1;
    t->metric_rows = lpo_xrealloc(t->metric_rows, columns, sizeof *t->metric_rows);
}

uint32_t lpo_trace_metric_row(struct lpo_trace *t)
{
    if (t->metric_cap == 0)
        widen_metrics(t);
    if (t->nmetric_rows == t->metric_rows_cap) {
        t->metric_rows_cap *= 2;
        t->metric_rows = lpo_xrealloc(t->metric_rows, t->metric_rows_cap * t->metric_cap,
                                      sizeof *t->metric_rows);
    }
    for (size_t c = 0; c < t->metric_cap; c++)
        t->metric_rows[t->nmetric_rows * t->metric_cap + c] = NAN;
    return (uint32_t)t->nmetric_rows++;
}

void lpo_trace_metric_set(struct lpo_trace *t, uint32_t row, uint32_t metric, double value)
{
    t->metric_rows[(size_t)row * t->metric_cap + metric] = value;
}

double lpo_trace_metric_get(const struct lpo_trace *t, uint32_t row, uint32_t metric)
{
    if (row == LPO_NONE || metric == LPO_NONE)
        return NAN;
    return t->metric_rows[(size_t)row * t->metric_cap + metric];
}

uint32_t lpo_trace_metric_find(const struct lpo_trace *t, const char *name)
{
    const struct indexes *x = t->indexes;
    const uint64_t *slot = lpo_map_find(x->metrics, name, strlen(name));

    return slot ? (uint32_t)*slot : LPO_NONE;
}

/* The row of the note. */
static size_t add_note(struct lpo_trace *t, uint64_t count, const char *fmt, va_list ap)
{
    char text[1024];
    uint32_t name;

    vsnprintf(text, sizeof text, fmt, ap);
    name = lpo_trace_name(t, text);
    for (size_t i = 0; i < t->notes.len; i++) /* a fact is said once, however many processes */
        if (t->notes.at[i].text == name && !count == !t->notes.at[i].count) {
            t->notes.at[i].count += count;
            return i;
        }
    lpo_vec_push(&t->notes, (struct lpo_trace_note){ name, count });
    return t->notes.len - 1;
}

void lpo_trace_note(struct lpo_trace *t, uint64_t count, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_note(t, count, fmt, ap);
    va_end(ap);
}

void lpo_trace_note_damage(struct lpo_trace *t, uint64_t count, const char *fmt, ...)
{
    va_list ap;
    size_t row;

    va_start(ap, fmt);
    row = add_note(t, count, fmt, ap);
    va_end(ap);
    if (!t->damage_note)
        t->damage_note = row + 1;
}

void lpo_trace_look_set(struct lpo_trace *t, uint32_t name, uint16_t domain,
                        struct lpo_range_look look)
{
    struct indexes *x = t->indexes;
    struct lpo_range_look *l;
    bool fresh;
    uint32_t row = lpo_map_pair_put(&x->looks, name, domain, &fresh);

    if (fresh) {
        look.name = name;
        look.domain = domain;
        lpo_vec_push(&t->looks, look);
        return;
    }
    l = &t->looks.at[row];
    if (l->category == LPO_NONE)
        l->category = look.category;
    if (!l->has_color && look.has_color) {
        l->color = look.color;
        l->has_color = true;
    }
}

const struct lpo_range_look *lpo_trace_look(const struct lpo_trace *t, uint32_t name,
                                            uint16_t domain)
{
    const struct indexes *x = t->indexes;
    uint32_t row = t->looks.len ? lpo_map_pair_find(&x->looks, name, domain) : UINT32_MAX;

    return row == UINT32_MAX ? NULL : &t->looks.at[row];
}
