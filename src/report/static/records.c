/* SPDX-License-Identifier: Apache-2.0 */
/* The static analysis for machines: the members of static_compute.json and `lpo analyze --json`. */
#include <math.h>
#include <string.h>

#include "model/needs.h"
#include "model/read/read.h"
#include "report/doc/doc.h"
#include "report/static/static.h"
#include "util/arena.h"
#include "util/str.h"

static void put_seconds(struct lpo_record *r, const char *key, double s)
{
    if (s > 0)
        lpo_doc_put_real(r, key, s);
    else
        lpo_doc_put_null(r, key);
}

static void put_bytes(struct lpo_record *r, const char *key, double bytes)
{
    lpo_doc_put_whole(r, key, lpo_measure_computed(bytes));
}

/* Each part is rounded to whole bytes, and the sum is that of the parts as they are printed. */
static void put_sums(struct lpo_record *r, const struct lpo_sums *s)
{
    double bytes =
        nearbyint(s->weight_bytes) + nearbyint(s->activation_bytes) + nearbyint(s->kv_bytes);

    lpo_doc_put_uint(r, "flops", s->flops);
    put_bytes(r, "bytes", bytes);
    put_bytes(r, "weight_bytes", s->weight_bytes);
    put_bytes(r, "activation_bytes", s->activation_bytes);
    put_bytes(r, "kv_bytes", s->kv_bytes);
    if (bytes > 0)
        lpo_doc_put_real(r, "intensity", (double)s->flops / bytes);
    else
        lpo_doc_put_null(r, "intensity");
    put_seconds(r, "seconds", s->seconds);
}

static void put_kinds(struct lpo_record *r, const struct lpo_sums *s)
{
    struct lpo_record *kinds = lpo_doc_put_record(r, "flops_by_kind");
    struct lpo_record *ops = lpo_doc_put_record(r, "by_op");

    for (int k = 0; k < LPO_OP_KINDS; k++)
        if (s->by_kind[k])
            lpo_doc_put_uint(kinds, lpo_model_op_kind_name((enum lpo_op_kind)k), s->by_kind[k]);
    for (int k = LPO_ATEN_NONE + 1; k < LPO_ATENS; k++)
        if (s->by_aten[k])
            lpo_doc_put_uint(ops, lpo_model_aten_name((enum lpo_aten)k), s->by_aten[k]);
}

/* What holds `s` back, and the rate at its seconds and those of communication. */
static void put_rate(struct lpo_record *r, const struct lpo_phase_result *p,
                     enum lpo_phase_kind kind, const struct lpo_sums *s, double comm_seconds)
{
    const char *key = kind == LPO_IMAGE ? "images_per_second" : "tokens_per_second";
    double things = (double)p->phase.batch * (double)(kind == LPO_IMAGE ? 1 : p->phase.tokens);

    lpo_doc_put_text(r, "bound", lpo_static_bound(s, comm_seconds));
    lpo_doc_put_real(r, key, s->seconds > 0 ? things / (s->seconds + comm_seconds) : NAN);
}

static void put_rank(struct lpo_record *to, const struct lpo_model_needs *n,
                     enum lpo_phase_kind kind)
{
    const struct lpo_phase_result *p = &n->phase[kind];
    double step = p->rank.seconds > 0 ? p->rank.seconds + p->comm_seconds : 0;

    struct lpo_record *r;

    if (n->options.tp < 2)
        return;
    r = lpo_doc_put_record(to, "rank");
    lpo_doc_put_text(r, "scope", "rank");
    put_sums(r, &p->rank);
    lpo_doc_put_whole(r, "comm_bytes",
                      p->comm_bytes > 0 ? lpo_measure_computed(p->comm_bytes)
                                        : lpo_measure_unknown());
    put_seconds(r, "comm_seconds", p->comm_seconds);
    put_seconds(r, "step_seconds", step);
    put_rate(r, p, kind, &p->rank, p->comm_seconds);
}

static void put_phase(struct lpo_record *data, const struct lpo_static_report *report,
                      enum lpo_phase_kind kind)
{
    const struct lpo_model_needs *n = report->needs;
    const struct lpo_phase_result *p = &n->phase[kind];
    struct lpo_record *r, *mla;

    if (!p->present) {
        lpo_doc_put_null(data, lpo_model_phase_name(kind));
        return;
    }
    r = lpo_doc_put_record(data, lpo_model_phase_name(kind));
    lpo_doc_put_text(r, "scope", "model");
    if (kind == LPO_PREFILL)
        lpo_doc_put_uint(r, "tokens", p->phase.tokens);
    if (kind == LPO_DECODE)
        lpo_doc_put_uint(r, "context", p->phase.cached);
    if (kind == LPO_IMAGE) {
        lpo_doc_put_uint(r, "image", p->phase.image);
        lpo_doc_put_uint(r, "tokens", lpo_model_image_tokens(n->model, p->phase.image));
        if (n->options.parts) {
            lpo_doc_put_uint(r, "parts", n->options.parts);
            lpo_doc_put_uint(r, "part_image", n->options.part);
        }
    }
    lpo_doc_put_uint(r, "batch", p->phase.batch);
    put_sums(r, &p->all);
    put_kinds(r, &p->all);
    put_rate(r, p, kind, &p->all, 0);
    put_rank(r, n, kind);
    if (kind == LPO_DECODE && n->mla_flops[0]) {
        mla = lpo_doc_put_record(r, "mla");
        lpo_doc_put_uint(mla, "absorbed_flops", n->mla_flops[0]);
        lpo_doc_put_uint(mla, "expanded_flops", n->mla_flops[1]);
        lpo_doc_put_text(mla, "counted", p->phase.absorb ? "absorbed" : "expanded");
    }
}

static void put_choices(struct lpo_record *data, const struct lpo_model_needs *n)
{
    const struct lpo_needs_options *o = &n->options;
    bool framework = o->counting == LPO_COUNT_FRAMEWORK;
    struct lpo_record *r = lpo_doc_put_record(data, "choices");

    lpo_doc_put_text(r, "counting", framework ? "framework" : "model");
    lpo_doc_put_text(r, "causal", framework ? "full" : "halved");
    lpo_doc_put_text(r, "sliding_window", framework ? "cache only" : "applied");
    lpo_doc_put_text(r, "head", o->head_all ? "every position" : "last position");
    lpo_doc_put_text(r, "attention", o->unfused ? "unfused" : "flash");
    lpo_doc_put_text(r, "elementwise", "fused");
    lpo_doc_put_text(r, "mla",
                     n->model->decoder && n->model->decoder->base.kv_rank
                         ? o->mla == LPO_MLA_ABSORBED ? "absorbed" : "expanded"
                         : NULL);
    lpo_doc_put_flag(r, "tied_head", n->model->decoder && n->model->decoder->tied);
    lpo_doc_put_text(r, "dtype", lpo_dtype_name(o->dtype));
    lpo_doc_put_text(r, "kv_dtype", lpo_dtype_name(o->kv_dtype));
    lpo_doc_put_text(r, "compute_dtype", lpo_dtype_name(n->compute_dtype));
    lpo_doc_put_uint(r, "tp", o->tp);
}

static void put_cache(struct lpo_record *data, const struct lpo_model_needs *n)
{
    const struct lpo_model_memory *m = &n->memory;
    struct lpo_record *r = lpo_doc_put_record(data, "kv_cache"), *rank;

    lpo_doc_put_text(r, "scope", "model");
    put_bytes(r, "bytes_per_token", (double)n->kv_elements * lpo_dtype_bytes(n->options.kv_dtype));
    lpo_doc_put_uint(r, "elements_per_token", n->kv_elements);
    put_bytes(r, "bytes", m->kv_model);
    if (n->options.tp > 1) {
        rank = lpo_doc_put_record(r, "rank");
        lpo_doc_put_text(rank, "scope", "rank");
        put_bytes(rank, "bytes_per_token", m->kv_per_token);
        put_bytes(rank, "bytes", m->kv);
    }
}

static void put_memory(struct lpo_record *data, const struct lpo_model_needs *n)
{
    const struct lpo_model_memory *m = &n->memory;
    bool known = n->options.hardware && n->options.hardware->memory > 0;
    struct lpo_record *r = lpo_doc_put_record(data, "memory");

    lpo_doc_put_text(r, "scope", "rank");
    put_bytes(r, "weights", m->weights);
    put_bytes(r, "kv", m->kv);
    put_bytes(r, "activations", m->activations);
    put_bytes(r, "peak", nearbyint(m->weights) + nearbyint(m->kv) + nearbyint(m->activations));
    if (known) {
        lpo_doc_put_flag(r, "fits", m->fits);
        lpo_doc_put_uint(r, "max_batch", m->max_batch);
        lpo_doc_put_uint(r, "max_context", m->max_context);
    }
}

static void put_hardware(struct lpo_record *data, const struct lpo_model_needs *n)
{
    const struct lpo_hardware *hw = n->options.hardware;
    struct lpo_record *r;

    if (!hw) {
        lpo_doc_put_null(data, "hardware");
        return;
    }
    r = lpo_doc_put_record(data, "hardware");
    lpo_doc_put_text(r, "name", hw->name);
    lpo_doc_put_text(r, "label", hw->label);
    lpo_doc_put_text(r, "source", hw->source);
    lpo_doc_put_real(r, "peak_flops", lpo_gpu_hardware_peak(hw, n->options.dtype, NULL));
    lpo_doc_put_real(r, "sheet_peak_flops",
                     lpo_gpu_hardware_peak(lpo_gpu_hardware_sheet(hw), n->options.dtype, NULL));
    lpo_doc_put_text(r, "peak_dtype", lpo_dtype_name(n->compute_dtype));
    lpo_doc_put_real(r, "bandwidth", hw->bandwidth);
    lpo_doc_put_whole(r, "memory",
                      hw->memory > 0 ? lpo_measure_computed(hw->memory) : lpo_measure_unknown());
    lpo_doc_put_real(r, "ridge", lpo_gpu_hardware_ridge(hw, n->options.dtype));
}

/* As its kernels were measured best. Norms and lookups were not: they count at the roof. */
static void put_best(struct lpo_record *to, const struct lpo_static_report *report,
                     const struct lpo_module *m, enum lpo_phase_kind k)
{
    double seconds = NAN;

    if (!report->best || k == LPO_IMAGE || report->needs->options.tp > 1)
        return;
    seconds = lpo_reference_block(report->best, report->needs, k, m->at) / 1e6;
    if (m->at.block == LPO_BLOCK_NORM || m->at.block == LPO_BLOCK_EMBED)
        seconds = m->rank[k].seconds;
    if (isfinite(seconds))
        lpo_doc_put_real(to, "best_seconds", seconds);
}

static void put_module(struct lpo_record *r, const struct lpo_static_report *report,
                       const struct lpo_module *m)
{
    const struct lpo_model_needs *n = report->needs;

    lpo_doc_put_text(r, "name", m->name);
    lpo_doc_put_text(r, "part", n->model->parts[m->at.part]);
    if (m->at.layer >= 0)
        lpo_doc_put_int(r, "layer", m->at.layer);
    lpo_doc_put_text(r, "block", lpo_model_block_name(m->at.block));
    lpo_doc_put_uint(r, "parameters", m->params);
    lpo_doc_put_uint(r, "active_parameters", m->active_params);
    for (int k = 0; k < LPO_PHASES; k++) {
        struct lpo_record *phase;

        if (lpo_model_sums_bytes(&m->sums[k]) <= 0 && m->sums[k].flops == 0)
            continue;
        phase = lpo_doc_put_record(r, lpo_model_phase_name((enum lpo_phase_kind)k));
        put_sums(phase, &m->sums[k]);
        put_best(phase, report, m, (enum lpo_phase_kind)k);
        if (n->options.tp > 1)
            put_sums(lpo_doc_put_record(phase, "rank"), &m->rank[k]);
    }
}

static void put_modules(struct lpo_record *data, const struct lpo_static_report *report)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_record *modules = lpo_doc_put_list(data, "modules");
    lpo_module_vec rows = { 0 };

    lpo_model_modules_list(arena, report->needs, &rows);
    for (size_t i = 0; i < rows.len; i++)
        put_module(lpo_doc_put_record(modules, NULL), report, &rows.at[i]);
    lpo_vec_free(&rows);
}

static void put_sweep(struct lpo_record *data, const struct lpo_static_report *report)
{
    struct lpo_record *rows;

    if (!report->sweeps)
        return;
    rows = lpo_doc_put_list(data, "sweep");
    for (size_t i = 0; i < report->sweeps; i++) {
        const struct lpo_sweep_row *s = &report->sweep[i];
        struct lpo_record *r = lpo_doc_put_record(rows, NULL);

        lpo_doc_put_uint(r, "seq", s->seq);
        lpo_doc_put_uint(r, "context", s->context);
        lpo_doc_put_uint(r, "batch", s->batch);
        lpo_doc_put_uint(r, "tp", s->tp);
        if (s->image)
            lpo_doc_put_uint(r, "image", s->image);
        lpo_doc_put_uint(r, "prefill_flops", s->prefill_flops);
        lpo_doc_put_uint(r, "decode_flops", s->decode_flops);
        lpo_doc_put_uint(r, "vision_flops", s->vision_flops);
        lpo_doc_put_uint(r, "rank_prefill_flops", s->rank_flops[LPO_PREFILL]);
        lpo_doc_put_uint(r, "rank_decode_flops", s->rank_flops[LPO_DECODE]);
        lpo_doc_put_uint(r, "rank_vision_flops", s->rank_flops[LPO_IMAGE]);
        put_seconds(r, "prefill_seconds", s->prefill_s);
        put_seconds(r, "decode_seconds", s->decode_s);
        put_seconds(r, "vision_seconds", s->vision_s);
        put_bytes(r, "peak_bytes", s->peak_bytes);
        if (s->fits >= 0)
            lpo_doc_put_flag(r, "fits", s->fits != 0);
        if (!report->serving)
            continue;
        lpo_doc_put_uint(r, "osl", s->osl);
        lpo_doc_put_uint(r, "ep", s->ep);
        lpo_doc_put_real(r, "ttft_ms", s->ttft_ms);
        lpo_doc_put_real(r, "tpot_ms", s->tpot_ms);
        lpo_doc_put_real(r, "tokens_per_second", s->tokens_per_second);
    }
}

static void put_source(struct lpo_record *data, const struct lpo_static_report *report)
{
    const struct lpo_model_files *f = report->files;
    struct lpo_record *r;

    lpo_doc_put_text(data, "model", report->path);
    if (!f)
        return;
    r = lpo_doc_put_record(data, "source");
    lpo_doc_put_text(r, "config", f->config_path);
    lpo_doc_put_flag(r, "config_from_weights", f->config_made);
    lpo_doc_put_flag(r, "config_guessed", f->config_guessed);
    lpo_doc_put_uint(r, "weight_files", f->files);
    if (f->files) {
        lpo_doc_put_uint(r, "tensors", f->tensors.len);
        lpo_doc_put_uint(r, "parameters", f->params);
        lpo_doc_put_uint(r, "bytes", f->bytes);
    }
}

static void put_notes(struct lpo_record *data, const struct lpo_static_report *report)
{
    struct lpo_record *list = lpo_doc_put_list(data, "notes");
    LPO_STR notes = { 0 };
    const char *p;

    lpo_static_notes(report, &notes);
    for (p = lpo_str_text(&notes); *p; p += strcspn(p, "\n"), p += *p == '\n')
        lpo_doc_put_textn(list, NULL, p, strcspn(p, "\n"));
}

void lpo_static_put_records(struct lpo_record *data, const struct lpo_static_report *report)
{
    const struct lpo_model_needs *n = report->needs;
    struct lpo_record *parameters;

    lpo_doc_put_text(data, "family", n->model->family);
    lpo_doc_put_text(data, "label", n->model->label);
    lpo_doc_put_text(data, "model_type", n->model->model_type);
    lpo_doc_put_flag(data, "fallback", n->model->guessed);
    put_source(data, report);
    parameters = lpo_doc_put_record(data, "parameters");
    lpo_doc_put_uint(parameters, "total", n->params);
    lpo_doc_put_uint(parameters, "active", n->active_params);
    if (n->predictor_params)
        lpo_doc_put_uint(parameters, "prediction_heads", n->predictor_params);
    if (n->model->unknown)
        lpo_doc_put_text(parameters, "unknown", n->model->unknown);
    put_choices(data, n);
    for (int k = 0; k < LPO_PHASES; k++)
        put_phase(data, report, (enum lpo_phase_kind)k);
    put_cache(data, n);
    put_memory(data, n);
    put_hardware(data, n);
    lpo_static_serving_put(data, report);
    put_modules(data, report);
    put_sweep(data, report);
    put_notes(data, report);
}
