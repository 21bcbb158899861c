/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges around a result: push/pop ones of the launching thread, then start/end ones. */
#include "trace/ncu/rep.h"

enum { STATE_DOMAIN = 1, STATE_THREAD = 2, STATE_START_END = 3 };
enum { DOMAIN_ID = 1, DOMAIN_NAME = 2 };
enum { THREAD_ID = 1, THREAD_PUSH_POP = 2 };
enum { SCOPE_DOMAIN = 1, SCOPE_RANGE = 3 }; /* of both kinds */
enum { MAX_FRAMES = 1024, MAX_DOMAINS = 256, ATTRIBUTE_DEPTH = 3 };

struct state {
    struct lpo_trace *t;
    uint64_t domain_ids[MAX_DOMAINS];
    uint16_t domains[MAX_DOMAINS]; /* rows of the trace */
    size_t ndomains;
    struct lpo_frame *frames; /* MAX_FRAMES */
    size_t nframes;
};

/* Field numbers of the two kinds of Range. */
struct range_fields {
    uint8_t kind, name, attributes, visit;
};

static const struct range_fields push_pop = { LPO_PUSH_POP, 1, 2, 3 };
static const struct range_fields start_end = { LPO_START_END, 2, 3, 1 };

static void add_domain(struct state *s, struct lpo_proto m)
{
    static const char none[] = "<default domain>";
    struct lpo_proto_field f, name = { .wire = LPO_WIRE_VARINT };
    uint64_t id = 0;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == DOMAIN_ID)
            id = f.value;
        if (f.number == DOMAIN_NAME && f.wire == LPO_WIRE_BYTES)
            name = f;
    }
    if (s->ndomains == MAX_DOMAINS || name.wire != LPO_WIRE_BYTES)
        return;
    s->domain_ids[s->ndomains] = id;
    s->domains[s->ndomains++] =
        name.value == strlen(none) && memcmp(name.bytes, none, strlen(none)) == 0
            ? 0
            : lpo_trace_domain(s->t, (const char *)name.bytes, (size_t)name.value);
}

static uint16_t domain_of(const struct state *s, uint64_t id)
{
    for (size_t i = 0; i < s->ndomains; i++) {
        if (s->domain_ids[i] == id)
            return s->domains[i];
    }
    return 0;
}

/* Where a range was pushed with attributes its name may be their message. The attributes' field
 * numbers are not known, so the first readable text inside is taken. */
static bool text_inside(struct lpo_proto m, int depth, struct lpo_proto_field *out)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&m, &f)) {
        if (f.wire != LPO_WIRE_BYTES || f.value == 0)
            continue;
        if (depth > 0 && text_inside(lpo_proto_inner(&f), depth - 1, out))
            return true;
        if (f.bytes[0] >= ' ' && lpo_str_utf8_valid((const char *)f.bytes, (size_t)f.value, NULL)) {
            *out = f;
            return true;
        }
    }
    return false;
}

static void add_range(struct state *s, struct lpo_proto m, const struct range_fields *fields,
                      uint16_t domain)
{
    struct lpo_proto_field f, name = { 0 }, attributes = { 0 };
    struct lpo_frame frame = { .domain = domain, .kind = fields->kind };

    while (lpo_proto_next(&m, &f)) {
        if (f.number == fields->name && f.wire == LPO_WIRE_BYTES)
            name = f;
        else if (f.number == fields->attributes && f.wire == LPO_WIRE_BYTES)
            attributes = f;
        else if (f.number == fields->visit && f.wire == LPO_WIRE_VARINT)
            frame.visit = f.value + 1; /* 0 means "not given" */
    }
    if (name.value == 0 && attributes.value)
        text_inside(lpo_proto_inner(&attributes), ATTRIBUTE_DEPTH, &name);
    frame.name = name.value ? lpo_trace_namen(s->t, (const char *)name.bytes, (size_t)name.value)
                            : lpo_trace_name(s->t, "(unnamed)");
    if (s->nframes < MAX_FRAMES)
        s->frames[s->nframes++] = frame;
}

/* Ranges of one domain, bottom first. */
static void add_scope(struct state *s, struct lpo_proto m, const struct range_fields *fields)
{
    struct lpo_proto again = m;
    struct lpo_proto_field f;
    uint64_t id = 0;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == SCOPE_DOMAIN)
            id = f.value;
    }
    while (lpo_proto_next(&again, &f)) {
        if (f.number == SCOPE_RANGE)
            add_range(s, lpo_proto_inner(&f), fields, domain_of(s, id));
    }
}

static void add_thread(struct state *s, struct lpo_proto m, uint64_t thread)
{
    struct lpo_proto again = m;
    struct lpo_proto_field f;
    uint64_t id = 0;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == THREAD_ID)
            id = f.value;
    }
    while (id == thread && lpo_proto_next(&again, &f)) {
        if (f.number == THREAD_PUSH_POP)
            add_scope(s, lpo_proto_inner(&f), &push_pop);
    }
}

static uint32_t parse_state(struct lpo_trace *t, struct lpo_proto message, uint64_t thread)
{
    LPO_FREED struct state *s = lpo_xcalloc(1, sizeof *s);
    uint32_t stack;

    s->t = t;
    s->frames = lpo_xcalloc(MAX_FRAMES, sizeof *s->frames);
    for (uint32_t want = STATE_DOMAIN; want <= STATE_START_END; want++) {
        struct lpo_proto m = message;
        struct lpo_proto_field f;

        while (lpo_proto_next(&m, &f)) {
            if (f.number != want)
                continue;
            if (want == STATE_DOMAIN)
                add_domain(s, lpo_proto_inner(&f));
            else if (want == STATE_THREAD)
                add_thread(s, lpo_proto_inner(&f), thread);
            else
                add_scope(s, lpo_proto_inner(&f), &start_end);
        }
    }
    stack = lpo_trace_stack(t, s->frames, s->nframes);
    free(s->frames);
    return stack;
}

/* Is `state` on `thread` what last_state holds? */
static bool is_last(const struct lpo_ncu_rep *rep, const struct lpo_proto_field *state,
                    uint64_t thread)
{
    const struct lpo_str *last = &rep->last_state;

    return last->len == sizeof thread + state->value &&
           memcmp(last->at, &thread, sizeof thread) == 0 &&
           memcmp(last->at + sizeof thread, state->bytes, (size_t)state->value) == 0;
}

/* Kernels of one visit carry the same bytes, so those are taken apart once. */
uint32_t lpo_ncu_rep_stack(struct lpo_ncu_rep *rep, const struct lpo_proto_field *state,
                           uint64_t thread)
{
    struct lpo_str *key = &rep->last_state;
    uint64_t *slot;
    bool fresh;

    if (is_last(rep, state, thread))
        return rep->last_stack;
    key->len = 0;
    lpo_str_addn(key, (const char *)&thread, sizeof thread);
    lpo_str_addn(key, (const char *)state->bytes, (size_t)state->value);
    slot = lpo_map_put(rep->stacks, key->at, key->len, &fresh);
    if (fresh)
        *slot = parse_state(rep->t, lpo_proto_inner(state), thread);
    rep->last_stack = (uint32_t)*slot;
    return rep->last_stack;
}
