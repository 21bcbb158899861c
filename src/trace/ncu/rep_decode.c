/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a .ncu-rep file to results. Nothing here knows the trace, so it may run on a thread. */
#include "trace/ncu/rep.h"

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
    R_RULE = 19,
    R_NVTX = 21,
    R_STREAM = 23,
};

enum { METRIC_NAME = 1, METRIC_VALUE = 2 };
enum { VALUE_STRING = 1, VALUE_FLOAT = 2, VALUE_DOUBLE = 3, VALUE_U32 = 4, VALUE_U64 = 5 };

/* False when there is no value in it: an empty message is not 0. */
static bool value_of(const struct lpo_proto_field *f, struct lpo_ncu_value *v)
{
    if (f->number == VALUE_DOUBLE && f->wire == LPO_WIRE_64) {
        v->number = lpo_proto_double(f);
    } else if (f->number == VALUE_FLOAT && f->wire == LPO_WIRE_32) {
        v->number = lpo_proto_float(f);
    } else if ((f->number == VALUE_U32 || f->number == VALUE_U64) && f->wire == LPO_WIRE_VARINT) {
        v->number = (double)f->value;
    } else if (f->number == VALUE_STRING && f->wire == LPO_WIRE_BYTES && f->value &&
               f->value < UINT32_MAX) {
        v->text = f->bytes;
        v->text_len = (uint32_t)f->value;
    } else {
        return false;
    }
    return true;
}

static void metric_field(struct lpo_ncu_batch *b, struct lpo_proto m)
{
    struct lpo_ncu_value v = { .id = UINT32_MAX };
    struct lpo_proto_field f, inner;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == METRIC_NAME && f.wire == LPO_WIRE_VARINT) {
            v.id = f.value < UINT32_MAX ? (uint32_t)f.value : UINT32_MAX;
        } else if (f.number == METRIC_VALUE) {
            struct lpo_proto value = lpo_proto_inner(&f);

            if (lpo_proto_next(&value, &inner) && value_of(&inner, &v))
                lpo_vec_push(&b->values, v);
            return; /* what follows is the value's parts, by instruction or opcode */
        }
    }
}

/* Nearly every metric is a double, in these bytes: 08 <id, one or two> 12 09 19 <8>. False: look
 * closer. */
static bool plain_metric(struct lpo_ncu_batch *b, const unsigned char *p, size_t len)
{
    struct lpo_ncu_value v = { 0 };

    if (len < 13 || p[0] != 0x08)
        return false;
    v.id = p[1] & 0x7f;
    if (p[1] >= 0x80) {
        v.id |= (uint32_t)p[2] << 7;
        if (p[2] >= 0x80 || len < 14)
            return false;
        p++;
    }
    if (p[2] != 0x12 || p[3] != 9 || p[4] != 0x19)
        return false;
    memcpy(&v.number, p + 5, sizeof v.number);
    lpo_vec_push(&b->values, v);
    return true;
}

/* Metrics stand one behind the other, each under its key 6a and mostly a length of one byte. */
static void metric_run(struct lpo_ncu_batch *b, struct lpo_proto *m)
{
    enum { KEY = R_METRIC << 3 | LPO_WIRE_BYTES };

    while (m->end - m->at > 2 && m->at[0] == KEY && m->at[1] < 0x80 &&
           m->at[1] <= m->end - m->at - 2) {
        const unsigned char *p = m->at + 2;
        size_t len = m->at[1];

        if (!plain_metric(b, p, len))
            metric_field(b, lpo_proto(p, len));
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

/* The demangled name is the best, then the function's, then the linker's. */
static void name_field(struct lpo_ncu_decoded *d, const struct lpo_proto_field *f)
{
    if (f->wire != LPO_WIRE_BYTES || f->value == 0)
        return;
    if (f->number == R_MANGLED)
        d->mangled = *f;
    if (!d->name.bytes || f->number > d->name.number)
        d->name = *f;
}

static void one_field(struct lpo_ncu_batch *b, struct lpo_ncu_decoded *d,
                      const struct lpo_proto_field *f)
{
    if (f->number == R_METRIC)
        metric_field(b, lpo_proto_inner(f));
    else if (f->number == R_THREAD)
        d->thread = f->value;
    else if (f->number == R_KERNEL_ID)
        d->kernel_id = f->value;
    else if (f->number >= R_MANGLED && f->number <= R_DEMANGLED)
        name_field(d, f);
    else if (f->number == R_GRID)
        d->sizes |= three(lpo_proto_inner(f), d->grid) ? 1 : 0;
    else if (f->number == R_BLOCK)
        d->sizes |= three(lpo_proto_inner(f), d->block) ? 2 : 0;
    else if (f->number == R_NVTX && f->wire == LPO_WIRE_BYTES)
        d->nvtx = *f;
    else if (f->number == R_STREAM)
        d->stream = (uint32_t)f->value;
    else if (f->number == R_RULE && f->wire == LPO_WIRE_BYTES)
        lpo_vec_push(&b->rules, *f);
}

static void decode_result(struct lpo_ncu_batch *b, struct lpo_ncu_decoded *d, struct lpo_proto m)
{
    struct lpo_proto_field f;

    d->has_result = true;
    d->first_value = (uint32_t)b->values.len;
    d->first_rule = (uint32_t)b->rules.len;
    while (lpo_proto_next(&m, &f)) {
        one_field(b, d, &f);
        metric_run(b, &m);
    }
    d->bad = m.bad;
    d->value_count = (uint32_t)b->values.len - d->first_value;
    d->rule_count = (uint32_t)b->rules.len - d->first_rule;
}

/* The size in front of a message; LPO_NCU_WHOLE says nothing about the message itself. */
static enum lpo_ncu_found size_of(struct lpo_ncu_walk *w, uint64_t end, uint32_t *size)
{
    uint64_t behind = w->window_at + w->window_len;

    if (end - w->at < sizeof *size)
        return LPO_NCU_TORN;
    if (behind < w->at + sizeof *size)
        return LPO_NCU_NEXT_WINDOW;
    memcpy(size, w->window + (w->at - w->window_at), sizeof *size);
    return *size > end - w->at - sizeof *size ? LPO_NCU_TORN : LPO_NCU_WHOLE;
}

enum lpo_ncu_found lpo_ncu_sized(struct lpo_ncu_walk *w, uint64_t end, struct lpo_proto *m)
{
    uint32_t size;
    enum lpo_ncu_found found = size_of(w, end, &size);

    if (found != LPO_NCU_WHOLE)
        return found;
    if (size > w->window_at + w->window_len - w->at - sizeof size) {
        if (w->wanted < size + sizeof size)
            w->wanted = size + sizeof size;
        return LPO_NCU_NEXT_WINDOW;
    }
    *m = lpo_proto(w->window + (w->at - w->window_at) + sizeof size, size);
    w->at += sizeof size + size;
    return LPO_NCU_WHOLE;
}

/* Sources come before the results and may be large: only their sizes are looked at. */
static enum lpo_ncu_found skip_sources(struct lpo_ncu_walk *w)
{
    for (; w->sources_left > 0; w->sources_left--) {
        uint32_t size;
        enum lpo_ncu_found found = size_of(w, w->block_end, &size);

        if (found != LPO_NCU_WHOLE)
            return found;
        w->at += sizeof size + size;
    }
    return LPO_NCU_WHOLE;
}

static enum lpo_ncu_found begin_block(struct lpo_ncu_walk *w, struct lpo_ncu_batch *b)
{
    struct lpo_ncu_decoded d = { 0 };
    struct lpo_proto m;
    struct lpo_proto_field f;
    uint64_t payload = 0;
    enum lpo_ncu_found found = lpo_ncu_sized(w, w->len, &d.header);

    if (found != LPO_NCU_WHOLE)
        return found;
    m = d.header;
    while (lpo_proto_next(&m, &f)) {
        if (f.number == LPO_NCU_B_SOURCES)
            w->sources_left = f.value;
        else if (f.number == LPO_NCU_B_RESULTS)
            w->results_left = f.value;
        else if (f.number == LPO_NCU_B_PAYLOAD)
            payload = f.value;
        else if (f.number == LPO_NCU_B_RANGES)
            w->range_results += f.value;
    }
    w->block_cut = payload > w->len - w->at;
    w->block_end = w->block_cut ? w->len : w->at + payload;
    if (d.header.at < d.header.end) /* an empty one says nothing */
        lpo_vec_push(&b->results, d);
    return LPO_NCU_WHOLE;
}

static enum lpo_ncu_found next_result(struct lpo_ncu_walk *w, struct lpo_ncu_batch *b)
{
    struct lpo_ncu_decoded d = { 0 };
    struct lpo_proto m;
    enum lpo_ncu_found found = lpo_ncu_sized(w, w->block_end, &m);

    if (found != LPO_NCU_WHOLE)
        return found;
    decode_result(b, &d, m);
    w->results_left--;
    lpo_vec_push(&b->results, d);
    return LPO_NCU_WHOLE;
}

static bool at_the_end(struct lpo_ncu_walk *w)
{
    if (w->sources_left > 0 || w->results_left > 0)
        return false;
    w->cut |= w->block_cut;
    return w->cut || w->block_end >= w->len;
}

/* The sources, one result, or the header of the next block. */
static enum lpo_ncu_found next(struct lpo_ncu_walk *w, struct lpo_ncu_batch *b)
{
    if (w->sources_left > 0)
        return skip_sources(w);
    if (w->results_left > 0)
        return next_result(w, b);
    w->at = w->block_end;
    return begin_block(w, b);
}

bool lpo_ncu_decode(struct lpo_ncu_walk *w, struct lpo_ncu_batch *b)
{
    b->results.len = b->values.len = b->rules.len = 0;
    lpo_ncu_window(w, b);
    while (!at_the_end(w)) {
        enum lpo_ncu_found found = next(w, b);

        if (found == LPO_NCU_TORN) {
            w->cut = true;
            w->sources_left = w->results_left = 0;
        } else if (found == LPO_NCU_NEXT_WINDOW) {
            if (b->results.len > 0)
                return true;
            lpo_ncu_window(w, b);
        }
    }
    return false;
}

void lpo_ncu_batch_release(struct lpo_ncu_batch *b)
{
    free(b->bytes);
    lpo_vec_free(&b->results);
    lpo_vec_free(&b->values);
    lpo_vec_free(&b->rules);
}
