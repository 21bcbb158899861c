/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/requests/requests.h"

#include "hydra/compose.h"
#include "rules/rules.h"
#include "util/json.h"

LPO_NAMES(lpo_requests_time_name, enum lpo_requests_time, "ttft", "itl", "tpot", "e2e");

LPO_NAMES(lpo_requests_stat_name, enum lpo_requests_stat, "count", "mean", "std", "min", "p50",
          "p90", "p95", "p99", "max");

LPO_NAMES(lpo_requests_figure_name, enum lpo_requests_figure, "completed", "failed", "duration_s",
          "input_tokens", "output_tokens", "requests_per_s", "output_tokens_per_s");

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

static double unit_ns(const char *unit, double otherwise)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "sec", 1e9 } };

    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ns;
    return otherwise;
}

/* What a client calls this figure, time or statistic: its nth name, or NULL. */
static const char *name_of(const struct lpo_node *client, const char *list, const char *what,
                           size_t n)
{
    const struct lpo_node *names = lpo_node_get(lpo_node_get(client, list), what);

    if (names && names->kind == LPO_NODE_LIST)
        return n < names->count ? names->items[n]->text : NULL;
    return names && n == 0 ? names->text : NULL;
}

static void read_time(const struct lpo_json *doc, const struct lpo_node *client, const char *time,
                      struct lpo_measure out[LPO_REQUESTS_STATS])
{
    /* where a metric states its unit, it counts */
    double ns = unit_ns(lpo_json_text(lpo_json_get(lpo_json_get(doc, time), "unit"), NULL),
                        unit_ns(lpo_node_text_at(client, "unit"), 1));
    LPO_STR path = { 0 };

    for (int s = 0; s < LPO_REQUESTS_STATS; s++) {
        const char *stat;

        for (size_t n = 0; (stat = name_of(client, "stat_names",
                                           lpo_requests_stat_name((enum lpo_requests_stat)s), n));
             n++)
            fill(&out[s],
                 number_at(doc, path_of(&path, lpo_node_text_at(client, "times"), time, stat),
                           s == LPO_REQUESTS_COUNT ? 1 : ns));
    }
}

static bool is_from(const struct lpo_json *doc, const struct lpo_node *client)
{
    const struct lpo_node *marks = lpo_node_get(client, "mark");
    bool several = marks->kind == LPO_NODE_LIST;

    for (size_t i = 0; i < (several ? marks->count : 1); i++) {
        const char *path = several ? marks->items[i]->text : marks->text;
        const struct lpo_json *mark = lpo_json_at(doc, path);

        if (strcmp(path, "schema") == 0)
            return lpo_streq(lpo_json_text(mark, NULL), "lpo.client/1");
        if (mark && (mark->kind == LPO_JSON_INT || mark->kind == LPO_JSON_REAL ||
                     mark->kind == LPO_JSON_OBJECT))
            return true;
    }
    return false;
}

static void read_figures(const struct lpo_json *doc, const struct lpo_node *client,
                         struct lpo_requests *out)
{
    const char *name;

    for (int f = 0; f < LPO_REQUESTS_FIGURES; f++)
        for (size_t n = 0;
             (name = name_of(client, "figures",
                             lpo_requests_figure_name((enum lpo_requests_figure)f), n));
             n++)
            fill(&out->figures[f], number_at(doc, name, 1));
    for (int t = 0; t < LPO_REQUESTS_TIMES; t++)
        for (size_t n = 0; (name = name_of(client, "time_names",
                                           lpo_requests_time_name((enum lpo_requests_time)t), n));
             n++)
            read_time(doc, client, name, out->times[t]);
}

bool lpo_requests_read(const struct lpo_json *doc, struct lpo_requests *out)
{
    const struct lpo_node *clients = lpo_node_get(lpo_rules("clients"), "clients"), *c = NULL;

    *out = (struct lpo_requests){ 0 };
    for (size_t i = 0; i < LPO_REQUESTS_FIGURES; i++)
        out->figures[i] = lpo_measure_unknown();
    for (size_t i = 0; i < LPO_REQUESTS_TIMES; i++)
        for (size_t k = 0; k < LPO_REQUESTS_STATS; k++)
            out->times[i][k] = lpo_measure_unknown();
    for (size_t i = 0; i < clients->count && !c; i++)
        if (is_from(doc, clients->items[i]))
            c = clients->items[i];
    if (!c)
        return false;
    out->client = lpo_json_text(lpo_json_get(doc, "client"), NULL);
    if (!out->client || !lpo_streq(lpo_node_text_at(c, "mark"), "schema"))
        out->client = lpo_node_text_at(c, "name");
    read_figures(doc, c, out);
    return true;
}
