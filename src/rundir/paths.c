/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that somebody gives: files, folders of them, standard input.
 *
 * Names decide nothing that contents can: the reader that recognises a file says which tool wrote
 * it, and the kind that lists this reader is its source. Several files of one source are ranks or
 * processes of one job. */
#include <sys/stat.h>

#include "region/select.h"
#include "run/folder.h"
#include "rundir/belonging.h"
#include "rundir/private.h"
#include "rundir/read.h"
#include "trace/counters/counters.h"
#include "trace/digest/digest.h"
#include "trace/merge.h"
#include "trace/reader.h"
#include "trace/times.h"
#include "trace/trace.h"
#include "util/input.h"
#include "util/path.h"
#include "util/spool.h"
#include "util/work.h"

/* One file that was given or found. */
struct given_file {
    const char *name;                   /* as given: for messages and reports */
    const char *path;                   /* what is read: the file or a copy of it */
    const struct lpo_rundir_kind *kind; /* whose it is */
    size_t rank;                        /* of its format among those of the kind: 0 is best */
    bool found;                         /* in a folder */
    bool beside;                        /* read after the traces of the kind, into the same one */
    bool first;                         /* read before them */
    const char *page;                   /* of a table of ncu: its first row; NULL: it is none */
    int64_t bytes;
    const struct lpo_reader *reader;
    struct lpo_digest_origin origin; /* of a digest */
    int32_t named_rank;              /* that its name says; -1: none */
    bool shared_rank;                /* no other file says another rank, or one says the same */
    uint32_t first_op, ops;          /* once read: its rows of gpu_ops, … */
    int64_t start_ns, end_ns;        /* … and from its first moment to its last */
};

enum { MOST_CUT = 16 }; /* files by name */

struct given {
    struct lpo_rundir *d;
    LPO_VEC(struct given_file) files;
    LPO_VEC(struct lpo_spool *) copies;
    const char *const *only; /* of folders, NULL-terminated; NULL: all files */
    struct lpo_str cut;      /* files of the source that is read which are cut, as a list */
    size_t ncut;
};

static void forget(struct given *g)
{
    for (size_t i = 0; i < g->copies.len; i++)
        lpo_spool_destroy(g->copies.at[i]);
    lpo_vec_free(&g->copies);
    lpo_vec_free(&g->files);
}

/* --- what a file is ------------------------------------------------------------------------- */

static int set_kind(const struct given *g, struct given_file *f, const char *format,
                    struct lpo_err *err)
{
    for (size_t i = 0; i < g->d->sources.len; i++) {
        const struct lpo_rundir_kind *kind = g->d->sources.at[i].kind;

        for (size_t k = 0; kind->formats && kind->formats[k]; k++)
            if (strcmp(kind->formats[k], format) == 0) {
                f->kind = kind;
                f->rank = k;
                return 0;
            }
        for (size_t k = 0; kind->beside && kind->beside[k]; k++)
            if (strcmp(kind->beside[k], format) == 0) {
                f->kind = kind;
                f->beside = true;
                f->rank = k;
                return 0;
            }
    }
    return lpo_fail(err, LPO_E_FORMAT, "'%s' is a %s file, which reports do not use", f->name,
                    format);
}

bool lpo_rundir_is_own_timeline(const char *path)
{
    static const char mark[] = "\"trace_title\"";
    unsigned char head[256];
    size_t len = 0;

    return lpo_input_head(path, head, sizeof head, &len, NULL) == 0 &&
           memmem(head, len, mark, sizeof mark - 1);
}

bool lpo_rundir_is_counters(const char *path)
{
    unsigned char head[64];
    size_t len = 0;

    return lpo_input_head(path, head, sizeof head, &len, NULL) == 0 &&
           lpo_counters_sniff(head, len);
}

static int recognise(struct given *g, struct given_file *f, struct lpo_err *err)
{
    const struct lpo_reader *reader = NULL;

    if (lpo_trace_reader_find(f->path, &reader, err) < 0)
        return err->code;
    f->first = reader->first;
    f->reader = reader;
    if (lpo_digest_origin_of(g->d->arena, f->path, &f->origin))
        return set_kind(g, f, f->origin.format, err);
    if (lpo_streq(reader->name, "digest"))
        return lpo_fail(err, LPO_E_FORMAT,
                        "'%s' is damaged, or a digest of another version of lpo: make it again",
                        f->name);
    return set_kind(g, f, reader->like ? reader->like : reader->name, err);
}

static int add_file(struct given *g, const char *path, struct lpo_err *err)
{
    struct given_file f = { .name = path, .path = path };
    struct lpo_spool *copy = NULL;

    if (lpo_spool_needed(path)) {
        if (lpo_spool_create(path, &copy, err) < 0)
            return err->code;
        lpo_vec_push(&g->copies, copy);
        f.path = lpo_spool_path(copy);
    }
    if (lpo_rundir_is_counters(f.path)) {
        lpo_rundir_add_counters(g->d, f.name, f.path);
        return 0;
    }
    if (recognise(g, &f, err) < 0)
        return copy ? lpo_ctx(err,
                              "'%s' was copied to a temporary file, because it can be read only "
                              "once",
                              path)
                    : err->code;
    lpo_vec_push(&g->files, f);
    return 0;
}

/* --- folders -------------------------------------------------------------------------------- */

static bool is_listed(const struct lpo_paths *all, const char *name)
{
    return lpo_any(i, all->len, strcmp(all->at[i], name) == 0);
}

/* Below a folder of reports that lpo wrote? Such a folder has lpo's lock, and is not a run. */
static bool is_report(struct lpo_arena *a, const struct lpo_paths *all, const char *file)
{
    const char *dir = lpo_path_dir(a, file);

    for (; strcmp(dir, ".") != 0 && strcmp(dir, "/") != 0; dir = lpo_path_dir(a, dir))
        if (is_listed(all, lpo_path_join(a, dir, LPO_RUN_LOCK)) &&
            !is_listed(all, lpo_path_join(a, dir, "run.json")))
            return true;
    return false;
}

static int refuse_runs(struct lpo_arena *a, const char *dir, const struct lpo_paths *all,
                       struct lpo_err *err)
{
    for (size_t i = 0; i < all->len; i++)
        if (strcmp(lpo_path_base(all->at[i]), "run.json") == 0 && strchr(all->at[i], '/'))
            return lpo_fail(err, LPO_E_USAGE, "'%s' holds run folders; give one of them: %s", dir,
                            lpo_path_join(a, dir, lpo_path_dir(a, all->at[i])));
    return 0;
}

/* ncu prints one capture as several tables (details, raw, a section each), which have the same
 * rows: the first five cells of the first one (number, process, host, kernel), or NULL. */
static const char *page_of(struct lpo_arena *a, const char *path)
{
    enum { HEAD = 1 << 20, CELLS = 5, MOST = 4096 }; /* a raw page has thousands of columns */
    static const char header[] = "\"ID\",\"Process ID\",";
    char *head = lpo_xmalloc(HEAD + 1), *at = NULL, *end;
    const char *page = NULL;
    size_t len = 0;

    if (lpo_input_head(path, (unsigned char *)head, HEAD, &len, NULL) == 0) {
        head[len] = '\0';
        at = strstr(head, header);
    }
    while (at && (at = strchr(at, '\n')) && !(at[1] == '"' && at[2] >= '0' && at[2] <= '9'))
        at++; /* the raw page has a line of units first */
    end = at;
    for (int i = 0; end && i < CELLS; i++)
        end = strstr(end + 1, "\",\"");
    if (end && end - at < MOST)
        page = lpo_arena_strndup(a, at + 1, (size_t)(end - at));
    free(head);
    return page;
}

static int64_t size_of(const char *path)
{
    struct stat st;

    return lpo_path_stat(path, &st) ? (int64_t)st.st_size : 0;
}

/* A file of a folder; what is not a trace is left alone. */
static void try_file(struct given *g, const char *path)
{
    struct given_file f = { .name = path, .path = path, .found = true };
    struct lpo_err err = { 0 };

    if (lpo_rundir_is_second_form(path))
        return;
    if (lpo_rundir_is_counters(path)) {
        lpo_rundir_add_counters(g->d, path, path);
        return;
    }
    if (recognise(g, &f, &err) == 0) {
        f.page = page_of(g->d->arena, f.path);
        f.bytes = size_of(f.path);
        if (!lpo_rundir_is_own_timeline(f.path))
            lpo_vec_push(&g->files, f);
    } else if (lpo_rundir_is_named_report(path)) {
        lpo_vec_push(&g->d->problems, lpo_rundir_problem(g->d, lpo_path_base(path), &err));
    } else {
        lpo_vec_push(&g->d->left, lpo_path_base(path));
    }
}

static bool is_wanted(const struct given *g, const char *path)
{
    for (size_t i = 0; g->only && g->only[i]; i++)
        if (strcmp(g->only[i], path) == 0)
            return true;
    return !g->only;
}

int lpo_rundir_folder_files(struct lpo_arena *a, const char *dir, struct lpo_paths *out,
                            struct lpo_err *err)
{
    struct lpo_paths all = { .odd = out->odd };

    if (lpo_run_folder_list(a, dir, "", &all, err) < 0 || refuse_runs(a, dir, &all, err) < 0)
        return err ? err->code : LPO_E_IO;
    out->at = lpo_arena_array(a, all.len + 1, sizeof *out->at);
    for (size_t i = 0; i < all.len; i++)
        if (!is_report(a, &all, all.at[i]))
            out->at[out->len++] = all.at[i];
    return 0;
}

static int add_folder(struct given *g, const char *dir, struct lpo_err *err)
{
    struct lpo_arena *a = g->d->arena;
    struct lpo_paths odd = { 0 }, all = { .odd = &odd };
    size_t before = g->files.len;

    if (lpo_rundir_folder_files(a, dir, &all, err) < 0)
        return err->code;
    for (size_t i = 0; i < all.len; i++)
        if (is_wanted(g, lpo_path_join(a, dir, all.at[i])))
            try_file(g, lpo_path_join(a, dir, all.at[i]));
    if (g->files.len > before)
        return 0;
    if (g->d->problems.len) /* a report of nsys alone: how it could be read */
        return lpo_fail(err, LPO_E_MISSING, "%s", g->d->problems.at[0]);
    return lpo_fail(err, LPO_E_NOTFOUND, "'%s' holds no run and no trace that lpo can read%s", dir,
                    odd.len ? "; pipes, links and devices in it are left alone: give them by name"
                            : "");
}

/* --- reading -------------------------------------------------------------------------------- */

/* Is `o` another table of the same capture, and the larger one? */
static bool is_better_page(const struct given_file *o, const struct given_file *f)
{
    if (o == f || !o->found || !o->page || !f->page || strcmp(o->page, f->page) != 0)
        return false;
    return o->bytes != f->bytes ? o->bytes > f->bytes : o < f;
}

/* One thing in two formats, as tools leave it in a folder: the better one alone is read. */
static bool is_second_best(const struct given *g, const struct given_file *f)
{
    for (size_t i = 0; f->found && !f->beside && i < g->files.len; i++) {
        const struct given_file *o = &g->files.at[i];

        if (o->kind == f->kind && !o->beside && (o->rank < f->rank || is_better_page(o, f)))
            return true;
    }
    return false;
}

/* Is `o` a smaller table of the capture of which `f` is the largest? */
static bool is_further_page(const struct given *g, const struct given_file *o,
                            const struct given_file *f)
{
    return o->kind == f->kind && o->rank == f->rank && is_better_page(f, o) &&
           !is_second_best(g, f);
}

/* Sections that were printed into files of their own: their metrics belong to the same launches. */
static void read_further_pages(struct given *g, struct lpo_source *s, const struct given_file *f)
{
    for (size_t i = 0; i < g->files.len && f->page; i++) {
        const struct given_file *o = &g->files.at[i];
        LPO_AUTO(lpo_trace) more = NULL;
        struct lpo_err why = { 0 };

        if (!is_further_page(g, o, f) || s->trace->skip & LPO_SKIP_METRICS)
            continue;
        more = lpo_trace_create();
        g->d->files_read++;
        if (lpo_rundir_read_trace(o->path, "", more, &why) < 0)
            lpo_vec_push(&g->d->problems, lpo_rundir_problem(g->d, lpo_path_base(o->name), &why));
        else if (lpo_trace_merge_metrics(s->trace, f->first_op, f->ops, more))
            s->files[s->nfiles++] = o->name;
        /* a table of some of the launches: which ones it does not say */
    }
}

static bool is_of(const struct given_file *f, const char *format)
{
    return lpo_streq(f->origin.format ? f->origin.format : f->reader->name, format);
}

/* What a trace was before a file was read into it. */
struct before {
    struct lpo_trace_mark mark;
    size_t processes, damage_note;
};

/* "rank 2 (rank2.json)" where the file is cut. */
static void list_cut(struct given *g, struct lpo_trace *t, const struct given_file *f,
                     const struct before *b)
{
    int32_t rank =
        t->processes.len > b->processes ? t->processes.at[b->processes].rank : f->named_rank;

    if (t->damage_note && g->ncut++ < MOST_CUT) {
        lpo_str_add(&g->cut, g->cut.len ? ", " : "");
        if (rank >= 0)
            lpo_str_addf(&g->cut, "rank %d (%s)", rank, lpo_path_base(f->name));
        else
            lpo_str_add(&g->cut, lpo_path_base(f->name));
    }
    t->damage_note = b->damage_note ? b->damage_note : t->damage_note;
}

#define WIDEN(f, array, from)                                                                      \
    for (size_t i_ = (from); i_ < (array).len; i_++) {                                             \
        int64_t start_ = (array).at[i_].start_ns, end_ = (array).at[i_].end_ns;                    \
                                                                                                   \
        (f)->start_ns = start_ < (f)->start_ns ? start_ : (f)->start_ns;                           \
        (f)->end_ns = end_ > (f)->end_ns ? end_ : (f)->end_ns;                                     \
    }

static void find_span(const struct lpo_trace *t, const struct lpo_trace_mark *from,
                      struct given_file *f)
{
    f->start_ns = INT64_MAX;
    f->end_ns = INT64_MIN;
    WIDEN(f, t->gpu_ops, from->gpu_ops)
    WIDEN(f, t->launches, from->launches)
    WIDEN(f, t->ranges, from->ranges)
    WIDEN(f, t->calls, from->calls)
}

static int by_process(const void *x, const void *y)
{
    const struct lpo_window *a = x, *b = y;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Several files of one process are windows of it (schedule(repeat=2)), if they follow each other:
 * what lies between them was not recorded. */
static void add_windows(const struct given *g, const struct lpo_source *s)
{
    struct lpo_trace *t = s->trace;
    bool several = false, apart = !t->windows.len && !t->window_ranges.len;
    LPO_FREED LPO_VEC(struct lpo_window) all = { 0 };

    for (size_t i = 0; i < g->files.len && apart; i++) {
        const struct given_file *f = &g->files.at[i];

        apart = f->kind != s->kind || !f->ops || is_of(f, "kineto");
        if (f->kind == s->kind && f->ops)
            lpo_vec_push(&all, (struct lpo_window){ f->start_ns, f->end_ns,
                                                    t->gpu_ops.at[f->first_op].process, 0 });
    }
    lpo_vec_sort(&all, by_process);
    for (size_t i = 1; i < all.len; i++)
        if (all.at[i].process == all.at[i - 1].process) {
            several = true;
            apart &= all.at[i].start_ns > all.at[i - 1].end_ns;
        }
    for (size_t i = 0; i < all.len && several && apart; i++) {
        if (!i || all.at[i].process != all.at[i - 1].process)
            lpo_vec_push(&t->window_ranges, (struct lpo_window_range){ .name = LPO_NONE,
                                                                       .process = all.at[i].process,
                                                                       .first = i });
        t->window_ranges.at[t->window_ranges.len - 1].count++;
        lpo_vec_push(&t->windows, all.at[i]);
    }
}

static void note_cut(struct given *g, struct lpo_source *s)
{
    if (g->ncut > MOST_CUT)
        lpo_str_addf(&g->cut, " and %zu more", g->ncut - MOST_CUT);
    if (g->ncut && s->nfiles > 1)
        lpo_trace_note(s->trace, 0, "cut or damaged: %s", g->cut.at);
    lpo_str_free(&g->cut);
    g->ncut = 0;
}

/* `many` reads it already, or it is NULL. */
static int read_one(struct given *g, struct lpo_source *s, struct given_file *f,
                    struct lpo_rundir_many *many, struct lpo_err *err)
{
    const char *program = lpo_rundir_program(g->d, f->kind);
    struct lpo_err why = { 0 };
    const struct before before = { lpo_trace_mark(s->trace), s->trace->processes.len,
                                   s->trace->damage_note };

    g->d->files_read++;
    f->first_op = (uint32_t)s->trace->gpu_ops.len;
    s->trace->damage_note = 0;
    s->trace->file_rank = (uint32_t)(f->named_rank + 1);
    if ((many ? lpo_rundir_many_append(many, s->trace, &why)
              : lpo_rundir_read_trace(f->path, program, s->trace, &why)) == 0) {
        list_cut(g, s->trace, f, &before);
        find_span(s->trace, &before.mark, f);
        f->ops = (uint32_t)s->trace->gpu_ops.len - f->first_op;
        s->files[s->nfiles++] = f->name;
        read_further_pages(g, s, f);
        return 0;
    }
    if (!f->found) {
        *err = why;
        return why.code;
    }
    lpo_vec_push(&g->d->problems, lpo_rundir_problem(g->d, lpo_path_base(f->name), &why));
    return 0;
}

/* Its place in `whats` of its kind. */
static size_t what_of(const struct given_file *f)
{
    size_t n = 0;

    while (f->beside && f->kind->formats[n])
        n++;
    return n + f->rank;
}

/* A digest may be called anything. */
static int32_t rank_of_name(const struct given_file *f)
{
    int32_t rank = lpo_rundir_rank_of_name(f->name);

    return rank < 0 && f->origin.file ? lpo_rundir_rank_of_name(f->origin.file) : rank;
}

/* Where no word says a rank, the numbers in the names of all traces of a kind may. */
static void number_ranks(struct given *g, const struct lpo_rundir_kind *kind)
{
    const char **names = lpo_arena_array(g->d->arena, g->files.len + 1, sizeof *names);
    int32_t *ranks = lpo_arena_array(g->d->arena, g->files.len + 1, sizeof *ranks);
    size_t count = 0;

    for (size_t i = 0; i < g->files.len; i++) {
        const struct given_file *f = &g->files.at[i];

        if (f->kind != kind || f->beside)
            continue;
        if (f->named_rank >= 0 || f->page)
            return;
        names[count++] = f->name;
    }
    lpo_rundir_name_ranks(g->d->arena, names, count, ranks);
    count = 0;
    for (size_t i = 0; i < g->files.len; i++)
        if (g->files.at[i].kind == kind && !g->files.at[i].beside)
            g->files.at[i].named_rank = ranks[count++];
}

/* A file alone is no rank of a job, whatever it is called; nor are two that say the same rank. */
static void name_ranks(struct given *g)
{
    for (size_t i = 0; i < g->files.len; i++)
        g->files.at[i].named_rank = rank_of_name(&g->files.at[i]);
    for (size_t i = 0; i < g->files.len; i++) {
        struct given_file *f = &g->files.at[i];
        bool others = false, same = false;

        for (size_t k = 0; k < g->files.len && f->named_rank >= 0; k++) {
            const struct given_file *o = &g->files.at[k];

            if (o == f || o->kind != f->kind || o->beside != f->beside)
                continue;
            others |= o->named_rank >= 0 && o->named_rank != f->named_rank;
            same |= o->named_rank == f->named_rank;
        }
        f->shared_rank = !others || same;
    }
    for (size_t i = 0; i < g->files.len; i++)
        if (g->files.at[i].shared_rank)
            g->files.at[i].named_rank = -1;
    for (size_t i = 0; i < g->d->sources.len; i++)
        number_ranks(g, g->d->sources.at[i].kind);
}

static bool is_read(const struct given *g, const struct lpo_source *s, const struct given_file *f,
                    int turn)
{
    return f->kind == s->kind && turn == (f->first ? 0 : 1 + f->beside) && !is_second_best(g, f);
}

/* Traces of the PyTorch profiler and digests: other readers share budgets over all files. */
static struct lpo_rundir_many *read_at_once(const struct given *g, const struct lpo_source *s)
{
    LPO_FREED struct lpo_rundir_many_file *files = lpo_xcalloc(g->files.len + 1, sizeof *files);
    struct lpo_rundir_many *many;
    bool all = true;
    size_t n = 0;

    for (size_t i = 0; i < g->files.len; i++) {
        const struct given_file *f = &g->files.at[i];

        all &= f->kind != s->kind || !f->first; /* those are for all traces */
        if (!is_read(g, s, f, 1))
            continue;
        all &= is_of(f, "kineto") || f->origin.format;
        files[n++] = (struct lpo_rundir_many_file){ f->path, "", (uint32_t)(f->named_rank + 1) };
    }
    many = all ? lpo_rundir_many_start(files, n, s->trace->skip) : NULL;
    return many;
}

static void expect_files(const struct given *g, const struct lpo_source *s)
{
    for (size_t i = 0; i < g->files.len; i++) {
        const struct given_file *f = &g->files.at[i];

        if (f->kind == s->kind && !is_second_best(g, f))
            lpo_work_expect(1, (uint64_t)(f->bytes ? f->bytes : size_of(f->path)));
    }
}

static int read_source(struct given *g, struct lpo_source *s, struct lpo_err *err)
{
    LPO_AUTO(lpo_rundir_many) many = NULL;
    const struct given_file *named = NULL; /* what the source is called after */
    size_t wanted = 0, of_kind = 0;

    for (size_t i = 0; i < g->files.len; i++) {
        of_kind += g->files.at[i].kind == s->kind;
        wanted += g->files.at[i].kind == s->kind && !is_second_best(g, &g->files.at[i]);
    }
    if (!wanted)
        return 0;
    expect_files(g, s);
    s->files = lpo_arena_array(g->d->arena, of_kind + 1, sizeof *s->files);
    s->trace = lpo_trace_create();
    s->trace->skip = s->kind->skip | g->d->skip;
    many = read_at_once(g, s);
    /* what traces look into, traces, then what goes beside them */
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < g->files.len; i++) {
            struct given_file *f = &g->files.at[i];

            if (!is_read(g, s, f, turn))
                continue;
            named = named && !named->first ? named : f;
            if (read_one(g, s, f, turn == 1 ? many : NULL, err) < 0)
                return err->code;
        }
    s->what = named && s->kind->whats ? s->kind->whats[what_of(named)] : s->what;
    note_cut(g, s);
    add_windows(g, s);
    if (!s->nfiles) {
        lpo_trace_destroy(s->trace);
        s->trace = NULL;
        s->problem = g->d->problems.at[g->d->problems.len - 1];
    }
    return 0;
}

static int read_all(struct given *g, const char *const *paths, size_t count, struct lpo_err *err)
{
    bool any = false;

    for (size_t i = 0; i < count; i++)
        if ((lpo_path_is_dir(paths[i]) ? add_folder(g, paths[i], err)
                                       : add_file(g, paths[i], err)) < 0)
            return err->code;
    name_ranks(g);
    for (size_t i = 0; i < g->d->sources.len; i++) {
        if (read_source(g, &g->d->sources.at[i], err) < 0)
            return err->code;
        any |= g->d->sources.at[i].trace != NULL;
    }
    if (!any && g->d->problems.len)
        return lpo_fail(err, LPO_E_FORMAT, "no trace can be read; %s", g->d->problems.at[0]);
    if (!any)
        return lpo_fail(err, LPO_E_USAGE,
                        "sampled counters alone do not say what ran; give the trace of the same "
                        "run too");
    return 0;
}

bool lpo_rundir_is_run(const char *dir, const struct lpo_rundir_kind *const *kinds)
{
    static const char *const marks[] = { "run.json", "config.yaml", "workload" };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (lpo_path_exists(lpo_path_join(a, dir, marks[i])))
            return true;
    return lpo_rundir_any_trace_files(dir, kinds);
}

static int of_files(const char *const *paths, size_t count,
                    const struct lpo_rundir_options *options, struct lpo_rundir **out,
                    struct lpo_err *err)
{
    LPO_AUTO(lpo_rundir) d = lpo_xcalloc(1, sizeof *d);
    struct given g = { .d = d, .only = options->only };
    int rc;

    d->arena = lpo_arena_create();
    d->manifest.arena = d->arena;
    d->skip = options->skip;
    lpo_rundir_sources_list(d, options->kinds);
    /* a wrong override is found before a large trace is read */
    rc = lpo_rundir_options_read(d, options->overrides, err);
    if (rc == 0)
        rc = read_all(&g, paths, count, err);
    if (rc == 0)
        rc = lpo_rundir_selections_make(d, err);
    forget(&g);
    if (rc < 0)
        return rc;
    *out = d;
    d = NULL;
    return 0;
}

int lpo_rundir_of_paths(const char *const *paths, size_t count,
                        const struct lpo_rundir_options *options, struct lpo_rundir **out,
                        struct lpo_err *err)
{
    LPO_AUTO(lpo_region_selection) select = options->select;
    bool run =
        count == 1 && lpo_path_is_dir(paths[0]) && lpo_rundir_is_run(paths[0], options->kinds);
    struct lpo_source *s;

    if ((run ? lpo_rundir_create(paths[0], options, out, err)
             : of_files(paths, count, options, out, err)) < 0)
        return err->code;
    s = (struct lpo_source *)lpo_rundir_main(*out); /* ours: it was made here */
    if (s && select) {
        lpo_region_selection_destroy(s->select);
        s->select = select;
        select = NULL;
    }
    return 0;
}
