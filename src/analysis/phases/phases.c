/* SPDX-License-Identifier: Apache-2.0 */
/* What a process does once: its regions that prepare, first calls, and compilation. */
#include "analysis/phases/phases.h"

#include <ctype.h>

#include "analysis/phases/private.h"
#include "region/tree.h"
#include "rules/rules.h"
#include "trace/host.h"

enum { LEAST_PART = 100 }; /* of the span: what a first call must cost more */

bool lpo_phases_path_prepares(const char *path)
{
    const struct lpo_map *names = lpo_rules_words("steps", "once", "prepare");
    size_t len = strcspn(path, "/");
    const char *domain = memchr(path, '@', len);
    const char *name = domain ? domain + 1 : path;
    char word[32];
    size_t n = 0;

    len -= (size_t)(name - path);
    while (n < len && !isdigit((unsigned char)name[n])) { /* "warmup_2" is one; "loader" is not */
        if (n == sizeof word)
            return false;
        word[n] = name[n] == '-' || name[n] == ' ' ? '_' : (char)tolower((unsigned char)name[n]);
        n++;
    }
    for (size_t i = n; i < len; i++)
        if (isalpha((unsigned char)name[i]))
            return false;
    while (n && !isalpha((unsigned char)word[n - 1]))
        n--;
    return lpo_rules_value(names, word, n) != NULL;
}

static void find_nodes(struct lpo_phases *p, const struct lpo_region_tree *t)
{
    for (uint32_t n = 0; n < t->nodes.len; n++) { /* parents come before their children */
        LPO_STR name = { 0 };

        if (t->nodes.at[n].parent != LPO_NONE) {
            p->nodes[n] = p->nodes[t->nodes.at[n].parent];
            continue;
        }
        lpo_region_add_name(t, n, &name);
        p->nodes[n] = lpo_phases_path_prepares(lpo_str_text(&name));
        p->any_prepares |= p->nodes[n];
    }
}

static void find_places(struct lpo_phases *p, const struct lpo_region_tree *t)
{
    for (uint32_t i = 0; i < t->places.len; i++) {
        const struct lpo_place *place = &t->places.at[i];
        const struct lpo_region_set *set = &t->sets.at[place->set];

        p->places[i] = place->leaf != LPO_NONE && p->nodes[place->leaf];
        for (uint32_t k = 0; k < set->count; k++)
            p->places[i] |= p->nodes[t->set_nodes.at[set->first + k]];
    }
}

static int64_t span_of_ranges(const struct lpo_trace *t)
{
    int64_t from = INT64_MAX, to = INT64_MIN, ns;

    for (size_t i = 0; i < t->ranges.len; i++) {
        from = t->ranges.at[i].start_ns < from ? t->ranges.at[i].start_ns : from;
        to = t->ranges.at[i].end_ns > to ? t->ranges.at[i].end_ns : to;
    }
    return t->ranges.len && !__builtin_sub_overflow(to, from, &ns) ? ns : INT64_MAX;
}

/* The longest span of a GPU without what prepares; where nothing ran on one, that of the ranges. */
static int64_t span_of(const struct lpo_phases *p, const struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    int64_t(*spans)[2] = lpo_xcalloc(t->devices.len + 1, sizeof *spans), longest = -1, ns;

    for (size_t i = 0; i <= t->devices.len; i++)
        spans[i][0] = INT64_MAX, spans[i][1] = INT64_MIN;
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        int64_t *span = spans[op->device < t->devices.len ? op->device : t->devices.len];

        if (op->flags & LPO_GPU_OP_UNTIMED || p->places[lpo_region_place(tree, op)])
            continue;
        span[0] = op->start_ns < span[0] ? op->start_ns : span[0];
        span[1] = op->end_ns > span[1] ? op->end_ns : span[1];
    }
    for (size_t i = 0; i <= t->devices.len; i++)
        if (spans[i][1] >= spans[i][0] && !__builtin_sub_overflow(spans[i][1], spans[i][0], &ns) &&
            ns > longest)
            longest = ns;
    free(spans);
    return longest >= 0 ? longest : span_of_ranges(t);
}

/* A name while the words of conf/rules/steps.yaml are walked. */
struct once_name {
    const char *name;
    bool compiles;
};

static int compare_once(void *ctx, const char *value, const char *word, size_t len,
                        struct lpo_err *err)
{
    struct once_name *n = ctx;
    size_t name = strlen(n->name);
    bool at_end = word[len - 1] == '$';

    (void)err;
    len -= at_end;
    if (strcmp(value, "compile") == 0 && name >= len)
        n->compiles |= memcmp(n->name + (at_end ? name - len : 0), word, len) == 0;
    return 0;
}

/* Does a name mean that code is being made or loaded? */
static bool compiles(const char *name)
{
    struct once_name n = { name, false };
    struct lpo_err err = { 0 };

    lpo_rules_each(lpo_rules("steps"), "once", compare_once, &n, &err);
    return n.compiles;
}

/* Stretches of time as they are found. */
typedef LPO_VEC(struct lpo_phase_stretch) stretches;

static void add_stretch(const struct lpo_trace *t, stretches *out, enum lpo_run_phase phase,
                        uint32_t thread, int64_t start_ns, int64_t end_ns)
{
    lpo_vec_push(out, ((struct lpo_phase_stretch){ start_ns, end_ns, t->threads.at[thread].process,
                                                   (uint8_t)phase }));
}

/* Preparing is what the outermost range says: "load" inside of a step is no such. */
static bool is_inside_other(const struct lpo_trace *t, const bool *prepares, uint32_t row)
{
    bool nests = t->ranges.at[row].kind == LPO_PUSH_POP;
    struct lpo_slice s = lpo_host_slice(t, nests ? LPO_HOST_RANGE : LPO_HOST_START_END, row);
    struct lpo_slice around;

    for (; lpo_host_parent(t, &s, LPO_HOST_RANGE, &around); s = around)
        if (!prepares[around.name])
            return true;
    return false;
}

static void find_preparing(const struct lpo_trace *t, stretches *out)
{
    LPO_FREED bool *prepares = lpo_xcalloc(lpo_trace_name_count(t) + 1, sizeof *prepares);

    for (uint32_t i = 0; i < lpo_trace_name_count(t); i++)
        prepares[i] = lpo_phases_path_prepares(lpo_trace_text(t, i));
    for (uint32_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];

        if (prepares[r->name] && !is_inside_other(t, prepares, i))
            add_stretch(t, out, LPO_PHASE_PREPARE, r->thread, r->start_ns, r->end_ns);
    }
}

static void find_compiling(const struct lpo_trace *t, stretches *out)
{
    LPO_FREED bool *is = lpo_xcalloc(lpo_trace_name_count(t) + 1, sizeof *is);

    for (uint32_t i = 0; i < lpo_trace_name_count(t); i++)
        is[i] = compiles(lpo_trace_text(t, i));
#define ADD(rows)                                                                                  \
    for (size_t i = 0; i < t->rows.len; i++)                                                       \
        if (is[t->rows.at[i].name])                                                                \
            add_stretch(t, out, LPO_PHASE_COMPILE, t->rows.at[i].thread, t->rows.at[i].start_ns,   \
                        t->rows.at[i].end_ns);
    ADD(ranges)
    ADD(ops)
    ADD(calls)
    ADD(launches)
#undef ADD
}

LPO_COMPARE(by_process_and_start, struct lpo_phase_stretch, LPO_UP(process) ?: LPO_UP(start_ns) ?: LPO_DOWN(end_ns));

/* Of stretches that overlap the one that began first has the time of both. */
static void flatten(struct lpo_phases *p, stretches *all)
{
    lpo_vec_sort(all, by_process_and_start);
    for (size_t i = 0; i < all->len; i++) {
        struct lpo_phase_stretch s = all->at[i];
        const struct lpo_phase_stretch *last = p->once.len ? &p->once.at[p->once.len - 1] : NULL;

        if (last && last->process == s.process && last->end_ns > s.start_ns)
            s.start_ns = last->end_ns;
        if (s.end_ns > s.start_ns)
            lpo_vec_push(&p->once, s);
    }
}

struct lpo_phases *lpo_phases_create(const struct lpo_region_tree *tree,
                                     const struct lpo_program_steps *steps)
{
    const struct lpo_trace *t = tree->trace;
    struct lpo_phases *p = lpo_xcalloc(1, sizeof *p);
    stretches all = { 0 };

    p->nodes = lpo_xcalloc(tree->nodes.len + 1, sizeof *p->nodes);
    p->places = lpo_xcalloc(tree->places.len + 1, sizeof *p->places);
    find_nodes(p, tree);
    find_places(p, tree);
    lpo_phases_find_first_calls(t, span_of(p, tree) / LEAST_PART, &p->first_calls);
    find_preparing(t, &all);
    find_compiling(t, &all);
    for (size_t i = 0; i < p->first_calls.len; i++) {
        const struct lpo_first_call *f = &p->first_calls.at[i];

        lpo_vec_push(&all, ((struct lpo_phase_stretch){ f->start_ns, f->end_ns, f->process,
                                                        LPO_PHASE_FIRST_CALL }));
    }
    flatten(p, &all);
    lpo_vec_free(&all);
    lpo_phases_find_windows(t, steps, p);
    return p;
}

void lpo_phases_destroy(struct lpo_phases *p)
{
    if (!p)
        return;
    lpo_vec_free(&p->first_calls);
    lpo_vec_free(&p->once);
    lpo_vec_free(&p->windows);
    free(p->nodes);
    free(p->places);
    free(p->steady_steps);
    free(p);
}

/* The first stretch of this process that ends after `ns`, or one of a later process. */
static size_t stretch_from(const struct lpo_phases *p, uint16_t process, int64_t ns)
{
    size_t low = 0, high = p->once.len;

    lpo_search(low, high, i,
               p->once.at[i].process < process ||
                   (p->once.at[i].process == process && p->once.at[i].end_ns <= ns));
    return low;
}

enum lpo_run_phase lpo_phases_at(const struct lpo_phases *p, uint16_t process, int64_t ns)
{
    size_t i = stretch_from(p, process, ns);

    return i < p->once.len && p->once.at[i].process == process && p->once.at[i].start_ns <= ns
               ? (enum lpo_run_phase)p->once.at[i].phase
               : LPO_PHASE_STEADY;
}

int64_t lpo_phases_once_ns(const struct lpo_phases *p, uint16_t process, int64_t start_ns,
                           int64_t end_ns)
{
    int64_t ns = 0;

    for (size_t i = stretch_from(p, process, start_ns);
         i < p->once.len && p->once.at[i].process == process && p->once.at[i].start_ns < end_ns;
         i++) {
        const struct lpo_phase_stretch *s = &p->once.at[i];

        ns += (s->end_ns < end_ns ? s->end_ns : end_ns) -
              (s->start_ns > start_ns ? s->start_ns : start_ns);
    }
    return ns;
}

const struct lpo_phases_window *lpo_phases_window_of(const struct lpo_phases *p, uint16_t process)
{
    size_t low = 0, high = p->windows.len;

    lpo_search(low, high, i, p->windows.at[i].process < process);
    return low < p->windows.len && p->windows.at[low].process == process ? &p->windows.at[low]
                                                                         : NULL;
}
