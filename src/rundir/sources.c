/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of a run folder: which files they are, read once, and which regions reports show. */
#include <fnmatch.h>

#include "region/classes.h"
#include "region/pattern/pattern.h"
#include "region/select.h"
#include "run/folder.h"
#include "rundir/belonging.h"
#include "rundir/private.h"
#include "rundir/read.h"
#include "settings/settings.h"
#include "trace/trace.h"
#include "util/path.h"

static bool matches(const char *name, const char *const *patterns)
{
    for (; *patterns; patterns++)
        if (fnmatch(*patterns, name, 0) == 0)
            return true;
    return false;
}

/* Is the file in the stage's own folder, and not in one inside it? */
static bool is_own(const char *file, const char *stage)
{
    return !strchr(file + strlen(stage) + 1, '/');
}

/* A folder may hold both what a tool left and what reports made of it: its files count where the
 * tool's own file is beside them. */
static bool is_tools(struct lpo_arena *a, const char *dir, const char *file, const char *beside)
{
    const char *folder = lpo_path_join(a, dir, lpo_path_dir(a, file));

    return lpo_path_exists(lpo_path_join(a, folder, beside));
}

/* A trace that is a pipe or a link is not read: it may never end, or lie outside the run. */
static void refuse_odd(const struct lpo_paths *odd, const char *const *patterns,
                       struct lpo_err *err)
{
    for (size_t i = 0; i < odd->len; i++)
        if (matches(lpo_path_base(odd->at[i]), patterns)) {
            lpo_fail(err, LPO_E_FORMAT, "'%s' is a pipe, a link or a device: only files are read",
                     odd->at[i]);
            return;
        }
}

/* What rank 0 did not move into its own folder, of the ranks whose lpo had one of their own. */
static void list_members(struct lpo_arena *a, const char *dir, const char *stage,
                         struct lpo_paths *all, struct lpo_err *err)
{
    const char **members;
    size_t n = lpo_rundir_members(a, dir, &members);
    unsigned long own = all->len, kept = own;

    for (size_t i = 0; i < n; i++)
        lpo_run_folder_list(a, dir, lpo_path_join(a, members[i], stage), all, err);
    for (unsigned long i = own; i < all->len; i++) {
        const char *base = lpo_path_base(all->at[i]);

        /* it was moved, and the old name could not be removed */
        if (lpo_str_starts(base, "rank") &&
            lpo_path_exists(lpo_path_join(a, dir, lpo_path_join(a, stage, base))))
            continue;
        all->at[kept++] = all->at[i];
    }
    all->len = kept;
}

/* What could be listed, even where `err` says that not all of it could. `ranks`: of the other
 * ranks' folders, too. */
static size_t list_files(struct lpo_arena *a, const char *dir, const struct lpo_rundir_kind *kind,
                         const char *const *patterns, bool ranks, const char ***out,
                         struct lpo_err *err)
{
    struct lpo_paths odd = { 0 }, all = { .odd = &odd };
    size_t n = 0, own = 0;

    if (lpo_run_folder_list(a, dir, kind->stage, &all, err) == 0)
        refuse_odd(&odd, patterns, err);
    if (ranks && !kind->below)
        list_members(a, dir, kind->stage, &all, err);
    *out = lpo_arena_array(a, all.len + 1, sizeof **out);
    for (size_t i = 0; i < all.len; i++)
        if (matches(lpo_path_base(all.at[i]), patterns) &&
            !lpo_rundir_is_second_form(lpo_path_join(a, dir, all.at[i]))) {
            own += is_own(all.at[i], kind->stage);
            (*out)[n++] = all.at[i];
        }
    if (!kind->below)
        return n;
    all.len = n;
    n = 0;
    for (size_t i = 0; i < all.len; i++)
        if (own ? is_own((*out)[i], kind->stage) : is_tools(a, dir, (*out)[i], kind->below))
            (*out)[n++] = (*out)[i];
    return n;
}

LPO_COMPARE(by_trust, struct lpo_rundir_kind *const, LPO_UP_OF((*a)->trust, (*b)->trust));

static size_t sort_kinds(struct lpo_arena *a, const struct lpo_rundir_kind *const *kinds,
                         const struct lpo_rundir_kind ***out)
{
    size_t all = 0, n = 0;

    while (kinds[all])
        all++;
    *out = lpo_arena_array(a, all + 1, sizeof **out);
    for (size_t i = 0; i < all; i++)
        if (kinds[i]->patterns)
            (*out)[n++] = kinds[i];
    qsort(*out, n, sizeof **out, by_trust);
    return n;
}

bool lpo_rundir_any_trace_files(const char *dir, const struct lpo_rundir_kind *const *kinds)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_rundir_kind **sorted;
    const char **files;
    size_t n = sort_kinds(a, kinds, &sorted);

    return lpo_any(i, n,
                   list_files(a, dir, sorted[i], sorted[i]->patterns, true, &files, NULL) ||
                       (sorted[i]->otherwise &&
                        list_files(a, dir, sorted[i], sorted[i]->otherwise, true, &files, NULL)));
}

void lpo_rundir_sources_list(struct lpo_rundir *d, const struct lpo_rundir_kind *const *kinds)
{
    const struct lpo_rundir_kind **sorted;
    size_t n = sort_kinds(d->arena, kinds, &sorted);

    d->kinds = kinds;
    for (size_t i = 0; i < n; i++)
        lpo_vec_push(&d->sources, (struct lpo_source){ .kind = sorted[i],
                                                       .stage = sorted[i]->stage,
                                                       .what = sorted[i]->what });
}

/* The run folder itself is that of rank 0 where it holds folders of others. */
static int32_t rank_of_file(const struct lpo_source *s, size_t i)
{
    int32_t member = lpo_rundir_member_rank(s->files[i]);
    int32_t named = member >= 0 ? member : lpo_rundir_rank_of_name(s->files[i]);

    for (size_t k = 0; named < 0 && k < s->nfiles; k++)
        if (lpo_rundir_member_rank(s->files[k]) >= 0)
            return 0;
    return named;
}

const char *lpo_rundir_program(const struct lpo_rundir *d, const struct lpo_rundir_kind *kind)
{
    return kind->program ? lpo_settings_text(d->config, kind->program) : "";
}

static struct lpo_trace *read_files(struct lpo_rundir *d, struct lpo_source *s)
{
    const char *program = lpo_rundir_program(d, s->kind);
    struct lpo_trace *t = lpo_trace_create();
    size_t good = 0;

    t->skip = s->kind->skip | d->skip;
    for (size_t i = 0; i < s->nfiles; i++) {
        struct lpo_err err = { 0 };

        d->files_read++;
        t->file_rank = s->nfiles > 1 ? (uint32_t)(rank_of_file(s, i) + 1) : 0;
        if (lpo_rundir_read_trace(lpo_rundir_path(d, s->files[i]), program, t, &err) == 0) {
            good++;
            continue;
        }
        s->problem = lpo_rundir_problem(d, s->files[i], &err);
        lpo_vec_push(&d->problems, s->problem);
    }
    if (good)
        return t;
    lpo_trace_destroy(t);
    return NULL;
}

bool lpo_rundir_has_kernels(const struct lpo_trace *t)
{
    return lpo_any(i, t->gpu_ops.len, t->gpu_ops.at[i].kind == LPO_KERNEL);
}

/* The files that match, and the trace in them; NULL: none of them can be read. */
static struct lpo_trace *read_matching(struct lpo_rundir *d, struct lpo_source *s,
                                       const char *const *patterns)
{
    struct lpo_err err = { 0 };

    s->nfiles = list_files(d->arena, d->dir, s->kind, patterns, d->ranks_too, &s->files, &err);
    if (err.code && !s->problem) { /* "could not look" is not "nothing there" */
        s->problem = lpo_rundir_problem(d, s->stage, &err);
        lpo_vec_push(&d->problems, s->problem);
    }
    return s->nfiles ? read_files(d, s) : NULL;
}

/* A report of ncu's range replay holds results in a form that only ncu itself can read; the CSV
 * that ncu wrote beside it has them. Hence `otherwise`. */
static void read_source(struct lpo_rundir *d, struct lpo_source *s)
{
    struct lpo_source other = *s;
    struct lpo_trace *t;

    s->trace = read_matching(d, s, s->kind->patterns);
    if (!s->kind->otherwise || (s->trace && lpo_rundir_has_kernels(s->trace)))
        return;
    t = read_matching(d, &other, s->kind->otherwise);
    if (!t || (s->trace && !lpo_rundir_has_kernels(t))) {
        lpo_trace_destroy(t);
        return;
    }
    lpo_trace_destroy(s->trace);
    other.trace = t;
    *s = other;
}

static int add_patterns(struct lpo_rundir *d, struct lpo_region_selection *s,
                        enum lpo_select_list list, const char *path, struct lpo_err *err)
{
    struct lpo_settings_words patterns = lpo_settings_list(d->arena, d->config, path);

    for (size_t i = 0; i < patterns.len; i++)
        if (lpo_region_selection_add(s, list, patterns.at[i], err) < 0)
            return lpo_ctx(err, "config key %s", path);
    return 0;
}

/* Patterns of a capture. What is in ncu's own grammar cannot be applied here; an include of that
 * kind is in the capture already, so that the others must not leave it out. */
static int add_captured(struct lpo_rundir *d, struct lpo_region_selection *s,
                        enum lpo_select_list list, const char *path, struct lpo_err *err)
{
    struct lpo_settings_words patterns = lpo_settings_list(d->arena, d->config, path);

    for (size_t i = 0; i < patterns.len && list == LPO_REGIONS_INCLUDE; i++)
        if (lpo_region_pattern_in_ncu_grammar(patterns.at[i]))
            return 0;
    for (size_t i = 0; i < patterns.len; i++)
        if (!lpo_region_pattern_in_ncu_grammar(patterns.at[i]) &&
            lpo_region_selection_add(s, list, patterns.at[i], err) < 0)
            return lpo_ctx(err, "config key %s", path);
    return 0;
}

/* report.* for every source; a stage with a region mode has patterns of its own beside it. */
static int make_selection(struct lpo_rundir *d, const struct lpo_rundir_kind *kind,
                          struct lpo_region_selection **out, struct lpo_err *err)
{
    static const struct {
        const char *report;
        enum lpo_select_list list;
        int (*add)(struct lpo_rundir *d, struct lpo_region_selection *s, enum lpo_select_list list,
                   const char *path, struct lpo_err *err);
    } keys[] = {
        { "report.regions.include", LPO_REGIONS_INCLUDE, add_captured },
        { "report.regions.exclude", LPO_REGIONS_EXCLUDE, add_captured },
        { "report.kernels.include", LPO_KERNELS_INCLUDE, add_patterns },
        { "report.kernels.exclude", LPO_KERNELS_EXCLUDE, add_patterns },
    };
    const char *const *own = kind->selection;
    LPO_AUTO(lpo_region_selection) s = lpo_region_selection_create();

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (add_patterns(d, s, keys[i].list, keys[i].report, err) < 0)
            return err->code;
        if (own && keys[i].add(d, s, keys[i].list, own[keys[i].list], err) < 0)
            return err->code;
    }
    lpo_region_selection_set_full_names(s, lpo_settings_bool(d->config, "report.full_names"));
    *out = s;
    s = NULL;
    return 0;
}

static bool has_patterns(struct lpo_rundir *d, const struct lpo_rundir_kind *kind)
{
    for (int l = 0; kind->selection && l < LPO_SELECT_LISTS; l++)
        if (lpo_settings_list(d->arena, d->config, kind->selection[l]).len)
            return true;
    return false;
}

int lpo_rundir_sources_read(struct lpo_rundir *d, struct lpo_err *err)
{
    for (size_t i = 0; i < d->sources.len; i++) {
        struct lpo_source *s = &d->sources.at[i];

        if (!s->trace && !s->problem)
            read_source(d, s);
    }
    return lpo_rundir_selections_make(d, err);
}

int lpo_rundir_selections_make(struct lpo_rundir *d, struct lpo_err *err)
{
    struct lpo_settings_words classes = lpo_settings_list(d->arena, d->config, "report.classes");

    if (!d->own_rules && lpo_region_own_rules_read(classes.at, classes.len, &d->own_rules, err) < 0)
        return lpo_ctx(err, "config key report.classes");
    for (size_t i = 0; i < d->sources.len; i++) {
        struct lpo_source *s = &d->sources.at[i];

        if (s->trace && make_selection(d, s->kind, &s->select, err) < 0)
            return err->code;
        if (s->trace && lpo_streq(lpo_settings_text(d->config, "report.regions.adopt"), "off"))
            s->trace->skip |= LPO_SKIP_ADOPTION;
        if (s->trace && lpo_streq(lpo_settings_text(d->config, "report.regions.backward"), "off"))
            s->trace->skip |= LPO_SKIP_BACKWARD;
        /* one of its own: each selection counts what its patterns matched, in one trace */
        if (s->trace && (s->kind->roles & LPO_ROLE_COUNTERS) && has_patterns(d, s->kind) &&
            make_selection(d, s->kind, &d->counters_select, err) < 0)
            return err->code;
    }
    return 0;
}

static struct lpo_source *find(const struct lpo_rundir *d, const char *stage)
{
    return lpo_find(i, d->sources.at, d->sources.len, lpo_streq(d->sources.at[i].stage, stage));
}

struct lpo_source *lpo_rundir_read_source(struct lpo_rundir *d, const char *stage)
{
    struct lpo_source *s = find(d, stage);

    if (s && !s->trace && !s->problem)
        read_source(d, s); /* found nothing: asked again later, when the stage may have run */
    return s && s->trace ? s : NULL;
}

void lpo_rundir_forget(struct lpo_rundir *d, const char *stage)
{
    struct lpo_source *s = find(d, stage);

    if (!s)
        return;
    lpo_trace_destroy(s->trace);
    *s = (struct lpo_source){ .kind = s->kind, .stage = s->stage, .what = s->what };
}

const struct lpo_source *lpo_rundir_find(const struct lpo_rundir *d, const char *stage)
{
    return find(d, stage);
}

const struct lpo_source *lpo_rundir_source(const struct lpo_rundir *d, const char *stage)
{
    const struct lpo_source *s = find(d, stage);

    return s && s->trace ? s : NULL;
}

const struct lpo_rundir_kind *lpo_rundir_kind_with(const struct lpo_rundir *d,
                                                   enum lpo_rundir_role role)
{
    for (size_t i = 0; d->kinds && d->kinds[i]; i++)
        if (d->kinds[i]->roles & role)
            return d->kinds[i];
    return NULL;
}

const char *lpo_rundir_stage_with(const struct lpo_rundir *d, enum lpo_rundir_role role)
{
    const struct lpo_rundir_kind *kind = lpo_rundir_kind_with(d, role);

    return kind ? kind->stage : NULL;
}

const struct lpo_source *lpo_rundir_source_with(const struct lpo_rundir *d,
                                                enum lpo_rundir_role role)
{
    const char *stage = lpo_rundir_stage_with(d, role);

    return stage ? lpo_rundir_source(d, stage) : NULL;
}

const struct lpo_source *lpo_rundir_main(const struct lpo_rundir *d)
{
    const struct lpo_source *first = NULL;

    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_source *s = &d->sources.at[i];

        if (!s->trace)
            continue;
        if (lpo_trace_has_gpu_ops(s->trace))
            return s;
        first = first ? first : s;
    }
    return first;
}
