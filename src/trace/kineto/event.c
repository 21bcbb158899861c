/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/kineto/private.h"

#include <strings.h>

#include "trace/trace.h"
#include "util/csv.h"

/* Categories since 2021, compared without regard to case. The most frequent come first. */
static const struct category {
    const char *name;
    size_t len;
    enum kineto_kind kind;
} categories[] = {
#define ROW(name, kind)                                                                            \
    {                                                                                              \
        name, sizeof name - 1, kind                                                                \
    }
    ROW("cpu_op", KINETO_OP),
    ROW("kernel", KINETO_KERNEL),
    ROW("cuda_runtime", KINETO_CALL),
    ROW("cuda_driver", KINETO_CALL),
    ROW("gpu_memcpy", KINETO_COPY),
    ROW("gpu_memset", KINETO_MEMSET),
    ROW("user_annotation", KINETO_RANGE),
    ROW("python_function", KINETO_PYTHON),
    ROW("cpu_instant_event", KINETO_MEMORY),
    ROW("Operator", KINETO_OLD_OP),
    ROW("Runtime", KINETO_CALL),
    ROW("Driver", KINETO_CALL),
    ROW("Memcpy", KINETO_COPY),
    ROW("Memset", KINETO_MEMSET),
    ROW("hip_runtime", KINETO_CALL),
    ROW("xpu_runtime", KINETO_CALL),
    ROW("xpu_driver", KINETO_CALL),
    ROW("privateuse1_runtime", KINETO_CALL),
    ROW("privateuse1_driver", KINETO_CALL),
    ROW("cuda_sync", KINETO_SYNC),
    ROW("fwdbwd", KINETO_FLOW),
    ROW("gpu_user_annotation", KINETO_GPU_RANGE),
    ROW("cuda_profiler_range", KINETO_COUNTED),
#undef ROW
};

/* In any case of letters. Millions of events: another first letter, or the same bytes, decide
 * before the slower comparison without regard to case. */
static bool is_word(const struct lpo_json_pull_text *t, const char *word, size_t len)
{
    return t->len == len && ((*t->at ^ *word) & ~0x20) == 0 &&
           (memcmp(t->at, word, len) == 0 || strncasecmp(t->at, word, len) == 0);
}

static enum kineto_kind kind_of(const struct lpo_json_pull_text *cat)
{
    if (!cat->at) /* an event without a category */
        return KINETO_OTHER;
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        const struct category *c = &categories[i];

        if (is_word(cat, c->name, c->len))
            return c->kind;
    }
    return KINETO_OTHER;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool decimal(const struct lpo_json_pull_text *text, int power, int64_t *out)
{
    struct lpo_csv_cell cell = { .at = text->at, .len = (uint32_t)text->len };

    return text->len > 0 && text->len < UINT32_MAX && lpo_csv_cell_scaled(cell, power, out);
}

/* Plain digits with at most `power` decimals, which nearly all numbers are: one pass, no text.
 * false leaves the place as it was. */
static bool read_plain(struct lpo_pull *q, int power, int64_t *out)
{
    enum { MAX_DIGITS = 17 };
    const char *p = q->p, *from = p, *end = q->end;
    uint64_t v = 0; /* may wrap before its length is looked at */

    for (; p < end && is_digit(*p); p++)
        v = v * 10 + (uint64_t)(*p - '0');
    if (p == from || p - from > MAX_DIGITS - power)
        return false;
    if (p < end && *p == '.')
        for (p++; p < end && is_digit(*p) && power > 0; p++, power--)
            v = v * 10 + (uint64_t)(*p - '0');
    if (p == end || (*p != ',' && *p != '}' && *p != ']' && (unsigned char)*p > ' '))
        return false;
    for (; power > 0; power--)
        v *= 10;
    *out = (int64_t)v;
    q->p = p;
    return true;
}

int lpo_kineto_number(struct lpo_pull *q, int power, int64_t *out)
{
    struct lpo_json_pull_text text = { 0 };
    bool whole;
    int c = lpo_json_pull_peek(q);
    int rc;

    if (c < 0)
        return c;
    if (read_plain(q, power, out))
        return 0;
    if (c == '"')
        rc = lpo_json_pull_string(q, &text);
    else if (is_digit((char)c) || (c == '-' && q->end - q->p > 1 && is_digit(q->p[1])))
        rc = lpo_json_pull_number(q, &text, &whole);
    else
        rc = lpo_json_pull_skip(q);
    if (rc == 0 && !decimal(&text, power, out))
        *out = LPO_NO_TIME;
    return rc;
}

static int read_text(struct lpo_pull *q, struct lpo_json_pull_text *out)
{
    int c = lpo_json_pull_peek(q);

    return c == '"' ? lpo_json_pull_string(q, out) : c < 0 ? c : lpo_json_pull_skip(q);
}

static int read_id(struct lpo_pull *q, struct kineto_id *id)
{
    const char *from;
    int rc;

    rc = lpo_json_pull_peek(q);
    if (rc < 0)
        return rc;
    from = q->p;
    rc = lpo_kineto_number(q, 0, &id->number);
    if (rc == 0 && id->number == LPO_NO_TIME) {
        bool quoted = *from == '"';

        id->word.at = from + quoted;
        id->word.len = (size_t)(q->p - from) - 2 * quoted;
        /* words become numbers that no process or thread has */
        id->number = INT64_MIN + 1 + (int64_t)(lpo_str_hash(id->word.at, id->word.len) >> 2);
    }
    return rc;
}

static int read_triple(struct lpo_pull *q, int64_t out[3])
{
    bool first = true;
    int c = lpo_json_pull_peek(q), rc;

    if (c != '[')
        return c < 0 ? c : lpo_json_pull_skip(q);
    q->p++;
    for (int i = 0; (rc = lpo_json_pull_item(q, &first)) > 0; i++) {
        rc = i < 3 ? lpo_kineto_number(q, 0, &out[i]) : lpo_json_pull_skip(q);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int read_span(struct lpo_pull *q, struct lpo_json_pull_text *out)
{
    int rc = lpo_json_pull_peek(q);

    if (rc < 0)
        return rc;
    out->at = q->p;
    rc = lpo_json_pull_skip(q);
    out->len = (size_t)(q->p - out->at);
    return rc;
}

static int arg_number(struct lpo_pull *q, void *to)
{
    return lpo_kineto_number(q, 0, to);
}

static int arg_triple(struct lpo_pull *q, void *to)
{
    return read_triple(q, to);
}

static int arg_text(struct lpo_pull *q, void *to)
{
    return read_text(q, to);
}

static int arg_span(struct lpo_pull *q, void *to)
{
    return read_span(q, to);
}

/* What we take of args, compared without regard to case: old files write some in lower case. */
struct arg {
    const char *key;
    size_t len, at; /* at: the field of struct kineto_event */
    int (*read)(struct lpo_pull *q, void *to);
};

#define ROW(key, field, read)                                                                      \
    {                                                                                              \
        key, sizeof key - 1, offsetof(struct kineto_event, field), read                            \
    }
/* By their length: an event has ten args that we do not take, and that length alone rules out. */
#define PAIR(key, field, read, key2, field2, read2)                                                \
    [sizeof key - 1] = { ROW(key, field, read), ROW(key2, field2, read2) }
#define ONE(key, field, read) [sizeof key - 1] = { ROW(key, field, read) }
static const struct arg known_args[][2] = {
    PAIR("grid", grid, arg_triple, "name", label, arg_text),
    PAIR("block", block, arg_triple, "bytes", bytes, arg_number),
    PAIR("device", device, arg_number, "stream", stream, arg_number),
    ONE("graph id", graph_id, arg_number),
    PAIR("Input Dims", dims, arg_span, "Input type", types, arg_span),
    PAIR("correlation", correlation, arg_number, "External id", external, arg_number),
    PAIR("shared memory", shared_memory, arg_number, "graph node id", graph_node, arg_number),
    PAIR("Concrete Inputs", values, arg_span, "Sequence number", sequence, arg_number),
    ONE("registers per thread", registers, arg_number),
#undef PAIR
#undef ONE
};

/* In tables of their own: few events have them. */
static const struct arg memory_args[] = {
    ROW("Device Type", device_type, arg_number),
    ROW("Device Id", device_id, arg_number),
    ROW("Total Allocated", allocated, arg_number),
    ROW("Total Reserved", reserved, arg_number),
    ROW("Addr", address, arg_number),
};

static const struct arg sync_args[] = {
    ROW("wait_on_stream", on_stream, arg_number),
    ROW("wait_on_cuda_event_record_corr_id", recorded_by, arg_number),
};

static const struct arg call_args[] = {
    ROW("kernel", kernel, arg_text),
};

static const struct arg backward_args[] = {
    ROW("Fwd thread id", forward_thread, arg_number),
};

static const struct arg collective_args[] = {
    ROW("Collective name", collective, arg_text),  ROW("dtype", dtype, arg_text),
    ROW("In msg nelems", in_count, arg_number),    ROW("Out msg nelems", out_count, arg_number),
    ROW("Group size", ranks, arg_number),          ROW("Process Group Name", group, arg_text),
    ROW("Src Rank", from_rank, arg_number),        ROW("Dst Rank", to_rank, arg_number),
    ROW("Process Group Ranks", members, arg_text), ROW("Seq", number, arg_number),
#undef ROW
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct arg *find_arg(const struct arg *rows, size_t count,
                                  const struct lpo_json_pull_text *key)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].len == key->len && memcmp(rows[i].key, key->at, key->len) == 0)
            return &rows[i];
    return lpo_find(i, rows, count,
                    rows[i].len == key->len && is_word(key, rows[i].key, rows[i].len));
}

/* NCCL's and RCCL's kernels; where the name comes after the args, any kernel may be one. */
static bool may_be_collective(const struct kineto_event *e)
{
    return !e->name.len || (e->name.len > 4 && memcmp(e->name.at, "nccl", 4) == 0) ||
           (e->name.len > 4 && memcmp(e->name.at, "rccl", 4) == 0);
}

/* COLLECTIVE is a kind of our own: of KINETO_KERNEL, those with more args. */
enum { COLLECTIVE = KINETO_BAD };

static const void *arg_row(const struct lpo_json_pull_text *key, int kind)
{
    const struct arg *a =
        /* a key may be empty: no row has that length, but the places without a row do */
        key->len && key->len < COUNT(known_args) ? find_arg(known_args[key->len], 2, key) : NULL;

    if (!a && kind == KINETO_OP)
        a = find_arg(backward_args, COUNT(backward_args), key);
    else if (!a && kind == KINETO_CALL)
        a = find_arg(call_args, COUNT(call_args), key);
    else if (!a && kind == KINETO_MEMORY)
        a = find_arg(memory_args, COUNT(memory_args), key);
    else if (!a && kind == KINETO_SYNC)
        a = find_arg(sync_args, COUNT(sync_args), key);
    else if (!a && kind == COLLECTIVE)
        a = find_arg(collective_args, COUNT(collective_args), key);
    return a;
}

/* 1: a member is next, and *row the row of its key; 0: the object was closed. `i` counts members.
 */
static int next_row(struct lpo_pull *q, bool *first, struct kineto_keys *known, size_t i,
                    const void *(*find)(const struct lpo_json_pull_text *key, int kind), int kind,
                    const void **row)
{
    struct lpo_json_pull_text key;
    const char *from = q->p;
    int rc;

    if (i < KINETO_KEYS && lpo_json_pull_likely(q, &known->at[i].member)) {
        *first = false;
        *row = known->at[i].row;
        return 1;
    }
    rc = lpo_json_pull_member(q, first, &key);
    if (rc <= 0)
        return rc;
    *row = find(&key, kind);
    if (i < KINETO_KEYS) {
        lpo_json_pull_learn(q, from, &known->at[i].member);
        known->at[i].row = *row;
    }
    return 1;
}

static int read_args(struct lpo_pull *q, enum kineto_kind of, struct kineto_order *order,
                     struct kineto_event *e)
{
    int kind = of == KINETO_KERNEL && may_be_collective(e) ? COLLECTIVE : (int)of;
    bool first = true;
    int c = lpo_json_pull_peek(q), rc;
    const void *row;

    if (c != '{')
        return c < 0 ? c : lpo_json_pull_skip(q);
    q->p++;
    for (size_t i = 0; (rc = next_row(q, &first, &order->args[kind], i, arg_row, kind, &row)) > 0;
         i++) {
        const struct arg *a = row;

        rc = a ? a->read(q, (char *)e + a->at) : lpo_json_pull_skip(q);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* The parts of an event that decide what it is; they may come in any order. */
struct outline {
    char ph; /* 0: not seen yet */
    bool has_cat;
    bool flow; /* it names the category of flows that we take */
    enum kineto_kind kind;
    struct lpo_json_pull_text args; /* passed over, because the category was still unknown */
    struct kineto_order *order;
};

/* Known to be nothing for us, so the rest need not be looked at. */
static bool unwanted(const struct outline *o, unsigned wanted)
{
    if (o->ph == 'M')
        return !(wanted & KINETO_BIT(KINETO_META));
    if (o->ph == 'i' || o->ph == 'I') /* before 2021 instants had no category */
        return !(wanted & KINETO_BIT(KINETO_MEMORY)) || (o->has_cat && o->kind != KINETO_MEMORY);
    if ((o->ph == 's' || o->ph == 'f') && o->flow)
        return o->has_cat && o->kind != KINETO_FLOW;
    return (o->ph && o->ph != 'X') || (o->has_cat && !(wanted & KINETO_BIT(o->kind)));
}

static int field_ph(struct lpo_pull *q, struct outline *o, struct kineto_event *e)
{
    struct lpo_json_pull_text text = { 0 };
    int rc = read_text(q, &text);

    (void)e;
    o->ph = rc == 0 && text.len == 1 ? text.at[0] : '?';
    return rc;
}

static int field_cat(struct lpo_pull *q, struct outline *o, struct kineto_event *e)
{
    struct lpo_json_pull_text text = { 0 };
    int rc = read_text(q, &text);

    (void)e;
    o->has_cat = true;
    o->kind = kind_of(&text);
    return rc;
}

static int field_name(struct lpo_pull *q, struct outline *o, struct kineto_event *e)
{
    (void)o;
    return read_text(q, &e->name);
}

static int field_pid(struct lpo_pull *q, struct outline *o, struct kineto_event *e)
{
    int rc = read_id(q, &e->pid);

    (void)o;
    if (e->pid.word.len)
        e->pid.number = -1; /* "CPU functions": no process is named */
    return rc;
}

static int field_tid(struct lpo_pull *q, struct outline *o, struct kineto_event *e)
{
    (void)o;
    return read_id(q, &e->tid);
}

static int field_ts(struct lpo_pull *q, struct outline *o, struct kineto_event *e)
{
    (void)o;
    return lpo_kineto_number(q, 3, &e->start_ns);
}

static int field_dur(struct lpo_pull *q, struct outline *o, struct kineto_event *e)
{
    (void)o;
    return lpo_kineto_number(q, 3, &e->dur_ns);
}

static int field_id(struct lpo_pull *q, struct outline *o, struct kineto_event *e)
{
    (void)o;
    return lpo_kineto_number(q, 0, &e->flow_id);
}

static int field_args(struct lpo_pull *q, struct outline *o, struct kineto_event *e)
{
    enum kineto_kind kind = o->kind == KINETO_OLD_OP ? KINETO_OP : o->kind;

    return o->has_cat || o->ph == 'M' ? read_args(q, kind, o->order, e) : read_span(q, &o->args);
}

static const struct field {
    const char *key;
    size_t len;
    int (*read)(struct lpo_pull *q, struct outline *o, struct kineto_event *e);
    bool decides; /* what the event is */
} fields[] = {
#define ROW(key, decides)                                                                          \
    {                                                                                              \
#key, sizeof #key - 1, field_##key, decides                                                \
    }
    ROW(ph, true),  ROW(cat, true),  ROW(name, false), ROW(pid, false), ROW(tid, false),
    ROW(ts, false), ROW(dur, false), ROW(args, false), ROW(id, false),
#undef ROW
};

static const void *field_row(const struct lpo_json_pull_text *key, int kind)
{
    (void)kind;
    return lpo_find(i, fields, COUNT(fields),
                    fields[i].len == key->len && memcmp(fields[i].key, key->at, key->len) == 0);
}

/* The autograd profiler of before 2021 wrote no categories; its pids say what an event is. */
static enum kineto_kind legacy_kind(const struct kineto_event *e)
{
    if (lpo_json_pull_is(&e->pid.word, "CPU functions"))
        return KINETO_OP;
    return lpo_json_pull_is(&e->pid.word, "CUDA functions") ? KINETO_KERNEL : KINETO_OTHER;
}

/* Before 2022 the steps of the profiler were operators. */
static enum kineto_kind old_kind(const struct kineto_event *e)
{
    static const char step[] = "ProfilerStep#";

    return e->name.len > sizeof step - 1 && memcmp(e->name.at, step, sizeof step - 1) == 0
               ? KINETO_RANGE
               : KINETO_OP;
}

static int settle(struct lpo_pull *q, const struct outline *o, unsigned wanted,
                  struct kineto_event *e)
{
    if (o->ph == 'M')
        e->kind = KINETO_META;
    else if ((o->ph == 's' || o->ph == 'f') && o->kind == KINETO_FLOW)
        e->kind = e->flow_id == LPO_NO_TIME ? KINETO_OTHER : KINETO_FLOW;
    else if (o->ph == 'X' && o->kind != KINETO_MEMORY && o->kind != KINETO_FLOW)
        e->kind = o->has_cat ? o->kind : legacy_kind(e);
    else if ((o->ph == 'i' || o->ph == 'I') && lpo_json_pull_is(&e->name, "[memory]"))
        e->kind = KINETO_MEMORY;
    if (e->kind == KINETO_OLD_OP)
        e->kind = old_kind(e);
    if (!(wanted & KINETO_BIT(e->kind)))
        e->kind = KINETO_OTHER;
    if (e->kind == KINETO_OTHER)
        return 0;
    if (o->args.len) {
        struct lpo_pull inner = { .p = o->args.at,
                                  .end = o->args.at + o->args.len,
                                  .mode = q->mode };

        if (read_args(&inner, e->kind, o->order, e) < 0)
            return LPO_E_FORMAT;
    }
    e->flow_end = o->ph == 'f';
    if ((e->kind == KINETO_MEMORY || e->kind == KINETO_SYNC || e->kind == KINETO_FLOW) &&
        e->start_ns == LPO_NO_TIME)
        e->kind = KINETO_OTHER; /* a picture without it loses nothing that is counted */
    if (e->kind != KINETO_META && e->kind != KINETO_OTHER && e->start_ns == LPO_NO_TIME)
        e->kind = KINETO_BAD;
    return 0;
}

static int read_members(struct lpo_pull *q, unsigned wanted, bool flow, struct kineto_order *order,
                        struct kineto_event *e)
{
    static const struct kineto_event empty = {
        .name = { .at = "" },
        .start_ns = LPO_NO_TIME,
        .dur_ns = LPO_NO_TIME,
        .device = LPO_NO_TIME,
        .stream = LPO_NO_TIME,
        .correlation = LPO_NO_TIME,
        .external = LPO_NO_TIME,
        .bytes = LPO_NO_TIME,
        .sequence = LPO_NO_TIME,
        .forward_thread = LPO_NO_TIME,
        .graph_id = LPO_NO_TIME,
        .graph_node = LPO_NO_TIME,
        .registers = LPO_NO_TIME,
        .shared_memory = LPO_NO_TIME,
        .device_type = LPO_NO_TIME,
        .device_id = LPO_NO_TIME,
        .allocated = LPO_NO_TIME,
        .reserved = LPO_NO_TIME,
        .address = LPO_NO_TIME,
        .in_count = LPO_NO_TIME,
        .out_count = LPO_NO_TIME,
        .ranks = LPO_NO_TIME,
        .from_rank = LPO_NO_TIME,
        .to_rank = LPO_NO_TIME,
        .number = LPO_NO_TIME,
        .on_stream = LPO_NO_TIME,
        .recorded_by = LPO_NO_TIME,
        .flow_id = LPO_NO_TIME,
        .grid = { LPO_NO_TIME, LPO_NO_TIME, LPO_NO_TIME },
        .block = { LPO_NO_TIME, LPO_NO_TIME, LPO_NO_TIME },
    };
    struct outline o = { .flow = flow, .order = order };
    bool first = true;
    int rc = lpo_json_pull_open(q, '{');
    const void *row;

    *e = empty;
    if (rc < 0)
        return rc;
    for (size_t i = 0; (rc = next_row(q, &first, &order->event, i, field_row, 0, &row)) > 0; i++) {
        const struct field *f = row;

        rc = f ? f->read(q, &o, e) : lpo_json_pull_skip(q);
        if (rc < 0)
            return rc;
        if (f && f->decides && unwanted(&o, wanted)) {
            e->python = o.kind == KINETO_PYTHON;
            e->counted = o.kind == KINETO_COUNTED;
            e->flow = o.ph == 's' || o.ph == 'f';
            return lpo_json_pull_leave(q);
        }
    }
    return rc < 0 ? rc : settle(q, &o, wanted, e);
}

/* A trace has two flows for every launch and few of those we take, with the category at the end:
 * the text of the event is searched for it before anything of it is read. */
int lpo_kineto_event_read(struct lpo_pull *q, unsigned wanted, struct kineto_order *order,
                          struct kineto_event *e)
{
    static const char flow[] = "\"fwdbwd\"";
    const char *from = q->p;
    int rc = read_members(q, wanted, false, order, e);

    if (rc < 0 || !e->flow || !(wanted & KINETO_BIT(KINETO_FLOW)) ||
        !memchr(from, 'w', (size_t)(q->p - from)) || /* ten times as fast as what follows */
        !memmem(from, (size_t)(q->p - from), flow, sizeof flow - 1))
        return rc;
    q->p = from;
    return read_members(q, wanted, true, order, e);
}
