/* stakeholder_summary.md: half a page for someone who does not know what a kernel is. Every
 * sentence is made from a number of this run; nothing is said that was not measured. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/node.h"
#include "region/classes.h"
#include "region/fold.h"
#include "region/scope.h"
#include "region/timeline.h"
#include "region/top.h"
#include "report/analysis.h"
#include "report/chapters.h"
#include "report/doc.h"
#include "report/limits_run.h"
#include "report/numbers.h"
#include "report/run_data.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/str.h"
#include "util/units.h"

enum { WORST = 3, MOST_IDEAS = 16 };

/* Something that could be done, and the time that lies in it. */
struct idea {
    const char *text;
    int64_t ns;
};

struct story {
    struct lpo_doc *doc;
    const struct lpo_run_data *d;
    const struct lpo_source *s;
    struct lpo_scope *all;
    struct lpo_fold *fold;
    int64_t span_ns, busy_ns, exposed_ns, copy_ns;
    struct lpo_gaps gaps;
    int64_t class_ns[LPO_CLASSES], kernel_ns, short_ns;
    uint64_t launches, short_launches;
    struct idea ideas[MOST_IDEAS];
    size_t nideas;
};

static const char *percent(struct story *t, int64_t part, int64_t whole)
{
    return lpo_arena_printf(t->doc->arena, "%.0f %%",
                            whole > 0 ? 100.0 * (double)part / (double)whole : 0.0);
}

static const char *duration(struct story *t, int64_t ns)
{
    LPO_STR s = { 0 };

    lpo_add_duration(&s, ns);
    return lpo_arena_strdup(t->doc->arena, s.at);
}

static void idea(struct story *t, int64_t ns, const char *text)
{
    if (ns > 0 && t->nideas < MOST_IDEAS)
        t->ideas[t->nideas++] = (struct idea){ text, ns };
}

static void measure_devices(struct story *t)
{
    const struct lpo_timeline *line = t->s->analysis->timeline;

    for (size_t i = 0; line && i < line->devices.len; i++) {
        const struct lpo_device_time *dev = &line->devices.at[i];

        t->span_ns += dev->span_ns;
        t->busy_ns += dev->busy_ns;
        t->exposed_ns += dev->exposed_ns;
        for (int c = 0; c < LPO_GAP_CAUSES; c++)
            t->gaps.by[c].ns += dev->gaps.by[c].ns;
    }
    t->copy_ns = t->all->coverage.copies.ns;
}

/* A launch costs the host and the GPU some microseconds: kernels under five hardly pay for it. */
static void measure_kernels(struct story *t)
{
    lpo_top_rows rows = { 0 };

    lpo_top(t->s->analysis->cells, LPO_KERNEL, &rows);
    for (size_t i = 0; i < rows.len; i++) {
        const struct lpo_sum *sum = &rows.at[i].sum;
        t->class_ns[lpo_cells_class(t->s->analysis->cells, rows.at[i].name)] += sum->ns;
        t->kernel_ns += sum->ns;
        t->launches += sum->launches;
        if (sum->launches > sum->unknown &&
            sum->ns / (int64_t)(sum->launches - sum->unknown) < 5000) {
            t->short_launches += sum->launches;
            t->short_ns += sum->ns;
        }
    }
    lpo_vec_free(&rows);
}

static void tell_what_ran(struct story *t)
{
    const char *model = lpo_conf_text(t->d->config, "model.name", NULL);
    const struct lpo_json *gpus = lpo_json_at(t->d->env, "gpus.devices");
    const struct lpo_json *first = gpus ? gpus->first : NULL;

    lpo_doc_section(t->doc, "what", "What was measured", 1);
    lpo_doc_paragraph(t->doc, "%s%s%s.", model ? "The model " : "A program", model ? model : "",
                      first  ? lpo_arena_printf(t->doc->arena, " on %zu x %s", gpus->count,
                                                lpo_json_text(lpo_json_get(first, "name"), "GPU"))
                      : gpus ? " on a machine without a GPU"
                             : "");
}

static void tell_regions(struct story *t, bool gpu)
{
    int64_t whole = gpu ? t->all->coverage.total.ns : 0;
    size_t told = 0;

    for (size_t i = 0; !gpu && i < t->fold->rows.len; i++)
        if (t->fold->rows.at[i].depth == 0 && t->fold->rows.at[i].sum.node != LPO_NODE_OUTSIDE)
            whole += t->fold->rows.at[i].sum.host_ns;
    for (size_t i = 0; i < t->fold->rows.len && told < WORST; i++) {
        const struct lpo_fold_row *r = &t->fold->rows.at[i];
        int64_t ns = gpu ? r->sum.all.ns : r->sum.host_ns;

        if (r->depth > 0 || r->sum.node == LPO_NODE_OUTSIDE || ns <= 0)
            continue;
        lpo_doc_paragraph(t->doc, "- The part called \"%s\" takes %s of it (%s).", r->path,
                          percent(t, ns, whole), duration(t, ns));
        told++;
    }
}

static void tell_classes(struct story *t)
{
    static const struct {
        enum lpo_kernel_class class;
        const char *words;
    } words[] = {
        { LPO_CLASS_GEMM, "multiplying matrices, the real work of a model" },
        { LPO_CLASS_ATTENTION, "attention, where tokens look at each other" },
        { LPO_CLASS_CONVOLUTION, "convolutions, the real work on images" },
        { LPO_CLASS_ELEMENTWISE, "small element by element steps" },
        { LPO_CLASS_COPY, "moving data from one place to another" },
        { LPO_CLASS_COLLECTIVE, "talking to other GPUs" },
        { LPO_CLASS_NORM, "normalising values" },
    };
    size_t best = 0;

    for (size_t i = 1; i < sizeof words / sizeof *words; i++)
        if (t->class_ns[words[i].class] > t->class_ns[words[best].class])
            best = i;
    if (t->class_ns[words[best].class] > 0)
        lpo_doc_paragraph(t->doc, "- By kind of work, most of it (%s) is %s.",
                          percent(t, t->class_ns[words[best].class], t->kernel_ns),
                          words[best].words);
}

static void tell_waste(struct story *t)
{
    int64_t idle_ns = t->span_ns - t->busy_ns, gaps_ns = lpo_gaps_ns(&t->gaps);
    bool any = false;

    lpo_doc_section(t->doc, "waste", "What is wasteful", 1);
    if (t->span_ns > 0 && idle_ns * 20 > t->span_ns) {
        lpo_doc_paragraph(t->doc, "- The GPU did nothing for %s of the time (%s of %s).",
                          percent(t, idle_ns, t->span_ns), duration(t, idle_ns),
                          duration(t, t->span_ns));
        any = true;
        if (gaps_ns > 0 && t->gaps.by[LPO_GAP_HOST].ns * 2 > gaps_ns)
            lpo_doc_paragraph(t->doc,
                              "- Most of that (%s of the gaps) is because the program gave it the "
                              "next job too late.",
                              percent(t, t->gaps.by[LPO_GAP_HOST].ns, gaps_ns));
    }
    if (t->launches && t->short_launches * 2 > t->launches) {
        lpo_doc_paragraph(t->doc,
                          "- %s of the jobs it was given are so short (under 5 us) that "
                          "handing them out costs more than doing them.",
                          percent(t, (int64_t)t->short_launches, (int64_t)t->launches));
        any = true;
    }
    if (t->exposed_ns * 50 > t->span_ns && t->exposed_ns > 0) {
        lpo_doc_paragraph(t->doc, "- It waited %s (%s) for other GPUs with nothing else to do.",
                          duration(t, t->exposed_ns), percent(t, t->exposed_ns, t->span_ns));
        any = true;
    }
    if (t->copy_ns * 20 > t->busy_ns && t->copy_ns > 0) {
        lpo_doc_paragraph(t->doc, "- Copying data took %s, as much as %s of its working time.",
                          duration(t, t->copy_ns), percent(t, t->copy_ns, t->busy_ns));
        any = true;
    }
    if (!any)
        lpo_doc_paragraph(t->doc, t->span_ns > 0 ? "- Nothing stands out: the GPU was busy nearly "
                                                   "all the time."
                                                 : "- GPU time was not recorded, so idle time "
                                                   "cannot be told.");
}

static int by_ns(const void *a, const void *b)
{
    const struct idea *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* Time of a region by itself. Nobody waits again for loading and warming up. */
static int64_t own_ns(const struct lpo_fold_row *r, bool gpu)
{
    if (r->sum.node == LPO_NODE_OUTSIDE || lpo_starts(r->path, "warmup") ||
        lpo_starts(r->path, "load"))
        return 0;
    return gpu ? r->sum.self.ns : r->sum.host_self_ns;
}

/* The dearest regions by themselves: one beside the GPU's own troubles, else three. */
static void idea_regions(struct story *t, bool gpu)
{
    int64_t under = INT64_MAX;

    for (int k = 0; k < (gpu ? 1 : WORST); k++) {
        const struct lpo_fold_row *best = NULL;
        int64_t best_ns = 0;

        for (size_t i = 0; i < t->fold->rows.len; i++) {
            int64_t ns = own_ns(&t->fold->rows.at[i], gpu);

            if (ns > best_ns && ns < under) {
                best = &t->fold->rows.at[i];
                best_ns = ns;
            }
        }
        if (!best)
            return;
        under = best_ns;
        idea(t, best_ns / 4,
             lpo_arena_printf(t->doc->arena,
                              "Look at \"%s\", which takes %s by itself%s. Making it a quarter "
                              "faster would save %s.",
                              best->path, duration(t, best_ns),
                              k ? "" : ", more than any other part", duration(t, best_ns / 4)));
    }
}

static void idea_kernel(struct story *t)
{
    lpo_top_rows rows = { 0 };

    lpo_top(t->s->analysis->cells, LPO_KERNEL, &rows);
    if (rows.len && rows.at[0].sum.ns > 0) {
        size_t len;
        const char *function =
            lpo_kernel_function(lpo_trace_text(t->s->analysis->trace, rows.at[0].name), &len);

        idea(t, rows.at[0].sum.ns / 4,
             lpo_arena_printf(t->doc->arena,
                              "Measure the dearest single GPU job, \"%.*s\" (%s of the work), in "
                              "depth: lpo top and lpo kernels. A quarter off it would save %s.",
                              (int)(len < 120 ? len : 120), function,
                              percent(t, rows.at[0].sum.ns, t->kernel_ns),
                              duration(t, rows.at[0].sum.ns / 4)));
    }
    lpo_vec_free(&rows);
}

static void gather_ideas(struct story *t, bool gpu)
{
    int64_t host = t->gaps.by[LPO_GAP_HOST].ns, idle = t->span_ns - t->busy_ns;
    int64_t small = t->class_ns[LPO_CLASS_ELEMENTWISE] + t->class_ns[LPO_CLASS_COPY] +
                    t->class_ns[LPO_CLASS_NORM];

    if (host > idle) /* streams wait side by side; the GPU as a whole idles less */
        host = idle;

    if (host * 20 > t->span_ns)
        idea(t, host,
             lpo_arena_printf(t->doc->arena,
                              "Hand the GPU its jobs earlier or in bundles (CUDA graphs, "
                              "torch.compile, larger batches): up to %s of waiting can go.",
                              duration(t, host)));
    if (t->exposed_ns * 50 > t->span_ns)
        idea(t, t->exposed_ns,
             lpo_arena_printf(t->doc->arena,
                              "Let talking to other GPUs overlap with computing: up to %s can be "
                              "hidden.",
                              duration(t, t->exposed_ns)));
    if (t->copy_ns * 20 > t->busy_ns)
        idea(t, t->copy_ns,
             lpo_arena_printf(t->doc->arena,
                              "Copy less, or copy while computing (pinned memory, other streams): "
                              "up to %s.",
                              duration(t, t->copy_ns)));
    if (small * 5 > t->kernel_ns)
        idea(t, small / 2,
             lpo_arena_printf(t->doc->arena,
                              "Melt small steps together (operator fusion, torch.compile): they "
                              "take %s of the work; half of it, %s, is a usual win.",
                              percent(t, small, t->kernel_ns), duration(t, small / 2)));
    if (gpu)
        idea_kernel(t);
    idea_regions(t, gpu);
    if (t->all->coverage.outside.ns * 5 > t->kernel_ns || (!gpu && !t->fold->rows.len))
        idea(t, t->all->coverage.outside.ns / 20 + 1,
             "Mark the parts of the program with NVTX ranges: a large share of the work lies "
             "outside every marked part, so nobody can say what it is for.");
}

static void tell_ideas(struct story *t)
{
    lpo_doc_section(t->doc, "todo", "What to do first", 1);
    qsort(t->ideas, t->nideas, sizeof *t->ideas, by_ns);
    if (!t->nideas)
        lpo_doc_paragraph(t->doc, "Nothing can be advised from what was recorded: enable a stage "
                                  "that traces (native, nsys or torch_profiler).");
    for (size_t i = 0; i < t->nideas && i < WORST; i++)
        lpo_doc_paragraph(t->doc, "%zu. %s", i + 1, t->ideas[i].text);
}

static void tell_speed(struct story *t)
{
    for (size_t i = 0; i < t->d->speeds.len; i++) {
        const struct lpo_json *m = t->d->speeds.at[i].metrics;
        double rate = lpo_json_real(lpo_json_at(m, "aggregate.tokens_per_s.p50"), NAN);
        double first = lpo_json_real(lpo_json_at(m, "aggregate.ttft_ms.p50"), NAN);

        /* the plain run is the one that counts */
        if (strcmp(t->d->speeds.at[i].stage, "direct_inference") != 0 || isnan(rate))
            continue;
        if (isnan(first))
            lpo_doc_paragraph(t->doc, "It produced %.4g tokens per second.", rate);
        else
            lpo_doc_paragraph(t->doc,
                              "It produced %.4g tokens per second, the first after %.4g ms.", rate,
                              first);
    }
}

static void tell_limits(struct story *t)
{
    struct lpo_err ignored = { 0 }; /* the report tells what is wrong with the analysis */
    LPO_AUTO(lpo_limits) limits = lpo_limits_of_run(t->d, t->s, &ignored);

    if (limits)
        lpo_limits_in_words(t->doc, limits);
}

struct lpo_doc *lpo_summary_doc(const struct lpo_run_data *d, const struct lpo_source *s)
{
    struct story t = { .doc = lpo_doc_create("summary", "Summary"), .d = d, .s = s };
    bool gpu;

    tell_what_ran(&t);
    tell_speed(&t);
    lpo_summary_speed(t.doc, d);
    if (!s) {
        tell_ideas(&t);
        return t.doc;
    }
    t.all =
        lpo_scope_create(s->analysis->cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, s->select);
    t.fold = lpo_fold_create(t.all, 1); /* "layer*" is one thing to a reader of this page */
    gpu = t.all->coverage.total.ns > 0;
    measure_devices(&t);
    measure_kernels(&t);
    lpo_doc_section(t.doc, "time", "What takes the time", 1);
    lpo_doc_paragraph(t.doc,
                      gpu ? "All the GPU's work together is %s."
                          : "The marked parts of the "
                            "program on the host:",
                      gpu ? duration(&t, t.kernel_ns) : "");
    tell_regions(&t, gpu);
    if (gpu) {
        tell_classes(&t);
        tell_waste(&t);
    }
    tell_limits(&t);
    gather_ideas(&t, gpu);
    tell_ideas(&t);
    lpo_fold_destroy(t.fold);
    lpo_scope_destroy(t.all);
    return t.doc;
}
