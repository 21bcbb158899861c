/* SPDX-License-Identifier: Apache-2.0 */
#include "model/needs.h"

#include "model/count.h"
#include "model/memory.h"
#include "model/quant.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"

enum { USUAL_SEQ = 1024 };
static const uint64_t max_tokens = (uint64_t)1 << 32;

struct lpo_needs_options lpo_model_needs_defaults(void)
{
    return (struct lpo_needs_options){ .seq = USUAL_SEQ, .batch = 1, .tp = 1 };
}

const char *lpo_model_phase_name(enum lpo_phase_kind kind)
{
    static const char *const names[LPO_PHASES] = { "prefill", "decode", "vision" };

    return names[kind];
}

static int check_size(const char *what, uint64_t n, uint64_t most, struct lpo_err *err)
{
    if (n <= most)
        return 0;
    return lpo_fail(err, LPO_E_RANGE, "%s is %llu; at most %llu is possible", what,
                    (unsigned long long)n, (unsigned long long)most);
}

static int resolve_options(struct lpo_model_needs *a, struct lpo_err *err)
{
    struct lpo_needs_options *o = &a->options;
    int rc;

    o->seq = o->seq ? o->seq : USUAL_SEQ;
    o->context = o->context ? o->context : o->seq + o->output / 2;
    o->batch = o->batch ? o->batch : 1;
    o->tp = o->tp ? o->tp : 1;
    o->ep = o->ep ? o->ep : 1;
    o->image = o->image ? o->image : lpo_model_image(a->model);
    if (o->dtype == LPO_DTYPE_NONE)
        o->dtype = a->model->dtype != LPO_DTYPE_NONE ? a->model->dtype : LPO_BF16;
    a->plain = o->dtype;
    if (o->kv_dtype == LPO_DTYPE_NONE)
        o->kv_dtype = lpo_model_quant_cache(a->quant);
    if (o->kv_dtype == LPO_DTYPE_NONE) /* narrow weights do not make a narrow cache */
        o->kv_dtype = lpo_dtype_bits(o->dtype) < 16 ? LPO_BF16 : o->dtype;
    if (o->counting == LPO_COUNT_FRAMEWORK)
        o->head_all = true;
    if (o->mla == LPO_MLA_AUTO) /* transformers expands; engines made for serving absorb */
        o->mla = o->counting == LPO_COUNT_FRAMEWORK ? LPO_MLA_EXPANDED : LPO_MLA_ABSORBED;
    rc = check_size("the sequence length", o->seq, max_tokens, err);
    if (rc == 0)
        rc = check_size("the context", o->context, max_tokens, err);
    if (rc == 0)
        rc = check_size("the number of generated tokens", o->output, max_tokens, err);
    if (rc == 0 && o->tp % o->ep)
        rc = lpo_fail(err, LPO_E_USAGE, "%llu expert-parallel groups do not divide %llu ranks",
                      (unsigned long long)o->ep, (unsigned long long)o->tp);
    if (rc == 0)
        rc = check_size("the batch", o->batch, 1 << 24, err);
    if (rc == 0)
        rc = check_size("the image's side", o->image, 1 << 20, err);
    if (rc == 0)
        rc = check_size("the side of an image's parts", o->part, 1 << 20, err);
    if (rc == 0)
        rc = check_size("the number of an image's parts", o->parts, 1 << 16, err);
    if (rc == 0)
        rc = check_size("the tensor-parallel degree", o->tp, 1 << 16, err);
    return rc;
}

static void count_params(struct lpo_model_needs *a)
{
    const struct lpo_model_decoder *d = a->model->decoder;
    double by_format[LPO_DTYPES] = { 0 };
    double most = 0;
    uint64_t last = 0;

    for (size_t i = 0; i < a->tensors.len; i++) {
        const struct lpo_tensor *t = &a->tensors.at[i];
        uint64_t active = t->experts ? lpo_model_mul(t->count / t->experts, t->active) : t->count;

        if (d && t->at.part == d->part && !(t->looked_up && d->base.experts && !d->tied))
            a->active_params = lpo_model_add(a->active_params, t->tied ? 0 : active);
        if (t->tied)
            continue;
        a->params = lpo_model_add(a->params, t->count);
        by_format[t->format.dtype] += (double)t->count;
        if (d && t->at.part == d->part && t->at.layer == (int)d->layers - 1)
            last = lpo_model_add(last, t->count);
    }
    for (int t = 1; t < LPO_DTYPES; t++) /* the format of most weights gives the model its name */
        if (by_format[t] > by_format[LPO_DTYPE_NONE] && by_format[t] > most) {
            a->options.dtype = (enum lpo_dtype)t;
            most = by_format[t];
        }
    if (!d)
        a->active_params = a->params;
    else if (d->predictors) /* each a layer like the last one, and a product that joins two vectors
                             */
        a->predictor_params = lpo_model_mul(
            d->predictors,
            lpo_model_add(last, lpo_model_mul3(2, d->hidden, lpo_model_add(d->hidden, 2))));
}

double lpo_model_format_bytes(const struct lpo_model_needs *a, const struct lpo_weight_format *f)
{
    return f->bits > 0 ? f->bits / 8 : lpo_dtype_bytes(a->plain);
}

static void list_tensors(struct lpo_model_needs *a)
{
    struct lpo_phase none = { 0 };
    struct lpo_walk w = {
        .arena = a->arena, .phase = &none, .quant = a->quant, .tensors = &a->tensors
    };

    lpo_model_walk(a->model, LPO_TEXT | LPO_VISION, &w);
    lpo_str_free(&w.path);
    count_params(a);
}

static void list_ops(struct lpo_model_needs *a, int side, const struct lpo_phase *phase,
                     lpo_model_op_vec *out)
{
    struct lpo_walk w = { .arena = a->arena, .phase = phase, .quant = a->quant, .ops = out };

    lpo_model_walk(a->model, side, &w);
    lpo_str_free(&w.path);
}

static void add_communication(struct lpo_model_needs *a, struct lpo_phase_result *p)
{
    const struct lpo_hardware *hw = a->options.hardware;
    const struct lpo_model_decoder *d = a->model->decoder;
    double ranks = (double)a->options.tp, bytes = lpo_dtype_bytes(a->options.dtype);

    if (a->options.tp < 2 || !d)
        return;
    /* two all-reduces in every layer; in a ring, each rank sends 2 (n - 1) / n of the data */
    p->comm_bytes = 2.0 * (double)d->layers * (double)p->phase.batch * (double)p->phase.tokens *
                    (double)d->hidden * (bytes < 2 ? 2 : bytes) * 2 * (ranks - 1) / ranks;
    if (hw && hw->link > 0)
        p->comm_seconds = p->comm_bytes / (hw->link / 2);
}

static void run_phase(struct lpo_model_needs *a, enum lpo_phase_kind kind,
                      const struct lpo_phase *phase)
{
    struct lpo_phase_result *p = &a->phase[kind];

    p->present = true;
    p->phase = *phase;
    list_ops(a, kind == LPO_IMAGE ? LPO_VISION : LPO_TEXT, phase, &p->ops);
    if (kind == LPO_IMAGE && a->options.parts) { /* in a pass of their own, as they are smaller */
        struct lpo_phase parts = *phase;

        parts.batch = lpo_model_mul(parts.batch, a->options.parts);
        parts.image = a->options.part;
        list_ops(a, LPO_VISION, &parts, &p->ops);
    }
    p->all = lpo_model_needs_sum(a, p, 1, NULL, NULL);
    p->rank = lpo_model_needs_sum(a, p, a->options.tp, NULL, NULL);
    if (kind != LPO_IMAGE)
        add_communication(a, p);
}

/* FLOPs of MLA both absorbed and expanded, whatever the options chose: reports compare them. */
static void count_mla(struct lpo_model_needs *a, struct lpo_phase phase)
{
    for (int expanded = 0; expanded < 2; expanded++) {
        lpo_model_op_vec ops = { 0 };

        phase.absorb = !expanded;
        list_ops(a, LPO_TEXT, &phase, &ops);
        for (size_t i = 0; i < ops.len; i++)
            a->mla_flops[expanded] = lpo_model_add(a->mla_flops[expanded], ops.at[i].flops);
        lpo_vec_free(&ops);
    }
}

static void run_text(struct lpo_model_needs *a)
{
    const struct lpo_needs_options *o = &a->options;
    struct lpo_phase phase = { .batch = o->batch,
                               .tokens = o->seq,
                               .counting = o->counting,
                               .head_all = o->head_all,
                               .flash = !o->unfused };

    run_phase(a, LPO_PREFILL, &phase);
    if (a->model->decoder->family->no_cache)
        return;
    phase.tokens = 1;
    phase.cached = o->context;
    phase.absorb = a->model->decoder->base.kv_rank && o->mla == LPO_MLA_ABSORBED;
    run_phase(a, LPO_DECODE, &phase);
    if (a->model->decoder->base.kv_rank)
        count_mla(a, phase);
}

static int run_all(struct lpo_model_needs *a, struct lpo_err *err)
{
    const struct lpo_needs_options *o = &a->options;

    list_tensors(a);
    if (a->model->decoder)
        run_text(a);
    if (a->model->visions)
        run_phase(a, LPO_IMAGE,
                  &(struct lpo_phase){ .batch = o->batch,
                                       .tokens = 1,
                                       .image = o->image,
                                       .counting = o->counting,
                                       .flash = !o->unfused });
    for (int k = 0; k < LPO_PHASES; k++)
        if (a->phase[k].all.flops == LPO_COUNT_MAX)
            return lpo_fail(err, LPO_E_RANGE, "the FLOPs of the %s phase do not fit in 64 bits",
                            lpo_model_phase_name((enum lpo_phase_kind)k));
    if (a->params == LPO_COUNT_MAX)
        return lpo_fail(err, LPO_E_RANGE, "the number of parameters does not fit in 64 bits");
    lpo_model_memory_plan(a);
    return 0;
}

/* Which weights have which format. A format that the user names replaces it, unless it is the one
 * that the config gives most of the weights: what that leaves out stays wide. */
static int read_quant(struct lpo_model_needs *a, const struct lpo_json *config, struct lpo_err *err)
{
    enum lpo_dtype wanted = a->options.dtype;
    struct lpo_err ignored = { 0 };
    int rc = lpo_model_quant_create(config, &a->quant, wanted ? &ignored : err);

    if (wanted && a->quant && lpo_model_quant_main(a->quant) == wanted)
        a->options.dtype = LPO_DTYPE_NONE;
    else if (wanted) {
        lpo_model_quant_destroy(a->quant);
        a->quant = NULL;
    }
    return wanted ? 0 : rc;
}

int lpo_model_needs_create(const struct lpo_json *config, const struct lpo_needs_options *options,
                           struct lpo_model_needs **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_model_needs) a = lpo_xcalloc(1, sizeof *a);
    struct lpo_model_options how = { .strict = options->strict };
    struct lpo_model *model = NULL;
    int rc;

    a->arena = lpo_arena_create();
    a->options = *options;
    rc = lpo_model_create(a->arena, config, &how, &model, err);
    if (rc < 0)
        return rc;
    a->model = model;
    if (options->weight_bytes <= 0)
        rc = read_quant(a, config, err);
    if (rc < 0)
        return rc;
    rc = resolve_options(a, err);
    if (rc == 0)
        rc = run_all(a, err);
    if (rc < 0)
        return rc;
    a->compute_dtype = a->options.dtype;
    if (a->options.hardware)
        lpo_gpu_hardware_peak(a->options.hardware, a->options.dtype, &a->compute_dtype);
    *out = a;
    a = NULL;
    return 0;
}

void lpo_model_needs_destroy(struct lpo_model_needs *a)
{
    if (!a)
        return;
    for (int k = 0; k < LPO_PHASES; k++)
        lpo_vec_free(&a->phase[k].ops);
    lpo_vec_free(&a->tensors);
    lpo_model_quant_destroy(a->quant);
    lpo_arena_destroy(a->arena);
    free(a);
}
