/* Nsight Compute reports, read natively: mapped, decoded in place, nine tenths skipped. */
#include "trace/ncu/rep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "trace/readers.h"
#include "util/ahead.h"
#include "util/err.h"
#include "util/map.h"
#include "util/unpack.h"

enum { KNOWN_VERSION = 7, MAX_STRINGS = 1 << 20, LARGE = 8 << 20 };
enum { PROCESS_ID = 1, PROCESS_NAME = 3 }; /* 2, the host's name, is not read */

static bool sniff(const char *path, const unsigned char *head, size_t len)
{
    (void)path;
    return len >= 4 && memcmp(head, "NVR", 4) == 0;
}

/* Tables are appended to each other: ids count through the file. */
static void add_strings(struct lpo_ncu_rep *rep, struct lpo_proto m)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&m, &f) && rep->strings.len < MAX_STRINGS) {
        if (f.number == 1 && f.wire == LPO_WIRE_BYTES)
            lpo_vec_push(&rep->strings,
                         (struct lpo_ncu_string){ f.bytes, (uint32_t)f.value, LPO_NONE, -1 });
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
            lpo_ncu_rep_result(rep, d, d->value_count ? &b->values.at[d->first_value] : NULL);
    }
}

static bool fill(void *walk, void *batch)
{
    return lpo_ncu_decode(walk, batch);
}

static void release(void *batch)
{
    struct lpo_ncu_batch *b = batch;

    lpo_vec_free(&b->results);
    lpo_vec_free(&b->values);
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

static int check_version(struct lpo_ncu_walk *w, struct lpo_err *err)
{
    struct lpo_proto m;
    struct lpo_proto_field f;
    uint64_t version = 0;

    if (w->len < 4 || memcmp(w->bytes, "NVR", 4) != 0)
        return lpo_fail(err, LPO_E_FORMAT, "not a report of Nsight Compute");
    w->at = 4;
    if (!lpo_ncu_sized(w, w->len, &m))
        return lpo_fail(err, LPO_E_FORMAT, "the report ends in its first bytes: nothing to read");
    w->block_end = w->at;
    while (lpo_proto_next(&m, &f)) {
        if (f.number == 1)
            version = f.value;
    }
    w->other_version = version != KNOWN_VERSION;
    if (w->other_version)
        return lpo_fail(err, LPO_E_FORMAT,
                        "the report has format version %llu; this lpo reads %d (let ncu convert "
                        "it: ncu --import FILE --page raw --csv --print-units base > raw.csv)",
                        (unsigned long long)version, KNOWN_VERSION);
    return 0;
}

static void add_notes(struct lpo_ncu_rep *rep, uint64_t range_results, bool cut)
{
    if (cut)
        lpo_trace_note(rep->t, 0, "the report was cut short: the kernels before were read");
    if (rep->bad_results)
        lpo_trace_note(rep->t, rep->bad_results, "results of the report are damaged: read in part");
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

    if (check_version(w, err) < 0)
        return err->code;
    read_blocks(rep, w);
    if (w->cut && rep->t->gpu_ops.len == before)
        return lpo_fail(err, LPO_E_FORMAT,
                        "the report was cut short before its first kernel (byte %zu of %zu)", w->at,
                        w->len);
    return 0;
}

static int map_file(const struct lpo_unpacked *file, struct lpo_ncu_walk *w, struct lpo_err *err)
{
    struct stat st;
    void *p;

    if (fstat(file->fd, &st) < 0)
        return lpo_fail_errno(err, "cannot look at the file");
    if (st.st_size == 0)
        return lpo_fail(err, LPO_E_FORMAT, "the file is empty");
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (p == MAP_FAILED)
        return lpo_fail_errno(err, "cannot map the file");
    w->bytes = p;
    w->len = (size_t)st.st_size;
    return 0;
}

static int read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_unpacked) file = NULL;
    struct lpo_ncu_rep rep = { .t = into, .process = LPO_NONE };
    struct lpo_ncu_walk walk = { 0 };
    int rc;

    if (lpo_unpack(path, &file, err) < 0 || map_file(file, &walk, err) < 0)
        return err->code;
    lpo_unpacked_unname(file);
    rep.bytes = walk.len;
    rep.stacks = lpo_map_create();
    rc = read_report(&rep, &walk, err);
    if (rc == 0)
        add_notes(&rep, walk.range_results, walk.cut || file->cut);
    munmap((void *)walk.bytes, walk.len);
    lpo_map_destroy(rep.stacks);
    lpo_vec_free(&rep.strings);
    return rc;
}

enum lpo_trace_need lpo_trace_needs_ncu(const char *path)
{
    LPO_AUTO(lpo_unpacked) file = NULL;
    const struct lpo_reader *reader = NULL;
    enum lpo_trace_need need = LPO_NEEDS_NOTHING;
    struct lpo_ncu_walk walk = { 0 };
    struct lpo_err err = { 0 };

    if (lpo_trace_reader_find(path, &reader, &err) < 0 || reader != &lpo_ncu_rep_reader ||
        lpo_unpack(path, &file, &err) < 0 || map_file(file, &walk, &err) < 0)
        return need;
    lpo_unpacked_unname(file);
    if (check_version(&walk, &err) == 0)
        need =
            lpo_ncu_count_results(&walk) == 0 && walk.range_results ? LPO_NEEDS_NCU_RANGES : need;
    else if (walk.other_version)
        need = LPO_NEEDS_NCU_FORMAT;
    munmap((void *)walk.bytes, walk.len);
    return need;
}

const struct lpo_reader lpo_ncu_rep_reader = {
    .name = "ncu-rep",
    .summary = "Nsight Compute report (.ncu-rep, .ncu-repz, .gz too)",
    .sniff = sniff,
    .read = read,
};
