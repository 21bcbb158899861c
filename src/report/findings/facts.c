/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence of rungs: a sentence for each fact. */

#include "analysis/analysis.h"
#include "analysis/counters/kernel_profile.h"
#include "analysis/ladder/ladder.h"
#include "analysis/memory/memory.h"
#include "analysis/power/power.h"
#include "hydra/compose.h"
#include "report/chapters/chapters.h"
#include "report/findings/findings.h"
#include "rules/rules.h"
#include "rundir/rundir.h"
#include "util/units.h"

/* The sentence of a fact, conf/rules/findings.yaml; NULL: it has none, or one of its own below. */
static const char *sentence_of(unsigned fact)
{
    const char *const names[] = { LPO_FACT_LIST(LPO_FACT_NAME) };
    const struct lpo_node *rows = lpo_node_get(lpo_rules("findings"), "facts");

    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->items[i]->pairs->key->text, names[fact]) == 0)
            return rows->items[i]->pairs->value->text;
    return NULL;
}

static void add_number(struct lpo_str *s, char unit, double v)
{
    switch (unit) {
    case 't':
        lpo_units_add_duration(s, (int64_t)v);
        return;
    case 'c':
        lpo_units_add_count(s, v > 0 ? (uint64_t)v : 0);
        return;
    case 'p':
        lpo_units_add_percent(s, 100 * v);
        return;
    case 'b':
        lpo_units_add_bytes(s, v);
        return;
    case 'r':
        lpo_units_add_si(s, v, "B/s");
        return;
    case 'f':
        lpo_units_add_si(s, v, "FLOP/s");
        return;
    case 'F':
        lpo_units_add_si(s, v, "FLOP");
        return;
    case 'i':
        lpo_str_addf(s, "%.0f", v);
        return;
    default:
        lpo_str_addf(s, "%.3g", v);
    }
}

static void add_sentence(struct lpo_str *s, const char *text)
{
    const char *end = strstr(text, ". ");

    lpo_str_addf(s, "%.*s", end && end - text < 400 ? (int)(end - text) + 1 : 400, text);
}

static const char *fill(const struct lpo_ladder_words *w, const struct lpo_evidence *e,
                        const char *text)
{
    LPO_STR s = { 0 };
    double last = 0; /* number */

    for (const char *at = text; *at; at++) {
        if (at[0] == '~') {
            lpo_str_add(&s, last == 1 ? "" : "s");
        } else if (at[0] == '^') {
            lpo_str_add(&s, last == 1 ? "" : "es");
        } else if (at[0] == '%' && at[1] == 's') {
            add_sentence(&s, lpo_trace_text(w->s->analysis->trace, e->name));
            at++;
        } else if (at[0] == '{') {
            const char *end = strchr(at, '}');

            if (!(e->value[at[1] - '1'] > 0))
                at = end;
            else
                at++;
        } else if (at[0] == '%' && at[1] == 'n') {
            lpo_str_addf(&s, "%.200s", lpo_report_plain_name(w, e->name));
            at++;
        } else if (at[0] == '%' && at[1] == 'k') {
            lpo_str_addf(&s, "%.200s", lpo_region_cells_shown_name(w->s->analysis->cells, e->name));
            at++;
        } else if (at[0] == '%') {
            last = e->value[at[1] - '1'];
            add_number(&s, at[2], last);
            at += 2;
        } else if (at[0] != '}') {
            lpo_str_addn(&s, at, 1);
        }
    }
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

static const char *fill_limiter(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    static const char *const limiters[LPO_LIMITERS] = { "registers", "shared memory",
                                                        "the block size" };
    struct lpo_evidence x = *e;

    x.value[0] = e->value[1];
    return fill(w, &x,
                lpo_arena_printf(w->arena,
                                 "What keeps more blocks from an SM is %s: warps fit up to an "
                                 "occupancy of %%1p.",
                                 e->value[0] < LPO_LIMITERS ? limiters[(int)e->value[0]] : "?"));
}

/* How much of a tile of 128 such a side fills, and whether the bytes or the FLOPs are the roof. */
static const char *fill_skinny(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    double low = fmin(e->value[0], e->value[1]);

    return fill(w, e,
                lpo_arena_printf(w->arena,
                                 "The product is tall and skinny (%%1c x %%2c, K %%3c): its short "
                                 "side of %.0f fills %s.",
                                 low,
                                 low > 48   ? "half of a tile of 128"
                                 : low > 24 ? "a quarter of a tile of 128"
                                            : "hardly anything of a tile of 128"));
}

/* Rows of the memory chapter: of the allocator that the first fact names. */
static const char *fill_holder(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    const struct lpo_memory_peaks *p = lpo_analysis_memory(w->s->analysis);
    const struct lpo_memory_share *x = NULL;
    const char *op, *place;

    for (size_t i = 0; i < p->rows.len && !x; i++)
        if (e->name < p->rows.at[i].owners.len &&
            (double)p->rows.at[i].owners.at[e->name].bytes == e->value[0])
            x = &p->rows.at[i].owners.at[e->name];
    if (!x)
        return NULL;
    op = x->op == LPO_NONE ? NULL : lpo_trace_text(w->s->analysis->trace, x->op);
    place = x->place;
    return fill(w, e,
                lpo_arena_printf(w->arena, "%s%s%.200s%s holds %%1b of it (%%2p) in %%3c block~.",
                                 place ? place
                                 : op  ? ""
                                       : "An unknown place",
                                 place && op ? " (" : "", op ? op : "", place && op ? ")" : ""));
}

/* By number, not by name: what the second and third number are is the same for all of them. */
static const char *fill_code(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    static const char *const bounds[] = {
        [LPO_BOUND_UNKNOWN] = NULL,
        [LPO_BOUND_LATENCY] = "It waits: the SMs are at %1p, the memory at %2p of their peaks.",
        [LPO_BOUND_BALANCED] = "Computing and memory limit it alike: the SMs are at %1p, the "
                               "memory at %2p of their peaks.",
        [LPO_BOUND_MEMORY] = "Memory limits it: at %2p of its peak, the SMs at %1p.",
        [LPO_BOUND_COMPUTE] = "Computing limits it: the SMs at %1p of their peak, the memory at "
                              "%2p.",
    };

    if (e->fact == LPO_FACT_BOUND_BY)
        return bounds[e->name] ? fill(w, e, bounds[e->name]) : NULL;
    return fill(w, e,
                lpo_arena_printf(w->arena, "%s: %%1b (%%2p) in %%3c block~, estimated.",
                                 lpo_memory_category_name((enum lpo_memory_category)e->name)));
}

/* Arguments that are no tensors stand at the end of most operators as "[]". */
static const char *fill_shape(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    const char *text = lpo_trace_text(w->s->analysis->trace, e->name);
    size_t n = strlen(text);
    const char *end = n && text[n - 1] == ']' ? "]" : "";

    for (n -= strlen(end); n > 3 && !strncmp(text + n - 3, ",[]", 3);)
        n -= 3;
    return lpo_arena_printf(w->arena, "Its input shapes are %.*s%s.", (int)(n < 200 ? n : 200),
                            text, end);
}

const char *lpo_report_rung_fact(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    const char *sentence;

    if (e->fact == LPO_FACT_SHAPE)
        return fill_shape(w, e);
    if (e->fact == LPO_FACT_LIMITER)
        return fill_limiter(w, e);
    if (e->fact == LPO_FACT_HOST_TIME && e->name == LPO_NONE)
        return fill(w, e,
                    "The launching thread spends %1t of the window in it ({2%2c time~, }at "
                    "most %3t at a time), while the GPU runs out of work.");
    if (e->fact == LPO_FACT_SKINNY)
        return fill_skinny(w, e);
    if (e->fact == LPO_FACT_REASONS) {
        LPO_STR s = { 0 };

        lpo_power_throttle_add(&s, (uint64_t)e->value[0]);
        return lpo_arena_printf(w->arena, "The reason that NVML gives: %s.", lpo_str_text(&s));
    }
    if (e->fact == LPO_FACT_HOLDER)
        return fill_holder(w, e);
    if (e->fact == LPO_FACT_BOUND_BY || e->fact == LPO_FACT_ROLE)
        return fill_code(w, e);
    if (e->fact == LPO_FACT_FLIGHT)
        return lpo_report_flight_sentence(w->arena, w->s->analysis, (size_t)e->value[0],
                                          (int)e->value[1]);
    if (e->fact == LPO_FACT_EXPOSED && e->value[1] > 0.99 * e->value[0])
        return fill(w, e, "It takes %1t, and nothing was computed meanwhile.");
    if (e->fact == LPO_FACT_ROOF)
        return fill(w, e,
                    e->name ? "It reaches %1p of the memory bandwidth; %2p to %3p is usual."
                            : "It reaches %1p of the compute roof; %2p to %3p is usual.");
    sentence = sentence_of(e->fact);
    return sentence ? fill(w, e, sentence) : NULL;
}
