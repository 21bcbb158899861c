/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks × steps for the page: the table of analysis/ranks/steps.h, packed. It has at most 32,768
 * cells, which are some 600 KB. */
#include "analysis/analysis.h"
#include "analysis/ranks/steps.h"
#include "report/doc/doc.h"
#include "report/page/page.h"
#include "util/pack.h"
#include "util/str.h"

void lpo_page_put_rank_steps(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_ranks_steps *s = lpo_analysis_rank_steps(a);
    struct lpo_record *r, *list;
    LPO_STR bytes = { 0 }, text = { 0 };

    if (!s)
        return;
    r = lpo_doc_put_record(to, "rank_steps");
    list = lpo_doc_put_list(r, "ranks");
    for (size_t i = 0; i < s->ranks.len; i++)
        lpo_doc_put_int(list, NULL, s->ranks.at[i]);
    list = lpo_doc_put_list(r, "columns");
    for (size_t i = 0; i < s->columns.len; i++) {
        struct lpo_record *column = lpo_doc_put_list(list, NULL);

        lpo_doc_put_int(column, NULL, s->columns.at[i].first);
        lpo_doc_put_int(column, NULL, s->columns.at[i].last);
    }
    list = lpo_doc_put_list(r, "parts");
    for (int part = 0; part < LPO_RANK_STEP_PARTS; part++)
        lpo_doc_put_text(list, NULL, lpo_ranks_step_part_name(part));
    for (size_t i = 0; i < s->ranks.len * s->columns.len; i++) {
        const struct lpo_rank_step *cell = &s->cells[i];

        lpo_pack_add(&bytes, cell->steps);
        lpo_pack_add(&bytes, cell->on_gpu);
        lpo_pack_add(&bytes, cell->bubbles);
        for (int part = 0; part < LPO_RANK_STEP_PARTS; part++)
            if (lpo_ranks_step_known(cell, part))
                lpo_pack_add_signed(&bytes, lpo_ranks_step_mean(cell, part));
    }
    lpo_pack_text(&text, lpo_str_text(&bytes), bytes.len);
    lpo_doc_put_textn(r, "packed", lpo_str_text(&text), text.len);
}
