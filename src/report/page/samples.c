/* SPDX-License-Identifier: Apache-2.0 */
/* Power, clocks, temperature and memory over time: what the power chapter of the page draws. */
#include "analysis/power/power.h"
#include "report/doc/doc.h"
#include "report/page/page.h"
#include "rundir/rundir.h"
#include "util/err.h"
#include "util/file.h"
#include "util/pack.h"
#include "util/path.h"
#include "util/str.h"

enum { MOST_SAMPLES = 4000, MOST_GPUS = 16 };

/* The columns in their order in `packed`. */
static const enum lpo_power_column columns[] = {
    LPO_POWER_MW,      LPO_POWER_SM_MHZ,       LPO_POWER_MEMORY_MHZ,
    LPO_POWER_CELSIUS, LPO_POWER_MEMORY_BYTES, LPO_POWER_GPU_PERCENT,
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static void put_gpu(struct lpo_record *list, const struct lpo_power_gpu *g, int64_t zero_ns)
{
    struct lpo_record *r = lpo_doc_put_record(list, NULL);
    size_t step = g->samples.len / MOST_SAMPLES + 1, count = 0;
    int64_t last_ns = zero_ns;
    LPO_STR bytes = { 0 }, text = { 0 };

    for (size_t i = 0; i < g->samples.len; i += step, count++) {
        const struct lpo_power_sample *s = &g->samples.at[i];

        lpo_pack_add(&bytes, (uint64_t)(s->unix_ns - last_ns));
        last_ns = s->unix_ns;
        for (int c = 0; c < COLUMNS; c++) {
            bool known = s->known >> columns[c] & 1 && s->value[columns[c]] < INT64_MAX;

            lpo_pack_add(&bytes, known ? s->value[columns[c]] + 1 : 0);
        }
    }
    lpo_doc_put_uint(r, "gpu", g->gpu);
    lpo_doc_put_uint(r, "count", count);
    lpo_doc_put_uint(r, "every", step);
    lpo_pack_text(&text, lpo_str_text(&bytes), bytes.len);
    lpo_doc_put_textn(r, "packed", lpo_str_text(&text), text.len);
}

/* A damaged run.json may say anything: only stages that lie among the samples are shown. */
static void put_stages(struct lpo_record *to, const struct lpo_rundir *d, int64_t zero_ns,
                       int64_t end_ns)
{
    struct lpo_record *list = lpo_doc_put_list(to, "stages");

    for (size_t i = 0; d->has_manifest && i < d->manifest.nstages; i++) {
        const struct lpo_stage_record *s = &d->manifest.stages[i];
        struct lpo_record *r;

        if (!s->nsteps || s->wall_ns <= 0 || s->started_ns > end_ns ||
            s->started_ns < zero_ns - (end_ns - zero_ns) || s->wall_ns > INT64_MAX / 4)
            continue;
        r = lpo_doc_put_record(list, NULL);
        lpo_doc_put_text(r, "name", s->name);
        lpo_doc_put_int(r, "at_ns", s->started_ns - zero_ns);
        lpo_doc_put_int(r, "ns", s->wall_ns);
    }
}

void lpo_page_put_samples(struct lpo_record *to, const struct lpo_rundir *d)
{
    const char *stage = lpo_rundir_stage_with(d, LPO_ROLE_POWER);
    const char *file = stage ? lpo_path_join(d->arena, stage, "samples.csv") : NULL;
    LPO_AUTO(lpo_file_text) text = NULL;
    LPO_AUTO(lpo_power) p = NULL;
    struct lpo_err err = { 0 }; /* the chapter on power says what is wrong with the file */
    int64_t zero_ns = INT64_MAX, end_ns = INT64_MIN;
    struct lpo_record *r, *gpus;

    if (!file || !lpo_rundir_has(d, file) || lpo_rundir_text(d, file, &text, &err) < 0 ||
        lpo_power_parse(text->at, text->len, &p, &err) < 0)
        return;
    for (size_t i = 0; i < p->gpus.len; i++) {
        const struct lpo_power_gpu *g = &p->gpus.at[i];

        if (!g->samples.len)
            continue;
        zero_ns = g->samples.at[0].unix_ns < zero_ns ? g->samples.at[0].unix_ns : zero_ns;
        if (g->samples.at[g->samples.len - 1].unix_ns > end_ns)
            end_ns = g->samples.at[g->samples.len - 1].unix_ns;
    }
    if (zero_ns > end_ns)
        return;
    r = lpo_doc_put_record(to, "samples");
    lpo_doc_put_int(r, "span_ns", end_ns - zero_ns);
    gpus = lpo_doc_put_list(r, "gpus");
    for (size_t i = 0; i < p->gpus.len && i < MOST_GPUS; i++)
        if (p->gpus.at[i].samples.len)
            put_gpu(gpus, &p->gpus.at[i], zero_ns);
    put_stages(r, d, zero_ns, end_ns);
}
