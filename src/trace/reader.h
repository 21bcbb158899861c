/* SPDX-License-Identifier: Apache-2.0 */
/* trace/reader.h - any file in: the table of formats.
 *
 * To add a format: make a folder <format>/ with a `const struct lpo_reader lpo_<format>_reader`,
 * name it below and in the table of reader.c, add a fuzz target and a small real file to
 * tests/data. */
#pragma once

#include "util/base.h"

struct lpo_trace;

struct lpo_reader {
    const char *name;    /* "kineto" */
    const char *like;    /* the reader of the same thing in another form; may be NULL */
    const char *summary; /* "PyTorch profiler trace (Kineto JSON, .gz too)" */
    bool first;          /* read before the others of a run, which look into it */
    /* Is this file of my format? `head` holds its first bytes, after decompression for .gz and
     * zstd. */
    bool (*sniff)(const char *path, const unsigned char *head, size_t len);
    /* Appends to `into`. A damaged file gives what can be read and a note; an error only when
     * nothing can be. */
    int (*read)(const char *path, struct lpo_trace *into, struct lpo_err *err);
};

/* The reader for this file, or an error that lists what can be read. */
int lpo_trace_reader_find(const char *path, const struct lpo_reader **out, struct lpo_err *err);
/* Leaves in into->need what only the tool that wrote the file can read of it. A reader starts no
 * programs: whoever has ncu can convert a report with `ncu --import FILE --page raw --csv
 * --print-units base` and read that. */
int lpo_trace_read(const char *path, struct lpo_trace *into, struct lpo_err *err);
/* The same of a file that was read into a trace of its own. */
int lpo_trace_append_file(struct lpo_trace *into, const struct lpo_trace *from, const char *path,
                          struct lpo_err *err);

/* The programs that wrote into `dir` have ended: what the collector of one that was killed, say,
 * had not written is appended to its trace. Reading needs no such step. */
void lpo_trace_finish(const char *dir);

/* The rows of the table in reader.c. */

extern const struct lpo_reader lpo_digest_reader;
extern const struct lpo_reader lpo_flight_reader;
extern const struct lpo_reader lpo_graph_nodes_reader;
extern const struct lpo_reader lpo_kineto_reader;
extern const struct lpo_reader lpo_ncu_csv_reader;
extern const struct lpo_reader lpo_ncu_rep_reader;
extern const struct lpo_reader lpo_nsys_reader;
extern const struct lpo_reader lpo_nsys_stats_reader;
extern const struct lpo_reader lpo_nsysrep_reader;
extern const struct lpo_reader lpo_native_reader;
extern const struct lpo_reader lpo_rocpd_reader;
extern const struct lpo_reader lpo_rocprof_reader;
extern const struct lpo_reader lpo_snapshot_reader;
extern const struct lpo_reader lpo_xplane_reader;
extern const struct lpo_reader lpo_xprof_reader;
