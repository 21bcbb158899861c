/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges of an nsys export. */
#include "trace/nsys/private.h"

enum { N_START, N_END, N_TYPE, N_TID, N_DOMAIN, N_TEXT, N_TEXT_ID };

enum { THREAD_NAME = 39, PUSH_POP = 59, START_END = 60, DOMAIN_CREATE = 75 };

/* Rows of a report come beside those of GPU operations, whose processes and threads come first in
 * the trace: so ranges carry numbers of these tables until all rows are read. Domains, too, whose
 * names may come after ranges that use them; their ids are per process. */
struct seen_thread {
    int64_t tid, last_ns; /* LPO_NO_TIME: only its name was seen */
    uint32_t name;        /* LPO_NONE: none */
};

struct domain {
    uint32_t id, name; /* name: LPO_NONE until its row is seen */
};

struct lpo_nsys_ranges {
    struct lpo_nsys_reading *r;
    struct lpo_nsys_beside beside;
    struct lpo_map_u64 *processes, *numbers_of_tids;
    LPO_VEC(int64_t) tids; /* one of each process */
    LPO_VEC(struct seen_thread) threads;
    uint32_t last_thread;
    struct lpo_map_u64 *numbers; /* process << 32 | domain id */
    LPO_VEC(struct domain) domains;
    uint64_t open, nameless, odd;
};

static uint32_t process_number(struct lpo_nsys_ranges *s, int64_t tid)
{
    bool fresh;
    uint32_t *slot = lpo_map_u64_put(s->processes, (uint64_t)tid >> LPO_NSYS_TID_BITS, &fresh);

    if (fresh) {
        *slot = (uint32_t)s->tids.len;
        lpo_vec_push(&s->tids, tid);
    }
    return *slot;
}

static uint32_t thread_number(struct lpo_nsys_ranges *s, int64_t tid)
{
    uint32_t *slot;
    bool fresh;

    if (s->last_thread < s->threads.len && s->threads.at[s->last_thread].tid == tid)
        return s->last_thread;
    slot = lpo_map_u64_put(s->numbers_of_tids, (uint64_t)tid, &fresh);
    if (fresh) {
        process_number(s, tid);
        *slot = (uint32_t)s->threads.len;
        lpo_vec_push(&s->threads, (struct seen_thread){ tid, LPO_NO_TIME, LPO_NONE });
    }
    s->last_thread = *slot;
    return *slot;
}

static uint16_t domain_number(struct lpo_nsys_ranges *s, int64_t tid, int64_t id)
{
    uint32_t *slot;
    bool fresh;

    if (id == 0)
        return 0;
    slot =
        lpo_map_u64_put(s->numbers, (uint64_t)process_number(s, tid) << 32 | (uint32_t)id, &fresh);
    if (fresh) {
        *slot = (uint32_t)s->domains.len;
        lpo_vec_push(&s->domains, (struct domain){ (uint32_t)id, LPO_NONE });
    }
    return *slot < UINT16_MAX ? (uint16_t)*slot : 0;
}

static uint32_t event_name(struct lpo_nsys_ranges *s, const struct lpo_nsys_rows *rows)
{
    uint32_t name = lpo_nsys_text(rows, s->r->t, N_TEXT);
    int64_t id;

    if (name != LPO_NONE)
        return name;
    id = lpo_nsys_int(rows, N_TEXT_ID);
    return lpo_nsys_was_null(rows, N_TEXT_ID, id) ? LPO_NONE
                                                  : lpo_nsys_string(s->r->db, s->r->t, id);
}

static void range_row(struct lpo_nsys_ranges *s, const struct lpo_nsys_rows *rows,
                      enum lpo_range_kind kind)
{
    struct lpo_nsys_reading *r = s->r;
    struct lpo_range range = { .kind = (uint8_t)kind };
    int64_t end = lpo_nsys_int(rows, N_END), tid = lpo_nsys_int(rows, N_TID);
    struct seen_thread *thread;

    range.thread = thread_number(s, tid);
    range.name = event_name(s, rows);
    if (range.name == LPO_NONE) {
        range.name = lpo_trace_name(r->t, "(unnamed)");
        s->nameless++;
    }
    range.start_ns = lpo_nsys_time(r, rows, N_START);
    range.end_ns = lpo_nsys_shift(r, end);
    range.domain = domain_number(s, tid, lpo_nsys_int(rows, N_DOMAIN));
    if (lpo_nsys_was_null(rows, N_END, end)) {
        range.end_ns = range.start_ns;
        range.flags = LPO_RANGE_OPEN;
        s->open++;
    } else if (range.end_ns < range.start_ns) {
        range.end_ns = range.start_ns;
        s->odd++;
    }
    thread = &s->threads.at[range.thread];
    if (thread->last_ns == LPO_NO_TIME || thread->last_ns < range.end_ns)
        thread->last_ns = range.end_ns;
    lpo_vec_push(&r->t->ranges, range);
}

static void event_row(void *ctx, const struct lpo_nsys_rows *rows)
{
    struct lpo_nsys_ranges *s = ctx;
    int64_t type = lpo_nsys_int(rows, N_TYPE);

    if (type == PUSH_POP) {
        range_row(s, rows, LPO_PUSH_POP);
    } else if (type == START_END) {
        range_row(s, rows, LPO_START_END);
    } else if (type == DOMAIN_CREATE) {
        uint16_t n = domain_number(s, lpo_nsys_int(rows, N_TID), lpo_nsys_int(rows, N_DOMAIN));

        s->domains.at[n].name = event_name(s, rows);
    } else if (type == THREAD_NAME && !lpo_nsys_null(rows, N_TID)) {
        uint32_t thread = thread_number(s, lpo_nsys_int(rows, N_TID));

        s->threads.at[thread].name = event_name(s, rows);
    }
}

/* A filtered export may have lost the rows that name its domains; then any process's name for that
 * id will do. Where there is none the range has no domain, as in nsys's own reports. */
static uint16_t real_domain(struct lpo_nsys_ranges *s, const struct domain *d)
{
    struct lpo_trace *t = s->r->t;
    uint32_t name = d->name;

    for (size_t i = 1; name == LPO_NONE && i < s->domains.len; i++) {
        if (s->domains.at[i].id == d->id)
            name = s->domains.at[i].name;
    }
    if (name != LPO_NONE)
        return lpo_trace_domain(t, lpo_trace_text(t, name), lpo_trace_text_len(t, name));
    return 0;
}

/* Their rows in the trace, in the order in which they were seen: yours to free. */
static uint32_t *settle_threads(struct lpo_nsys_ranges *s)
{
    struct lpo_nsys_reading *r = s->r;
    uint32_t *real = lpo_xcalloc(s->threads.len + 1, sizeof *real);

    for (size_t i = 0; i < s->tids.len; i++)
        lpo_nsys_process(r, s->tids.at[i]);
    for (size_t i = 0; i < s->threads.len; i++) {
        const struct seen_thread *seen = &s->threads.at[i];
        struct lpo_thread *thread;

        real[i] = lpo_nsys_thread(r, seen->tid);
        thread = &r->t->threads.at[real[i]];
        if (seen->name != LPO_NONE)
            thread->name = seen->name;
        if (seen->last_ns != LPO_NO_TIME)
            lpo_nsys_alive(r, thread->process, seen->last_ns);
    }
    return real;
}

static uint16_t *settle_domains(struct lpo_nsys_ranges *s)
{
    uint16_t *real = lpo_xcalloc(s->domains.len, sizeof *real);

    for (size_t i = 1; i < s->domains.len && i < UINT16_MAX; i++)
        real[i] = real_domain(s, &s->domains.at[i]);
    return real;
}

static void settle(struct lpo_nsys_ranges *s)
{
    struct lpo_trace *t = s->r->t;
    uint32_t *threads = settle_threads(s);
    uint16_t *domains = settle_domains(s);

    for (size_t i = s->r->first_range; i < t->ranges.len; i++) {
        struct lpo_range *range = &t->ranges.at[i];

        range->thread = threads[range->thread];
        range->domain = domains[range->domain];
        if (range->flags & LPO_RANGE_OPEN)
            range->end_ns = t->processes.at[t->threads.at[range->thread].process].end_ns;
    }
    free(threads);
    free(domains);
    if (s->open)
        lpo_trace_note(t, s->open, "ranges were never closed: they end with their process");
    if (s->nameless)
        lpo_trace_note(t, s->nameless, "ranges have no name");
    if (s->odd)
        lpo_trace_note(t, s->odd, "ranges end before they begin: taken as empty");
}

int lpo_nsys_expect_ranges(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    static const char *const names[] = { "start",    "end",  "eventType", "globalTid",
                                         "domainId", "text", "textId",    NULL };
    struct lpo_nsys_ranges *s = r->ranges = lpo_xcalloc(1, sizeof *s);

    (void)err;
    s->r = r;
    s->processes = lpo_map_u64_create(0);
    s->numbers_of_tids = lpo_map_u64_create(0);
    s->numbers = lpo_map_u64_create(0);
    lpo_vec_push(&s->domains, (struct domain){ 0, LPO_NONE }); /* 0 stays the default domain */
    s->beside = (struct lpo_nsys_beside){ "NVTX_EVENTS", names, event_row, s };
    if (r->db->calls->beside)
        r->db->calls->beside(r->db->source, &s->beside);
    return 0;
}

void lpo_nsys_ranges_destroy(struct lpo_nsys_ranges *s)
{
    if (!s)
        return;
    lpo_map_u64_destroy(s->processes);
    lpo_map_u64_destroy(s->numbers_of_tids);
    lpo_map_u64_destroy(s->numbers);
    lpo_vec_free(&s->tids);
    lpo_vec_free(&s->threads);
    lpo_vec_free(&s->domains);
    free(s);
}

int lpo_nsys_read_ranges(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    struct lpo_nsys_ranges *s = r->ranges;
    struct lpo_nsys_rows rows;
    int rc = 1;

    if (!s->beside.done) {
        rc = lpo_nsys_begin(r->db, &rows, s->beside.table, s->beside.names, err);
        while (rc > 0 && lpo_nsys_step(&rows, r->t))
            event_row(s, &rows);
        if (rc > 0)
            lpo_nsys_end(&rows);
    }
    if (rc <= 0)
        return rc;
    settle(s);
    r->t->has_ranges = true;
    return 0;
}
