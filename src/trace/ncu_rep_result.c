/* One profiled kernel of a .ncu-rep file. */
#include "trace/ncu_rep.h"

#include <stdio.h>
#include <string.h>

/* Field numbers of ProfileResult. 17, the sections, is nine tenths of a report and the same in
 * every result: stepped over by its length. */
enum {
    R_THREAD = 1,
    R_KERNEL_ID = 4,
    R_MANGLED = 5,
    R_FUNCTION = 6,
    R_DEMANGLED = 7,
    R_GRID = 10,
    R_BLOCK = 11,
    R_METRIC = 13,
    R_NVTX = 21,
    R_STREAM = 23,
};

enum { METRIC_NAME = 1, METRIC_VALUE = 2 };
enum { VALUE_STRING = 1, VALUE_FLOAT = 2, VALUE_DOUBLE = 3, VALUE_U32 = 4, VALUE_U64 = 5 };

struct result {
    struct lpo_ncu_rep *rep;
    struct lpo_ncu_result facts;
    struct lpo_work work;
    struct lpo_proto_field name, mangled, nvtx;
    uint64_t thread, kernel_id;
    uint32_t name_rank; /* how good the name is that we have */
    unsigned sizes;     /* grid and block seen */
    bool bare;          /* metrics are not kept */
};

/* False when the value is text, which the metric matrix does not hold, or missing. */
static bool number_of(const struct lpo_proto_field *f, double *out)
{
    if (f->number == VALUE_DOUBLE && f->wire == LPO_WIRE_64)
        *out = lpo_proto_double(f);
    else if (f->number == VALUE_FLOAT && f->wire == LPO_WIRE_32)
        *out = lpo_proto_float(f);
    else if ((f->number == VALUE_U32 || f->number == VALUE_U64) && f->wire == LPO_WIRE_VARINT)
        *out = (double)f->value;
    else
        return false;
    return true;
}

/* Rows are as wide as all metrics together, so a small hostile file could ask for any memory. */
static bool fits(const struct lpo_ncu_rep *rep, size_t rows, size_t columns)
{
    size_t limit = rep->len * 256 + ((size_t)256 << 20);

    return rows * columns * sizeof(double) <= limit;
}

static uint32_t metric_of(struct lpo_ncu_rep *rep, struct lpo_ncu_string *s)
{
    struct lpo_trace *t = rep->t;
    char name[512], base[LPO_NCU_UNIT];

    if (t->metrics.len == t->metric_cap && !fits(rep, t->nmetric_rows, t->metric_cap * 2))
        return LPO_NONE;
    snprintf(name, sizeof name, "%.*s", (int)(s->len < 511 ? s->len : 511), (const char *)s->at);
    return lpo_trace_metric(t, name, strlen(name), lpo_ncu_metric_unit(name, base));
}

static bool start_row(struct result *r)
{
    struct lpo_trace *t = r->rep->t;

    if (r->bare || (t->skip & LPO_SKIP_METRICS))
        return false;
    if (!fits(r->rep, t->nmetric_rows + 1, t->metric_cap)) {
        r->bare = true;
        r->rep->bare_results++;
        return false;
    }
    r->work.metrics = lpo_trace_metric_row(t);
    return true;
}

static void set_value(struct result *r, struct lpo_ncu_string *s, const struct lpo_proto_field *f)
{
    struct lpo_trace *t = r->rep->t;
    double v;

    if (s->fact < 0)
        s->fact = (int8_t)lpo_ncu_fact_of((const char *)s->at, s->len);
    if (s->fact == LPO_NCU_DEVICE_NAME && f->number == VALUE_STRING && f->wire == LPO_WIRE_BYTES)
        r->facts.device_name = lpo_trace_namen(t, (const char *)f->bytes, (size_t)f->value);
    if (!number_of(f, &v))
        return;
    r->facts.fact[s->fact] = v;
    if (!lpo_ncu_is_metric((enum lpo_ncu_fact)s->fact))
        return;
    if (r->work.metrics == LPO_NONE && !start_row(r))
        return;
    if (s->metric == LPO_NONE)
        s->metric = metric_of(r->rep, s);
    if (s->metric == LPO_NONE)
        r->rep->other_strings++;
    else
        lpo_trace_metric_set(t, r->work.metrics, s->metric, v);
}

static void metric_field(struct result *r, struct lpo_proto m)
{
    struct lpo_proto_field f, v;
    struct lpo_ncu_string *s = NULL;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == METRIC_NAME && f.wire == LPO_WIRE_VARINT) {
            if (f.value >= r->rep->strings.len) {
                r->rep->other_strings++;
                return;
            }
            s = &r->rep->strings.at[f.value];
        } else if (f.number == METRIC_VALUE && s) {
            struct lpo_proto value = lpo_proto_inner(&f);

            if (lpo_proto_next(&value, &v))
                set_value(r, s, &v);
            return; /* what follows is the value's parts, by instruction or opcode */
        }
    }
}

/* Nearly every metric is a name that was seen before and a double or a whole number below 128, in
 * these bytes: 08 <id, one or two> 12 09 19 <8>, or 12 02 28 <1>. False: look closer. */
static bool plain_metric(struct result *r, const unsigned char *p, size_t len)
{
    struct lpo_trace *t = r->rep->t;
    const struct lpo_ncu_string *s;
    uint32_t id;
    double v;

    if (len < 7 || p[0] != 0x08)
        return false;
    id = p[1] & 0x7f;
    if (p[1] >= 0x80) {
        id |= (uint32_t)p[2] << 7;
        if (p[2] >= 0x80)
            return false;
        p++;
        len--;
    }
    if (p[2] != 0x12 || id >= r->rep->strings.len)
        return false;
    if (p[3] == 9 && p[4] == 0x19 && len >= 13)
        memcpy(&v, p + 5, sizeof v);
    else if (p[3] == 2 && p[4] == 0x28 && len >= 6 && p[5] < 0x80)
        v = p[5];
    else
        return false;
    s = &r->rep->strings.at[id];
    if (s->fact == LPO_NCU_NONE && (t->skip & LPO_SKIP_METRICS))
        return true;
    if (s->fact != LPO_NCU_NONE || s->metric == LPO_NONE || r->work.metrics == LPO_NONE)
        return false;
    t->metric_rows[r->work.metrics * t->metric_cap + s->metric] = v;
    return true;
}

/* Metrics stand one behind the other, each under its key 6a and a length of one byte. */
static void metric_run(struct result *r, struct lpo_proto *m)
{
    enum { KEY = R_METRIC << 3 | LPO_WIRE_BYTES };

    while (m->end - m->at > 2 && m->at[0] == KEY && m->at[1] < 0x80 &&
           m->at[1] <= m->end - m->at - 2) {
        const unsigned char *p = m->at + 2;
        size_t len = m->at[1];

        if (!plain_metric(r, p, len))
            metric_field(r, lpo_proto(p, len));
        m->at = p + len;
    }
}

static bool three(struct lpo_proto m, uint32_t out[3])
{
    struct lpo_proto_field f;

    out[0] = out[1] = out[2] = 0; /* a zero may be left out */
    while (lpo_proto_next(&m, &f)) {
        if (f.number >= 1 && f.number <= 3 && f.wire == LPO_WIRE_VARINT)
            out[f.number - 1] = f.value < UINT32_MAX ? (uint32_t)f.value : UINT32_MAX;
    }
    return !m.bad;
}

static void one_field(struct result *r, const struct lpo_proto_field *f)
{
    if (f->number == R_METRIC) {
        metric_field(r, lpo_proto_inner(f));
    } else if (f->number == R_THREAD) {
        r->thread = f->value;
    } else if (f->number == R_KERNEL_ID) {
        r->kernel_id = f->value;
    } else if (f->number >= R_MANGLED && f->number <= R_DEMANGLED) {
        if (f->wire == LPO_WIRE_BYTES && f->number == R_MANGLED)
            r->mangled = *f;
        if (f->wire == LPO_WIRE_BYTES && f->value && f->number > r->name_rank) {
            r->name = *f;
            r->name_rank = f->number;
        }
    } else if (f->number == R_GRID) {
        r->sizes |= three(lpo_proto_inner(f), r->facts.grid) ? 1 : 0;
    } else if (f->number == R_BLOCK) {
        r->sizes |= three(lpo_proto_inner(f), r->facts.block) ? 2 : 0;
    } else if (f->number == R_NVTX && f->wire == LPO_WIRE_BYTES) {
        r->nvtx = *f;
    } else if (f->number == R_STREAM) {
        r->work.stream = (uint32_t)f->value;
    }
}

static uint32_t name_of(struct result *r, const struct lpo_proto_field *text, int which)
{
    uint64_t slot = (r->kernel_id ^ r->kernel_id >> 8 ^ r->kernel_id >> 16) % LPO_NCU_KNOWN;
    struct lpo_ncu_known *k = &r->rep->known[slot][which];

    if (k->len != text->value || memcmp(k->at, text->bytes, k->len) != 0)
        *k = (struct lpo_ncu_known){ text->bytes, text->value,
                                     lpo_trace_namen(r->rep->t, (const char *)text->bytes,
                                                     (size_t)text->value) };
    return k->name;
}

/* How many metrics the first result has: later ones are alike. */
static void expect_metrics(struct lpo_ncu_rep *rep, struct lpo_proto m)
{
    struct lpo_proto_field f, name;
    size_t count = 0;

    while (lpo_proto_next(&m, &f)) {
        struct lpo_proto metric = lpo_proto_inner(&f);
        const struct lpo_ncu_string *s;

        if (f.number != R_METRIC || !lpo_proto_next(&metric, &name) ||
            name.value >= rep->strings.len)
            continue;
        s = &rep->strings.at[name.value];
        count += lpo_ncu_is_metric(lpo_ncu_fact_of((const char *)s->at, s->len));
    }
    lpo_trace_metric_expect(rep->t, count);
}

void lpo_ncu_rep_result(struct lpo_ncu_rep *rep, const unsigned char *bytes, size_t len)
{
    struct lpo_proto m = lpo_proto(bytes, len);
    struct result r = { .rep = rep, .work = { .stack = LPO_NONE, .metrics = LPO_NONE } };
    struct lpo_proto_field f;

    if (rep->process == LPO_NONE)
        rep->process = lpo_trace_process(rep->t, -1, -1);
    r.work.process = (uint16_t)rep->process;
    if (rep->t->nmetric_rows == 0)
        expect_metrics(rep, m);
    lpo_ncu_result_reset(&r.facts);
    while (lpo_proto_next(&m, &f)) {
        one_field(&r, &f);
        metric_run(&r, &m);
    }
    rep->bad_results += m.bad;
    r.work.linker = r.mangled.value ? name_of(&r, &r.mangled, 1) : 0;
    r.work.name = r.name.value ? name_of(&r, &r.name, 0) : lpo_trace_name(rep->t, "(range)");
    if (r.nvtx.wire == LPO_WIRE_BYTES) {
        r.work.stack = lpo_ncu_rep_stack(rep, &r.nvtx, r.thread);
        rep->t->has_ranges = true;
    }
    r.facts.has_shape = r.sizes == 3 && r.facts.block[0] > 0;
    if (!r.facts.has_shape)
        r.work.flags |= LPO_WORK_WHOLE;
    lpo_ncu_push(rep->t, r.work, &r.facts, 0);
}
