/* SPDX-License-Identifier: Apache-2.0 */
/* The static analysis for machines: the members of static_compute.json and `lpo analyze --json`. */

#include "model/read/read.h"
#include "report/doc/doc.h"
#include "report/static/static.h"

/* NAN is null. */
static double above_0(double v)
{
    return v > 0 ? v : NAN;
}

static struct lpo_jv bytes_of(double bytes)
{
    return lpo_jv_whole(lpo_measure_computed(bytes));
}

/* Each part is rounded to whole bytes, and the sum is that of the parts as they are printed. */
static void put_sums(struct lpo_record *r, const struct lpo_sums *s)
{
    double bytes =
        nearbyint(s->weight_bytes) + nearbyint(s->activation_bytes) + nearbyint(s->kv_bytes);

    lpo_doc_put(r, LPO_KV("flops", s->flops), LPO_KV("bytes", bytes_of(bytes)),
                LPO_KV("weight_bytes", bytes_of(s->weight_bytes)),
                LPO_KV("activation_bytes", bytes_of(s->activation_bytes)),
                LPO_KV("kv_bytes", bytes_of(s->kv_bytes)),
                LPO_KV("intensity", bytes > 0 ? (double)s->flops / bytes : NAN),
                LPO_KV("seconds", above_0(s->seconds)));
}

static void put_kinds(struct lpo_record *r, const struct lpo_sums *s)
{
    struct lpo_record *kinds = lpo_doc_put_record(r, "flops_by_kind");
    struct lpo_record *ops = lpo_doc_put_record(r, "by_op");

    for (int k = 0; k < LPO_OP_KINDS; k++)
        if (s->by_kind[k])
            lpo_doc_put(kinds, LPO_KV(lpo_model_op_kind_name((enum lpo_op_kind)k), s->by_kind[k]));
    for (int k = LPO_ATEN_NONE + 1; k < LPO_ATENS; k++)
        if (s->by_aten[k])
            lpo_doc_put(ops, LPO_KV(lpo_model_aten_name((enum lpo_aten)k), s->by_aten[k]));
}

/* What holds `s` back, and the rate at its seconds and those of communication. */
static void put_rate(struct lpo_record *r, const struct lpo_phase_result *p,
                     enum lpo_phase_kind kind, const struct lpo_sums *s, double comm_seconds)
{
    const char *key = kind == LPO_IMAGE ? "images_per_second" : "tokens_per_second";
    double things = (double)p->phase.batch * (double)(kind == LPO_IMAGE ? 1 : p->phase.tokens);

    lpo_doc_put(r, LPO_KV("bound", lpo_static_bound(s, comm_seconds)),
                LPO_KV(key, s->seconds > 0 ? things / (s->seconds + comm_seconds) : NAN));
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
    lpo_doc_put(r, LPO_KV("scope", "rank"));
    put_sums(r, &p->rank);
    lpo_doc_put(r, LPO_KV("comm_bytes", bytes_of(above_0(p->comm_bytes))),
                LPO_KV("comm_seconds", above_0(p->comm_seconds)),
                LPO_KV("step_seconds", above_0(step)));
    put_rate(r, p, kind, &p->rank, p->comm_seconds);
}

static void put_phase(struct lpo_record *data, const struct lpo_static_report *report,
                      enum lpo_phase_kind kind)
{
    const struct lpo_model_needs *n = report->needs;
    const struct lpo_phase_result *p = &n->phase[kind];
    struct lpo_record *r;

    if (!p->present) {
        lpo_doc_put(data, LPO_KV(lpo_model_phase_name(kind), lpo_jv_null()));
        return;
    }
    r = lpo_doc_put_record(data, lpo_model_phase_name(kind));
    lpo_doc_put(r, LPO_KV("scope", "model"),
                LPO_KV_IF(kind == LPO_PREFILL, "tokens", p->phase.tokens),
                LPO_KV_IF(kind == LPO_DECODE, "context", p->phase.cached));
    if (kind == LPO_IMAGE)
        lpo_doc_put(r, LPO_KV("image", p->phase.image),
                    LPO_KV("tokens", lpo_model_image_tokens(n->model, p->phase.image)),
                    LPO_KV_IF(n->options.parts, "parts", n->options.parts),
                    LPO_KV_IF(n->options.parts, "part_image", n->options.part));
    lpo_doc_put(r, LPO_KV("batch", p->phase.batch));
    put_sums(r, &p->all);
    put_kinds(r, &p->all);
    put_rate(r, p, kind, &p->all, 0);
    put_rank(r, n, kind);
    if (kind == LPO_DECODE && n->mla_flops[0])
        lpo_doc_put(lpo_doc_put_record(r, "mla"), LPO_KV("absorbed_flops", n->mla_flops[0]),
                    LPO_KV("expanded_flops", n->mla_flops[1]),
                    LPO_KV("counted", p->phase.absorb ? "absorbed" : "expanded"));
}

static void put_choices(struct lpo_record *data, const struct lpo_model_needs *n)
{
    const struct lpo_needs_options *o = &n->options;
    bool framework = o->counting == LPO_COUNT_FRAMEWORK;
    struct lpo_record *r = lpo_doc_put_record(data, "choices");

    lpo_doc_put(
        r, LPO_KV("counting", framework ? "framework" : "model"),
        LPO_KV("causal", framework ? "full" : "halved"),
        LPO_KV("sliding_window", framework ? "cache only" : "applied"),
        LPO_KV("head", o->head_all ? "every position" : "last position"),
        LPO_KV("attention", o->unfused ? "unfused" : "flash"), LPO_KV("elementwise", "fused"),
        LPO_KV("mla", n->model->decoder && n->model->decoder->base.kv_rank
                          ? o->mla == LPO_MLA_ABSORBED ? "absorbed" : "expanded"
                          : NULL),
        LPO_KV("tied_head", lpo_jv_flag(n->model->decoder && n->model->decoder->tied)),
        LPO_KV("dtype", lpo_dtype_name(o->dtype)), LPO_KV("kv_dtype", lpo_dtype_name(o->kv_dtype)),
        LPO_KV("compute_dtype", lpo_dtype_name(n->compute_dtype)), LPO_KV("tp", o->tp));
}

static void put_cache(struct lpo_record *data, const struct lpo_model_needs *n)
{
    const struct lpo_model_memory *m = &n->memory;
    double per_token = (double)n->kv_elements * lpo_dtype_bytes(n->options.kv_dtype);
    struct lpo_record *r = lpo_doc_put_record(data, "kv_cache");

    lpo_doc_put(r, LPO_KV("scope", "model"), LPO_KV("bytes_per_token", bytes_of(per_token)),
                LPO_KV("elements_per_token", n->kv_elements),
                LPO_KV("bytes", bytes_of(m->kv_model)));
    if (n->options.tp > 1)
        lpo_doc_put(lpo_doc_put_record(r, "rank"), LPO_KV("scope", "rank"),
                    LPO_KV("bytes_per_token", bytes_of(m->kv_per_token)),
                    LPO_KV("bytes", bytes_of(m->kv)));
}

static void put_memory(struct lpo_record *data, const struct lpo_model_needs *n)
{
    const struct lpo_model_memory *m = &n->memory;
    bool known = n->options.hardware && n->options.hardware->memory > 0;
    double peak = nearbyint(m->weights) + nearbyint(m->kv) + nearbyint(m->activations);

    lpo_doc_put(lpo_doc_put_record(data, "memory"), LPO_KV("scope", "rank"),
                LPO_KV("weights", bytes_of(m->weights)), LPO_KV("kv", bytes_of(m->kv)),
                LPO_KV("activations", bytes_of(m->activations)), LPO_KV("peak", bytes_of(peak)),
                LPO_KV_IF(known, "fits", m->fits), LPO_KV_IF(known, "max_batch", m->max_batch),
                LPO_KV_IF(known, "max_context", m->max_context));
}

static void put_hardware(struct lpo_record *data, const struct lpo_model_needs *n)
{
    const struct lpo_hardware *hw = n->options.hardware;

    if (!hw) {
        lpo_doc_put(data, LPO_KV("hardware", lpo_jv_null()));
        return;
    }
    lpo_doc_put(lpo_doc_put_record(data, "hardware"), LPO_KV("name", hw->name),
                LPO_KV("label", hw->label), LPO_KV("source", hw->source),
                LPO_KV("peak_flops", lpo_gpu_hardware_peak(hw, n->options.dtype, NULL)),
                LPO_KV("sheet_peak_flops",
                       lpo_gpu_hardware_peak(lpo_gpu_hardware_sheet(hw), n->options.dtype, NULL)),
                LPO_KV("peak_dtype", lpo_dtype_name(n->compute_dtype)),
                LPO_KV("bandwidth", hw->bandwidth), LPO_KV("memory", bytes_of(above_0(hw->memory))),
                LPO_KV("ridge", lpo_gpu_hardware_ridge(hw, n->options.dtype)));
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
        lpo_doc_put(to, LPO_KV("best_seconds", seconds));
}

static void put_module(struct lpo_record *r, const struct lpo_static_report *report,
                       const struct lpo_module *m)
{
    const struct lpo_model_needs *n = report->needs;

    lpo_doc_put(r, LPO_KV("name", m->name), LPO_KV("part", n->model->parts[m->at.part]),
                LPO_KV_IF(m->at.layer >= 0, "layer", m->at.layer),
                LPO_KV("block", lpo_model_block_name(m->at.block)), LPO_KV("parameters", m->params),
                LPO_KV("active_parameters", m->active_params));
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
    LPO_FREED lpo_module_vec rows = { 0 };

    lpo_model_modules_list(arena, report->needs, &rows);
    for (size_t i = 0; i < rows.len; i++)
        put_module(lpo_doc_put_record(modules, NULL), report, &rows.at[i]);
}

static void put_sweep(struct lpo_record *data, const struct lpo_static_report *report)
{
    struct lpo_record *rows;

    if (!report->sweeps)
        return;
    rows = lpo_doc_put_list(data, "sweep");
    for (size_t i = 0; i < report->sweeps; i++) {
        const struct lpo_sweep_row *s = &report->sweep[i];
        bool served = report->serving != NULL;

        lpo_doc_put(
            lpo_doc_put_record(rows, NULL), LPO_KV("seq", s->seq), LPO_KV("context", s->context),
            LPO_KV("batch", s->batch), LPO_KV("tp", s->tp), LPO_KV_IF(s->image, "image", s->image),
            LPO_KV("prefill_flops", s->prefill_flops), LPO_KV("decode_flops", s->decode_flops),
            LPO_KV("vision_flops", s->vision_flops),
            LPO_KV("rank_prefill_flops", s->rank_flops[LPO_PREFILL]),
            LPO_KV("rank_decode_flops", s->rank_flops[LPO_DECODE]),
            LPO_KV("rank_vision_flops", s->rank_flops[LPO_IMAGE]),
            LPO_KV("prefill_seconds", above_0(s->prefill_s)),
            LPO_KV("decode_seconds", above_0(s->decode_s)),
            LPO_KV("vision_seconds", above_0(s->vision_s)),
            LPO_KV("peak_bytes", bytes_of(s->peak_bytes)),
            LPO_KV_IF(s->fits >= 0, "fits", lpo_jv_flag(s->fits != 0)),
            LPO_KV_IF(served, "osl", s->osl), LPO_KV_IF(served, "ep", s->ep),
            LPO_KV_IF(served, "ttft_ms", s->ttft_ms), LPO_KV_IF(served, "tpot_ms", s->tpot_ms),
            LPO_KV_IF(served, "tokens_per_second", s->tokens_per_second));
    }
}

static void put_source(struct lpo_record *data, const struct lpo_static_report *report)
{
    const struct lpo_model_files *f = report->files;

    lpo_doc_put(data, LPO_KV("model", report->path));
    if (!f)
        return;
    lpo_doc_put(
        lpo_doc_put_record(data, "source"), LPO_KV("config", f->config_path),
        LPO_KV("config_from_weights", f->config_made), LPO_KV("config_guessed", f->config_guessed),
        LPO_KV("weight_files", f->files), LPO_KV_IF(f->files, "tensors", f->tensors.len),
        LPO_KV_IF(f->files, "parameters", f->params), LPO_KV_IF(f->files, "bytes", f->bytes));
}

static void put_notes(struct lpo_record *data, const struct lpo_static_report *report)
{
    struct lpo_record *list = lpo_doc_put_list(data, "notes");
    LPO_STR notes = { 0 };
    const char *p;

    lpo_static_notes(report, &notes);
    for (p = lpo_str_text(&notes); *p; p += strcspn(p, "\n"), p += *p == '\n')
        lpo_doc_put(list, LPO_V(lpo_jv_textn(p, strcspn(p, "\n"))));
}

void lpo_static_put_records(struct lpo_record *data, const struct lpo_static_report *report)
{
    const struct lpo_model_needs *n = report->needs;

    lpo_doc_put(data, LPO_KV("family", n->model->family), LPO_KV("label", n->model->label),
                LPO_KV("model_type", n->model->model_type), LPO_KV("fallback", n->model->guessed));
    put_source(data, report);
    lpo_doc_put(lpo_doc_put_record(data, "parameters"), LPO_KV("total", n->params),
                LPO_KV("active", n->active_params),
                LPO_KV_IF(n->predictor_params, "prediction_heads", n->predictor_params),
                LPO_KV_IF(n->model->unknown, "unknown", n->model->unknown));
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
