/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/reader.h"

#include "trace/merge.h"
#include "trace/native/native.h"
#include "trace/rows.h"
#include "trace/times.h"
#include "trace/trace.h"
#include "trace/xla_names.h"
#include "util/input.h"

/* The first that knows the file reads it. */
static const struct lpo_reader *const readers[] = {
    &lpo_rocpd_reader,   &lpo_nsysrep_reader,    &lpo_nsys_reader,    &lpo_ncu_rep_reader,
    &lpo_ncu_csv_reader, &lpo_nsys_stats_reader, &lpo_rocprof_reader, &lpo_xplane_reader,
    &lpo_xprof_reader,   &lpo_kineto_reader,     &lpo_flight_reader,  &lpo_graph_nodes_reader,
    &lpo_native_reader,  &lpo_snapshot_reader,   &lpo_digest_reader,
};

enum { NREADERS = sizeof readers / sizeof *readers, HEAD = 64 * 1024 };

/* What is checked out where the file itself was not fetched. */
static bool is_pointer(const unsigned char *head, size_t len)
{
    static const char mark[] = "version https://git-lfs.";

    return len >= sizeof mark - 1 && memcmp(head, mark, sizeof mark - 1) == 0;
}

int lpo_trace_reader_find(const char *path, const struct lpo_reader **out, struct lpo_err *err)
{
    unsigned char head[HEAD];
    LPO_STR known = { 0 };
    size_t len = 0;
    int rc = lpo_input_head(path, head, sizeof head, &len, err);

    if (rc < 0)
        return rc;
    for (int i = 0; i < NREADERS; i++) {
        if (readers[i]->sniff(path, head, len)) {
            *out = readers[i];
            return 0;
        }
        lpo_str_addf(&known, "\n    %-10s %s", readers[i]->name, readers[i]->summary);
    }
    if (is_pointer(head, len))
        return lpo_fail(err, LPO_E_FORMAT,
                        "'%s' is a pointer of Git LFS and not the file itself; in its repository, "
                        "run: git lfs pull",
                        path);
    return lpo_fail(err, LPO_E_FORMAT, "'%s' is %s\nlpo reads%s", path,
                    len == 0 ? "empty" : "in a format that lpo does not know",
                    lpo_str_text(&known));
}

int lpo_trace_read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    const struct lpo_reader *r = NULL;
    struct lpo_trace_mark mark;
    int rc = lpo_trace_reader_find(path, &r, err);

    if (rc < 0)
        return rc;
    if (into->sources++ == 1)
        lpo_trace_duplicates_note(into, path); /* only remembers the first file */
    mark = lpo_trace_mark(into);
    into->need = LPO_NEEDS_NOTHING;
    rc = r->read(path, into, err);
    if (rc == 0)
        lpo_trace_xla_rename(into, &mark);
    if (rc == 0)
        rc = lpo_trace_times_check(into, &mark, err);
    if (rc < 0)
        lpo_ctx(err, "cannot read '%s' as %s", path, r->name);
    else if (into->sources > 1)
        lpo_trace_duplicates_note(into, path);
    return rc;
}

int lpo_trace_append_file(struct lpo_trace *into, const struct lpo_trace *from, const char *path,
                          struct lpo_err *err)
{
    int rc;

    if (into->sources++ == 1)
        lpo_trace_duplicates_note(into, path); /* only remembers the first file */
    rc = lpo_trace_append(into, from, err);
    if (rc < 0)
        lpo_ctx(err, "cannot read '%s'", path);
    else if (into->sources > 1)
        lpo_trace_duplicates_note(into, path);
    return rc;
}

void lpo_trace_finish(const char *dir)
{
    lpo_native_tails_finish(dir);
}
