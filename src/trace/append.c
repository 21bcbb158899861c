/* SPDX-License-Identifier: Apache-2.0 */
/* A trace into another one, row by row as rows.c describes them. */

#include "trace/rows.h"
#include "trace/series.h"

#define LONGEST_TOTAL ((int64_t)1 << 61) /* as in times.c */

struct append {
    struct lpo_trace *t;
    const struct lpo_trace *from;
    uint32_t *names;                 /* per name of `from` */
    uint32_t *found[LPO_ROW_ARRAYS]; /* per row of `from`: of arrays that keep a row once */
    uint64_t first[LPO_ROW_ARRAYS];  /* of the others: where those of `from` begin */
    int64_t shift_ns;
    uint32_t graphs;
};

static uint32_t name_of(const struct append *a, uint32_t name)
{
    return name == LPO_NONE ? LPO_NONE : a->names[name];
}

static void copy_names(struct append *a)
{
    size_t count = lpo_trace_name_count(a->from);

    a->names = lpo_xcalloc(count + 1, sizeof *a->names);
    for (uint32_t i = 0; i < count; i++)
        a->names[i] =
            lpo_trace_namen(a->t, lpo_trace_text(a->from, i), lpo_trace_text_len(a->from, i));
}

/* --- what is kept once ---------------------------------------------------------------------- */

static uint32_t find_process(struct append *a, size_t i)
{
    const struct lpo_process *p = &a->from->processes.at[i];
    uint16_t row = lpo_trace_process(a->t, p->pid, p->rank);
    struct lpo_process *to = &a->t->processes.at[row];
    int64_t end_ns = p->end_ns == LPO_NO_TIME ? LPO_NO_TIME : p->end_ns + a->shift_ns;

    to->name = p->name == LPO_NONE ? to->name : name_of(a, p->name);
    to->end_ns = end_ns > to->end_ns ? end_ns : to->end_ns;
    to->has_calls |= p->has_calls;
    to->cut_short |= p->cut_short;
    return row;
}

static uint32_t find_thread(struct append *a, size_t i)
{
    const struct lpo_thread *h = &a->from->threads.at[i];
    uint16_t process = (uint16_t)a->found[LPO_ROWS_PROCESSES][h->process];
    uint32_t row = lpo_trace_thread(a->t, process, h->tid);

    if (h->name != LPO_NONE)
        a->t->threads.at[row].name = name_of(a, h->name);
    return row;
}

static uint32_t find_device(struct append *a, size_t i)
{
    const struct lpo_device *d = &a->from->devices.at[i];
    size_t before = a->t->devices.len;
    uint16_t row = lpo_trace_device(a->t, d->id, d->rank);
    struct lpo_device *to = &a->t->devices.at[row];
    int32_t rank = to->rank;

    if (row < before && d->name == LPO_NONE) /* the same GPU in two files */
        return row;
    *to = *d;
    to->rank = rank;
    to->name = name_of(a, d->name);
    return row;
}

static uint32_t find_domain(struct append *a, size_t i)
{
    uint32_t name = a->from->domains.at[i];

    return lpo_trace_domain(a->t, lpo_trace_text(a->from, name), lpo_trace_text_len(a->from, name));
}

static uint32_t find_shape(struct append *a, size_t i)
{
    return lpo_trace_shape(a->t, &a->from->shapes.at[i]);
}

static uint32_t find_op_args(struct append *a, size_t i)
{
    const struct lpo_op_args *o = &a->from->op_args.at[i];
    struct lpo_op_args args = { name_of(a, o->dims), name_of(a, o->types), name_of(a, o->values) };

    return lpo_trace_op_args(a->t, &args);
}

static uint32_t find_stack(struct append *a, size_t i)
{
    struct lpo_stack s = a->from->stacks.at[i];
    LPO_FREED struct lpo_frame *frames = lpo_xcalloc(s.count + 1, sizeof *frames);

    for (uint32_t k = 0; k < s.count; k++) {
        frames[k] = a->from->frames.at[s.first + k];
        frames[k].name = name_of(a, frames[k].name);
        frames[k].domain = (uint16_t)a->found[LPO_ROWS_DOMAINS][frames[k].domain];
    }
    return lpo_trace_stack(a->t, frames, s.count);
}

static uint32_t find_metric(struct append *a, size_t i)
{
    const struct lpo_metric *m = &a->from->metrics.at[i];

    return lpo_trace_metric(a->t, lpo_trace_text(a->from, m->name),
                            lpo_trace_text_len(a->from, m->name),
                            m->unit == LPO_NONE ? NULL : lpo_trace_text(a->from, m->unit));
}

static uint32_t find_look(struct append *a, size_t i)
{
    struct lpo_range_look look = a->from->looks.at[i];

    look.category = name_of(a, look.category);
    lpo_trace_look_set(a->t, name_of(a, look.name),
                       (uint16_t)a->found[LPO_ROWS_DOMAINS][look.domain], look);
    return LPO_NONE;
}

/* Of an array that keeps equal rows once. */
typedef uint32_t find_row(struct append *a, size_t i);
static find_row *const finders[LPO_ROW_ARRAYS] = {
    [LPO_ROWS_PROCESSES] = find_process, [LPO_ROWS_THREADS] = find_thread,
    [LPO_ROWS_DEVICES] = find_device,    [LPO_ROWS_DOMAINS] = find_domain,
    [LPO_ROWS_SHAPES] = find_shape,      [LPO_ROWS_OP_ARGS] = find_op_args,
    [LPO_ROWS_STACKS] = find_stack,      [LPO_ROWS_METRICS] = find_metric,
    [LPO_ROWS_LOOKS] = find_look,
};

static void find_rows(struct append *a, enum lpo_row_array array)
{
    size_t count = lpo_row_vec_of(a->from, array)->len;

    a->found[array] = lpo_xcalloc(count + 1, sizeof *a->found[array]);
    for (size_t i = 0; i < count; i++)
        a->found[array][i] = finders[array](a, i);
}

/* --- the others ----------------------------------------------------------------------------- */

static uint64_t row_of(const struct append *a, const struct lpo_row_field *f, uint64_t row)
{
    return a->found[f->of] ? a->found[f->of][row] : a->first[f->of] + row;
}

static uint64_t value_of(const struct append *a, const struct lpo_row_field *f, uint64_t v)
{
    switch ((enum lpo_field_kind)f->kind) {
    case LPO_FIELD_MOMENT:
    case LPO_FIELD_END:
        return (int64_t)v == LPO_NO_TIME ? v : v + (uint64_t)a->shift_ns;
    case LPO_FIELD_NAME:
    case LPO_FIELD_NAME_IF:
        return name_of(a, (uint32_t)v);
    case LPO_FIELD_ROW:
        return row_of(a, f, v);
    case LPO_FIELD_ROW_IF:
        return v == LPO_NONE ? v : row_of(a, f, v);
    case LPO_FIELD_ROW_PLUS:
        return v ? row_of(a, f, v - 1) + 1 : 0;
    case LPO_FIELD_GRAPH:
        return v + a->graphs;
    case LPO_FIELD_NUMBER:
        break;
    }
    return v;
}

static void copy_rows(struct append *a, enum lpo_row_array array)
{
    const struct lpo_row_kind *k = &lpo_row_kinds[array];
    struct lpo_row_vec *to = lpo_row_vec_of(a->t, array), *from = lpo_row_vec_of(a->from, array);
    char *rows;

    a->first[array] = to->len;
    if (!from->len)
        return;
    rows = lpo_trace_rows_grow(to, from->len, k->row_bytes);
    memcpy(rows, from->at, from->len * k->row_bytes);
    for (size_t f = 0; f < k->nfields; f++) {
        const struct lpo_row_field *field = &k->fields[f];

        if (field->kind == LPO_FIELD_NUMBER ||
            ((field->kind == LPO_FIELD_MOMENT || field->kind == LPO_FIELD_END) && !a->shift_ns))
            continue;
        for (size_t i = 0; i < from->len; i++) {
            char *row = rows + i * k->row_bytes;

            lpo_trace_row_set(row, field, 0, value_of(a, field, lpo_trace_row_get(row, field, 0)));
        }
    }
}

static void copy_metric_rows(struct append *a)
{
    const struct lpo_trace *from = a->from;

    a->first[LPO_ROWS_METRIC_ROWS] = a->t->nmetric_rows;
    for (size_t i = 0; i < from->nmetric_rows; i++) {
        uint32_t row = lpo_trace_metric_row(a->t);

        for (uint32_t m = 0; m < from->metrics.len; m++)
            lpo_trace_metric_set(a->t, row, a->found[LPO_ROWS_METRICS][m],
                                 lpo_trace_metric_get(from, (uint32_t)i, m));
    }
}

static void copy_series(struct append *a)
{
    for (size_t i = 0; i < a->from->series.len; i++) {
        const struct lpo_series *s = &a->from->series.at[i];
        uint32_t row =
            lpo_trace_series(a->t, (enum lpo_series_kind)s->kind, lpo_trace_text(a->from, s->name),
                             s->unit == LPO_NONE ? NULL : lpo_trace_text(a->from, s->unit),
                             (uint16_t)a->found[LPO_ROWS_DEVICES][s->device]);

        for (size_t p = 0; row != LPO_NONE && p < s->points.len; p++)
            lpo_trace_series_add(&a->t->series.at[row], s->points.at[p].ns + a->shift_ns,
                                 s->points.at[p].value);
        if (row != LPO_NONE) /* of them, some were thinned away before */
            a->t->series.at[row].seen += s->seen - s->points.len;
    }
}

static void copy_notes(struct append *a)
{
    for (size_t i = 0; i < a->from->notes.len; i++) {
        const struct lpo_trace_note *n = &a->from->notes.at[i];

        (i + 1 == a->from->damage_note ? lpo_trace_note_damage : lpo_trace_note)(
            a->t, n->count, "%s", lpo_trace_text(a->from, n->text));
    }
}

static void add_facts(struct append *a)
{
    struct lpo_trace *t = a->t;
    const struct lpo_trace *from = a->from;

    t->python_unread += from->python_unread;
    t->counted_kernels += from->counted_kernels;
    t->captured_graphs += from->captured_graphs;
    t->path_losses.too_deep += from->path_losses.too_deep;
    t->path_losses.too_long += from->path_losses.too_long;
    t->path_losses.crooked += from->path_losses.crooked;
    t->path_losses.too_many += from->path_losses.too_many;
    t->path_losses.damaged += from->path_losses.damaged;
    t->path_bytes += from->path_bytes;
    t->range_bytes += from->range_bytes;
    t->gpu_bytes += from->gpu_bytes;
    t->dropped += from->dropped;
    t->need = from->need;
    t->has_ranges |= from->has_ranges;
    if (from->ranks) {
        lpo_trace_say_ranks(t, from->ranks);
        lpo_trace_say_ranks(t, from->least_ranks);
    }
}

/* The clock is that of the first file that has one; `t` may have rows of others already. */
static void find_shift(struct append *a)
{
    const int64_t bound = (int64_t)1 << 61;
    struct lpo_trace *t = a->t;
    int64_t shift;

    if (a->from->epoch_ns == LPO_NO_TIME)
        return;
    if (t->epoch_ns == LPO_NO_TIME && t->sources <= 1) {
        t->epoch_ns = a->from->epoch_ns;
        return;
    }
    if (t->epoch_ns != LPO_NO_TIME &&
        !__builtin_sub_overflow(a->from->epoch_ns, t->epoch_ns, &shift) && shift < bound &&
        shift > -bound)
        a->shift_ns = shift;
    else
        lpo_trace_note(t, 0,
                       "this file has no clock in common with the others: times of "
                       "different files cannot be compared");
}

int lpo_trace_append(struct lpo_trace *t, const struct lpo_trace *from, struct lpo_err *err)
{
    struct append a = { .t = t, .from = from, .graphs = t->captured_graphs };

    if (t->total_ns > LONGEST_TOTAL - from->total_ns)
        return lpo_fail(err, LPO_E_RANGE,
                        "the durations in it add up to more than 73 years: the file is damaged");
    t->total_ns += from->total_ns;
    find_shift(&a);
    copy_names(&a);
    for (enum lpo_row_array i = 0; i < LPO_ROW_ARRAYS; i++) {
        if (finders[i])
            find_rows(&a, i);
        else if (i == LPO_ROWS_METRIC_ROWS)
            copy_metric_rows(&a);
        else if (i != LPO_ROWS_FRAMES) /* those of stacks */
            copy_rows(&a, i);
    }
    copy_series(&a);
    copy_notes(&a);
    add_facts(&a);
    for (int i = 0; i < LPO_ROW_ARRAYS; i++)
        free(a.found[i]);
    free(a.names);
    return 0;
}
