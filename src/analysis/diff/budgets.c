/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/budgets.h"

#include <errno.h>

#include "hydra/compose.h"
#include "settings/settings.h"
#include "trace/metric_rules.h"
#include "util/pattern.h"
#include "util/units.h"

/* --- what a budget may be about ------------------------------------------------------------- */

enum measure { OF_WALL, OF_PART, OF_ROWS, OF_CLASS, OF_FIGURE, OF_METRIC };

static const struct subject {
    const char *name;
    enum measure measure;
    enum lpo_diff_table table;
    const char *figure; /* key of the digest's figure */
    enum lpo_diff_unit unit;
    bool rest;  /* "region:PATTERN" */
    bool falls; /* less is worse */
} subjects[] = {
    { "wall", OF_WALL, 0, NULL, LPO_DIFF_NS, false, false },
    { "part", OF_PART, 0, NULL, LPO_DIFF_NS, true, false },
    { "region", OF_ROWS, LPO_DIFF_REGIONS, NULL, LPO_DIFF_NS, true, false },
    { "operator", OF_ROWS, LPO_DIFF_OPERATORS, NULL, LPO_DIFF_NS, true, false },
    { "kernel", OF_ROWS, LPO_DIFF_KERNELS, NULL, LPO_DIFF_NS, true, false },
    { "class", OF_CLASS, LPO_DIFF_KERNELS, NULL, LPO_DIFF_NS, true, false },
    { "metric", OF_METRIC, 0, NULL, LPO_DIFF_NUMBER, true, false },
    { "tokens_per_s", OF_FIGURE, 0, "tokens_per_s", LPO_DIFF_NUMBER, false, true },
    { "ttft", OF_FIGURE, 0, "ttft_ms", LPO_DIFF_MS, false, false },
    { "prefill", OF_FIGURE, 0, "prefill_ms", LPO_DIFF_MS, false, false },
    { "decode", OF_FIGURE, 0, "decode_ms", LPO_DIFF_MS, false, false },
    { "total", OF_FIGURE, 0, "total_ms", LPO_DIFF_MS, false, false },
    { "memory", OF_FIGURE, 0, "peak_device_bytes", LPO_DIFF_BYTES, false, false },
    { "host_memory", OF_FIGURE, 0, "peak_host_bytes", LPO_DIFF_BYTES, false, false },
    { "requests_per_s", OF_FIGURE, 0, "requests_per_s", LPO_DIFF_NUMBER, false, true },
    { "output_tokens_per_s", OF_FIGURE, 0, "output_tokens_per_s", LPO_DIFF_NUMBER, false, true },
    { "request_ttft", OF_FIGURE, 0, "request_ttft_p50_ms", LPO_DIFF_MS, false, false },
    { "request_ttft_p99", OF_FIGURE, 0, "request_ttft_p99_ms", LPO_DIFF_MS, false, false },
    { "request_itl", OF_FIGURE, 0, "request_itl_p50_ms", LPO_DIFF_MS, false, false },
    { "request_itl_p99", OF_FIGURE, 0, "request_itl_p99_ms", LPO_DIFF_MS, false, false },
    { "request_tpot", OF_FIGURE, 0, "request_tpot_p50_ms", LPO_DIFF_MS, false, false },
    { "request_tpot_p99", OF_FIGURE, 0, "request_tpot_p99_ms", LPO_DIFF_MS, false, false },
    { "request_e2e", OF_FIGURE, 0, "request_e2e_p50_ms", LPO_DIFF_MS, false, false },
    { "request_e2e_p99", OF_FIGURE, 0, "request_e2e_p99_ms", LPO_DIFF_MS, false, false },
    { "figure", OF_FIGURE, 0, NULL, LPO_DIFF_NUMBER, true, false },
    { "energy", OF_FIGURE, 0, "energy_j", LPO_DIFF_NUMBER, false, false },
};

enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static int subject_of(const char *what, const char **rest, struct lpo_err *err)
{
    size_t len = strcspn(what, ":");
    const char *names[SUBJECTS], *near;
    char word[64];

    *rest = "";
    for (int i = 0; i < SUBJECTS; i++) {
        names[i] = subjects[i].name;
        if (strlen(names[i]) != len || strncmp(names[i], what, len) != 0)
            continue;
        if (subjects[i].rest != (what[len] == ':' && what[len + 1]))
            return lpo_fail(err, LPO_E_CONFIG,
                            subjects[i].rest ? "diff.budgets: '%s' needs a name: %s:NAME"
                                             : "diff.budgets: '%s' takes no name after '%s'",
                            what, names[i]);
        *rest = what[len] ? what + len + 1 : "";
        return i;
    }
    snprintf(word, sizeof word, "%.*s", (int)(len < 60 ? len : 60), what);
    near = lpo_str_nearest(word, names, SUBJECTS);
    return lpo_fail(err, LPO_E_CONFIG, "diff.budgets: '%s' is not known%s%s%s", word,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* --- limits --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    double size;
} byte_units[] = { { "B", 1 },        { "KB", 1e3 },     { "MB", 1e6 },     { "GB", 1e9 },
                   { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 }, { "TiB", 0x1p40 } };

static bool parse_bytes(const char *text, double *out)
{
    char *end;
    double v = strtod(text, &end);

    while (*end == ' ')
        end++;
    for (size_t i = 0; end != text && i < sizeof byte_units / sizeof *byte_units; i++)
        if (strcmp(end, byte_units[i].name) == 0) {
            *out = v * byte_units[i].size;
            return isfinite(*out) && v >= 0;
        }
    return false;
}

static bool parse_share(const char *text, double *out)
{
    char *end;
    double v = strtod(text, &end);

    while (*end == ' ')
        end++;
    *out = v / 100;
    return end != text && strcmp(end, "%") == 0 && v >= 0 && v <= 1e6;
}

static bool parse_number(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out) && *out >= 0;
}

/* "-5%" may fall by so much; "at least 40" */
static const char *parse_direction(const struct subject *s, const char *text,
                                   struct lpo_diff_budget *b)
{
    static const char least[] = "at least ";
    double share;

    b->falls = s->falls;
    if (s->measure != OF_METRIC)
        return text;
    if (lpo_str_starts(text, least)) {
        b->falls = true;
        return text + strlen(least);
    }
    if (*text == '-' && parse_share(text + 1, &share)) {
        b->falls = true;
        return text + 1;
    }
    return text;
}

static int parse_limit(const struct subject *s, const char *text, struct lpo_diff_budget *b,
                       struct lpo_err *err)
{
    static const char *const like[] = { "12ms", "12ms", "40GiB", "100" };
    int64_t ns = 0;
    bool good;

    b->share = b->most = NAN;
    text = parse_direction(s, text, b);
    if (parse_share(text, &b->share))
        return 0;
    b->share = NAN;
    if (s->unit == LPO_DIFF_BYTES)
        good = parse_bytes(text, &b->most);
    else if (s->unit == LPO_DIFF_NUMBER)
        good = parse_number(text, &b->most);
    else {
        good = lpo_units_parse_duration(text, &ns, err) == 0;
        b->most = (double)ns;
    }
    if (good)
        return 0;
    return lpo_fail(err, LPO_E_CONFIG,
                    "diff.budgets: the limit of '%s' must be like 3%% or %s, "
                    "not '%.60s'",
                    b->what, like[s->unit], text);
}

/* "NAME@REGION": both are patterns, tried here so that checks cannot fail. */
static int split_metric(struct lpo_arena *a, struct lpo_diff_budget *b, struct lpo_err *err)
{
    const char *at = strchr(b->rest, '@');
    LPO_AUTO(lpo_pattern) name = NULL;
    LPO_AUTO(lpo_pattern) where = NULL;

    if (at) {
        b->where = at + 1;
        b->rest = lpo_arena_strndup(a, b->rest, (size_t)(at - b->rest));
    }
    if (!*b->rest || (at && !at[1]))
        return lpo_fail(err, LPO_E_CONFIG, "diff.budgets: '%s' must be like metric:NAME@REGION",
                        b->what);
    if (lpo_pattern_create(b->rest, &name, err) < 0 ||
        (at && lpo_pattern_create(b->where, &where, err) < 0))
        return lpo_ctx(err, "diff.budgets: '%s'", b->what);
    return 0;
}

int lpo_diff_budgets_add(struct lpo_arena *a, const char *what, const char *limit,
                         lpo_diff_budgets *out, struct lpo_err *err)
{
    struct lpo_diff_budget b = { .what = lpo_arena_strdup(a, what),
                                 .limit = lpo_arena_strdup(a, limit) };
    enum lpo_region_kernel_class class;
    LPO_AUTO(lpo_pattern) p = NULL;

    if (out->len >= LPO_DIFF_MOST_BUDGETS)
        return lpo_fail(err, LPO_E_LIMIT, "diff.budgets has more than %d entries",
                        LPO_DIFF_MOST_BUDGETS);
    b.subject = subject_of(b.what, &b.rest, err);
    if (b.subject < 0)
        return b.subject;
    if (subjects[b.subject].measure == OF_CLASS && !lpo_region_class_from_name(b.rest, &class))
        return lpo_fail(err, LPO_E_CONFIG, "diff.budgets: there is no class '%.60s'", b.rest);
    if (subjects[b.subject].measure == OF_METRIC && split_metric(a, &b, err) < 0)
        return err->code;
    if ((subjects[b.subject].measure == OF_ROWS || subjects[b.subject].measure == OF_FIGURE) &&
        subjects[b.subject].rest && lpo_pattern_create(b.rest, &p, err) < 0)
        return lpo_ctx(err, "diff.budgets: '%s'", b.what);
    if (parse_limit(&subjects[b.subject], limit, &b, err) < 0)
        return err->code;
    lpo_vec_push(out, b);
    return 0;
}

int lpo_diff_budgets_read(struct lpo_arena *a, const struct lpo_node *map, lpo_diff_budgets *out,
                          struct lpo_err *err)
{
    if (map && map->kind != LPO_NODE_MAP)
        return lpo_fail(err, LPO_E_CONFIG, "diff.budgets must be a map of names to limits");
    for (size_t i = 0; map && i < map->npairs; i++) {
        const char *what = lpo_settings_node_word(a, map->pairs[i].key);
        const char *limit = lpo_settings_node_word(a, map->pairs[i].value);

        if (!what)
            return lpo_fail(err, LPO_E_CONFIG, "diff.budgets has a name that is not text");
        if (!limit) {
            if (map->pairs[i].value->kind == LPO_NODE_NULL)
                continue; /* taken back by a later config */
            return lpo_fail(err, LPO_E_CONFIG, "diff.budgets: the limit of '%s' is not text", what);
        }
        if (lpo_diff_budgets_add(a, what, limit, out, err) < 0)
            return err->code;
    }
    return 0;
}

/* --- checks --------------------------------------------------------------------------------- */

LPO_NAMES(lpo_diff_state_name, enum lpo_diff_state, "passed", "failed", "within chance",
          "nothing matched");

static double grown(double from, double to)
{
    return from > 0 ? to / from - 1 : (to > 0 ? INFINITY : 0);
}

/* The worse of what was seen so far and one more row. */
static void take(struct lpo_diff_check *c, const char *name, double a, double b, bool real)
{
    const struct lpo_diff_budget *x = c->budget;
    /* a pattern may match figures of both directions */
    bool falls = x->falls || (subjects[x->subject].measure == OF_FIGURE &&
                              subjects[x->subject].rest && lpo_diff_more_is_better(name));
    double worse = grown(a, b);
    enum lpo_diff_state state = LPO_DIFF_PASSED;

    if (falls && subjects[x->subject].measure == OF_METRIC)
        worse = -worse; /* "-5%": B is at least 95 % of A */
    else if (falls)
        worse = grown(b, a); /* how much longer the same work takes */
    if (isnan(x->share))
        state = (falls ? b < x->most : b > x->most) ? LPO_DIFF_FAILED : LPO_DIFF_PASSED;
    else if (worse > x->share)
        state = real ? LPO_DIFF_FAILED : LPO_DIFF_BY_CHANCE;
    /* failed beats within chance beats passed beats nothing; among equals the larger change */
    if (c->state != LPO_DIFF_NO_MATCH) {
        static const int rank[] = { 0, 2, 1, -1 };

        if (rank[state] < rank[c->state] || (state == c->state && !(worse > c->change)))
            return;
    }
    c->state = state;
    c->name = name;
    c->a = a;
    c->b = b;
    c->change = isfinite(worse) ? worse : NAN;
}

static void check_wall(const struct lpo_diff *d, struct lpo_diff_check *c)
{
    const struct lpo_diff_wall *w = &d->wall;
    const struct lpo_diff_figure_row *peak = lpo_diff_peak(d);
    double a = w->unit_ns[LPO_DIFF_A], b = w->unit_ns[LPO_DIFF_B];

    if (peak) { /* bytes of a snapshot are no matter of chance */
        c->unit = LPO_DIFF_BYTES;
        take(c, "peak of GPU memory", peak->value[LPO_DIFF_A], peak->value[LPO_DIFF_B], true);
        return;
    }
    if (lpo_diff_wall_regression(d) <= c->budget->share &&
        lpo_diff_compute_regression(d) > c->budget->share)
        take(c, "GPU time of kernels that compute", w->compute_ns[LPO_DIFF_A],
             w->compute_ns[LPO_DIFF_B], true);
    else
        take(c, c->budget->what, a, b, lpo_diff_wall_regression(d) > c->budget->share);
}

static void check_part(const struct lpo_diff *d, struct lpo_diff_check *c)
{
    const struct lpo_diff_wall *w = &d->wall;
    size_t len = strlen(c->budget->rest);
    double sum[LPO_DIFF_SIDES] = { 0, 0 };
    bool any = false;

    for (size_t i = 0; w->known && i < LPO_DIFF_PARTS; i++) {
        const char *name = lpo_diff_part_name(i);

        /* "idle" is all of "idle.…" */
        if (strncmp(name, c->budget->rest, len) != 0 || (name[len] && name[len] != '.'))
            continue;
        any = true;
        for (int side = 0; side < LPO_DIFF_SIDES; side++)
            sum[side] += (double)w->device[side]->parts[i] / d->length[side];
    }
    if (any)
        take(c, c->budget->what, sum[LPO_DIFF_A], sum[LPO_DIFF_B], w->verdict.significant);
}

static double one_call(const struct lpo_diff_amount *m)
{
    return m->count ? (double)m->ns / (double)m->count : 0;
}

static void check_rows(const struct lpo_diff *d, struct lpo_diff_check *c)
{
    const struct subject *s = &subjects[c->budget->subject];
    const lpo_diff_rows *rows = &d->rows[s->table];
    LPO_AUTO(lpo_pattern) p = NULL;
    bool absolute = isnan(c->budget->share);

    if (lpo_pattern_create(c->budget->rest, &p, NULL) < 0)
        return; /* it was tried when the budget was read */
    for (size_t i = 0; i < rows->len; i++) {
        const struct lpo_diff_row *r = &rows->at[i];
        const struct lpo_diff_item *item = r->item[r->item[LPO_DIFF_B] ? 1 : 0];
        const struct lpo_diff_amount *a = &r->amount[LPO_DIFF_A], *b = &r->amount[LPO_DIFF_B];

        if (!lpo_pattern_matches(p, item->name, strlen(item->name)) &&
            !(*item->detail && lpo_pattern_matches(p, item->detail, strlen(item->detail))))
            continue;
        if (absolute)
            take(c, item->name, one_call(a), one_call(b), true);
        else
            take(c, item->name, a->step_ns, b->step_ns, r->verdict.significant);
    }
}

/* All kernels of a class together; real where one of its kernels changed beyond chance. */
static void check_class(const struct lpo_diff *d, struct lpo_diff_check *c)
{
    enum lpo_region_kernel_class class = LPO_CLASS_OTHER;
    double a = 0, b = 0;
    bool any = false, real = false;

    lpo_region_class_from_name(c->budget->rest, &class);
    for (size_t i = 0; i < d->rows[LPO_DIFF_KERNELS].len; i++) {
        const struct lpo_diff_row *r = &d->rows[LPO_DIFF_KERNELS].at[i];

        if (r->item[r->item[LPO_DIFF_B] ? 1 : 0]->class != class)
            continue;
        any = true;
        real |= r->verdict.significant;
        a += r->amount[LPO_DIFF_A].step_ns;
        b += r->amount[LPO_DIFF_B].step_ns;
    }
    if (any)
        take(c, c->budget->what, a, b, real);
}

static void check_figure(const struct lpo_diff *d, struct lpo_diff_check *c)
{
    const struct subject *s = &subjects[c->budget->subject];
    LPO_AUTO(lpo_pattern) p = NULL;

    if (lpo_pattern_create(s->rest ? c->budget->rest : s->figure, &p, NULL) < 0)
        return; /* it was tried when the budget was read */
    for (size_t i = 0; i < d->figures.len; i++) {
        const struct lpo_diff_figure_row *f = &d->figures.at[i];
        double scale = s->unit == LPO_DIFF_MS ? 1e6 : 1; /* limits of times are in ns */

        if (lpo_pattern_matches(p, f->key, strlen(f->key)) && !isnan(f->value[LPO_DIFF_B]))
            take(c, s->rest ? f->key : c->budget->what,
                 isnan(f->value[LPO_DIFF_A]) ? f->value[LPO_DIFF_B] * scale
                                             : f->value[LPO_DIFF_A] * scale,
                 f->value[LPO_DIFF_B] * scale, f->verdict.significant);
    }
}

static const struct lpo_diff_measure *measure_of_a(const struct lpo_diff *d,
                                                   const struct lpo_diff_measure *of_b)
{
    for (size_t i = 0; i < d->measures.len; i++)
        if (d->measures.at[i].side[LPO_DIFF_B] == of_b)
            return d->measures.at[i].side[LPO_DIFF_A];
    return NULL;
}

static void take_metric(const struct lpo_diff *d, struct lpo_diff_check *c, const char *path,
                        const struct lpo_diff_measure *a, const struct lpo_diff_measure *b)
{
    /* what counts up is longer in a longer run */
    bool sum = strcmp(b->unit, "share") != 0 && lpo_trace_metric_combine(b->name) == LPO_SUM &&
               isfinite(c->budget->share);

    take(c,
         c->budget->where ? lpo_arena_printf(d->arena, "%s of %s", b->name, path)
                          : lpo_arena_printf(d->arena, "%s", b->name),
         a ? a->value / (sum ? d->length[LPO_DIFF_A] : 1) : NAN,
         b->value / (sum ? d->length[LPO_DIFF_B] : 1), true);
}

static void check_metric(const struct lpo_diff *d, struct lpo_diff_check *c)
{
    const struct lpo_diff_digest *g = d->shown[LPO_DIFF_B];
    const char *where = c->budget->where;
    LPO_AUTO(lpo_pattern) name = NULL;
    LPO_AUTO(lpo_pattern) region = NULL;

    if (lpo_pattern_create(c->budget->rest, &name, NULL) < 0 ||
        (where && lpo_pattern_create(where, &region, NULL) < 0))
        return; /* they were tried when the budget was read */
    for (size_t i = 0; i < g->measures.len; i++) {
        const struct lpo_diff_measure *b = &g->measures.at[i], *a;
        const char *path = lpo_diff_measure_path(g, b);

        if (!where != (b->region == UINT32_MAX) ||
            !lpo_pattern_matches(name, b->name, strlen(b->name)) ||
            (where && !lpo_pattern_matches(region, path, strlen(path))))
            continue;
        a = measure_of_a(d, b);
        if (a || isnan(c->budget->share)) /* a share needs both sides, a limit only B */
            take_metric(d, c, path, a, b);
    }
}

void lpo_diff_check_all(const struct lpo_diff *d, const lpo_diff_budgets *budgets,
                        lpo_diff_checks *out)
{
    static void (*const checks[])(const struct lpo_diff *, struct lpo_diff_check *) = {
        [OF_WALL] = check_wall,   [OF_PART] = check_part,     [OF_ROWS] = check_rows,
        [OF_CLASS] = check_class, [OF_FIGURE] = check_figure, [OF_METRIC] = check_metric,
    };

    for (size_t i = 0; i < budgets->len; i++) {
        const struct subject *s = &subjects[budgets->at[i].subject];
        struct lpo_diff_check c = { .budget = &budgets->at[i],
                                    .name = budgets->at[i].what,
                                    .state = LPO_DIFF_NO_MATCH,
                                    .unit = s->unit == LPO_DIFF_MS ? LPO_DIFF_NS : s->unit,
                                    .a = NAN,
                                    .b = NAN,
                                    .change = NAN };

        checks[s->measure](d, &c);
        lpo_vec_push(out, c);
    }
}
