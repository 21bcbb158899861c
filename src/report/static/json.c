#include <math.h>
#include <string.h>

#include "model/needs.h"
#include "model/read/read.h"
#include "report/static/static.h"
#include "util/arena.h"
#include "util/json_write.h"
#include "util/str.h"

static void seconds_or_null(struct lpo_json_writer *w, const char *key, double s)
{
    if (s > 0)
        lpo_jw_real(w, key, s);
    else
        lpo_jw_null(w, key);
}

static void write_bytes(struct lpo_json_writer *w, const char *key, double bytes)
{
    lpo_jw_whole(w, key, lpo_measure_computed(bytes));
}

/* Each part is rounded to whole bytes, and the sum is that of the parts as they are printed. */
static void write_sums(struct lpo_json_writer *w, const struct lpo_sums *s)
{
    double bytes =
        nearbyint(s->weight_bytes) + nearbyint(s->activation_bytes) + nearbyint(s->kv_bytes);

    lpo_jw_uint(w, "flops", s->flops);
    write_bytes(w, "bytes", bytes);
    write_bytes(w, "weight_bytes", s->weight_bytes);
    write_bytes(w, "activation_bytes", s->activation_bytes);
    write_bytes(w, "kv_bytes", s->kv_bytes);
    if (bytes > 0)
        lpo_jw_real(w, "intensity", (double)s->flops / bytes);
    else
        lpo_jw_null(w, "intensity");
    seconds_or_null(w, "seconds", s->seconds);
}

static void write_kinds(struct lpo_json_writer *w, const struct lpo_sums *s)
{
    lpo_jw_object(w, "flops_by_kind");
    for (int k = 0; k < LPO_OP_KINDS; k++)
        if (s->by_kind[k])
            lpo_jw_uint(w, lpo_model_op_kind_name((enum lpo_op_kind)k), s->by_kind[k]);
    lpo_jw_end(w);
    lpo_jw_object(w, "by_op");
    for (int k = LPO_ATEN_NONE + 1; k < LPO_ATENS; k++)
        if (s->by_aten[k])
            lpo_jw_uint(w, lpo_model_aten_name((enum lpo_aten)k), s->by_aten[k]);
    lpo_jw_end(w);
}

/* What holds `s` back, and the rate at its seconds and those of communication. */
static void write_rate(struct lpo_json_writer *w, const struct lpo_phase_result *p,
                       enum lpo_phase_kind kind, const struct lpo_sums *s, double comm_seconds)
{
    const char *key = kind == LPO_IMAGE ? "images_per_second" : "tokens_per_second";
    double things = (double)p->phase.batch * (double)(kind == LPO_IMAGE ? 1 : p->phase.tokens);

    lpo_jw_text(w, "bound", lpo_static_bound(s, comm_seconds));
    lpo_jw_real(w, key, s->seconds > 0 ? things / (s->seconds + comm_seconds) : NAN);
}

static void write_rank(struct lpo_json_writer *w, const struct lpo_model_needs *n,
                       enum lpo_phase_kind kind)
{
    const struct lpo_phase_result *p = &n->phase[kind];
    double step = p->rank.seconds > 0 ? p->rank.seconds + p->comm_seconds : 0;

    if (n->options.tp < 2)
        return;
    lpo_jw_object(w, "rank");
    lpo_jw_text(w, "scope", "rank");
    write_sums(w, &p->rank);
    lpo_jw_whole(w, "comm_bytes",
                 p->comm_bytes > 0 ? lpo_measure_computed(p->comm_bytes) : lpo_measure_unknown());
    seconds_or_null(w, "comm_seconds", p->comm_seconds);
    seconds_or_null(w, "step_seconds", step);
    write_rate(w, p, kind, &p->rank, p->comm_seconds);
    lpo_jw_end(w);
}

static void write_phase(struct lpo_json_writer *w, const struct lpo_static_report *r,
                        enum lpo_phase_kind kind)
{
    const struct lpo_model_needs *n = r->needs;
    const struct lpo_phase_result *p = &n->phase[kind];

    if (!p->present) {
        lpo_jw_null(w, lpo_model_phase_name(kind));
        return;
    }
    lpo_jw_object(w, lpo_model_phase_name(kind));
    lpo_jw_text(w, "scope", "model");
    if (kind == LPO_PREFILL)
        lpo_jw_uint(w, "tokens", p->phase.tokens);
    if (kind == LPO_DECODE)
        lpo_jw_uint(w, "context", p->phase.cached);
    if (kind == LPO_IMAGE) {
        lpo_jw_uint(w, "image", p->phase.image);
        lpo_jw_uint(w, "tokens", lpo_model_image_tokens(n->model, p->phase.image));
    }
    lpo_jw_uint(w, "batch", p->phase.batch);
    write_sums(w, &p->all);
    write_kinds(w, &p->all);
    write_rate(w, p, kind, &p->all, 0);
    write_rank(w, n, kind);
    if (kind == LPO_DECODE && n->mla_flops[0]) {
        lpo_jw_object(w, "mla");
        lpo_jw_uint(w, "absorbed_flops", n->mla_flops[0]);
        lpo_jw_uint(w, "expanded_flops", n->mla_flops[1]);
        lpo_jw_text(w, "counted", p->phase.absorb ? "absorbed" : "expanded");
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void write_choices(struct lpo_json_writer *w, const struct lpo_model_needs *n)
{
    const struct lpo_needs_options *o = &n->options;
    bool framework = o->counting == LPO_COUNT_FRAMEWORK;

    lpo_jw_object(w, "choices");
    lpo_jw_text(w, "counting", framework ? "framework" : "model");
    lpo_jw_text(w, "causal", framework ? "full" : "halved");
    lpo_jw_text(w, "sliding_window", framework ? "cache only" : "applied");
    lpo_jw_text(w, "head", o->head_all ? "every position" : "last position");
    lpo_jw_text(w, "attention", o->unfused ? "unfused" : "flash");
    lpo_jw_text(w, "elementwise", "fused");
    lpo_jw_text(w, "mla",
                n->model->decoder && n->model->decoder->kv_rank
                    ? o->mla == LPO_MLA_ABSORBED ? "absorbed" : "expanded"
                    : NULL);
    lpo_jw_bool(w, "tied_head", n->model->decoder && n->model->decoder->tied);
    lpo_jw_text(w, "dtype", lpo_dtype_name(o->dtype));
    lpo_jw_text(w, "kv_dtype", lpo_dtype_name(o->kv_dtype));
    lpo_jw_text(w, "compute_dtype", lpo_dtype_name(n->compute_dtype));
    lpo_jw_uint(w, "tp", o->tp);
    lpo_jw_end(w);
}

static void write_cache(struct lpo_json_writer *w, const struct lpo_model_needs *n)
{
    const struct lpo_model_memory *m = &n->memory;

    lpo_jw_object(w, "kv_cache");
    lpo_jw_text(w, "scope", "model");
    write_bytes(w, "bytes_per_token",
                (double)n->kv_elements * lpo_dtype_bytes(n->options.kv_dtype));
    lpo_jw_uint(w, "elements_per_token", n->kv_elements);
    write_bytes(w, "bytes", m->kv_model);
    if (n->options.tp > 1) {
        lpo_jw_object(w, "rank");
        lpo_jw_text(w, "scope", "rank");
        write_bytes(w, "bytes_per_token", m->kv_per_token);
        write_bytes(w, "bytes", m->kv);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void write_memory(struct lpo_json_writer *w, const struct lpo_model_needs *n)
{
    const struct lpo_model_memory *m = &n->memory;
    bool known = n->options.hardware && n->options.hardware->memory > 0;

    lpo_jw_object(w, "memory");
    lpo_jw_text(w, "scope", "rank");
    write_bytes(w, "weights", m->weights);
    write_bytes(w, "kv", m->kv);
    write_bytes(w, "activations", m->activations);
    write_bytes(w, "peak", nearbyint(m->weights) + nearbyint(m->kv) + nearbyint(m->activations));
    if (known) {
        lpo_jw_bool(w, "fits", m->fits);
        lpo_jw_uint(w, "max_batch", m->max_batch);
        lpo_jw_uint(w, "max_context", m->max_context);
    }
    lpo_jw_end(w);
}

static void write_hardware(struct lpo_json_writer *w, const struct lpo_model_needs *n)
{
    const struct lpo_hardware *hw = n->options.hardware;

    if (!hw) {
        lpo_jw_null(w, "hardware");
        return;
    }
    lpo_jw_object(w, "hardware");
    lpo_jw_text(w, "name", hw->name);
    lpo_jw_text(w, "label", hw->label);
    lpo_jw_text(w, "source", hw->source);
    lpo_jw_real(w, "peak_flops", lpo_gpu_hardware_peak(hw, n->options.dtype, NULL));
    lpo_jw_real(w, "sheet_peak_flops",
                lpo_gpu_hardware_peak(lpo_gpu_hardware_sheet(hw), n->options.dtype, NULL));
    lpo_jw_text(w, "peak_dtype", lpo_dtype_name(n->compute_dtype));
    lpo_jw_real(w, "bandwidth", hw->bandwidth);
    lpo_jw_whole(w, "memory",
                 hw->memory > 0 ? lpo_measure_computed(hw->memory) : lpo_measure_unknown());
    lpo_jw_real(w, "ridge", lpo_gpu_hardware_ridge(hw, n->options.dtype));
    lpo_jw_end(w);
}

static void write_modules(struct lpo_json_writer *w, const struct lpo_model_needs *n)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    lpo_module_vec rows = { 0 };

    lpo_model_modules_list(arena, n, &rows);
    lpo_jw_array(w, "modules");
    for (size_t i = 0; i < rows.len; i++) {
        const struct lpo_module *m = &rows.at[i];

        lpo_jw_object(w, NULL);
        lpo_jw_text(w, "name", m->name);
        lpo_jw_text(w, "part", n->model->parts[m->at.part]);
        if (m->at.layer >= 0)
            lpo_jw_int(w, "layer", m->at.layer);
        lpo_jw_text(w, "block", lpo_model_block_name(m->at.block));
        lpo_jw_uint(w, "parameters", m->params);
        lpo_jw_uint(w, "active_parameters", m->active_params);
        for (int k = 0; k < LPO_PHASES; k++) {
            if (lpo_model_sums_bytes(&m->sums[k]) <= 0 && m->sums[k].flops == 0)
                continue;
            lpo_jw_object(w, lpo_model_phase_name((enum lpo_phase_kind)k));
            write_sums(w, &m->sums[k]);
            if (n->options.tp > 1) {
                lpo_jw_object(w, "rank");
                write_sums(w, &m->rank[k]);
                lpo_jw_end(w);
            }
            lpo_jw_end(w);
        }
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
    lpo_vec_free(&rows);
}

static void write_sweep(struct lpo_json_writer *w, const struct lpo_static_report *r)
{
    if (!r->sweeps)
        return;
    lpo_jw_array(w, "sweep");
    for (size_t i = 0; i < r->sweeps; i++) {
        const struct lpo_sweep_row *s = &r->sweep[i];

        lpo_jw_object(w, NULL);
        lpo_jw_uint(w, "seq", s->seq);
        lpo_jw_uint(w, "context", s->context);
        lpo_jw_uint(w, "batch", s->batch);
        lpo_jw_uint(w, "tp", s->tp);
        if (s->image)
            lpo_jw_uint(w, "image", s->image);
        lpo_jw_uint(w, "prefill_flops", s->prefill_flops);
        lpo_jw_uint(w, "decode_flops", s->decode_flops);
        lpo_jw_uint(w, "vision_flops", s->vision_flops);
        lpo_jw_uint(w, "rank_prefill_flops", s->rank_flops[LPO_PREFILL]);
        lpo_jw_uint(w, "rank_decode_flops", s->rank_flops[LPO_DECODE]);
        lpo_jw_uint(w, "rank_vision_flops", s->rank_flops[LPO_IMAGE]);
        seconds_or_null(w, "prefill_seconds", s->prefill_s);
        seconds_or_null(w, "decode_seconds", s->decode_s);
        seconds_or_null(w, "vision_seconds", s->vision_s);
        write_bytes(w, "peak_bytes", s->peak_bytes);
        if (s->fits >= 0)
            lpo_jw_bool(w, "fits", s->fits != 0);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void write_source(struct lpo_json_writer *w, const struct lpo_static_report *r)
{
    const struct lpo_model_files *f = r->files;

    lpo_jw_text(w, "model", r->path);
    if (!f)
        return;
    lpo_jw_object(w, "source");
    lpo_jw_text(w, "config", f->config_path);
    lpo_jw_bool(w, "config_from_weights", f->config_made);
    lpo_jw_bool(w, "config_guessed", f->config_guessed);
    lpo_jw_uint(w, "weight_files", f->files);
    if (f->files) {
        lpo_jw_uint(w, "tensors", f->tensors.len);
        lpo_jw_uint(w, "parameters", f->params);
        lpo_jw_uint(w, "bytes", f->bytes);
    }
    lpo_jw_end(w);
}

static void write_notes(struct lpo_json_writer *w, const struct lpo_static_report *r)
{
    LPO_STR notes = { 0 };
    const char *p;

    lpo_static_notes(r, &notes);
    lpo_jw_array(w, "notes");
    for (p = lpo_str_text(&notes); *p; p += strcspn(p, "\n"), p += *p == '\n')
        lpo_jw_textn(w, NULL, p, strcspn(p, "\n"));
    lpo_jw_end(w);
}

void lpo_static_json(const struct lpo_static_report *r, struct lpo_str *out)
{
    const struct lpo_model_needs *n = r->needs;
    struct lpo_json_writer w = lpo_json_writer(out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", "lpo.static/1");
    lpo_jw_text(&w, "family", n->model->family);
    lpo_jw_text(&w, "label", n->model->label);
    lpo_jw_text(&w, "model_type", n->model->model_type);
    lpo_jw_bool(&w, "fallback", n->model->guessed);
    write_source(&w, r);
    lpo_jw_object(&w, "parameters");
    lpo_jw_uint(&w, "total", n->params);
    lpo_jw_uint(&w, "active", n->active_params);
    lpo_jw_end(&w);
    write_choices(&w, n);
    for (int k = 0; k < LPO_PHASES; k++)
        write_phase(&w, r, (enum lpo_phase_kind)k);
    write_cache(&w, n);
    write_memory(&w, n);
    write_hardware(&w, n);
    write_modules(&w, n);
    write_sweep(&w, r);
    write_notes(&w, r);
    lpo_jw_end(&w);
}
