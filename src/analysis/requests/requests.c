/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/requests/requests.h"

#include <math.h>
#include <string.h>

#include "analysis/requests/spellings.h"
#include "util/json.h"
#include "util/str.h"

const char *lpo_requests_time_name(enum lpo_requests_time time)
{
    static const char *const names[] = { "ttft", "itl", "tpot", "e2e" };

    return names[time];
}

const char *lpo_requests_stat_name(enum lpo_requests_stat stat)
{
    static const char *const names[] = { "count", "mean", "std", "min", "p50",
                                         "p90",   "p95",  "p99", "max" };

    return names[stat];
}

const char *lpo_requests_figure_name(enum lpo_requests_figure figure)
{
    static const char *const names[] = { "completed",          "failed",        "duration_s",
                                         "input_tokens",       "output_tokens", "requests_per_s",
                                         "output_tokens_per_s" };

    return names[figure];
}

/* A number that can be one: clients write Infinity, null and text in such places, and 2^53 of
 * anything was never measured. */
static struct lpo_measure number_at(const struct lpo_json *doc, const char *path, double scale)
{
    double v = lpo_json_real(lpo_json_at(doc, path), NAN) * scale;

    return isfinite(v) && v >= 0 && v < 0x1p53 ? lpo_measure_measured(v) : lpo_measure_unknown();
}

static void fill(struct lpo_measure *to, struct lpo_measure from)
{
    if (!lpo_measure_known(*to))
        *to = from;
}

/* "%S_%T_ms" with both filled in. */
static const char *path_of(struct lpo_str *out, const char *form, const char *time,
                           const char *stat)
{
    lpo_str_clear(out);
    for (; *form; form++) {
        if (form[0] == '%' && (form[1] == 'T' || form[1] == 'S'))
            lpo_str_add(out, *++form == 'T' ? time : stat);
        else
            lpo_str_addc(out, *form);
    }
    return out->at;
}

/* Where a metric states its unit, it counts. */
static double unit_of(const struct lpo_json *doc, const char *time, double otherwise)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "sec", 1e9 } };
    const char *unit = lpo_json_text(lpo_json_get(lpo_json_get(doc, time), "unit"), NULL);

    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ns;
    return otherwise;
}

static void read_times(const struct lpo_json *doc, const struct lpo_requests_client *c,
                       struct lpo_requests *out)
{
    LPO_STR path = { 0 };

    for (const struct lpo_requests_spelling *t = c->time_names; t->text; t++) {
        double ns = unit_of(doc, t->text, c->to_ns);

        for (const struct lpo_requests_spelling *s = c->stat_names; s->text; s++)
            fill(&out->times[t->what][s->what],
                 number_at(doc, path_of(&path, c->times, t->text, s->text),
                           s->what == LPO_REQUESTS_COUNT ? 1 : ns));
    }
}

static bool is_from(const struct lpo_json *doc, const struct lpo_requests_client *c)
{
    const struct lpo_json *mark = lpo_json_at(doc, c->mark);

    if (strcmp(c->mark, "schema") == 0)
        return lpo_streq(lpo_json_text(mark, NULL), "lpo.client/1");
    return mark && (mark->kind == LPO_JSON_INT || mark->kind == LPO_JSON_REAL ||
                    mark->kind == LPO_JSON_OBJECT);
}

bool lpo_requests_read(const struct lpo_json *doc, struct lpo_requests *out)
{
    const struct lpo_requests_client *c = NULL;

    *out = (struct lpo_requests){ 0 };
    for (size_t i = 0; i < LPO_REQUESTS_FIGURES; i++)
        out->figures[i] = lpo_measure_unknown();
    for (size_t i = 0; i < LPO_REQUESTS_TIMES; i++)
        for (size_t k = 0; k < LPO_REQUESTS_STATS; k++)
            out->times[i][k] = lpo_measure_unknown();
    for (size_t i = 0; i < lpo_requests_client_count && !c; i++)
        if (is_from(doc, &lpo_requests_clients[i]))
            c = &lpo_requests_clients[i];
    if (!c)
        return false;
    out->client = lpo_json_text(lpo_json_get(doc, "client"), NULL);
    if (!out->client || strcmp(c->mark, "schema") != 0)
        out->client = c->name;
    for (const struct lpo_requests_spelling *f = c->figures; f->text; f++)
        fill(&out->figures[f->what], number_at(doc, f->text, 1));
    read_times(doc, c, out);
    return true;
}
