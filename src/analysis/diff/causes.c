/* SPDX-License-Identifier: Apache-2.0 */
/* Why a unit of work takes longer or shorter: its window on one side less that on the other.
 *
 * Every nanosecond of a window has one owner (window.c), so the changes of all owners add up to the
 * change of the unit. A kernel is one row with the place where most of its change is; kernels that
 * gave way to others are one row together; what the host was in while the GPU was idle is followed
 * down to the last call that still has most of the change. So a cause and the idle time behind it
 * are one row, and nothing is new or gone because it crossed a limit. */

#include "analysis/diff/private.h"
#include "trace/host.h"

enum { MOST_CAUSES = 12, FEWEST_KERNELS = 4 };

#define SMALLEST     0.002 /* of a unit: less is part of the rest */
#define MOST_OF      0.6   /* of a change: it is there */
#define BRANCH       0.25  /* of the change of a path: one of those inside is followed */
#define OWN_SHARE    0.75  /* of the idle time of a path: it is about this */
#define RENAMED      0.1   /* of what is gone, that is new under another name */
#define NEARLY_ALL   0.8   /* of the GPU time */
#define ALIKE        0.25  /* of a slowdown: two that differ by no more are one */
#define MEMBER_ALONE 0.7   /* of the changes of all equal layers */

LPO_NAMES(lpo_diff_cause_name, enum lpo_diff_cause_kind, "kernels", "kernel", "exposed", "copy",
          "idle", "memory", "rest");

static double change_of(const struct lpo_diff_cause *c)
{
    return c->value[LPO_DIFF_B] - c->value[LPO_DIFF_A];
}

struct finder {
    struct lpo_diff *d;
    double least; /* ns of a unit, or bytes */
    struct lpo_diff_cause rest;
};

static void add_cause(struct finder *f, struct lpo_diff_cause c)
{
    if (fabs(change_of(&c)) >= f->least && change_of(&c) != 0) {
        lpo_vec_push(&f->d->causes, c);
        return;
    }
    for (int side = 0; side < LPO_DIFF_SIDES; side++)
        f->rest.value[side] += c.value[side];
}

static struct lpo_diff_cause new_cause(enum lpo_diff_cause_kind kind)
{
    return (struct lpo_diff_cause){ .kind = kind,
                                    .name = { "", "" },
                                    .full = { "", "" },
                                    .op = "",
                                    .region = "",
                                    .member = "",
                                    .python = "",
                                    .inner = "",
                                    .late = "",
                                    .group = UINT32_MAX,
                                    .row = UINT32_MAX };
}

/* --- kernels and copies --------------------------------------------------------------------- */

/* What one kernel did at one place. */
struct part {
    uint32_t kernel;  /* row of the diff, or LPO_DIFF_IS_COPY */
    uint32_t region;  /* row of the diff */
    const char *op;   /* name and shapes; "" */
    const char *copy; /* its name */
    double wall[LPO_DIFF_SIDES], busy[LPO_DIFF_SIDES], count[LPO_DIFF_SIDES];
};

typedef LPO_VEC(struct part) part_vec;

static const char *op_text(struct lpo_diff *d, const struct lpo_diff_digest *g, uint32_t row)
{
    const struct lpo_diff_item *x;

    if (row == UINT32_MAX)
        return "";
    x = &g->items[LPO_DIFF_OPERATORS].at[row];
    return *x->detail ? lpo_arena_printf(d->arena, "%s %s", x->name, x->detail) : x->name;
}

static void add_parts(struct lpo_diff *d, enum lpo_diff_side side, struct lpo_map *at,
                      part_vec *out)
{
    const struct lpo_diff_digest *g = d->shown[side];
    LPO_FREED uint32_t *kernels = lpo_diff_rows_of(d, LPO_DIFF_KERNELS, side);
    LPO_FREED uint32_t *regions = lpo_diff_rows_of(d, LPO_DIFF_REGIONS, side);

    for (size_t i = 0; i < g->cells.len; i++) {
        const struct lpo_diff_cell *c = &g->cells.at[i];
        bool copies = c->kernel & LPO_DIFF_IS_COPY, fresh;
        struct part p = { .kernel = copies ? LPO_DIFF_IS_COPY : kernels[c->kernel],
                          .region = c->region == UINT32_MAX ? UINT32_MAX : regions[c->region],
                          .op = op_text(d, g, c->op_row),
                          .copy = copies ? g->copies.at[c->kernel & ~LPO_DIFF_IS_COPY] : "" };
        const char *key =
            lpo_arena_printf(d->arena, "%u %u %s %s", p.kernel, p.region, p.copy, p.op);
        uint64_t *row = lpo_map_put(at, key, strlen(key), &fresh);

        if (fresh) {
            *row = out->len;
            lpo_vec_push(out, p);
        }
        out->at[*row].wall[side] += (double)c->wall_ns / d->units[side];
        out->at[*row].busy[side] += (double)c->ns / d->units[side];
        out->at[*row].count[side] += (double)c->launches / d->units[side];
    }
}

LPO_COMPARE(by_kernel, struct part, LPO_UP(kernel) ?: LPO_TEXT(copy));

/* The operator and the region that have most of the change; "" where no single one does. */
static void find_place(const struct lpo_diff *d, const struct part *p, size_t n,
                       struct lpo_diff_cause *c)
{
    double all = 0;

    for (size_t i = 0; i < n; i++)
        all += p[i].wall[LPO_DIFF_B] - p[i].wall[LPO_DIFF_A];
    for (size_t i = 0; i < n; i++) {
        double op = 0, region = 0;

        for (size_t k = 0; k < n; k++) {
            double by = p[k].wall[LPO_DIFF_B] - p[k].wall[LPO_DIFF_A];

            op += strcmp(p[k].op, p[i].op) == 0 ? by : 0;
            region += p[k].region == p[i].region ? by : 0;
        }
        if (op / all >= MOST_OF)
            c->op = p[i].op;
        if (region / all >= MOST_OF && p[i].region != UINT32_MAX) {
            const struct lpo_diff_row *r = &d->rows[LPO_DIFF_REGIONS].at[p[i].region];

            c->region = r->item[r->item[LPO_DIFF_B] ? 1 : 0]->name;
        }
        if (*c->op && *c->region)
            break;
    }
    if (strcmp(c->region, "(outside)") == 0)
        c->region = "";
}

static void name_kernel(const struct lpo_diff *d, struct lpo_diff_cause *c)
{
    const struct lpo_diff_row *r = &d->rows[LPO_DIFF_KERNELS].at[c->row];

    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        const struct lpo_diff_item *x = r->item[side] ? r->item[side] : r->item[!side];

        c->name[side] = x->detail;
        c->full[side] = x->name;
        if (x->class == LPO_CLASS_COLLECTIVE)
            c->kind = LPO_DIFF_CAUSE_EXPOSED;
    }
}

/* The parts of one kernel or kind of copy, less what its group explains. */
static void add_kernel(struct finder *f, const struct part *p, size_t n)
{
    bool copies = p->kernel == LPO_DIFF_IS_COPY;
    struct lpo_diff_cause c = new_cause(copies ? LPO_DIFF_CAUSE_COPY : LPO_DIFF_CAUSE_KERNEL);

    for (size_t i = 0; i < n; i++)
        for (int side = 0; side < LPO_DIFF_SIDES; side++) {
            c.value[side] += p[i].wall[side];
            c.busy[side] += p[i].busy[side];
            c.count[side] += p[i].count[side];
        }
    find_place(f->d, p, n, &c);
    if (copies) {
        c.name[0] = c.name[1] = c.full[0] = c.full[1] = p->copy;
    } else {
        c.row = p->kernel;
        name_kernel(f->d, &c);
        c.value[LPO_DIFF_B] -= f->d->rows[LPO_DIFF_KERNELS].at[c.row].grouped_ns;
    }
    add_cause(f, c);
}

static const char *names_of(struct lpo_diff *d, const uint32_t *rows, size_t n, bool whole)
{
    LPO_STR s = { 0 };

    for (size_t i = 0; i < n && i < 2; i++) {
        const struct lpo_diff_row *r = &d->rows[LPO_DIFF_KERNELS].at[rows[i]];
        const struct lpo_diff_item *x = r->item[r->item[LPO_DIFF_B] ? 1 : 0];

        lpo_str_addf(&s, "%s%s", i ? ", " : "", whole ? x->name : x->detail);
    }
    if (n > 2)
        lpo_str_addf(&s, " and %zu more", n - 2);
    return lpo_arena_strdup(d->arena, lpo_str_text(&s));
}

static void add_groups(struct finder *f)
{
    for (uint32_t i = 0; i < f->d->groups.len; i++) {
        const struct lpo_diff_group *g = &f->d->groups.at[i];
        struct lpo_diff_cause c = new_cause(LPO_DIFF_CAUSE_KERNELS);

        c.group = i;
        c.region = strcmp(g->region, "(outside)") == 0 ? "" : g->region;
        c.op = g->op;
        for (int side = 0; side < LPO_DIFF_SIDES; side++) {
            double length = f->d->unit ? 1 : f->d->units[side];

            c.value[side] = g->wall_ns[side];
            c.busy[side] = (double)(side == LPO_DIFF_A ? g->gone_ns : g->come_ns) / length;
            c.count[side] =
                (double)(side == LPO_DIFF_A ? g->gone_launches : g->come_launches) / length;
        }
        c.name[LPO_DIFF_A] = names_of(f->d, g->gone.at, g->gone.len, false);
        c.name[LPO_DIFF_B] = names_of(f->d, g->come.at, g->come.len, false);
        c.full[LPO_DIFF_A] = names_of(f->d, g->gone.at, g->gone.len, true);
        c.full[LPO_DIFF_B] = names_of(f->d, g->come.at, g->come.len, true);
        add_cause(f, c);
    }
}

static void add_kernels(struct finder *f)
{
    LPO_AUTO(lpo_map) at = lpo_map_create();
    LPO_FREED part_vec parts = { 0 };

    add_parts(f->d, LPO_DIFF_A, at, &parts);
    add_parts(f->d, LPO_DIFF_B, at, &parts);
    lpo_vec_sort(&parts, by_kernel);
    for (size_t i = 0, end; i < parts.len; i = end) {
        for (end = i + 1; end < parts.len && by_kernel(&parts.at[i], &parts.at[end]) == 0;)
            end++;
        add_kernel(f, parts.at + i, end - i);
    }
}

/* --- idle time ------------------------------------------------------------------------------ */

/* The paths of both sides as one tree; parents stand before their children. */
struct path {
    uint32_t parent, child, next; /* first child, next one of the same parent; 0: none */
    unsigned kind;
    const char *name;
    double ns[LPO_DIFF_SIDES], count[LPO_DIFF_SIDES];
};

typedef LPO_VEC(struct path) path_vec;

static void add_paths(const struct lpo_diff *d, enum lpo_diff_side side, struct lpo_map *at,
                      path_vec *out)
{
    const struct lpo_diff_digest *g = d->shown[side];
    LPO_FREED uint32_t *row = lpo_xcalloc(g->idle.len + 1, sizeof *row);

    for (size_t i = 0; i < g->idle.len; i++) {
        const struct lpo_diff_idle *x = &g->idle.at[i];
        uint32_t parent = i ? row[x->parent] : 0;
        const char *key =
            i ? lpo_arena_printf(d->arena, "%u %u %s", parent, x->kind, g->names.at[x->name].key)
              : "";
        bool fresh;
        uint64_t *to = lpo_map_put(at, key, strlen(key), &fresh);

        if (fresh) {
            *to = out->len;
            lpo_vec_push(out, (struct path){ .parent = parent,
                                             .kind = x->kind,
                                             .name = i ? g->names.at[x->name].name : "",
                                             .next = i ? out->at[parent].child : 0 });
            if (i)
                out->at[parent].child = (uint32_t)*to;
        }
        row[i] = (uint32_t)*to;
        out->at[*to].ns[side] += (double)x->ns / d->units[side];
        out->at[*to].count[side] += (double)x->count / d->units[side];
    }
}

static double grown(const struct path *p)
{
    return p->ns[LPO_DIFF_B] - p->ns[LPO_DIFF_A];
}

/* Nearly all idle time of this path changed: it is about this one, and not about what is around. */
static bool is_own(const struct path *p)
{
    return fabs(grown(p)) >= OWN_SHARE * fmax(p->ns[LPO_DIFF_A], p->ns[LPO_DIFF_B]);
}

/* The innermost path that still has most of the change. */
static uint32_t find_leaf(const path_vec *all, uint32_t row)
{
    for (uint32_t i = all->at[row].child; i;)
        if (grown(&all->at[i]) / grown(&all->at[row]) >= MOST_OF) {
            row = i;
            i = all->at[row].child;
        } else {
            i = all->at[i].next;
        }
    return row;
}

/* Does a rung of either ladder name it? */
static bool in_ladder(const struct lpo_diff *d, const char *name)
{
    for (size_t i = 0; i < d->findings.len; i++)
        for (int side = 0; side < LPO_DIFF_SIDES; side++) {
            const struct lpo_diff_finding *x = d->findings.at[i].side[side];

            if (x && *x->call && strcmp(x->call, name) == 0)
                return true;
        }
    return false;
}

/* A call that the host waits in is named itself, with the operator and the function around it; else
 * what a ladder names, else the outermost path. */
static void name_path(const struct lpo_diff *d, const path_vec *all, uint32_t row,
                      struct lpo_diff_cause *c)
{
    uint32_t leaf = row ? find_leaf(all, row) : 0, top;

    c->waits = all->at[leaf].kind == LPO_HOST_CALL && !strstr(all->at[leaf].name, "aunch");
    top = c->waits ? leaf : row;
    for (uint32_t i = leaf; i != row && !c->waits && top == row; i = all->at[i].parent)
        if (in_ladder(d, all->at[i].name))
            top = i;
    for (uint32_t i = all->at[top].parent; i && row; i = all->at[i].parent) {
        const struct path *p = &all->at[i];

        if (p->kind == LPO_HOST_OP && !*c->op)
            c->op = p->name;
        if (p->kind == LPO_HOST_RANGE && !*c->region)
            c->region = p->name;
        if (p->kind == LPO_HOST_PYTHON && !*c->python && strstr(p->name, ".py(") &&
            !lpo_str_starts(p->name, "torch/") && !strstr(p->name, "site-packages"))
            c->python = p->name;
    }
    c->name[0] = c->name[1] = c->full[0] = c->full[1] = all->at[top].name;
    c->inner = top != leaf ? all->at[leaf].name : "";
}

/* Are the changes inside followed? Not where this path is what changed, nor where one thing only
 * got another name: what is gone on one side is new on the other. */
static bool goes_deeper(const path_vec *all, uint32_t row, double least)
{
    double gone = 0, come = 0, other = 0;

    if (!row)
        return true;
    if (is_own(&all->at[row]))
        return false;
    for (uint32_t i = all->at[row].child; i; i = all->at[i].next) {
        const struct path *p = &all->at[i];
        double by = fabs(grown(p));

        if (by < least)
            continue;
        if (p->ns[LPO_DIFF_B] < 0.1 * p->ns[LPO_DIFF_A])
            gone += by;
        else if (p->ns[LPO_DIFF_A] < 0.1 * p->ns[LPO_DIFF_B])
            come += by;
        else
            other += by;
    }
    return other > 0.5 * fmax(gone, come) || fmin(gone, come) < RENAMED * fmax(gone, come);
}

static void follow(struct finder *f, const path_vec *all, uint32_t row)
{
    struct lpo_diff_cause c = new_cause(LPO_DIFF_CAUSE_IDLE);
    double size = fabs(grown(&all->at[row]));
    bool deeper = goes_deeper(all, row, f->least);

    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        c.value[side] = all->at[row].ns[side];
        c.count[side] = all->at[row].count[side];
    }
    for (uint32_t i = deeper ? all->at[row].child : 0; i; i = all->at[i].next) {
        double by = fabs(grown(&all->at[i]));

        if (by < f->least || by < BRANCH * size)
            continue;
        follow(f, all, i);
        for (int side = 0; side < LPO_DIFF_SIDES; side++)
            c.value[side] -= all->at[i].ns[side];
    }
    name_path(f->d, all, row, &c);
    add_cause(f, c);
}

static void add_idle(struct finder *f)
{
    LPO_AUTO(lpo_map) at = lpo_map_create();
    LPO_FREED path_vec all = { 0 };

    add_paths(f->d, LPO_DIFF_A, at, &all);
    add_paths(f->d, LPO_DIFF_B, at, &all);
    if (all.len)
        follow(f, &all, 0);
}

/* --- one of N equal layers ------------------------------------------------------------------ */

struct member {
    const char *family, *name;
    double by;
};

typedef LPO_VEC(struct member) member_vec;

LPO_COMPARE(by_family, struct member, LPO_TEXT(family));

static void gather_members(const struct lpo_diff *d, member_vec *out)
{
    LPO_AUTO(lpo_map) of_a = lpo_map_create();
    const struct lpo_diff_digest *a = d->shown[LPO_DIFF_A], *b = d->shown[LPO_DIFF_B];

    for (size_t i = 0; i < a->members.len; i++)
        *lpo_map_put(of_a, a->members.at[i].name, strlen(a->members.at[i].name), NULL) = i + 1;
    for (size_t i = 0; i < b->members.len; i++) {
        const struct lpo_diff_member *m = &b->members.at[i];
        const uint64_t *at = lpo_map_find(of_a, m->name, strlen(m->name));

        if (at)
            lpo_vec_push(out, (struct member){ m->family, m->name,
                                               (double)m->ns / d->units[LPO_DIFF_B] -
                                                   (double)a->members.at[*at - 1].ns /
                                                       d->units[LPO_DIFF_A] });
    }
    lpo_vec_sort(out, by_family);
}

/* The one whose change is that of the cause, where the others of its family did not change. */
static const char *lone_member(const member_vec *all, double change)
{
    const char *best = "";

    for (size_t i = 0, end; i < all->len; i = end) {
        const struct member *most = &all->at[i];
        double sum = 0;

        for (end = i; end < all->len && by_family(&all->at[i], &all->at[end]) == 0; end++) {
            sum += fabs(all->at[end].by);
            if (fabs(all->at[end].by) > fabs(most->by))
                most = &all->at[end];
        }
        if (end - i >= 3 && fabs(most->by) >= MEMBER_ALONE * sum &&
            fabs(most->by - change) <= (1 - MEMBER_ALONE) * fabs(change) &&
            (!*best || strlen(most->name) < strlen(best)))
            best = most->name;
    }
    return best;
}

static void name_members(struct lpo_diff *d)
{
    LPO_FREED member_vec all = { 0 };

    gather_members(d, &all);
    for (size_t i = 0; i < d->causes.len; i++) {
        struct lpo_diff_cause *c = &d->causes.at[i];

        if (c->kind <= LPO_DIFF_CAUSE_KERNEL)
            c->member = lone_member(&all, change_of(c));
    }
}

/* --- memory --------------------------------------------------------------------------------- */

static void add_memory(struct finder *f)
{
    for (size_t i = 0; i < f->d->figures.len; i++) {
        const struct lpo_diff_figure_row *x = &f->d->figures.at[i];
        struct lpo_diff_cause c = new_cause(LPO_DIFF_CAUSE_MEMORY);

        if (!lpo_str_starts(x->key, LPO_DIFF_SNAPSHOT_OWNER))
            continue;
        for (int side = 0; side < LPO_DIFF_SIDES; side++) {
            c.value[side] = isnan(x->value[side]) ? 0 : x->value[side];
            c.name[side] = c.full[side] = x->key + strlen(LPO_DIFF_SNAPSHOT_OWNER);
        }
        add_cause(f, c);
    }
}

/* --- all ------------------------------------------------------------------------------------ */

static int by_change(const void *a, const void *b)
{
    const struct lpo_diff_cause *x = a, *y = b;
    double dx = fabs(change_of(x)), dy = fabs(change_of(y));

    if (dx != dy)
        return dx > dy ? -1 : 1;
    return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : strcmp(x->name[1], y->name[1]);
}

/* --- what all kernels, or one rank, have in common -------------------------------------------- */

struct slowdown {
    double by, weight; /* logarithm of B over A for one launch; GPU time in A */
};

LPO_COMPARE(by_slowdown, struct slowdown, LPO_UP(by));

static bool is_alike(double by, double common)
{
    return fabs(by - common) <= fmax(0.01, ALIKE * fabs(common));
}

/* Does each launch of nearly all kernels take longer by the same share? So much; else 0. */
static double common_slowdown(const struct lpo_diff *d)
{
    const lpo_diff_rows *rows = &d->rows[LPO_DIFF_KERNELS];
    LPO_FREED LPO_VEC(struct slowdown) all = { 0 };
    double weight = 0, half = 0, agree = 0, middle = 0;

    for (size_t i = 0; i < rows->len; i++) {
        const struct lpo_diff_amount *a = &rows->at[i].amount[LPO_DIFF_A];
        const struct lpo_diff_amount *b = &rows->at[i].amount[LPO_DIFF_B];

        weight += (double)a->ns;
        if (a->ns > 0 && b->ns > 0 && a->count && b->count)
            lpo_vec_push(&all, (struct slowdown){ log((double)b->ns / (double)b->count /
                                                      ((double)a->ns / (double)a->count)),
                                                  (double)a->ns });
    }
    lpo_vec_sort(&all, by_slowdown);
    for (size_t i = 0; i < all.len && half * 2 < weight; i++) {
        half += all.at[i].weight;
        middle = all.at[i].by;
    }
    for (size_t i = 0; i < all.len; i++)
        if (is_alike(all.at[i].by, middle))
            agree += all.at[i].weight;
    if (all.len < FEWEST_KERNELS || agree < NEARLY_ALL * weight || fabs(middle) < LPO_DIFF_LEAST)
        middle = 0;
    return expm1(middle);
}

/* Is it a kernel that is slower as nearly all are? */
static bool is_common(const struct lpo_diff_cause *c, double common)
{
    return c->kind == LPO_DIFF_CAUSE_KERNEL && c->busy[LPO_DIFF_A] > 0 &&
           c->count[LPO_DIFF_A] > 0 && c->count[LPO_DIFF_B] > 0 &&
           is_alike(log(c->busy[LPO_DIFF_B] / c->count[LPO_DIFF_B] /
                        (c->busy[LPO_DIFF_A] / c->count[LPO_DIFF_A])),
                    log1p(common));
}

/* Another clock makes every kernel slower: one row. Not where one layer alone changed, which has a
 * share of all kernels. */
static void join_kernels(struct lpo_diff *d)
{
    double by = common_slowdown(d);
    struct lpo_diff_cause *first = NULL;
    size_t kept = 0, joined = 0;

    for (size_t i = 0; i < d->causes.len; i++)
        by = *d->causes.at[i].member ? 0 : by;
    for (size_t i = 0; by != 0 && i < d->causes.len; i++) {
        struct lpo_diff_cause *c = &d->causes.at[i];

        if (!is_common(c, by) || !first) {
            d->causes.at[kept++] = *c;
            if (is_common(c, by))
                first = &d->causes.at[kept - 1];
            continue;
        }
        joined++;
        for (int side = 0; side < LPO_DIFF_SIDES; side++) {
            first->value[side] += c->value[side];
            first->busy[side] += c->busy[side];
            first->count[side] += c->count[side];
        }
    }
    if (!joined)
        return;
    d->causes.len = kept;
    first->op = first->region = "";
    first->row = UINT32_MAX;
    for (int side = 0; side < LPO_DIFF_SIDES; side++)
        first->name[side] = first->full[side] =
            lpo_arena_printf(d->arena, "nearly all kernels, each by about %+.1f %%", 100 * by);
    qsort(d->causes.at, kept, sizeof *d->causes.at, by_change);
}

static double computed(const struct lpo_diff_device *v, double units)
{
    double sum = 0;

    for (int i = 0; i < LPO_DIFF_PART_COMMUNICATION; i++)
        sum += (double)v->parts[i];
    return sum / units;
}

/* Others wait in their collectives for a GPU that computes longer: its name; "": there is none. */
static const char *late_device(const struct lpo_diff *d, double wait)
{
    const struct lpo_diff_digest *a = d->shown[LPO_DIFF_A], *b = d->shown[LPO_DIFF_B];
    double most = 0, second = 0;
    const char *name = "";

    for (size_t i = 0; i < a->devices.len; i++)
        for (size_t k = 0; k < b->devices.len; k++) {
            double by;

            if (strcmp(a->devices.at[i].scope, b->devices.at[k].scope) != 0)
                continue;
            by = computed(&b->devices.at[k], d->units[LPO_DIFF_B]) -
                 computed(&a->devices.at[i], d->units[LPO_DIFF_A]);
            second = by > most ? most : fmax(second, by);
            if (by > most) {
                most = by;
                name = b->devices.at[k].scope;
            }
        }
    return most >= 0.5 * wait && second < 0.5 * most ? name : "";
}

/* Collectives that are hidden less have one reason: one row, with the name of the largest. */
static void join_exposed(struct lpo_diff *d)
{
    struct lpo_diff_cause *first = NULL;
    size_t kept = 0, joined = 0;

    for (size_t i = 0; i < d->causes.len; i++) {
        const struct lpo_diff_cause *c = &d->causes.at[i];

        if (c->kind != LPO_DIFF_CAUSE_EXPOSED || !first || change_of(c) * change_of(first) < 0) {
            d->causes.at[kept++] = *c;
            if (c->kind == LPO_DIFF_CAUSE_EXPOSED && !first)
                first = &d->causes.at[kept - 1];
            continue;
        }
        joined++;
        for (int side = 0; side < LPO_DIFF_SIDES; side++) {
            first->value[side] += c->value[side];
            first->busy[side] += c->busy[side];
            first->count[side] += c->count[side];
        }
        if (strcmp(first->region, c->region) != 0)
            first->region = "";
        if (strcmp(first->op, c->op) != 0)
            first->op = "";
    }
    d->causes.len = kept;
    for (int side = 0; joined && side < LPO_DIFF_SIDES; side++)
        first->name[side] =
            lpo_arena_printf(d->arena, "%s and %zu more", first->name[side], joined);
    if (first && change_of(first) > 0)
        first->late = late_device(d, change_of(first));
    if (joined)
        qsort(d->causes.at, kept, sizeof *d->causes.at, by_change);
}

void lpo_diff_find_causes(struct lpo_diff *d)
{
    struct finder f = { .d = d, .rest = new_cause(LPO_DIFF_CAUSE_REST) };
    const double *unit = d->wall.unit_ns;

    f.least = SMALLEST * fmax(unit[LPO_DIFF_A], unit[LPO_DIFF_B]);
    if (!(f.least > 0)) {
        add_memory(&f);
    } else {
        add_groups(&f);
        add_kernels(&f);
        add_idle(&f);
    }
    lpo_vec_sort(&d->causes, by_change);
    name_members(d);
    join_kernels(d);
    join_exposed(d);
    while (d->causes.len > MOST_CAUSES)
        for (int side = 0, last = (int)--d->causes.len; side < LPO_DIFF_SIDES; side++)
            f.rest.value[side] += d->causes.at[last].value[side];
    if (f.least > 0 && llround(change_of(&f.rest)) != 0)
        lpo_vec_push(&d->causes, f.rest);
}
