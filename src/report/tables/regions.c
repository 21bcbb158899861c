/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of regions: the tree with its times, idle time and sampled counters; sums of launches by
 * scope, capture and forward pass. Lines are those of the folded tree. */
#include "report/tables/tables.h"

#include "analysis/analysis.h"
#include "analysis/counters/region_sums.h"
#include "analysis/counters/sampled.h"
#include "analysis/tables/tables.h"
#include "analysis/wall/wall.h"
#include "region/fold.h"
#include "report/doc/doc.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* --- lines of the tree ------------------------------------------------------------------------ */

struct line_counters {
    struct lpo_sampled_sums all, self, captured;
    double border_ns;
};

struct line_idle {
    int64_t ns[LPO_IDLE_CAUSES], total_ns;
    uint64_t gaps;
};

/* One line: a region, or a family of them; and what a table is about. */
typedef struct {
    const struct lpo_region_scope *s;
    const struct lpo_fold_row *f;
    const struct lpo_region_row *r; /* its sums */
    const char *name;               /* for people */
    unsigned indent;
    bool host;        /* no GPU operation: shares and spread are of host time */
    int64_t total_ns; /* that shares are of */
    const struct line_counters *counters;
    const struct lpo_call_spread *spread;
    struct line_idle idle;
} line_row;

typedef LPO_VEC(line_row) line_rows;

/* Kernels were left out, or copies are shares of graphs: then shares are no measured time. */
static struct lpo_cell time_cell(const line_row *l, const struct lpo_sum *s)
{
    return lpo_tables_some(s, s->ns, l->s->cells->left_out || l->r->copies.shares);
}

static struct lpo_cell host_cell(const line_row *l, int64_t ns)
{
    return lpo_cell_whole_if(l->r->visits_known, ns);
}

static struct lpo_cell share_cell(const line_row *l)
{
    if (l->host)
        return l->r->visits_known ? lpo_cell_share((double)l->r->host_ns, (double)l->total_ns)
                                  : lpo_cell_unknown();
    return lpo_tables_part(&l->r->all, l->total_ns, l->s->cells->left_out || l->r->copies.shares);
}

static struct lpo_cell call_cell(const line_row *l, bool first)
{
    struct lpo_region_calls c;

    if (!lpo_region_row_calls(l->s, l->r, &c) || !c.differ)
        return lpo_cell_unknown();
    return lpo_cell_whole(first ? c.first_host_ns : c.later_host_ns);
}

/* Where the times of the members are unknown, so are these: unknown is not 0. */
static struct lpo_cell member_cell(const line_row *l, int64_t ns)
{
    return lpo_cell_whole_if(l->host ? l->r->visits_known : lpo_region_sum_known(&l->r->all), ns);
}

static struct lpo_cell sampled_cell(const line_row *l, enum lpo_counters_meaning meaning)
{
    return lpo_cell_measure(lpo_counters_sums_get(&l->counters->all, meaning));
}

static struct lpo_cell active_cell(const struct lpo_sampled_sums *s,
                                   enum lpo_counters_meaning meaning)
{
    return lpo_cell_percent(lpo_counters_sums_get(s, meaning));
}

static struct lpo_cell per_call_cell(const line_row *l)
{
    struct lpo_measure dram = lpo_counters_sums_dram(&l->counters->all);

    if (!l->r->visits_known || !l->r->visits || !lpo_measure_known(dram))
        return lpo_cell_unknown();
    return lpo_cell_real(dram.value / (double)l->r->visits);
}

/* By region alone: a scope of one process shares its samples, too. */
static struct lpo_cell border_cell(const line_row *l)
{
    if (l->r->node == LPO_NODE_OUTSIDE || l->s->id.kind != LPO_SCOPE_ALL)
        return lpo_cell_unknown();
    return lpo_cell_share(l->counters->border_ns, (double)(l->r->all.ns + l->r->copies.ns));
}

#define LINE(X)                                                                                    \
    X(line, region, "Region", TEXT, KEY, "path of the region",                                     \
      lpo_cell_path(r->f->path, r->name, r->indent))                                               \
    X(line, visits, "Calls", COUNT, ADDS, "times it was entered",                                  \
      host_cell(r, (int64_t)r->r->visits))                                                         \
    X(line, launches, "Launches", COUNT, ADDS, "kernels in it", r->r->all.launches)                \
    X(line, gpu_ns_inclusive, "GPU time", NS, ADDS, "of these", time_cell(r, &r->r->all))          \
    X(line, share, "Share", PERCENT, FACT, "of GPU time, else of host time", share_cell(r))        \
    X(line, gpu_ns_exclusive, "Own GPU time", NS, ADDS, "in no region inside",                     \
      time_cell(r, &r->r->self))                                                                   \
    X(line, copies_ns, "Copies", NS, ADDS, "GPU work too: more than kernels in some programs",     \
      time_cell(r, &r->r->copies), .minor = 1)                                                     \
    X(line, adopted_ns, "Adopted", NS, ADDS, "of threads without ranges; in no other column",      \
      lpo_tables_some(&r->r->adopted, r->r->adopted.ns, true))                                     \
    X(line, host_ns, "Host time", NS, ADDS, "inside", host_cell(r, r->r->host_ns))                 \
    X(line, host_ns_exclusive, "Own host time", NS, ADDS, "in no region inside",                   \
      host_cell(r, r->r->host_self_ns))                                                            \
    X(line, mean_ns, "Per call", NS, FACT, "host time",                                            \
      lpo_cell_whole_if(r->r->visits > 0,                                                          \
                        r->r->host_ns / (int64_t)(r->r->visits ? r->r->visits : 1)))               \
    X(line, first_call_ns, "First call", NS, FACT, "what loads once is not the cost of each call", \
      call_cell(r, true), .minor = 2)                                                              \
    X(line, later_call_ns, "Later, each", NS, FACT, "host time", call_cell(r, false), .minor = 2)  \
    X(line, members, "Regions", COUNT, ADDS, "in this line", r->f->members, .minor = 3)            \
    X(line, min_ns, "Min", NS, LEAST, "of one member", member_cell(r, r->f->min_ns), .minor = 4)   \
    X(line, median_ns, "Median", NS, FACT, "of one member", member_cell(r, r->f->median_ns),       \
      .minor = 4)                                                                                  \
    X(line, max_ns, "Max", NS, MOST, "of one member", member_cell(r, r->f->max_ns), .minor = 4)    \
    X(line, source, "Code", TEXT, FACT, "file and line of a module or function",                   \
      lpo_region_row_source(r->s, r->r) ? lpo_region_row_source(r->s, r->r) : "", .minor = 1)      \
    X(line, idle_ns, "Idle before", NS, ADDS, "before an operation that was launched in it",       \
      r->idle.total_ns)                                                                            \
    X(line, blocked_ns, "Blocked", NS, ADDS, "the host waited in a call",                          \
      r->idle.ns[LPO_IDLE_BLOCKED])                                                                \
    X(line, late_ns, "Host too late", NS, ADDS, "launched too late", r->idle.ns[LPO_IDLE_HOST])    \
    X(line, queued_ns, "Queued", NS, ADDS, "launched, but it waited", r->idle.ns[LPO_IDLE_QUEUED]) \
    X(line, unknown_ns, "Unknown", NS, ADDS, "the trace does not say why",                         \
      r->idle.ns[LPO_IDLE_UNKNOWN], .minor = 1)                                                    \
    X(line, gaps, "Gaps", COUNT, ADDS, "stretches without any operation", r->idle.gaps)

#define SAMPLED(X)                                                                                 \
    X(line, gpu_ns, "GPU time", NS, ADDS, "copies too: they move bytes",                           \
      r->r->all.ns + r->r->copies.ns)                                                              \
    X(line, dram_bytes_read, "DRAM read", BYTES, ADDS, "from the memory",                          \
      sampled_cell(r, LPO_COUNTER_DRAM_READ))                                                      \
    X(line, dram_bytes_written, "DRAM written", BYTES, ADDS, "to the memory",                      \
      sampled_cell(r, LPO_COUNTER_DRAM_WRITE))                                                     \
    X(line, dram_bytes, "DRAM traffic", BYTES, ADDS, "both ways, by one counter",                  \
      sampled_cell(r, LPO_COUNTER_DRAM_BYTES))                                                     \
    X(line, dram_bytes_per_call, "Per call", BYTES, FACT, "both ways", per_call_cell(r),           \
      .minor = 1)                                                                                  \
    X(line, dram_rate, "DRAM rate", MEASURE("B/s"), FACT, "bytes over GPU time",                   \
      lpo_counters_sums_dram_rate(&r->counters->all))                                              \
    X(line, tensor_active, "Tensor cores", PERCENT, FACT, "of their peak",                         \
      active_cell(&r->counters->all, LPO_COUNTER_TENSOR_ACTIVE))                                   \
    X(line, sm_active, "SMs", PERCENT, FACT, "that had work",                                      \
      active_cell(&r->counters->all, LPO_COUNTER_SM_ACTIVE))                                       \
    X(line, warps_active, "Warps", PERCENT, FACT, "that were active",                              \
      active_cell(&r->counters->all, LPO_COUNTER_WARPS_ACTIVE))                                    \
    X(line, l2_bytes, "L2 traffic", BYTES, ADDS, "through L2",                                     \
      sampled_cell(r, LPO_COUNTER_L2_BYTES), .minor = 1)                                           \
    X(line, pcie_bytes_read, "PCIe in", BYTES, ADDS, "to the GPU",                                 \
      sampled_cell(r, LPO_COUNTER_PCIE_READ), .minor = 3)                                          \
    X(line, pcie_bytes_written, "PCIe out", BYTES, ADDS, "from the GPU",                           \
      sampled_cell(r, LPO_COUNTER_PCIE_WRITE), .minor = 3)                                         \
    X(line, nvlink_bytes_received, "NVLink in", BYTES, ADDS, "to the GPU",                         \
      sampled_cell(r, LPO_COUNTER_NVLINK_RX), .minor = 2)                                          \
    X(line, nvlink_bytes_sent, "NVLink out", BYTES, ADDS, "from the GPU",                          \
      sampled_cell(r, LPO_COUNTER_NVLINK_TX), .minor = 2)                                          \
    X(line, dram_bytes_own, "Own DRAM", BYTES, ADDS, "in no region inside",                        \
      lpo_counters_sums_dram(&r->counters->self), .minor = 2)                                      \
    X(line, border_share, "At borders", PERCENT, FACT, "GPU time in samples that others share",    \
      border_cell(r))                                                                              \
    X(line, captured_ns, "GPU time", NS, ADDS, "of graphs captured in it", r->r->captured.ns)      \
    X(line, captured_bytes, "DRAM traffic", BYTES, ADDS, "of these",                               \
      lpo_counters_sums_dram(&r->counters->captured))                                              \
    X(line, captured_rate, "DRAM rate", MEASURE("B/s"), FACT, "of these",                          \
      lpo_counters_sums_dram_rate(&r->counters->captured))                                         \
    X(line, captured_tensor, "Tensor cores", PERCENT, FACT, "of these",                            \
      active_cell(&r->counters->captured, LPO_COUNTER_TENSOR_ACTIVE))                              \
    X(line, captured_sm, "SMs", PERCENT, FACT, "of these",                                         \
      active_cell(&r->counters->captured, LPO_COUNTER_SM_ACTIVE))

/* The first call, and the least, median and most of the later ones. */
#define FIGURE(X, key, word, type, at, cell)                                                       \
    X(line, key##_first, word "first", type, FACT, "of the first call",                            \
      cell(r->spread->first[at]))                                                                  \
    X(line, key##_min, word "min", type, FACT, "least of later calls", cell(r->spread->least[at])) \
    X(line, key##_median, word "median", type, FACT, "of later calls",                             \
      cell(r->spread->median[at]))                                                                 \
    X(line, key##_max, word "max", type, FACT, "most of later calls", cell(r->spread->most[at]))

#define CALLS(X)                                                                                   \
    X(line, calls, "Calls", COUNT, ADDS, "in which something ran", r->spread->calls)               \
    X(line, calls_counted, "With figures", COUNT, ADDS, "of these", r->spread->counted)            \
    X(line, call_border_share, "At borders", PERCENT, FACT, "of their GPU time",                   \
      lpo_cell_share(r->spread->border_ns, r->spread->gpu_ns))                                     \
    FIGURE(X, call_dram, "DRAM, ", BYTES, LPO_CALL_DRAM_BYTES, lpo_cell_measure)                   \
    FIGURE(X, call_rate, "Rate, ", MEASURE("B/s"), LPO_CALL_DRAM_RATE, lpo_cell_measure)           \
    FIGURE(X, call_tensor, "Tensor cores, ", PERCENT, LPO_CALL_TENSOR_ACTIVE, lpo_cell_percent)    \
    FIGURE(X, call_sm, "SMs, ", PERCENT, LPO_CALL_SM_ACTIVE, lpo_cell_percent)

LPO_TABLE_ROWS(line)
LINE(LPO_TABLE_GETTER)
SAMPLED(LPO_TABLE_GETTER)
CALLS(LPO_TABLE_GETTER)

static const struct lpo_column line_columns[] = { LINE(LPO_TABLE_COLUMN) SAMPLED(LPO_TABLE_COLUMN)
                                                      CALLS(LPO_TABLE_COLUMN) };

static const struct lpo_table_kind lines_kind =
    LPO_TABLE_KIND(line, "region_lines", "Regions, families in one line");

static line_row make_line(const struct lpo_region_scope *s, const struct lpo_fold_row *f)
{
    return (line_row){ .s = s, .f = f, .r = &f->sum, .name = f->name, .indent = f->depth };
}

static struct lpo_table *add_lines(struct lpo_doc *doc, const char *id, const char *title,
                                   line_rows *lines, const char *columns,
                                   const struct lpo_table_options *options)
{
    const struct lpo_rows rows = lpo_tables_rows(NULL, &lines_kind, lines->at, lines->len);
    struct lpo_table *t = lpo_doc_table_of(doc, id, title, &rows, columns, options->most_rows);

    lpo_vec_free(lines);
    return t;
}

/* --- time ------------------------------------------------------------------------------------- */

/* A function of Python by file and line: the folders before them are in the path, and would push
 * what differs out of the column. */
static const char *shown_name(const struct lpo_region_scope *s, const struct lpo_fold_row *r)
{
    const char *at = strstr(r->name, ".py(");

    if (!at || strcmp(lpo_region_row_kind(s, &r->sum), "python") != 0)
        return r->name;
    while (at > r->name && at[-1] != '/')
        at--;
    return at;
}

/* Shares of host time are of the sum over the outermost push/pop regions. */
static int64_t host_total(const struct lpo_region_scope *s)
{
    int64_t ns = 0;

    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];

        if (r->node != LPO_NODE_OUTSIDE && lpo_region_row_depth(s, r) == 0 &&
            s->cells->tree->nodes.at[r->node].kind != LPO_START_END)
            ns += r->host_ns;
    }
    return ns;
}

/* `(outside)` is shown where a GPU operation is in it; the JSON has it always. */
static bool is_shown(const struct lpo_fold_row *r, bool no_zeros)
{
    if (no_zeros && !r->sum.all.launches && !r->sum.copies.launches && !r->sum.adopted.launches)
        return false;
    return r->sum.node != LPO_NODE_OUTSIDE || r->sum.all.launches || r->sum.copies.launches;
}

/* How much of the host time of a region came only once; 0 where that is less than a hundredth of
 * all: not worth a column. */
static int64_t once_ns(const struct lpo_region_scope *s, const struct lpo_region_row *r,
                       int64_t total_ns, struct lpo_region_calls *c)
{
    int64_t ns;

    if (!lpo_region_row_calls(s, r, c) || !c->differ)
        return 0;
    ns = (c->first_host_ns - c->later_host_ns) * (int64_t)r->firsts;
    return ns >= total_ns / 100 ? ns : 0;
}

enum { NAMED_CALLS = 3 };

/* In words, because a narrow table leaves the columns out. False: there are none. */
static bool note_calls(struct lpo_doc *doc, const struct lpo_region_scope *s,
                       const struct lpo_region_fold *fold)
{
    int64_t before = INT64_MAX, total_ns = host_total(s);
    LPO_STR text = { 0 };

    for (int n = 0; n < NAMED_CALLS; n++) {
        const struct lpo_fold_row *best = NULL;
        struct lpo_region_calls c, of_best = { 0 };
        int64_t most = 0;

        for (size_t i = 0; i < fold->rows.len; i++) {
            int64_t ns = once_ns(s, &fold->rows.at[i].sum, total_ns, &c);

            if (ns <= most || ns >= before)
                continue;
            best = &fold->rows.at[i];
            most = ns;
            of_best = c;
        }
        if (!best)
            break;
        before = most;
        lpo_str_addf(&text, "%s%.100s ", n ? "; " : "", best->path);
        lpo_units_add_duration(&text, of_best.first_host_ns);
        lpo_str_add(&text, ", then ");
        lpo_units_add_duration(&text, of_best.later_host_ns);
        if (best->sum.visits > best->sum.firsts + 1)
            lpo_str_add(&text, " each");
    }
    if (text.len && doc)
        lpo_doc_paragraph(doc,
                          "First calls take longer than later ones (host time): %s. The table "
                          "holds both.",
                          lpo_str_text(&text));
    return text.len > 0;
}

static void choose_columns(struct lpo_str *out, const struct lpo_region_scope *s,
                           const struct lpo_region_fold *fold, bool gpu, bool copies,
                           const struct lpo_table_options *options)
{
    bool spread = false;

    for (size_t i = 0; i < fold->rows.len; i++)
        spread |= fold->rows.at[i].members > 1 && !options->no_spread;
    lpo_str_add(out, "region visits");
    if (gpu)
        lpo_str_addf(out, " launches gpu_ns_inclusive share gpu_ns_exclusive%s%s",
                     copies ? " copies_ns" : "", s->coverage.adopted.launches ? " adopted_ns" : "");
    lpo_str_add(out, gpu ? " host_ns" : " host_ns share host_ns_exclusive mean_ns");
    if (note_calls(NULL, s, fold))
        lpo_str_add(out, " first_call_ns later_call_ns");
    if (spread)
        lpo_str_add(out, " members min_ns median_ns max_ns");
    if (s->cells->tree->modules)
        lpo_str_add(out, " source");
}

struct lpo_table *lpo_report_add_regions(struct lpo_doc *doc, const struct lpo_region_scope *s,
                                         const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, options->fold_over);
    bool copies = s->coverage.copies.launches || s->coverage.sets.launches;
    bool gpu = s->coverage.total.launches || s->cells->left_out || copies;
    bool no_zeros = options->no_zeros && (s->coverage.total.launches || copies);
    int64_t total_ns = gpu ? s->coverage.total.ns : host_total(s);
    line_rows lines = { 0 };
    struct lpo_table *t;
    LPO_STR columns = { 0 };

    for (size_t i = 0; i < fold->rows.len; i++) {
        line_row l = make_line(s, &fold->rows.at[i]);

        if (!is_shown(l.f, no_zeros))
            continue;
        l.name = shown_name(s, l.f);
        l.host = !gpu;
        l.total_ns = total_ns;
        lpo_vec_push(&lines, l);
    }
    choose_columns(&columns, s, fold, gpu, copies, options);
    t = add_lines(doc, "regions", "", &lines, lpo_str_text(&columns), options);
    note_calls(doc, s, fold);
    return t;
}

/* --- idle time -------------------------------------------------------------------------------- */

LPO_COMPARE(by_idle, line_row, LPO_DOWN(idle.total_ns) ?: LPO_TEXT(f->path));

/* The two innermost levels of a line's path, as people are shown them. Lines stand in the order of
 * a walk: the line around this one is the last before it that is one level up. */
static const char *innermost(const struct lpo_region_fold *f, size_t i, struct lpo_arena *arena)
{
    const struct lpo_fold_row *r = &f->rows.at[i];

    for (size_t k = i; r->depth && k-- > 0;)
        if (f->rows.at[k].depth == r->depth - 1)
            return lpo_arena_printf(arena, "%s%s/%s", r->depth > 1 ? "…/" : "", f->rows.at[k].name,
                                    r->name);
    return r->name;
}

void lpo_report_add_region_idle(struct lpo_doc *doc, const struct lpo_analysis *a,
                                const struct lpo_table_options *options)
{
    const struct lpo_region_scope *s = lpo_analysis_all(a);
    const struct lpo_wall *w = lpo_analysis_wall(a);
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, options->fold_over);
    LPO_FREED struct line_idle *idle = lpo_xcalloc(fold->rows.len + 1, sizeof *idle);
    line_rows lines = { 0 };

    for (size_t i = 0; i < s->rows.len; i++) {
        uint32_t node = s->rows.at[i].node;
        const struct lpo_wall_region *r =
            &w->regions[node == LPO_NODE_OUTSIDE ? s->cells->tree->nodes.len : node];
        struct line_idle *to = &idle[fold->line_of[i]];

        to->gaps += r->gaps;
        for (int c = 0; c < LPO_IDLE_CAUSES; c++) {
            to->ns[c] += r->ns[c];
            to->total_ns += r->ns[c];
        }
    }
    for (size_t i = 0; i < fold->rows.len; i++) {
        line_row l = make_line(s, &fold->rows.at[i]);

        if (!idle[i].gaps)
            continue;
        l.idle = idle[i];
        l.name = innermost(fold, i, doc->arena);
        l.indent = 0;
        lpo_vec_push(&lines, l);
    }
    lpo_vec_sort(&lines, by_idle);
    add_lines(doc, "region_idle", "Idle time, by the region that launched the next operation",
              &lines,
              "region:Launched_from idle_ns blocked_ns host_ns=late_ns queued_ns unknown_ns gaps",
              options);
}

/* --- sampled counters ------------------------------------------------------------------------- */

static struct lpo_sampled_sums sums_of(const struct lpo_region_scope *s, uint32_t row)
{
    const struct lpo_trace *t = s->cells->tree->trace;

    return lpo_counters_sums_of(
        t, row == LPO_NONE ? NULL : &s->metric_sums.at[(size_t)row * t->metrics.len]);
}

static struct line_counters *sum_counters(const struct lpo_analysis *a,
                                          const struct lpo_region_scope *s,
                                          const struct lpo_region_fold *fold)
{
    struct line_counters *lines = lpo_xcalloc(fold->rows.len + 1, sizeof *lines);

    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *row = &s->rows.at[i];
        struct line_counters *line = &lines[fold->line_of[i]];
        const struct lpo_sampled_sums all = sums_of(s, row->metrics),
                                      self = sums_of(s, row->metrics_self),
                                      captured = sums_of(s, row->metrics_captured);

        lpo_counters_sums_add(&line->all, &all);
        lpo_counters_sums_add(&line->self, &self);
        lpo_counters_sums_add(&line->captured, &captured);
        if (row->node != LPO_NODE_OUTSIDE && a->sampled)
            line->border_ns += a->sampled->borders[row->node].ns;
    }
    return lines;
}

struct lpo_table *lpo_report_add_region_counters(struct lpo_doc *doc, const struct lpo_analysis *a,
                                                 const struct lpo_region_scope *s,
                                                 const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = NULL;
    LPO_FREED struct line_counters *counters = NULL;
    line_rows lines = { 0 };
    struct lpo_table *t;

    if (!a->sampled)
        return NULL;
    fold = lpo_region_fold_create(s, options->fold_over);
    counters = sum_counters(a, s, fold);
    for (size_t i = 0; i < fold->rows.len; i++) {
        line_row l = make_line(s, &fold->rows.at[i]);

        l.counters = &counters[i];
        if (l.r->all.launches || l.r->copies.launches)
            lpo_vec_push(&lines, l);
    }
    t = add_lines(doc, "region_counters", "Sampled counters by region", &lines,
                  "region gpu_ns dram_bytes_read? dram_bytes_written? dram_bytes? "
                  "dram_bytes_per_call dram_rate tensor_active? sm_active? warps_active? l2_bytes? "
                  "pcie_bytes_read? pcie_bytes_written? nvlink_bytes_received? nvlink_bytes_sent? "
                  "dram_bytes_own border_share",
                  options);
    return t;
}

struct lpo_table *lpo_report_add_captured_counters(struct lpo_doc *doc,
                                                   const struct lpo_analysis *a,
                                                   const struct lpo_region_scope *s,
                                                   const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, options->fold_over);
    LPO_FREED struct line_counters *counters = sum_counters(a, s, fold);
    struct lpo_table *t = NULL;
    line_rows lines = { 0 };

    for (size_t i = 0; i < fold->rows.len; i++) {
        line_row l = make_line(s, &fold->rows.at[i]);

        l.counters = &counters[i];
        if (lpo_measure_known(lpo_counters_sums_dram(&counters[i].captured)))
            lpo_vec_push(&lines, l);
    }
    if (lines.len)
        t = add_lines(doc, "captured_counters",
                      "Sampled counters of CUDA graphs, by where they were captured", &lines,
                      "region:Captured_in gpu_ns=captured_ns dram_bytes_all=captured_bytes "
                      "dram_rate=captured_rate tensor_active=captured_tensor "
                      "sm_active=captured_sm",
                      options);
    return t;
}

/* The regions of a line of the folded table. */
static size_t nodes_of(const struct lpo_region_scope *s, const struct lpo_region_fold *fold,
                       size_t line, uint32_t *nodes)
{
    size_t n = 0;

    for (size_t i = 0; i < s->rows.len; i++)
        if (fold->line_of[i] == line && s->rows.at[i].node != LPO_NODE_OUTSIDE)
            nodes[n++] = s->rows.at[i].node;
    return n;
}

struct lpo_table *lpo_report_add_call_counters(struct lpo_doc *doc, const struct lpo_analysis *a,
                                               const struct lpo_region_scope *s,
                                               const struct lpo_table_options *options)
{
    const struct lpo_sampled_gpu *g = a->sampled && a->sampled->gpus.len
                                          ? &a->sampled->gpus.at[0]
                                          : NULL; /* others run the same */
    LPO_AUTO(lpo_region_fold) fold = NULL;
    LPO_FREED struct lpo_call_spread *spreads = NULL;
    struct lpo_table *t = NULL;
    line_rows lines = { 0 };
    LPO_FREED uint32_t *nodes = NULL;

    if (!g || s->id.kind != LPO_SCOPE_ALL || !g->calls.len)
        return NULL;
    fold = lpo_region_fold_create(s, options->fold_over);
    nodes = lpo_xcalloc(s->rows.len + 1, sizeof *nodes);
    spreads = lpo_xcalloc(fold->rows.len + 1, sizeof *spreads);
    for (size_t i = 0; i < fold->rows.len; i++) {
        line_row l = make_line(s, &fold->rows.at[i]);

        spreads[i] = lpo_counters_call_spread(g, nodes, nodes_of(s, fold, i, nodes));
        l.spread = &spreads[i];
        if (spreads[i].counted)
            lpo_vec_push(&lines, l);
    }
    if (lines.len)
        t = add_lines(doc, "call_counters", "Sampled counters of one call", &lines,
                      "region calls calls_counted border_share=call_border_share~2 "
                      "dram_bytes_first=call_dram_first dram_bytes_min=call_dram_min "
                      "dram_bytes_median=call_dram_median dram_bytes_max=call_dram_max "
                      "dram_rate_first=call_rate_first~3 dram_rate_min=call_rate_min~2 "
                      "dram_rate_median=call_rate_median dram_rate_max=call_rate_max~2 "
                      "tensor_active_first=call_tensor_first~5? "
                      "tensor_active_min=call_tensor_min~4? "
                      "tensor_active_median=call_tensor_median~1? "
                      "tensor_active_max=call_tensor_max~4? sm_active_first=call_sm_first~5? "
                      "sm_active_min=call_sm_min~4? sm_active_median=call_sm_median~3? "
                      "sm_active_max=call_sm_max~4?",
                      options);
    return t;
}

/* --- sums of launches ------------------------------------------------------------------------- */

/* A part of the GPU time of a scope, or the scope itself as a part of all. */
typedef struct {
    const char *path, *name; /* name: for people, or NULL */
    unsigned indent;
    const struct lpo_sum *sum, *again; /* again: what a backward pass did a second time */
    int64_t total_ns;
    bool some;
    const struct lpo_fold_row *most; /* the region whose share differs most from that in all */
    double here, there;
} part_row;

#define PART(X)                                                                                    \
    X(part, part, "Kernels", TEXT, KEY, "which", lpo_cell_path(r->path, r->name, r->indent))       \
    X(part, launches, "Launches", COUNT, ADDS, "of kernels", r->sum->launches)                     \
    X(part, gpu_ns, "GPU time", NS, ADDS, "of these",                                              \
      lpo_tables_some(r->sum, r->sum->ns, r->some))                                                \
    X(part, share, "Share", PERCENT, FACT, "of all",                                               \
      lpo_tables_part(r->sum, r->total_ns, r->some))                                               \
    X(part, recomputed_launches, "Launches again", COUNT, ADDS, "of the forward pass",             \
      r->again->launches, .minor = 1)                                                              \
    X(part, recomputed_ns, "Recomputed", NS, ADDS, "of these",                                     \
      lpo_tables_some(r->again, r->again->ns, true))                                               \
    X(part, region, "Differs most in", TEXT, FACT,                                                 \
      "the outermost region whose share differs most",                                             \
      r->most ? lpo_cell_path(r->most->path, r->most->name, 0) : lpo_cell_text(""))                \
    X(part, region_share, "Its share here", PERCENT, FACT, "of this scope",                        \
      r->most ? lpo_cell_real(r->here) : lpo_cell_unknown())                                       \
    X(part, region_share_of_all, "Its share in all", PERCENT, FACT, "of everything",               \
      r->most ? lpo_cell_real(r->there) : lpo_cell_unknown())

LPO_TABLE(part, PART)

static const struct lpo_table_kind parts_kind =
    LPO_TABLE_KIND(part, "parts", "Launches and their time, in parts");

typedef LPO_VEC(part_row) part_rows;

static struct lpo_table *add_parts(struct lpo_doc *doc, const char *id, const char *title,
                                   part_rows *parts, const char *columns, size_t most)
{
    const struct lpo_rows rows = lpo_tables_rows(NULL, &parts_kind, parts->at, parts->len);
    struct lpo_table *t = lpo_doc_table_of(doc, id, title, &rows, columns, most);

    lpo_vec_free(parts);
    return t;
}

void lpo_report_add_backward(struct lpo_doc *doc, const struct lpo_region_scope *s,
                             const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, options->fold_over);
    bool again = s->coverage.recomputed.launches > 0;
    part_rows parts = { 0 };

    if (!s->coverage.backward.launches && !again)
        return;
    for (size_t i = 0; i < fold->rows.len; i++) {
        const struct lpo_fold_row *f = &fold->rows.at[i];

        if (!f->sum.backward.launches && !f->sum.recomputed.launches)
            continue;
        lpo_vec_push(&parts,
                     (part_row){ .path = lpo_arena_printf(doc->arena, "%s (backward)", f->path),
                                 .name = lpo_arena_printf(doc->arena, "%s (backward)", f->name),
                                 .indent = f->depth,
                                 .sum = &f->sum.backward,
                                 .again = &f->sum.recomputed,
                                 .total_ns = s->coverage.total.ns,
                                 .some = true });
    }
    add_parts(
        doc, "backward", "Kernels of the backward pass, by the region of their forward", &parts,
        again ? "region=part:Backward_of launches gpu_ns share recomputed_launches recomputed_ns"
              : "region=part:Backward_of launches gpu_ns share",
        options->most_rows);
}

void lpo_report_add_captured(struct lpo_doc *doc, const struct lpo_region_scope *s,
                             const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, options->fold_over);
    int64_t total_ns = 0;
    part_rows parts = { 0 };

    for (size_t i = 0; i < fold->rows.len; i++)
        total_ns += fold->rows.at[i].depth == 0 ? fold->rows.at[i].sum.captured.ns : 0;
    for (size_t i = 0; i < fold->rows.len; i++) {
        const struct lpo_fold_row *f = &fold->rows.at[i];

        if (f->sum.captured.launches)
            lpo_vec_push(&parts, (part_row){ .path = f->path,
                                             .name = f->name,
                                             .indent = f->depth,
                                             .sum = &f->sum.captured,
                                             .total_ns = total_ns,
                                             .some = true });
    }
    if (parts.len)
        add_parts(doc, "captured", "Kernels of CUDA graphs, by where they were captured", &parts,
                  "region=part:Captured_in launches gpu_ns share", options->most_rows);
}

/* Shares of the time of a scope; of host time where no kernel ran. */
static double share_in(const struct lpo_region_scope *s, const struct lpo_region_row *r)
{
    bool gpu = s->coverage.total.ns > 0;
    double total = (double)(gpu ? s->coverage.total.ns : host_total(s));

    return total > 0 ? (double)(gpu ? r->all.ns : r->host_ns) / total : 0;
}

/* The share of the line of this path, 0 where the scope has no such region. */
static double share_of_path(const struct lpo_region_scope *s, const struct lpo_region_fold *f,
                            const char *path)
{
    for (size_t i = 0; i < f->rows.len; i++)
        if (strcmp(f->rows.at[i].path, path) == 0)
            return share_in(s, &f->rows.at[i].sum);
    return 0;
}

/* Of the outermost regions, in either of the two, the one whose share differs most. */
static void find_difference(part_row *p, const struct lpo_region_scope *s,
                            const struct lpo_region_scope *all, const struct lpo_region_fold *whole,
                            size_t fold_over)
{
    LPO_AUTO(lpo_region_fold) f = lpo_region_fold_create(s, fold_over);

    for (size_t i = 0; i < whole->rows.len; i++) {
        double a = share_in(all, &whole->rows.at[i].sum), b;

        if (whole->rows.at[i].depth)
            continue;
        b = share_of_path(s, f, whole->rows.at[i].path);
        if (fabs(b - a) > fabs(p->here - p->there)) {
            p->most = &whole->rows.at[i];
            p->here = b;
            p->there = a;
        }
    }
    if (fabs(p->here - p->there) < 0.001) /* what prints as the same is the same */
        p->most = NULL;
}

void lpo_report_add_scopes(struct lpo_doc *doc, const struct lpo_analysis *a,
                           const struct lpo_scope_id *ids, size_t count, size_t fold_over)
{
    const struct lpo_region_scope *all = lpo_analysis_all(a);
    LPO_AUTO(lpo_region_fold) whole = lpo_region_fold_create(all, fold_over);
    part_rows parts = { 0 };

    for (size_t i = 0; i < count; i++) {
        const struct lpo_region_scope *s = lpo_analysis_scope(a, ids[i]);
        struct lpo_sum *sum = LPO_NEW(doc->arena, struct lpo_sum); /* a scope may be gone soon */
        part_row p = { .sum = sum,
                       .total_ns = all->coverage.total.ns,
                       .some = lpo_region_cells_parted(s->cells) };
        LPO_STR name = { 0 };

        *sum = s->coverage.total;
        lpo_region_scope_add_name(a->trace, ids[i], &name);
        p.path = lpo_arena_strdup(doc->arena, lpo_str_text(&name));
        find_difference(&p, s, all, whole, fold_over);
        lpo_vec_push(&parts, p);
    }
    add_parts(doc, "scopes", "By process, GPU and rank", &parts,
              "scope=part:Scope launches gpu_ns share region region_share region_share_of_all", 0);
}

void lpo_report_add_coverage(struct lpo_doc *doc, const struct lpo_region_scope *s)
{
    const struct lpo_coverage *c = &s->coverage;
    const struct {
        const char *name;
        const struct lpo_sum *sum;
        bool always;
    } all[] = {
        { "inside a region", &c->in_region, true },
        { "launched outside every region", &c->outside, true },
        { "… of these adopted", &c->adopted, false },
        { "without a launch record", &c->no_launch, false },
        { "all", &c->total, true },
    };
    part_rows parts = { 0 };

    for (size_t i = 0; i < COUNT(all); i++)
        if (all[i].always || all[i].sum->launches)
            lpo_vec_push(&parts, (part_row){ .path = all[i].name,
                                             .sum = all[i].sum,
                                             .total_ns = c->total.ns,
                                             .some = lpo_region_cells_parted(s->cells) });
    add_parts(doc, "coverage", "", &parts, "part launches gpu_ns share", 0)->least_rows = SIZE_MAX;
}
