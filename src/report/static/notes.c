/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader of a static analysis must know before believing its numbers. */

#include "model/model.h"
#include "model/rank.h"
#include "model/read/read.h"
#include "report/static/static.h"

static void heads_note(struct lpo_str *out, const char *what, uint64_t heads, uint64_t tp)
{
    if (heads % tp != 0)
        lpo_str_addf(out,
                     "%" PRIu64 " %s do not divide by %" PRIu64
                     " ranks, which most engines refuse: figures of a rank are those of the "
                     "busiest, with %" PRIu64 " of them\n",
                     heads, what, tp, lpo_model_rank_pieces(heads, tp));
}

static void cache_note(struct lpo_str *out, const struct lpo_model_decoder *d, uint64_t tp)
{
    if (d->base.kv_rank)
        lpo_str_addf(
            out, "MLA's latents are not divided: each of %" PRIu64 " ranks keeps the whole cache\n",
            tp);
    else if (d->base.kv_heads >= tp)
        heads_note(out, "KV heads", d->base.kv_heads, tp);
    else
        lpo_str_addf(out,
                     "%" PRIu64 " KV heads on %" PRIu64
                     " ranks: each rank keeps one, as a copy of what others keep too\n",
                     d->base.kv_heads, tp);
}

static void tp_notes(const struct lpo_model_needs *n, uint64_t tp, struct lpo_str *out)
{
    const struct lpo_model *m = n->model;
    const struct lpo_hardware *hw = n->options.hardware;

    if (tp < 2)
        return;
    if (m->decoder) {
        heads_note(out, "attention heads", m->decoder->base.heads, tp);
        cache_note(out, m->decoder, tp);
    }
    for (int i = 0; i < m->visions; i++)
        heads_note(out, "attention heads of the vision part", m->vision[i]->heads, tp);
    if (hw && hw->link <= 0)
        lpo_str_addf(out,
                     "the link between devices is not known: times of %" PRIu64
                     " ranks are without communication\n",
                     tp);
}

/* Once for each number of ranks that was asked for. */
static void rank_notes(const struct lpo_static_report *r, struct lpo_str *out)
{
    tp_notes(r->needs, r->needs->options.tp, out);
    for (size_t i = 0; i < r->sweeps; i++) {
        bool seen = r->sweep[i].tp == r->needs->options.tp;

        for (size_t k = 0; k < i && !seen; k++)
            seen = r->sweep[k].tp == r->sweep[i].tp;
        if (!seen)
            tp_notes(r->needs, r->sweep[i].tp, out);
    }
}

void lpo_static_notes(const struct lpo_static_report *r, struct lpo_str *out)
{
    const struct lpo_model_needs *n = r->needs;
    const struct lpo_model_files *f = r->files;
    const struct lpo_needs_options *o = &n->options;

    rank_notes(r, out);
    if (n->model->guessed)
        lpo_str_addf(out,
                     "model_type '%s' is not a known family: analysed as a generic decoder "
                     "(use_analytic_fallback)\n",
                     n->model->model_type);
    if (n->model->unknown)
        lpo_str_addf(out, "%s of the model is not known to lpo and in no sum\n", n->model->unknown);
    if (n->model->vision_guessed)
        lpo_str_add(out, "the vision part is of a type that lpo does not have: counted as a plain "
                         "vision transformer of its sizes\n");
    if (f && f->config_guessed)
        lpo_str_add(out, "no config: the architecture was guessed from names and shapes of "
                         "tensors; the number of heads and of active experts is a guess\n");
    if (f && f->files && f->params != n->params)
        lpo_str_addf(out,
                     "the files hold %" PRIu64 " elements, the architecture has %" PRIu64
                     " parameters: tied, quantised or extra tensors\n",
                     f->params, n->params);
    if (n->model->dtype == LPO_DTYPE_NONE && !(f && f->files))
        lpo_str_addf(out, "the config gives no dtype: %s is assumed\n", lpo_dtype_name(o->dtype));
    if (n->model->decoder && n->model->decoder->positions &&
        (o->seq > n->model->decoder->positions || o->context > n->model->decoder->positions))
        lpo_str_addf(out, "beyond the model's %" PRIu64 " positions\n",
                     n->model->decoder->positions);
    if (n->model->decoder && n->model->decoder->base.experts && o->counting == LPO_COUNT_MODEL)
        lpo_str_add(out, "weights read by routed experts are a mean over uniform routing\n");
    if (strcmp(n->model->family, "sam") == 0)
        lpo_str_add(out, "SAM: the image encoder alone; prompt encoder and mask decoder are not "
                         "counted\n");
}
