/* Nsight Compute reports, read natively: mapped, decoded in place, nine tenths skipped. */
#include "trace/ncu_rep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "trace/readers.h"
#include "util/err.h"
#include "util/map.h"
#include "util/unpack.h"

enum { KNOWN_VERSION = 7, MAX_STRINGS = 1 << 20 };

/* Field numbers of BlockHeader. */
enum { B_SOURCES = 1, B_RESULTS = 2, B_STRINGS = 4, B_PAYLOAD = 5, B_PROCESS = 6, B_RANGES = 7 };
enum { PROCESS_ID = 1, PROCESS_NAME = 3 }; /* 2, the host's name, is not read */

struct block {
    uint64_t sources, results, payload, ranges;
};

static bool sniff(const char *path, const unsigned char *head, size_t len)
{
    (void)path;
    return len >= 4 && memcmp(head, "NVR", 4) == 0;
}

/* A message behind its size at *at; false when it does not lie within `end`. */
static bool sized(const struct lpo_ncu_rep *rep, size_t *at, size_t end, struct lpo_proto *m)
{
    uint32_t size;

    if (end - *at < sizeof size)
        return false;
    memcpy(&size, rep->bytes + *at, sizeof size);
    if (size > end - *at - sizeof size)
        return false;
    *m = lpo_proto(rep->bytes + *at + sizeof size, size);
    *at += sizeof size + size;
    return true;
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

static struct block block_header(struct lpo_ncu_rep *rep, struct lpo_proto m)
{
    struct block b = { 0 };
    struct lpo_proto_field f;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == B_SOURCES)
            b.sources = f.value;
        else if (f.number == B_RESULTS)
            b.results = f.value;
        else if (f.number == B_PAYLOAD)
            b.payload = f.value;
        else if (f.number == B_RANGES)
            b.ranges = f.value;
        else if (f.number == B_STRINGS)
            add_strings(rep, lpo_proto_inner(&f));
        else if (f.number == B_PROCESS)
            set_process(rep, lpo_proto_inner(&f));
    }
    return b;
}

/* One block; false when the file ends in it. */
static bool read_block(struct lpo_ncu_rep *rep, size_t *at)
{
    struct lpo_proto m;
    struct block b;
    size_t end;
    bool whole;

    if (!sized(rep, at, rep->len, &m))
        return false;
    b = block_header(rep, m);
    whole = b.payload <= rep->len - *at;
    end = whole ? *at + (size_t)b.payload : rep->len;
    for (uint64_t i = 0; i < b.sources; i++) {
        if (!sized(rep, at, end, &m))
            return false;
    }
    for (uint64_t i = 0; i < b.results; i++) {
        if (!sized(rep, at, end, &m))
            return false;
        lpo_ncu_rep_result(rep, m.at, (size_t)(m.end - m.at));
    }
    rep->range_results += b.ranges;
    *at = end;
    return whole;
}

static int check_version(struct lpo_ncu_rep *rep, size_t *at, struct lpo_err *err)
{
    struct lpo_proto m;
    struct lpo_proto_field f;
    uint64_t version = 0;

    *at = 4;
    if (rep->len < 4 || memcmp(rep->bytes, "NVR", 4) != 0)
        return lpo_fail(err, LPO_E_FORMAT, "not a report of Nsight Compute");
    if (!sized(rep, at, rep->len, &m))
        return lpo_fail(err, LPO_E_FORMAT, "the report ends in its first bytes: nothing to read");
    while (lpo_proto_next(&m, &f)) {
        if (f.number == 1)
            version = f.value;
    }
    if (version != KNOWN_VERSION)
        return lpo_fail(err, LPO_E_FORMAT,
                        "the report has format version %llu; this lpo reads %d (let ncu convert "
                        "it: ncu --import FILE --page raw --csv --print-units base > raw.csv)",
                        (unsigned long long)version, KNOWN_VERSION);
    return 0;
}

static void add_notes(struct lpo_ncu_rep *rep, bool cut)
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
    if (rep->range_results)
        lpo_trace_note(rep->t, rep->range_results,
                       "range results (range replay) cannot be read from the report: export them "
                       "with ncu --import FILE --page raw --csv");
}

static int read_report(struct lpo_ncu_rep *rep, bool cut, struct lpo_err *err)
{
    size_t at, before = rep->t->works.len;

    if (check_version(rep, &at, err) < 0)
        return err->code;
    while (at < rep->len) {
        if (!read_block(rep, &at)) {
            cut = true;
            break;
        }
    }
    if (cut && rep->t->works.len == before)
        return lpo_fail(err, LPO_E_FORMAT,
                        "the report was cut short before its first kernel (byte %zu of %zu)", at,
                        rep->len);
    add_notes(rep, cut);
    return 0;
}

static int map_file(const struct lpo_unpacked *file, struct lpo_ncu_rep *rep, struct lpo_err *err)
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
    rep->bytes = p;
    rep->len = (size_t)st.st_size;
    return 0;
}

static int read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_unpacked) file = NULL;
    struct lpo_ncu_rep rep = { .t = into, .process = LPO_NONE };
    int rc;

    if (lpo_unpack(path, &file, err) < 0 || map_file(file, &rep, err) < 0)
        return err->code;
    lpo_unpacked_unname(file);
    rep.stacks = lpo_map_create();
    rc = read_report(&rep, file->cut, err);
    munmap((void *)rep.bytes, rep.len);
    lpo_map_destroy(rep.stacks);
    lpo_vec_free(&rep.strings);
    return rc;
}

const struct lpo_reader lpo_reader_ncu_rep = {
    .name = "ncu-rep",
    .summary = "Nsight Compute report (.ncu-rep, .ncu-repz, .gz too)",
    .sniff = sniff,
    .read = read,
};
