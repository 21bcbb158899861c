/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges of an nsys export. */
#include "trace/nsys/private.h"

#include "util/err.h"
#include "util/map.h"

enum { N_START, N_END, N_TYPE, N_TID, N_DOMAIN, N_TEXT, N_TEXT_ID };

enum { THREAD_NAME = 39, PUSH_POP = 59, START_END = 60, DOMAIN_CREATE = 75 };

/* A domain's name may come after ranges that use it, so ranges carry a number of this table until
 * all rows are read. Ids are per process. */
struct domain {
    uint32_t id, name; /* name: LPO_NONE until its row is seen */
};

struct ranges {
    struct lpo_nsys_reading *r;
    struct lpo_map_u64 *numbers; /* process << 32 | domain id */
    LPO_VEC(struct domain) domains;
    uint64_t open, nameless, odd;
};

static uint16_t domain_number(struct ranges *s, uint16_t process, int64_t id)
{
    uint32_t *slot;
    bool fresh;

    if (id == 0)
        return 0;
    slot = lpo_map_u64_put(s->numbers, (uint64_t)process << 32 | (uint32_t)id, &fresh);
    if (fresh) {
        *slot = (uint32_t)s->domains.len;
        lpo_vec_push(&s->domains, (struct domain){ (uint32_t)id, LPO_NONE });
    }
    return *slot < UINT16_MAX ? (uint16_t)*slot : 0;
}

static uint32_t event_name(struct ranges *s, const struct lpo_nsys_rows *rows)
{
    uint32_t name = lpo_nsys_text(rows, s->r->t, N_TEXT);
    int64_t id;

    if (name != LPO_NONE)
        return name;
    id = lpo_nsys_int(rows, N_TEXT_ID);
    return lpo_nsys_was_null(rows, N_TEXT_ID, id) ? LPO_NONE
                                                  : lpo_nsys_string(s->r->db, s->r->t, id);
}

static void range_row(struct ranges *s, const struct lpo_nsys_rows *rows, enum lpo_range_kind kind)
{
    struct lpo_nsys_reading *r = s->r;
    struct lpo_range range = { .kind = (uint8_t)kind };
    int64_t end = lpo_nsys_int(rows, N_END);
    uint16_t process;

    range.thread = lpo_nsys_thread(r, lpo_nsys_int(rows, N_TID));
    process = r->t->threads.at[range.thread].process;
    range.name = event_name(s, rows);
    if (range.name == LPO_NONE) {
        range.name = lpo_trace_name(r->t, "(unnamed)");
        s->nameless++;
    }
    range.start_ns = lpo_nsys_time(r, rows, N_START);
    range.end_ns = lpo_nsys_shift(r, end);
    range.domain = domain_number(s, process, lpo_nsys_int(rows, N_DOMAIN));
    if (lpo_nsys_was_null(rows, N_END, end)) {
        range.end_ns = range.start_ns;
        range.flags = LPO_RANGE_OPEN;
        s->open++;
    } else if (range.end_ns < range.start_ns) {
        range.end_ns = range.start_ns;
        s->odd++;
    }
    lpo_nsys_alive(r, process, range.end_ns);
    lpo_vec_push(&r->t->ranges, range);
}

static void event_row(struct ranges *s, const struct lpo_nsys_rows *rows)
{
    struct lpo_trace *t = s->r->t;
    int64_t type = lpo_nsys_int(rows, N_TYPE);

    if (type == PUSH_POP) {
        range_row(s, rows, LPO_PUSH_POP);
    } else if (type == START_END) {
        range_row(s, rows, LPO_START_END);
    } else if (type == DOMAIN_CREATE) {
        uint16_t n = domain_number(s, lpo_nsys_process(s->r, lpo_nsys_int(rows, N_TID)),
                                   lpo_nsys_int(rows, N_DOMAIN));

        s->domains.at[n].name = event_name(s, rows);
    } else if (type == THREAD_NAME && !lpo_nsys_null(rows, N_TID)) {
        uint32_t thread = lpo_nsys_thread(s->r, lpo_nsys_int(rows, N_TID));

        t->threads.at[thread].name = event_name(s, rows);
    }
}

/* A filtered export may have lost the rows that name its domains; then any process's name for that
 * id will do. Where there is none the range has no domain, as in nsys's own reports. */
static uint16_t real_domain(struct ranges *s, const struct domain *d)
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

static void settle(struct ranges *s)
{
    struct lpo_trace *t = s->r->t;
    uint16_t *real;

    real = lpo_xcalloc(s->domains.len, sizeof *real);
    for (size_t i = 1; i < s->domains.len && i < UINT16_MAX; i++)
        real[i] = real_domain(s, &s->domains.at[i]);
    for (size_t i = s->r->first_range; i < t->ranges.len; i++) {
        struct lpo_range *range = &t->ranges.at[i];

        range->domain = real[range->domain];
        if (range->flags & LPO_RANGE_OPEN)
            range->end_ns = t->processes.at[t->threads.at[range->thread].process].end_ns;
    }
    free(real);
    if (s->open)
        lpo_trace_note(t, s->open, "ranges were never closed: they end with their process");
    if (s->nameless)
        lpo_trace_note(t, s->nameless, "ranges have no name");
    if (s->odd)
        lpo_trace_note(t, s->odd, "ranges end before they begin: taken as empty");
}

int lpo_nsys_read_ranges(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    static const char *const names[] = { "start",    "end",  "eventType", "globalTid",
                                         "domainId", "text", "textId",    NULL };
    struct ranges s = { .r = r };
    struct lpo_nsys_rows rows;
    int rc = lpo_nsys_begin(r->db, &rows, "NVTX_EVENTS", names, err);

    if (rc <= 0)
        return rc;
    s.numbers = lpo_map_u64_create(0);
    lpo_vec_push(&s.domains, (struct domain){ 0, LPO_NONE }); /* 0 stays the default domain */
    while (lpo_nsys_step(&rows, r->t))
        event_row(&s, &rows);
    lpo_nsys_end(&rows);
    settle(&s);
    lpo_map_u64_destroy(s.numbers);
    lpo_vec_free(&s.domains);
    r->t->has_ranges = true;
    return 0;
}
