/* SPDX-License-Identifier: Apache-2.0 */
/* When the session of a report started, in UTC.
 *
 * Times in a report count from that moment. What it was on other clocks follows from offsets
 * between them, up to 2025 in the header, later in a section of its own. */

#include "trace/nsysrep/file.h"
#include "trace/reader.h"

/* --- the start in UTC ----------------------------------------------------------------------------
 */

enum { HEADER_OFFSETS = 16, HEADER_START = 17 };
enum { UTC = 11, SYSTEM = 7 }; /* kinds of clocks of the section */
enum { ID_BYTES = 16 };

/* An offset between two clocks, as decimal text, below 0 or modulo 2^64. */
static bool read_offset(struct lpo_proto m, uint64_t from, uint64_t to, uint64_t *out)
{
    struct lpo_proto_field f;
    uint64_t ends[3] = { 0 };
    char text[32] = { 0 };

    while (lpo_proto_next(&m, &f)) {
        if (f.number == 1 || f.number == 2)
            ends[f.number] = f.value;
        else if (f.number == 5 && f.wire == LPO_WIRE_BYTES && f.value < sizeof text)
            memcpy(text, f.bytes, f.value);
    }
    if (ends[1] != from || ends[2] != to || !*text)
        return false;
    *out = *text == '-' ? (uint64_t)0 - strtoull(text + 1, NULL, 10) : strtoull(text, NULL, 10);
    return true;
}

static bool find_offset(struct lpo_proto offsets, uint64_t from, uint64_t to, uint64_t *out)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&offsets, &f))
        if (f.number == 1 && read_offset(lpo_proto_inner(&f), from, to, out))
            return true;
    return false;
}

/* {1 16-byte id, 2 kind}: ids are random in each file. */
static bool read_clock(struct lpo_proto m, uint64_t kind, const unsigned char **id)
{
    struct lpo_proto_field f;
    const unsigned char *found = NULL;
    bool same = false;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == 1 && f.wire == LPO_WIRE_BYTES && f.value == ID_BYTES)
            found = f.bytes;
        else if (f.number == 2)
            same = f.value == kind;
    }
    if (!found || !same)
        return false;
    *id = found;
    return true;
}

static const unsigned char *find_clock(struct lpo_proto clocks, uint64_t kind)
{
    struct lpo_proto_field f;
    const unsigned char *id = NULL;

    while (lpo_proto_next(&clocks, &f))
        if (f.number == 1 && read_clock(lpo_proto_inner(&f), kind, &id))
            return id;
    return NULL;
}

/* {1 from, 2 to, 3 {1 {1 x0, 2 y0}, 2 slope}}: the first point. */
static bool read_edge(struct lpo_proto m, const unsigned char *from, const unsigned char *to,
                      uint64_t point[2])
{
    struct lpo_proto_field f;
    bool same[3] = { false }, has = false;

    while (lpo_proto_next(&m, &f)) {
        if ((f.number == 1 || f.number == 2) && f.wire == LPO_WIRE_BYTES && f.value == ID_BYTES) {
            same[f.number] = memcmp(f.bytes, f.number == 1 ? from : to, ID_BYTES) == 0;
        } else if (f.number == 3 && !has) {
            struct lpo_proto piece = lpo_proto_inner(&f), start;

            if (!lpo_proto_next(&piece, &f) || f.number != 1)
                continue;
            start = lpo_proto_inner(&f);
            while (lpo_proto_next(&start, &f))
                if (f.number == 1 || f.number == 2)
                    point[f.number - 1] = f.value;
            has = true;
        }
    }
    return same[1] && same[2] && has;
}

/* What is to be added to the system's clock, by the edge from UTC to it. */
static bool find_utc_offset(const struct lpo_nsysrep_bytes *section, uint64_t *out)
{
    struct lpo_proto m = lpo_proto(section->at, section->len), clocks = { 0 }, edges;
    struct lpo_proto_field f;
    const unsigned char *utc = NULL, *system = NULL;
    uint64_t point[2] = { 0 };

    while (lpo_proto_next(&m, &f))
        if (f.number == 1 && f.wire == LPO_WIRE_BYTES)
            clocks = lpo_proto_inner(&f);
    if (clocks.at) {
        utc = find_clock(clocks, UTC);
        system = find_clock(clocks, SYSTEM);
    }
    edges = lpo_proto(section->at, section->len);
    while (utc && system && lpo_proto_next(&edges, &f))
        if (f.number == 2 && read_edge(lpo_proto_inner(&f), utc, system, point)) {
            *out = point[0] - point[1];
            return true;
        }
    return false;
}

int64_t lpo_nsysrep_utc(const struct lpo_nsysrep_file *file)
{
    struct lpo_proto m = lpo_proto(file->header.at, file->header.len), offsets = { 0 };
    struct lpo_proto_field f;
    uint64_t start = 0, first, second;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == HEADER_START && f.wire == LPO_WIRE_VARINT)
            start = f.value;
        else if (f.number == HEADER_OFFSETS && f.wire == LPO_WIRE_BYTES)
            offsets = lpo_proto_inner(&f);
    }
    if (start && find_utc_offset(&file->clocks, &first))
        return (int64_t)(start + first);
    if (start && offsets.at && find_offset(offsets, 1, 3, &first) &&
        find_offset(offsets, 3, 9, &second))
        return (int64_t)(start - first - second);
    return LPO_NO_TIME;
}

/* --- the reader ----------------------------------------------------------------------------------
 */

/* Reports of Nsight Systems as it wrote them (.nsys-rep, .qdrep), without nsys. */

static bool sniff(const char *path, const unsigned char *head, size_t len)
{
    static const char magic[] = LPO_NSYSREP_MAGIC;

    (void)path;
    return len >= sizeof magic - 1 && memcmp(head, magic, sizeof magic - 1) == 0;
}

/* --- was everything there? ------------------------------------------------------------------ */

enum { COUNT_EVENTS = 1, COUNT_STRINGS = 3, COUNT_THREADS = 5, COUNT_GENERIC = 15, COUNTS = 16 };

static uint64_t count_thread_names(const struct lpo_nsysrep_file *f)
{
    struct lpo_proto m = lpo_proto(f->thread_names.at, f->thread_names.len);
    struct lpo_proto_field field;
    uint64_t n = 0;

    while (lpo_proto_next(&m, &field))
        n += field.number == 1;
    return n;
}

/* The report says how much of everything it holds. */
static void check_counts(const struct lpo_nsysrep *rep, struct lpo_trace *t)
{
    const struct lpo_nsysrep_file *f = rep->index.file;
    const struct {
        int field;
        const char *what;
        uint64_t found;
    } checks[] = {
        { COUNT_EVENTS, "events", rep->index.events },
        { COUNT_STRINGS, "names", rep->strings },
        { COUNT_THREADS, "names of threads", count_thread_names(f) },
        { COUNT_GENERIC, "generic events", rep->index.generic },
    };
    struct lpo_proto m = lpo_proto(f->counts.at, f->counts.len);
    struct lpo_proto_field field;
    uint64_t said[COUNTS] = { 0 };

    while (lpo_proto_next(&m, &field))
        if (field.number < COUNTS && field.wire == LPO_WIRE_VARINT)
            said[field.number] = field.value;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (said[checks[i].field] != checks[i].found)
            lpo_trace_note_damage(t, 0, "the report says that it has %llu %s, and %llu are there",
                                  (unsigned long long)said[checks[i].field], checks[i].what,
                                  (unsigned long long)checks[i].found);
}

/* --- what was left out ---------------------------------------------------------------------- */

/* Event types that hold nothing of the event model: mapped modules, samples of the CPU, notices,
 * marks, scheduling, CUDA events, graphs that were made. */
static const uint8_t left_out_types[] = { 28, 31, 34, 41, 47, 127, 131, 132 };
/* Calls of libraries and of the profiler itself: nsys names the classes up to this one. */
enum { LAST_CLASS = 110 };

static bool is_known_type(const struct lpo_nsysrep *rep, uint32_t type)
{
    return memchr(left_out_types, (int)type, sizeof left_out_types) ||
           lpo_nsysrep_type_is_read(rep, type);
}

static bool is_known_class(const struct lpo_nsysrep *rep, uint32_t class)
{
    (void)rep;
    return class <= LAST_CLASS;
}

static void note_unknown(const struct lpo_nsysrep *rep, struct lpo_trace *t, const char *what,
                         const uint64_t *counts, uint32_t n,
                         bool (*is_known)(const struct lpo_nsysrep *rep, uint32_t number))
{
    LPO_STR list = { 0 };
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        if (counts[i] && !is_known(rep, i)) {
            sum += counts[i];
            lpo_str_addf(&list, "%s%u%s: %llu", list.len ? ", " : "", i,
                         i + 1 == n ? " and above" : "", (unsigned long long)counts[i]);
        }
    if (sum)
        lpo_trace_note(t, sum, "%s that lpo does not know (%s): left out", what,
                       lpo_str_text(&list));
}

static void note_left_out(const struct lpo_nsysrep *rep, struct lpo_trace *t)
{
    note_unknown(rep, t, "events are of types", rep->index.types, LPO_NSYSREP_TYPES, is_known_type);
    note_unknown(rep, t, "calls are of classes", rep->classes, LPO_NSYSREP_CLASSES, is_known_class);
    if (rep->index.generic)
        lpo_trace_note(t, rep->index.generic,
                       "generic events (sampled GPU metrics among them) are not read");
}

static int read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_nsysrep_file) file = NULL;
    struct lpo_nsysrep rep = { 0 };
    int rc;

    if (lpo_nsysrep_open(path, &file, err) < 0) {
        into->need = LPO_NEEDS_NSYS; /* of a version of tomorrow, perhaps */
        return err ? err->code : LPO_E_FORMAT;
    }
    rep.index.file = file;
    lpo_nsysrep_tables_begin(&rep, into->skip);
    rc = lpo_nsys_read_tables(&rep.given, into, err);
    if (rc == 0 && rep.index.counted == file->blocks.len)
        check_counts(&rep, into);
    if (rc == 0)
        note_left_out(&rep, into);
    lpo_nsysrep_tables_end(&rep);
    return rc;
}

const struct lpo_reader lpo_nsysrep_reader = {
    .name = "nsys-rep",
    .summary = "Nsight Systems report (.nsys-rep, .qdrep)",
    .like = "nsys",
    .sniff = sniff,
    .read = read,
};
