/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of Nsight Systems as it wrote them (.nsys-rep, .qdrep), without nsys. */
#include <string.h>

#include "trace/nsysrep/tables.h"
#include "trace/readers.h"
#include "util/err.h"
#include "util/proto.h"
#include "util/str.h"

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
        { COUNT_STRINGS, "names", rep->strings.len },
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
    lpo_nsysrep_tables_begin(&rep);
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
