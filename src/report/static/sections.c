/* SPDX-License-Identifier: Apache-2.0 */
#include "report/static/static.h"

#include "report/doc/doc.h"

#define STATIC_SCHEMA "lpo.static/1"

static struct lpo_measure known(double v)
{
    return v > 0 ? lpo_measure_computed(v) : lpo_measure_unknown();
}

/* "Needed", or whose need it is: "Needed by one of 2 ranks". Kept by the document. */
static const char *titled(struct lpo_doc *doc, const struct lpo_model_needs *n, const char *alone,
                          const char *before, const char *after)
{
    LPO_STR title = { 0 };

    if (n->options.tp < 2)
        return alone;
    lpo_str_addf(&title, "%s one of %" PRIu64 " ranks%s", before, n->options.tp, after);
    return lpo_doc_keep(doc, lpo_str_text(&title), title.len);
}

static struct lpo_measure ns_of(double seconds)
{
    return seconds > 0 ? lpo_measure_estimated(seconds * 1e9) : lpo_measure_unknown();
}

static void add_facts(struct lpo_doc *doc, const struct lpo_static_report *r)
{
    const struct lpo_model_needs *n = r->needs;
    const struct lpo_hardware *hw = n->options.hardware;

    lpo_doc_fact(doc, "model", "Model", TEXT, r->path);
    lpo_doc_fact(doc, "family", "Family", TEXT, n->model->label);
    lpo_doc_fact(doc, "parameters", "Parameters", COUNT, n->params);
    lpo_doc_fact(doc, "active_parameters", "Active per token", COUNT, n->active_params);
    lpo_doc_fact(doc, "dtype", "Weights", TEXT, lpo_dtype_name(n->options.dtype));
    lpo_doc_fact(doc, "kv_bytes_per_token",
                 n->options.tp > 1 ? "KV cache per token, whole model" : "KV cache per token",
                 MEASURE("B"),
                 known((double)n->kv_elements * lpo_dtype_bytes(n->options.kv_dtype)));
    if (hw)
        lpo_doc_fact(doc, "hardware", "Hardware", TEXT, hw->label);
}

static void add_choices(struct lpo_doc *doc, const struct lpo_model_needs *n)
{
    const struct lpo_needs_options *o = &n->options;
    bool framework = o->counting == LPO_COUNT_FRAMEWORK;
    bool mla = n->model->decoder && n->model->decoder->base.kv_rank;

    lpo_doc_paragraph(doc,
                      "Counted as %s: attention %s, head on %s, %s attention%s; batch %" PRIu64
                      ", weights %s, cache %s, %" PRIu64 " tensor-parallel rank%s.",
                      framework ? "the framework does" : "the model needs",
                      framework ? "in full" : "causal and within its windows",
                      o->head_all ? "every position" : "the last position",
                      o->unfused ? "unfused" : "flash",
                      !mla                         ? ""
                      : o->mla == LPO_MLA_ABSORBED ? ", MLA absorbed in decode"
                                                   : ", MLA expanded",
                      o->batch, lpo_dtype_name(o->dtype), lpo_dtype_name(o->kv_dtype), o->tp,
                      o->tp == 1 ? "" : "s");
    if (n->mla_flops[0])
        lpo_doc_paragraph(doc,
                          "One decode step of the whole model: %.4g GFLOP with MLA absorbed, %.4g "
                          "GFLOP when every "
                          "cached latent is expanded again.",
                          (double)n->mla_flops[0] / 1e9, (double)n->mla_flops[1] / 1e9);
}

static const struct lpo_column phase_columns[] = {
    { "phase", "Phase", LPO_CELL_TEXT, NULL },
    { "flops", "FLOPs", LPO_CELL_MEASURE, "FLOP" },
    { "bytes", "Bytes moved", LPO_CELL_BYTES, NULL },
    { "intensity", "FLOP/B", LPO_CELL_MEASURE, "" },
    { "least_ns", "Least time", LPO_CELL_NS, NULL },
    { "bound", "Bound by", LPO_CELL_TEXT, NULL },
    { "rate", "At most", LPO_CELL_MEASURE, "/s" },
};

static void phase_label(const struct lpo_phase_result *p, int kind, char *out, size_t room)
{
    if (kind == LPO_PREFILL)
        snprintf(out, room, "prefill of %" PRIu64 " tokens", p->phase.tokens);
    else if (kind == LPO_DECODE)
        snprintf(out, room, "decode at context %" PRIu64, p->phase.cached);
    else
        snprintf(out, room, "vision, %" PRIu64 " pixels a side", p->phase.image);
}

/* Of the ranks side by side; 0: not known, whatever is known of the link. */
static double least_seconds(const struct lpo_phase_result *p)
{
    return p->rank.seconds > 0 ? p->rank.seconds + p->comm_seconds : 0;
}

const char *lpo_static_bound(const struct lpo_sums *s, double comm_seconds)
{
    if (s->seconds <= 0)
        return NULL;
    if (comm_seconds > s->seconds)
        return "communication";
    return s->compute_seconds > s->memory_seconds ? "compute" : "memory";
}

static void add_phases(struct lpo_doc *doc, const struct lpo_model_needs *n)
{
    bool comm = n->phase[LPO_PREFILL].comm_seconds > 0;
    struct lpo_table *t = lpo_doc_table(
        doc, "phases",
        titled(doc, n, "Needed", "Needed by", comm ? ", communication in the least time" : ""),
        phase_columns, sizeof phase_columns / sizeof *phase_columns);

    for (int k = 0; k < LPO_PHASES; k++) {
        const struct lpo_phase_result *p = &n->phase[k];
        const struct lpo_sums *s = &p->rank;
        double bytes = lpo_model_sums_bytes(s);
        double least = least_seconds(p);
        char label[64];

        if (!p->present)
            continue;
        phase_label(p, k, label, sizeof label);
        lpo_doc_row(
            t, label, lpo_measure_computed((double)s->flops), bytes,
            bytes > 0 ? lpo_measure_computed((double)s->flops / bytes) : lpo_measure_unknown(),
            ns_of(least), lpo_static_bound(s, p->comm_seconds),
            least > 0
                ? lpo_measure_estimated((double)p->phase.batch * (double)p->phase.tokens / least)
                : lpo_measure_unknown());
    }
}

static const struct lpo_column kind_columns[] = {
    { "kind", "Kind", LPO_CELL_TEXT, NULL },
    { "prefill", "Prefill", LPO_CELL_MEASURE, "FLOP" },
    { "decode", "Decode", LPO_CELL_MEASURE, "FLOP" },
    { "vision", "Vision", LPO_CELL_MEASURE, "FLOP" },
};

static void add_kinds(struct lpo_doc *doc, const struct lpo_model_needs *n)
{
    struct lpo_table *t = lpo_doc_table(
        doc, "kinds", titled(doc, n, "FLOPs by kind", "FLOPs by kind,", ""), kind_columns, 4);

    for (int k = 0; k < LPO_OP_KINDS; k++) {
        uint64_t any = 0;

        for (int p = 0; p < LPO_PHASES; p++)
            any |= n->phase[p].rank.by_kind[k];
        if (!any)
            continue;
        lpo_doc_row(t, lpo_model_op_kind_name((enum lpo_op_kind)k));
        for (int p = 0; p < LPO_PHASES; p++)
            lpo_doc_row(t, n->phase[p].present
                               ? lpo_measure_computed((double)n->phase[p].rank.by_kind[k])
                               : lpo_measure_unknown());
    }
}

static const struct lpo_column memory_columns[] = {
    { "what", "Memory", LPO_CELL_TEXT, NULL },
    { "bytes", "Bytes", LPO_CELL_BYTES, NULL },
};

static void add_memory(struct lpo_doc *doc, const struct lpo_model_needs *n)
{
    const struct lpo_model_memory *m = &n->memory;
    const struct {
        const char *what;
        double bytes;
    } rows[] = { { "weights", m->weights },
                 { "KV cache", m->kv },
                 { "activations (largest pair)", m->activations },
                 { "together", m->peak } };
    struct lpo_table *t = lpo_doc_table(
        doc, "memory", titled(doc, n, "Needed on one device", "Needed on the device of", ""),
        memory_columns, 2);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lpo_doc_row(t, rows[i].what, rows[i].bytes);
    }
    if (n->options.hardware && n->options.hardware->memory > 0) {
        lpo_doc_fact(doc, "fits", "Fits", TEXT, m->fits ? "yes" : "no");
        lpo_doc_fact(doc, "max_batch", "Largest batch at this context", COUNT, m->max_batch);
        lpo_doc_fact(doc, "max_context", "Longest context at this batch", COUNT, m->max_context);
    }
}

static const struct lpo_column module_columns[] = {
    { "module", "Module", LPO_CELL_TEXT, NULL },
    { "params", "Parameters", LPO_CELL_COUNT, NULL },
    { "prefill_flops", "Prefill", LPO_CELL_MEASURE, "FLOP" },
    { "prefill_ns", "at least", LPO_CELL_NS, NULL },
    { "decode_flops", "Decode", LPO_CELL_MEASURE, "FLOP" },
    { "decode_ns", "at least", LPO_CELL_NS, NULL },
    { "vision_flops", "Vision", LPO_CELL_MEASURE, "FLOP" },
    { "vision_ns", "at least", LPO_CELL_NS, NULL },
};

/* Layers of one shape are one row in the page for people: "decoder/layer0…31/attn". */
static bool same_shape(const struct lpo_module *x, const struct lpo_module *y)
{
    return x->at.part == y->at.part && x->at.block == y->at.block && x->params == y->params &&
           x->sums[0].flops == y->sums[0].flops && x->sums[1].flops == y->sums[1].flops &&
           x->sums[2].flops == y->sums[2].flops;
}

static void module_row(struct lpo_table *t, const struct lpo_model_needs *n,
                       const struct lpo_module *m, int layers, int last)
{
    const char *part = n->model->parts[m->at.part], *block = lpo_model_block_name(m->at.block);

    lpo_doc_row(t,
                layers > 1 ? lpo_arena_printf(t->arena, "%s/layer%d…%d/%s (%d)", part, m->at.layer,
                                              last, block, layers)
                           : m->name,
                m->params * (uint64_t)layers);
    for (int k = 0; k < LPO_PHASES; k++) {
        const struct lpo_sums *s = &m->rank[k];

        lpo_doc_row(
            t, s->flops ? lpo_measure_computed((double)s->flops * layers) : lpo_measure_unknown(),
            ns_of(s->seconds * layers));
    }
}

static void add_modules(struct lpo_doc *doc, const struct lpo_model_needs *n)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_table *t =
        lpo_doc_table(doc, "modules",
                      titled(doc, n, "By module", "By module, FLOPs and times of",
                             " without communication, parameters of the whole model"),
                      module_columns, sizeof module_columns / sizeof *module_columns);
    LPO_FREED lpo_module_vec rows = { 0 };
    bool *done;

    lpo_model_modules_list(arena, n, &rows);
    done = lpo_arena_array(arena, rows.len + 1, sizeof *done);
    for (size_t i = 0; i < rows.len; i++) {
        int layers = 1, last = rows.at[i].at.layer;

        for (size_t j = i + 1; j < rows.len && rows.at[i].at.layer >= 0 && !done[i]; j++)
            if (!done[j] && same_shape(&rows.at[i], &rows.at[j])) {
                done[j] = true;
                last = rows.at[j].at.layer;
                layers++;
            }
        if (!done[i])
            module_row(t, n, &rows.at[i], layers, last);
    }
}

static const struct lpo_column sweep_columns[] = {
    { "seq", "Seq", LPO_CELL_COUNT, NULL },
    { "context", "Context", LPO_CELL_COUNT, NULL },
    { "batch", "Batch", LPO_CELL_COUNT, NULL },
    { "tp", "TP", LPO_CELL_COUNT, NULL },
    { "prefill_flops", "Prefill", LPO_CELL_MEASURE, "FLOP" },
    { "prefill_ns", "at least", LPO_CELL_NS, NULL },
    { "decode_flops", "Decode step", LPO_CELL_MEASURE, "FLOP" },
    { "decode_ns", "at least", LPO_CELL_NS, NULL },
    { "vision_flops", "Vision", LPO_CELL_MEASURE, "FLOP" },
    { "memory", "Memory", LPO_CELL_BYTES, NULL },
    { "fits", "Fits", LPO_CELL_TEXT, NULL },
};

struct lpo_sweep_row lpo_static_sweep_row(const struct lpo_model_needs *n,
                                          const struct lpo_serving *predicted)
{
    const struct lpo_phase_result *p = n->phase;
    bool known_memory = n->options.hardware && n->options.hardware->memory > 0;

    return (struct lpo_sweep_row){
        .seq = n->options.seq,
        .context = n->options.context,
        .batch = n->options.batch,
        .tp = n->options.tp,
        .image = n->model->visions ? n->options.image : 0,
        .prefill_flops = p[LPO_PREFILL].all.flops,
        .decode_flops = p[LPO_DECODE].all.flops,
        .vision_flops = p[LPO_IMAGE].all.flops,
        .rank_flops = { p[LPO_PREFILL].rank.flops, p[LPO_DECODE].rank.flops,
                        p[LPO_IMAGE].rank.flops },
        .prefill_s = least_seconds(&p[LPO_PREFILL]),
        .decode_s = least_seconds(&p[LPO_DECODE]),
        .vision_s = least_seconds(&p[LPO_IMAGE]),
        .peak_bytes = n->memory.peak,
        .fits = known_memory ? n->memory.fits : -1,
        .osl = n->options.output,
        .ep = n->options.ep,
        .ttft_ms = predicted ? predicted->ttft_ms : NAN,
        .tpot_ms = predicted ? predicted->tpot_ms : NAN,
        .tokens_per_second = predicted ? predicted->tokens_per_second : NAN,
    };
}

static void add_sweep(struct lpo_doc *doc, const struct lpo_static_report *r)
{
    const char *title = "Sweep";
    struct lpo_table *t;

    if (!r->sweeps)
        return;
    for (size_t i = 0; i < r->sweeps; i++)
        if (r->sweep[i].tp > 1)
            title = "Sweep, FLOPs and memory of one rank, times of all ranks side by side";
    t = lpo_doc_table(doc, "sweep", title, sweep_columns,
                      sizeof sweep_columns / sizeof *sweep_columns);
    for (size_t i = 0; i < r->sweeps; i++) {
        const struct lpo_sweep_row *s = &r->sweep[i];

        lpo_doc_row(t, s->seq, s->context, s->batch, s->tp,
                    known((double)s->rank_flops[LPO_PREFILL]), ns_of(s->prefill_s),
                    known((double)s->rank_flops[LPO_DECODE]), ns_of(s->decode_s),
                    known((double)s->rank_flops[LPO_IMAGE]), s->peak_bytes,
                    s->fits < 0 ? NULL
                    : s->fits   ? "yes"
                                : "no");
    }
}

struct lpo_doc *lpo_static_doc(const struct lpo_static_report *r)
{
    struct lpo_doc *doc = lpo_doc_create_data(STATIC_SCHEMA, "static", "Static analysis");
    LPO_STR notes = { 0 };

    lpo_doc_section(doc, "static", "What the model needs", 1);
    add_facts(doc, r);
    add_choices(doc, r->needs);
    lpo_static_notes(r, &notes);
    for (const char *p = lpo_str_text(&notes); *p; p += strcspn(p, "\n"), p += *p == '\n')
        lpo_doc_note(doc, LPO_NOTE_INFO, "%s", lpo_arena_strndup(doc->arena, p, strcspn(p, "\n")));
    add_phases(doc, r->needs);
    add_kinds(doc, r->needs);
    add_memory(doc, r->needs);
    lpo_static_serving_add(doc, r);
    add_modules(doc, r->needs);
    add_sweep(doc, r);
    lpo_static_put_records(doc->data, r);
    return doc;
}
