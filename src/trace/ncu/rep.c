/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of Nsight Compute (.ncu-rep), into the trace. */
#include <errno.h>

#include "trace/ncu/rep.h"
#include "trace/reader.h"
#include "util/ahead.h"
#include "util/unpack.h"

/* Rows are as wide as all metrics together, so a small hostile file could ask for any memory. */
static bool fits(const struct lpo_ncu_rep *rep, size_t rows, size_t columns)
{
    size_t limit = rep->bytes * 16 + ((size_t)256 << 20);

    return rows * columns * sizeof(double) <= limit;
}

static uint32_t metric_of(struct lpo_ncu_rep *rep, const struct lpo_ncu_string *s)
{
    struct lpo_trace *t = rep->t;
    char name[512], base[LPO_NCU_UNIT];

    if (t->metrics.len == t->metric_cap && !fits(rep, t->nmetric_rows, t->metric_cap * 2))
        return LPO_NONE;
    snprintf(name, sizeof name, "%.*s", (int)(s->len < 511 ? s->len : 511), s->at);
    return lpo_trace_metric(t, name, strlen(name), lpo_ncu_metric_unit(name, base));
}

/* Every id seen for the first time, and facts. */
static void special_value(struct lpo_ncu_rep *rep, struct lpo_ncu_result *r, uint32_t row,
                          const struct lpo_ncu_value *v)
{
    struct lpo_ncu_string *s = &rep->strings.at[v->id];

    if (s->fact < 0)
        s->fact = (int8_t)lpo_ncu_fact_of(s->at, s->len);
    if (v->text_len) { /* the matrix holds no text; the device's name has its own place */
        if (s->fact == LPO_NCU_DEVICE_NAME)
            r->device_name = lpo_trace_namen(rep->t, (const char *)v->text, v->text_len);
        return;
    }
    r->fact[s->fact] = v->number;
    if (row == LPO_NONE || !lpo_ncu_is_metric((enum lpo_ncu_fact)s->fact))
        return;
    if (s->metric == LPO_NONE)
        s->metric = metric_of(rep, s);
    if (s->metric == LPO_NONE)
        rep->other_strings++;
    else
        lpo_trace_metric_set(rep->t, row, s->metric, v->number);
}

static void set_values(struct lpo_ncu_rep *rep, struct lpo_ncu_result *r, uint32_t row,
                       const struct lpo_ncu_value *values, size_t count)
{
    struct lpo_trace *t = rep->t;

    for (size_t i = 0; i < count; i++) {
        const struct lpo_ncu_value *v = &values[i];
        const struct lpo_ncu_string *s;

        if (v->id >= rep->strings.len) {
            rep->other_strings++;
            continue;
        }
        s = &rep->strings.at[v->id];
        if (s->fact == LPO_NCU_NONE && row == LPO_NONE)
            continue;
        if (s->fact == LPO_NCU_NONE && s->metric != LPO_NONE && !v->text_len)
            t->metric_rows[row * t->metric_cap + s->metric] = v->number; /* ten million times */
        else
            special_value(rep, r, row, v);
    }
}

/* LPO_NONE when metrics are not wanted or their table would be far larger than the file. */
static uint32_t metric_row(struct lpo_ncu_rep *rep, size_t values)
{
    struct lpo_trace *t = rep->t;

    if (values == 0 || (t->skip & LPO_SKIP_METRICS))
        return LPO_NONE;
    if (!fits(rep, t->nmetric_rows + 1, t->metric_cap)) {
        rep->bare_results++;
        return LPO_NONE;
    }
    return lpo_trace_metric_row(t);
}

/* How many metrics the first result has: later ones are alike. */
static void expect_metrics(struct lpo_ncu_rep *rep, const struct lpo_ncu_value *values,
                           size_t count)
{
    size_t metrics = 0;

    for (size_t i = 0; i < count; i++) {
        if (values[i].id < rep->strings.len && !values[i].text_len) {
            const struct lpo_ncu_string *s = &rep->strings.at[values[i].id];

            metrics += lpo_ncu_is_metric(lpo_ncu_fact_of(s->at, s->len));
        }
    }
    lpo_trace_metric_expect(rep->t, metrics);
}

static uint32_t name_of(struct lpo_ncu_rep *rep, uint64_t id, const struct lpo_proto_field *text,
                        int which)
{
    uint32_t *known = &rep->known[(id ^ id >> 8 ^ id >> 16) % LPO_NCU_KNOWN][which];
    const char *bytes = (const char *)text->bytes;
    size_t len = (size_t)text->value;

    if (lpo_trace_text_len(rep->t, *known) != len ||
        memcmp(lpo_trace_text(rep->t, *known), bytes, len) != 0)
        *known = lpo_trace_namen(rep->t, bytes, len);
    return *known;
}

static void add_result(struct lpo_ncu_rep *rep, const struct lpo_ncu_decoded *d,
                       const struct lpo_ncu_value *values)
{
    struct lpo_gpu_op w = { .stack = LPO_NONE, .stream = d->stream };
    struct lpo_ncu_result r;

    if (rep->process == LPO_NONE)
        rep->process = lpo_trace_process(rep->t, -1, -1);
    w.process = (uint16_t)rep->process;
    if (rep->t->nmetric_rows == 0)
        expect_metrics(rep, values, d->value_count);
    lpo_ncu_result_reset(&r);
    w.metrics = metric_row(rep, d->value_count);
    set_values(rep, &r, w.metrics, values, d->value_count);
    rep->bad_results += d->bad;
    w.linker = d->mangled.bytes ? name_of(rep, d->kernel_id, &d->mangled, 1) : 0;
    w.name =
        d->name.bytes ? name_of(rep, d->kernel_id, &d->name, 0) : lpo_trace_name(rep->t, "(range)");
    if (d->nvtx.bytes) {
        w.stack = lpo_ncu_rep_stack(rep, &d->nvtx, d->thread);
        rep->t->has_ranges = true;
    }
    memcpy(r.grid, d->grid, sizeof r.grid);
    memcpy(r.block, d->block, sizeof r.block);
    r.has_shape = d->sizes == 3 && d->block[0] > 0;
    if (!r.has_shape)
        w.flags |= LPO_GPU_OP_WHOLE;
    lpo_ncu_push(rep->t, w, &r, 0);
}

enum { KNOWN_VERSION = 7, MAX_STRINGS = 1 << 20, LARGE = 8 << 20 };
enum { PROCESS_ID = 1, PROCESS_NAME = 3 }; /* 2, the host's name, is not read */

static bool sniff(const char *path, const unsigned char *head, size_t len)
{
    (void)path;
    return len >= 4 && memcmp(head, "NVR", 4) == 0;
}

/* Tables are appended to each other: ids count through the file, so texts outlive their batch. */
static void add_strings(struct lpo_ncu_rep *rep, struct lpo_proto m)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&m, &f) && rep->strings.len < MAX_STRINGS) {
        if (f.number == 1 && f.wire == LPO_WIRE_BYTES) {
            const char *at = lpo_arena_strndup(rep->texts, (const char *)f.bytes, (size_t)f.value);

            lpo_vec_push(&rep->strings,
                         (struct lpo_ncu_string){ at, (uint32_t)f.value, LPO_NONE, -1 });
        }
    }
}

static void set_process(struct lpo_ncu_rep *rep, struct lpo_proto m)
{
    struct lpo_proto_field f, name = { 0 };
    int64_t pid = -1;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == PROCESS_ID && f.wire == LPO_WIRE_VARINT)
            pid = (int64_t)f.value;
        if (f.number == PROCESS_NAME && f.wire == LPO_WIRE_BYTES)
            name = f;
    }
    rep->process = lpo_trace_process(rep->t, pid, -1);
    if (name.value && rep->t->processes.at[rep->process].name == LPO_NONE) {
        uint32_t text = lpo_trace_namen(rep->t, (const char *)name.bytes, (size_t)name.value);

        rep->t->processes.at[rep->process].name = text;
    }
}

static void begin_block(struct lpo_ncu_rep *rep, struct lpo_proto header)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&header, &f)) {
        if (f.number == LPO_NCU_B_STRINGS)
            add_strings(rep, lpo_proto_inner(&f));
        else if (f.number == LPO_NCU_B_PROCESS)
            set_process(rep, lpo_proto_inner(&f));
    }
}

static void use_batch(struct lpo_ncu_rep *rep, const struct lpo_ncu_batch *b)
{
    for (size_t i = 0; i < b->results.len; i++) {
        const struct lpo_ncu_decoded *d = &b->results.at[i];

        if (d->header.at)
            begin_block(rep, d->header);
        if (d->has_result)
            add_result(rep, d, d->value_count ? &b->values.at[d->first_value] : NULL);
        for (uint32_t k = 0; k < d->rule_count && !(rep->t->skip & LPO_SKIP_METRICS); k++)
            lpo_ncu_rep_rule(rep->t, (uint32_t)rep->t->gpu_ops.len - 1,
                             &b->rules.at[d->first_rule + k]);
    }
}

static bool fill(void *walk, void *batch)
{
    return lpo_ncu_decode(walk, batch);
}

static void release(void *batch)
{
    lpo_ncu_batch_release(batch);
}

/* Large files are decoded ahead by a second thread. */
static void read_blocks(struct lpo_ncu_rep *rep, struct lpo_ncu_walk *w)
{
    struct lpo_ahead *ahead = NULL;
    struct lpo_ncu_batch one = { 0 }, *b;
    bool more = true;

    if (w->len >= LARGE)
        ahead = lpo_ahead_start(sizeof one, fill, w);
    while (ahead && (b = lpo_ahead_next(ahead)))
        use_batch(rep, b);
    if (ahead) {
        lpo_ahead_stop(ahead, release);
        return;
    }
    while (more) {
        more = lpo_ncu_decode(w, &one);
        use_batch(rep, &one);
    }
    release(&one);
}

static int version_error(uint64_t version, struct lpo_err *err)
{
    return lpo_fail(err, LPO_E_FORMAT,
                    "the report has format version %llu; this lpo reads %d (let ncu convert "
                    "it: ncu --import FILE --page raw --csv --print-units base > raw.csv)",
                    (unsigned long long)version, KNOWN_VERSION);
}

/* The first message, through a batch of its own. */
static enum lpo_ncu_found first_message(struct lpo_ncu_walk *w, struct lpo_ncu_batch *b,
                                        struct lpo_proto *m)
{
    enum lpo_ncu_found found;

    w->at = 4;
    do {
        lpo_ncu_window(w, b);
        found = lpo_ncu_sized(w, w->len, m);
    } while (found == LPO_NCU_NEXT_WINDOW);
    w->block_end = w->at;
    return found;
}

static int read_version(struct lpo_ncu_walk *w, uint64_t *version, struct lpo_err *err)
{
    struct lpo_ncu_batch b = { 0 };
    struct lpo_proto m;
    struct lpo_proto_field f;
    enum lpo_ncu_found found;

    lpo_ncu_window(w, &b);
    if (w->window_len < 4 || memcmp(w->window, "NVR", 4) != 0) {
        lpo_ncu_batch_release(&b);
        return lpo_fail(err, LPO_E_FORMAT, "not a report of Nsight Compute");
    }
    found = first_message(w, &b, &m);
    while (found == LPO_NCU_WHOLE && lpo_proto_next(&m, &f)) {
        if (f.number == 1)
            *version = f.value;
    }
    lpo_ncu_batch_release(&b);
    if (found != LPO_NCU_WHOLE)
        return lpo_fail(err, LPO_E_FORMAT, "the report ends in its first bytes: nothing to read");
    return 0;
}

static void add_notes(struct lpo_ncu_rep *rep, uint64_t range_results, bool cut)
{
    if (cut)
        lpo_trace_note_damage(rep->t, 0, "the report was cut short: the kernels before were read");
    if (rep->bad_results)
        lpo_trace_note_damage(rep->t, rep->bad_results,
                              "results of the report are damaged: read in part");
    if (rep->bare_results)
        lpo_trace_note(rep->t, rep->bare_results,
                       "kernels are kept without metrics: their table would be far larger than "
                       "the report");
    if (rep->other_strings)
        lpo_trace_note(rep->t, rep->other_strings,
                       "metrics of the report have no name or are too many: left out");
    if (range_results)
        lpo_trace_note(rep->t, range_results,
                       "range results (range replay) cannot be read from the report: export them "
                       "with ncu --import FILE --page raw --csv");
}

static int read_report(struct lpo_ncu_rep *rep, struct lpo_ncu_walk *w, struct lpo_err *err)
{
    size_t before = rep->t->gpu_ops.len;
    uint64_t version = 0;

    if (read_version(w, &version, err) < 0)
        return err->code;
    if (version != KNOWN_VERSION) {
        rep->t->need = LPO_NEEDS_NCU_FORMAT;
        return version_error(version, err);
    }
    read_blocks(rep, w);
    if (w->io_error) {
        errno = w->io_error;
        return lpo_fail_errno(err, "cannot read the file");
    }
    if (w->range_results && rep->t->gpu_ops.len == before)
        rep->t->need = LPO_NEEDS_NCU_RANGES;
    else if (w->cut && rep->t->gpu_ops.len == before)
        return lpo_fail(err, LPO_E_FORMAT,
                        "the report was cut short before its first kernel (byte %llu of %llu)",
                        (unsigned long long)w->at, (unsigned long long)w->len);
    return 0;
}

static int read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_unpack_file) file = NULL;
    LPO_AUTO(lpo_arena) texts = lpo_arena_create();
    struct lpo_ncu_rep rep = { .t = into, .texts = texts, .process = LPO_NONE };
    struct lpo_ncu_walk walk = { 0 };
    int rc;

    if (lpo_unpack(path, &file, err) < 0 || lpo_ncu_open(file, &walk, err) < 0)
        return err->code;
    lpo_unpack_file_unname(file);
    rep.bytes = (size_t)walk.len;
    rep.stacks = lpo_map_create();
    rc = read_report(&rep, &walk, err);
    if (rc == 0)
        add_notes(&rep, walk.range_results, walk.cut || file->cut);
    lpo_map_destroy(rep.stacks);
    lpo_vec_free(&rep.strings);
    lpo_str_free(&rep.last_state);
    return rc;
}

const struct lpo_reader lpo_ncu_rep_reader = {
    .name = "ncu-rep",
    .summary = "Nsight Compute report (.ncu-rep, .ncu-repz, .gz too)",
    .sniff = sniff,
    .read = read,
};
