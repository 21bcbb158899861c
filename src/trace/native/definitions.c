/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions, facts, notes and totals of a native trace. */

#include "lpo/launchers.h"
#include "lpo/trace_format.h"
#include "trace/demangle.h"
#include "trace/native/private.h"

static uint32_t clean_name(struct native *n, const char *text, size_t len)
{
    LPO_STR s = { 0 };

    if (lpo_str_utf8_valid(text, len, NULL))
        return lpo_trace_namen(n->trace, text, len);
    for (size_t i = 0; i < len;) {
        size_t step = lpo_str_utf8_len(text + i, len - i);
        if (step)
            lpo_str_addn(&s, text + i, step);
        else
            lpo_str_add_utf8(&s, 0xfffd);
        i += step ? step : 1;
    }
    return lpo_trace_namen(n->trace, lpo_str_text(&s), s.len);
}

uint32_t lpo_native_inline_name(struct native *n, const char *text, size_t len)
{
    return clean_name(n, text, len);
}

uint32_t lpo_native_name(struct native *n, uint64_t string)
{
    struct native_string *s;

    if (string == 0)
        return lpo_trace_name(n->trace, "(unnamed)");
    if (string > n->strings.len)
        return lpo_trace_name(n->trace, "(unknown)");
    s = &n->strings.at[string - 1];
    if (s->name == LPO_NONE)
        s->name = clean_name(n, s->text, s->len);
    return s->name;
}

uint32_t lpo_native_kernel_name(struct native *n, uint64_t string)
{
    struct native_string *s;

    if (string == 0 || string > n->strings.len)
        return lpo_native_name(n, string);
    s = &n->strings.at[string - 1];
    if (s->kernel == LPO_NONE) {
        LPO_STR plain = { 0 };
        s->kernel = lpo_trace_demangle(s->text, &plain) ? clean_name(n, plain.at, plain.len)
                                                        : lpo_native_name(n, string);
    }
    return s->kernel;
}

struct native_thread *lpo_native_thread_at(struct native *n, uint64_t number)
{
    bool fresh;
    uint32_t *row = lpo_map_u64_put(n->by_number, number, &fresh);

    if (fresh) {
        *row = (uint32_t)n->threads.len;
        lpo_vec_push(&n->threads, (struct native_thread){ .row = LPO_NONE, .os_name = LPO_NONE });
    }
    return &n->threads.at[*row];
}

static void define_string(struct native *n, struct lpo_cursor *c)
{
    size_t len = (size_t)(c->end - c->at);

    lpo_vec_push(&n->strings,
                 (struct native_string){ lpo_arena_strndup(n->arena, (const char *)c->at, len),
                                         (uint32_t)len, LPO_NONE, LPO_NONE });
}

static void define_domain(struct native *n, struct lpo_cursor *c)
{
    uint32_t name = lpo_native_name(n, lpo_native_get_v(c));

    lpo_vec_push(&n->domains, lpo_trace_domain(n->trace, lpo_trace_text(n->trace, name),
                                               lpo_trace_text_len(n->trace, name)));
}

/* A system gives the number of a thread that ended to a later one. A range that the first left open
 * must not hold the launches of the second, so each has a row of its own. */
static uint32_t thread_row(struct native *n, int64_t tid)
{
    size_t before = n->trace->threads.len;
    uint32_t row = lpo_trace_thread(n->trace, n->process, tid);

    for (size_t i = 0; n->trace->threads.len == before && i < n->threads.len; i++) {
        if (n->threads.at[i].row == row) {
            lpo_vec_push(&n->trace->threads, n->trace->threads.at[row]);
            row = (uint32_t)before;
        }
    }
    return row;
}

static void define_thread(struct native *n, struct lpo_cursor *c)
{
    struct native_thread *t = lpo_native_thread_at(n, lpo_native_get_v(c));
    uint64_t tid = lpo_native_get_v(c), string = lpo_native_get_v(c);

    if (c->bad || t->known)
        return;
    t->known = true;
    t->tid = (int64_t)(tid & INT64_MAX);
    t->os_name = string ? lpo_native_name(n, string) : LPO_NONE;
    t->row = thread_row(n, t->tid);
    if (n->trace->threads.at[t->row].name == LPO_NONE)
        n->trace->threads.at[t->row].name = t->os_name;
}

static void name_thread(struct native *n, struct lpo_cursor *c)
{
    uint64_t tid = lpo_native_get_v(c), string = lpo_native_get_v(c);

    if (!c->bad && string) {
        uint32_t row = lpo_trace_thread(n->trace, n->process, (int64_t)(tid & INT64_MAX));
        n->trace->threads.at[row].name = lpo_native_name(n, string);
    }
}

static void name_category(struct native *n, struct lpo_cursor *c)
{
    uint64_t domain = lpo_native_get_v(c), category = lpo_native_get_v(c);
    uint32_t name = lpo_native_name(n, lpo_native_get_v(c)), row;
    bool fresh;

    if (c->bad)
        return;
    row = lpo_map_pair_put(&n->by_category, domain, category, &fresh);
    if (fresh)
        lpo_vec_push(&n->categories, name);
    n->categories.at[row] = name; /* the last name counts, as with NVTX itself */
}

static const struct {
    unsigned tag;
    void (*take)(struct native *n, struct lpo_cursor *c);
} defs[] = {
    { LPOT_DEF_STRING, define_string },   { LPOT_DEF_DOMAIN, define_domain },
    { LPOT_DEF_THREAD, define_thread },   { LPOT_DEF_THREAD_NAME, name_thread },
    { LPOT_DEF_CATEGORY, name_category }, { LPOT_DEF_GRAPH, lpo_native_define_graph },
};

void lpo_native_take_defs(struct native *n, struct lpo_cursor c)
{
    while (!c.bad && c.at < c.end) {
        unsigned tag = lpo_native_get_byte(&c);
        size_t len;
        const char *body = lpo_native_get_text(&c, &len);
        struct lpo_cursor inner;

        if (!body)
            break;
        inner = (struct lpo_cursor){ (const uint8_t *)body, (const uint8_t *)body + len, false };
        for (size_t i = 0; i < sizeof defs / sizeof *defs; i++)
            if (defs[i].tag == tag)
                defs[i].take(n, &inner);
    }
    n->damaged += c.bad;
}

/* "device.0.sms" and the like. */
static const struct {
    const char *key;
    size_t at;
    bool wide;
} device_facts[] = {
    { "sms", offsetof(struct lpo_device, sms), false },
    { "cc_major", offsetof(struct lpo_device, cc_major), false },
    { "cc_minor", offsetof(struct lpo_device, cc_minor), false },
    { "sm_clock_khz", offsetof(struct lpo_device, sm_clock_khz), false },
    { "mem_clock_khz", offsetof(struct lpo_device, mem_clock_khz), false },
    { "bus_bits", offsetof(struct lpo_device, bus_bits), false },
    { "memory_bytes", offsetof(struct lpo_device, memory_bytes), true },
    { "l2_bytes", offsetof(struct lpo_device, l2_bytes), true },
};

static void take_device_fact(struct native *n, const char *key, const char *value)
{
    char *end = NULL;
    long id = strtol(key, &end, 10);
    struct lpo_device *d;
    uint16_t row;

    if (end == key || *end != '.' || id < 0 || id > 1024)
        return;
    row = lpo_trace_device(n->trace, (int32_t)id, n->rank); /* may move the rows */
    d = &n->trace->devices.at[row];
    if (strcmp(end + 1, "name") == 0)
        d->name = clean_name(n, value, strlen(value));
    if (strcmp(end + 1, "uuid") == 0 && strlen(value) < sizeof d->uuid)
        strcpy(d->uuid, value);
    for (size_t i = 0; i < sizeof device_facts / sizeof *device_facts; i++) {
        uint64_t number = strtoull(value, NULL, 10);
        uint32_t narrow = number > UINT32_MAX ? 0 : (uint32_t)number;
        if (strcmp(end + 1, device_facts[i].key) != 0)
            continue;
        if (device_facts[i].wide)
            memcpy((char *)d + device_facts[i].at, &number, sizeof number);
        else
            memcpy((char *)d + device_facts[i].at, &narrow, sizeof narrow);
    }
}

static void take_world_size(struct lpo_trace *t, int64_t ranks)
{
    if (ranks > 0)
        lpo_trace_say_ranks(t, (uint32_t)ranks);
}

static void take_fact(struct native *n, const char *key, const char *value)
{
    if (strcmp(key, "pid") == 0)
        n->pid = strtoll(value, NULL, 10);
    else if (strcmp(key, "rank") == 0)
        n->rank = (int32_t)lpo_launcher_number(value, LPO_RANK_MAX);
    else if (strcmp(key, "forked_from") == 0)
        n->forked = true;
    else if (strcmp(key, "world_size") == 0)
        take_world_size(n->trace, lpo_launcher_number(value, LPO_RANK_MAX));
    else if (strcmp(key, "clock") == 0)
        n->clock.ticks_are_ns = strcmp(value, "realtime") == 0;
    else if (strcmp(key, "command") == 0)
        n->command = clean_name(n, value, strlen(value));
    else if (strcmp(key, "capture.range") == 0)
        n->windows_range = clean_name(n, value, strlen(value));
    else if (strcmp(key, "LPO_COLLECT_RING_MS") == 0)
        n->ring = strcmp(value, "0") != 0;
    else if (strcmp(key, "LPO_COLLECT_CAPTURE_COUNT") == 0)
        n->counts_launches = strcmp(value, "0") != 0;
    else if (strcmp(key, "LPO_COLLECT_CAPTURE_ATTACH") == 0)
        n->sees_all_launches = strcmp(value, "0") == 0;
    else if (strcmp(key, "launches.counted") == 0)
        n->sees_all_launches = strcmp(value, "unknown") != 0;
    else if (strcmp(key, "cuda.calls") == 0)
        n->has_calls = strcmp(value, "none") != 0;
    else if (lpo_str_starts(key, "device."))
        take_device_fact(n, key + 7, value);
}

void lpo_native_take_facts(struct native *n, struct lpo_cursor c)
{
    while (!c.bad && c.at < c.end) {
        size_t klen, vlen;
        const char *key = lpo_native_get_text(&c, &klen), *value = lpo_native_get_text(&c, &vlen);

        if (key && value)
            take_fact(n, lpo_arena_strndup(n->arena, key, klen),
                      lpo_arena_strndup(n->arena, value, vlen));
    }
    n->damaged += c.bad;
}

void lpo_native_take_note(struct native *n, struct lpo_cursor c)
{
    size_t len;
    const char *text;
    uint64_t count;

    lpo_native_get_v(&c); /* the code: for programs that act on it */
    count = lpo_native_get_v(&c);
    text = lpo_native_get_text(&c, &len);
    if (text)
        lpo_trace_note(n->trace, count, "%s", lpo_trace_text(n->trace, clean_name(n, text, len)));
}

/* What the totals mean to the reader of a report; NULL where a total is no loss. */
static const struct {
    unsigned counter;
    bool lost;
    const char *text;
} totals[] = {
    { LPOT_COUNT_EVENTS_LOST, true, "range or launch events could not be written to the trace" },
    { LPOT_COUNT_NAMES_CUT, false, "range names were longer than 4096 bytes and were cut" },
    { LPOT_COUNT_REENTERED, true,
      "NVTX calls inside a signal handler were not recorded: it interrupted the collector" },
    { LPOT_COUNT_JUMPED, true,
      "NVTX calls were interrupted by a signal handler that left by siglongjmp: they may be "
      "missing" },
    { LPOT_COUNT_CUPTI_DROPPED, true, "GPU records were dropped by CUPTI" },
    { LPOT_COUNT_BUFFERS_REFUSED, false,
      "times CUPTI asked for a buffer and none was left (LPO_COLLECT_CUPTI_BUFFERS_MAX)" },
    { LPOT_COUNT_GPU_LOST, true, "GPU records could not be written to the trace" },
    { LPOT_COUNT_UNTIMED, false, "GPU operations have no time: CUPTI recorded none for them" },
    { LPOT_COUNT_GRAPHS_UNLISTED, false,
      "CUDA graphs could not be listed (conditional nodes, or too many graphs): their launches are "
      "shown as one kernel each; pipeline.native.graphs=nodes records every kernel" },
    { LPOT_COUNT_GRAPHS_CHANGED, false,
      "times a CUDA graph was changed after its kernels were listed: those are shown as they were "
      "first; pipeline.native.graphs=nodes records every kernel as it ran" },
};

void lpo_native_take_footer(struct native *n, struct lpo_cursor c)
{
    uint64_t finished = 0;

    while (!c.bad && c.at < c.end) {
        uint64_t counter = lpo_native_get_v(&c), value = lpo_native_get_v(&c);
        /* Totals only grow. The latest footer need not be the last: on a full disk it is written
         * into space at the start of the file. */
        if (!c.bad && counter < NATIVE_TOTALS && value > n->totals[counter])
            n->totals[counter] = value;
        finished |= counter == LPOT_COUNT_FINISHED;
    }
    n->footers += !finished;
    n->finished |= finished;
}

void lpo_native_note_totals(struct native *n)
{
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        uint64_t value = n->totals[totals[i].counter];
        if (!value)
            continue;
        lpo_trace_note(n->trace, value, "%s", totals[i].text);
        if (totals[i].lost)
            n->trace->dropped += value;
    }
}
