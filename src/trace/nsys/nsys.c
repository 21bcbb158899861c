/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite export of Nsight Systems, of any version. */

#include "trace/link.h"
#include "trace/nsys/db.h"
#include "trace/nsys/private.h"
#include "trace/reader.h"

static bool sniff(const char *path, const unsigned char *head, size_t len)
{
    static const char magic[] = "SQLite format 3";

    (void)path;
    return len >= sizeof magic && memcmp(head, magic, sizeof magic) == 0;
}

/* A clock that is decades off is damage, not another machine's. */
static void set_shift(struct lpo_nsys_reading *r, int64_t epoch)
{
    const int64_t bound = (int64_t)1 << 60;
    int64_t shift;

    if (!__builtin_sub_overflow(epoch, r->t->epoch_ns, &shift) && shift < bound && shift > -bound)
        r->shift_ns = shift;
}

/* Times count from the session's start, or from the clock that `systemClockNs` shows at it. Files
 * read into one trace share the clock of the first that knows its epoch. */
static int read_clock(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    static const char *const names[] = { "utcEpochNs", "systemClockNs", NULL };
    const int64_t bound = (int64_t)1 << 60;
    struct lpo_nsys_rows rows;
    int64_t epoch = LPO_NO_TIME;
    int rc = lpo_nsys_begin(r->db, &rows, "TARGET_INFO_SESSION_START_TIME", names, err);

    if (rc > 0 && lpo_nsys_step(&rows, r->t) && !lpo_nsys_null(&rows, 0)) {
        int64_t utc = lpo_nsys_int(&rows, 0), clock = lpo_nsys_int(&rows, 1);

        if (utc > 0 && utc / 2 < bound && clock >= 0 && clock < bound)
            epoch = utc - clock;
    }
    lpo_nsys_end(&rows);
    if (rc < 0 || epoch == LPO_NO_TIME)
        return rc < 0 ? rc : 0;
    if (r->t->epoch_ns == LPO_NO_TIME && r->t->gpu_ops.len == 0 && r->t->ranges.len == 0)
        r->t->epoch_ns = epoch;
    else if (r->t->epoch_ns != LPO_NO_TIME)
        set_shift(r, epoch);
    return 0;
}

/* Paths in messages hold names of users and hosts: words with a slash are left out. */
static void note_message(struct lpo_trace *t, const char *text, size_t text_len)
{
    LPO_STR said = { 0 }, kept = { 0 };

    lpo_str_addn(&said, text, text_len);
    for (const char *p = lpo_str_text(&said); *p;) {
        size_t len = strcspn(p, " \t\n");

        if (len && !memchr(p, '/', len))
            lpo_str_addf(&kept, "%s%.*s", kept.len ? " " : "", (int)(len < 200 ? len : 200), p);
        p += len + strspn(p + len, " \t\n");
    }
    if (kept.len)
        lpo_trace_note(t, 0, "nsys says: %s", lpo_str_text(&kept));
}

/* What nsys itself warned of while it recorded: lost events, missing permissions. */
static int read_diagnostics(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    static const char *const names[] = { "severity", "text", NULL };
    enum { WARNING = 2, MOST = 8 };
    struct lpo_nsys_rows rows;
    int rc = lpo_nsys_begin(r->db, &rows, "DIAGNOSTIC_EVENT", names, err), noted = 0;

    while (rc > 0 && noted < MOST && lpo_nsys_step(&rows, r->t)) {
        size_t len;
        const char *text = lpo_nsys_chars(&rows, 1, &len);

        if (lpo_nsys_int(&rows, 0) >= WARNING && len) {
            note_message(r->t, text, len);
            noted++;
        }
    }
    lpo_nsys_end(&rows);
    return rc < 0 ? rc : 0;
}

/* In this order: GPU operations say which calls matter, ranges need the memory that the join took,
 * and open ranges end with what was seen last. */
static const struct step {
    int (*read)(struct lpo_nsys_reading *r, struct lpo_err *err);
    uint32_t skip; /* left out when the caller does without these */
} steps[] = {
    { read_clock, 0 },
    { lpo_nsys_expect_ranges, LPO_SKIP_RANGES },
    { lpo_nsys_read_gpus, 0 },
    { lpo_nsys_read_gpu_ops, 0 },
    { lpo_nsys_read_launches, LPO_SKIP_LAUNCHES },
    { lpo_nsys_read_waits, LPO_SKIP_LAUNCHES | LPO_SKIP_CALLS },
    { lpo_nsys_read_ranges, LPO_SKIP_RANGES },
    { lpo_nsys_read_nodes, 0 },
    { lpo_nsys_read_names, 0 },
    { read_diagnostics, 0 },
};

static int read_all(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!(r->t->skip & steps[i].skip) && steps[i].read(r, err) < 0)
            return err->code;
    }
    return 0;
}

int lpo_nsys_read_tables(const struct lpo_nsys_tables *from, struct lpo_trace *into,
                         struct lpo_err *err)
{
    struct lpo_nsys_reading r = {
        .db = from, .t = into, .last_process = LPO_NONE, .last_thread = LPO_NONE
    };
    int rc;

    r.first_gpu_op = into->gpu_ops.len;
    r.first_range = into->ranges.len;
    r.first_capture = into->captures.len;
    r.processes = lpo_map_u64_create(0);
    r.pids = lpo_map_u64_create(0);
    r.threads = lpo_map_u64_create(0);
    r.gpus = lpo_map_u64_create(0);
    r.captures = lpo_map_u64_create(0);
    rc = read_all(&r, err);
    lpo_map_u64_destroy(r.processes);
    lpo_map_u64_destroy(r.pids);
    lpo_map_u64_destroy(r.threads);
    lpo_map_u64_destroy(r.gpus);
    lpo_map_u64_destroy(r.captures);
    lpo_trace_links_destroy(r.links);
    lpo_nsys_ranges_destroy(r.ranges);
    lpo_vec_free(&r.correlations);
    lpo_vec_free(&r.nodes);
    return rc;
}

static int read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_nsys) db = NULL;
    int rc;

    if (lpo_nsys_open(path, &db, err) < 0)
        return err->code;
    if (lpo_nsys_count_tables(db) == 0)
        return lpo_fail(err, LPO_E_FORMAT,
                        "a SQLite file, but not an export of nsys: no table of its kind "
                        "(make one with: nsys export -t sqlite REPORT.nsys-rep)");
    rc = lpo_nsys_read_tables(lpo_nsys_tables_of(db), into, err);
    if (rc == 0 && lpo_nsys_cut(db))
        lpo_trace_note_damage(into, 0, "the file was cut short: what is there was read");
    return rc;
}

const struct lpo_reader lpo_nsys_reader = {
    .name = "nsys",
    .summary = "Nsight Systems SQLite export (.gz too)",
    .sniff = sniff,
    .read = read,
};
