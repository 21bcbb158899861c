/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Memory": what the framework's allocator held at most, over time; the moment at which
 * most was in use, who allocated it and what for; what the allocator held without using it. The
 * page draws it over time. */

#include "analysis/memory/memory.h"
#include "analysis/analysis.h"
#include "analysis/tables/tables.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/over_time.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/series.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { SHOWN = 12, KEPT = 1000 }; /* owners for people, and in the JSON */

/* NULL where it is not known. */
static const char *name_of(const struct lpo_trace *t, uint32_t name)
{
    return name == LPO_NONE ? NULL : lpo_trace_text(t, name);
}

static struct lpo_cell bytes_cell(int64_t bytes)
{
    return lpo_cell_whole_if(bytes != LPO_NO_TIME, bytes);
}

/* --- over time -------------------------------------------------------------------------------- */

/* A trace that began in the middle of a run shows memory of before: times count from the first
 * allocation that it has. */
static int64_t first_moment(const struct lpo_trace *t)
{
    int64_t ns = INT64_MAX;

    for (size_t i = 0; i < t->series.len; i++)
        if (t->series.at[i].kind == LPO_SERIES_MEMORY && t->series.at[i].points.len &&
            t->series.at[i].points.at[0].ns < ns)
            ns = t->series.at[i].points.at[0].ns;
    return ns;
}

static const struct lpo_series_point *highest(const struct lpo_series *s)
{
    const struct lpo_series_point *peak = s->points.at;

    for (size_t i = 1; i < s->points.len; i++)
        peak = s->points.at[i].value > peak->value ? &s->points.at[i] : peak;
    return peak;
}

/* One quantity after the other; a page of limited length keeps the GPUs that are fullest. */
static int largest_first(const void *x, const void *y)
{
    const struct lpo_series *a = *(const struct lpo_series *const *)x,
                            *b = *(const struct lpo_series *const *)y;
    double p = highest(a)->value, q = highest(b)->value;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (p != q)
        return p > q ? -1 : 1;
    return (int)a->device - (int)b->device;
}

/* A quantity of one GPU; times count from the first allocation. */
typedef struct {
    const struct lpo_series *s;
    int64_t zero_ns;
} held_row;

#define HELD(X)                                                                                    \
    X(held, device, "GPU", TEXT, KEY, "whose memory", lpo_tables_scope(rows, r->s->device))        \
    X(held, what, "Memory", TEXT, KEY, "allocated, reserved …", lpo_tables_name(rows, r->s->name)) \
    X(held, first_bytes, "First", BYTES, FACT, "at the first allocation",                          \
      r->s->points.at[0].value, .minor = 1)                                                        \
    X(held, peak_bytes, "Peak", BYTES, MOST, "at any time", highest(r->s)->value)                  \
    X(held, peak_at_ns, "Peak after", NS, FACT, "the first allocation",                            \
      highest(r->s)->ns - r->zero_ns)                                                              \
    X(held, last_bytes, "Last", BYTES, FACT, "at the end",                                         \
      r->s->points.at[r->s->points.len - 1].value)                                                 \
    X(held, samples, "Samples", COUNT, ADDS, "that were recorded", r->s->seen, .minor = 2)

LPO_TABLE(held, HELD)

static const struct lpo_table_kind held_kind =
    LPO_TABLE_KIND(held, "memory_over_time", "What the allocator of a framework held");

static void add_over_time(struct lpo_doc *doc, const struct lpo_analysis *a)
{
    const struct lpo_trace *t = a->trace;
    LPO_FREED const struct lpo_series **order = lpo_xcalloc(t->series.len + 1, sizeof *order);
    LPO_FREED LPO_VEC(held_row) all = { 0 };
    struct lpo_rows rows;
    size_t n = 0;

    for (size_t i = 0; i < t->series.len; i++)
        if (t->series.at[i].kind == LPO_SERIES_MEMORY && t->series.at[i].points.len)
            order[n++] = &t->series.at[i];
    qsort(order, n, sizeof(*order), largest_first);
    for (size_t i = 0; i < n; i++)
        lpo_vec_push(&all, (held_row){ order[i], first_moment(t) });
    rows = lpo_tables_rows(lpo_tables_of(doc->arena, a, NULL), &held_kind, all.at, all.len);
    lpo_doc_table_of(doc, "memory", "", &rows, NULL, 0);
}

static bool has_source(const struct lpo_trace *t, enum lpo_allocator_source source)
{
    return lpo_any(i, t->allocators.len, t->allocators.at[i].source == source);
}

static void begin(struct lpo_doc *doc, const struct lpo_source *from)
{
    bool snapshot = has_source(from->trace, LPO_ALLOCATOR_SNAPSHOT);
    bool profiler = has_source(from->trace, LPO_ALLOCATOR_KINETO);

    lpo_doc_section(doc, "memory", "Memory", 1);
    lpo_doc_paragraph(doc,
                      "From %s: memory of the GPU that the framework's allocator had allocated and "
                      "reserved. Times count from the first allocation in the trace.",
                      !snapshot  ? from->what
                      : profiler ? "the trace of the PyTorch profiler and the memory snapshot"
                                 : "the memory snapshot");
    if (snapshot)
        lpo_doc_paragraph(doc, "A snapshot counts bytes as the program asked for them; the "
                               "profiler counts blocks, which the allocator rounds up to 512 B.");
}

/* --- the peak --------------------------------------------------------------------------------- */

static const char *const sources[] = {
    [LPO_ALLOCATOR_KINETO] = "profiler",
    [LPO_ALLOCATOR_SNAPSHOT] = "snapshot",
};

static const char *scope_of(struct lpo_arena *a, const struct lpo_trace *t, uint32_t allocator)
{
    return lpo_report_device_scope(a, &t->devices.at[t->allocators.at[allocator].device]);
}

static int64_t unused(const struct lpo_memory_peaks_row *row)
{
    /* a recording that contradicts itself: nothing is said */
    return row->reserved_bytes < row->peak_bytes ? LPO_NO_TIME
                                                 : row->reserved_bytes - row->peak_bytes;
}

typedef struct lpo_memory_peaks_row peak_row;

static const struct lpo_allocator *allocator_of(const struct lpo_rows *rows, const peak_row *r)
{
    return &lpo_tables_trace(rows)->allocators.at[r->allocator];
}

#define PEAK(X)                                                                                    \
    X(peak, type, "Type", TEXT, KEY, "of the device", "GPU")                                       \
    X(peak, gpu, "GPU", COUNT, KEY, "its number",                                                  \
      lpo_tables_device(rows, allocator_of(rows, r)->device))                                      \
    X(peak, scope, "GPU", TEXT, KEY, "device:<id>, of a job rank:<n>/device:<id>",                 \
      lpo_tables_scope(rows, allocator_of(rows, r)->device))                                       \
    X(peak, source, "From", TEXT, KEY, "profiler or snapshot",                                     \
      sources[allocator_of(rows, r)->source])                                                      \
    X(peak, allocations, "Allocations", COUNT, ADDS, "that were recorded", r->allocations,         \
      .minor = 1)                                                                                  \
    X(peak, frees, "Frees", COUNT, ADDS, "that were recorded", r->frees, .minor = 3)               \
    X(peak, peak_bytes, "Peak", BYTES, MOST, "in use at one time", bytes_cell(r->peak_bytes))      \
    X(peak, peak_at_ns, "After", NS, FACT, "the first event", r->peak_ns - r->first_ns)            \
    X(peak, reserved_bytes, "Reserved then", BYTES, FACT, "by the allocator",                      \
      bytes_cell(r->reserved_bytes))                                                               \
    X(peak, unused_bytes, "Unused", BYTES, FACT, "of these", bytes_cell(unused(r)))                \
    X(peak, most_reserved_bytes, "Most reserved", BYTES, MOST, "at any time",                      \
      bytes_cell(r->most_reserved), .minor = 2)                                                    \
    X(peak, growth_bytes, "Growth", BYTES, FACT, "most in use beside what was at first",           \
      r->growth_bytes)                                                                             \
    X(peak, largest_bytes, "Largest allocation", BYTES, MOST, "one block", r->largest_bytes)       \
    X(peak, older_bytes, "From before the recording", BYTES, FACT, "of the peak",                  \
      bytes_cell(r->has_owners ? r->older_bytes : LPO_NO_TIME))                                    \
    X(peak, out_of_memory, "Refused", COUNT, ADDS, "allocations",                                  \
      allocator_of(rows, r)->out_of_memory)

LPO_TABLE(peak, PEAK)

static const struct lpo_table_kind peaks_kind =
    LPO_TABLE_KIND(peak, "memory_peaks", "The most memory in use at one time");

struct lpo_rows lpo_report_memory_rows(struct lpo_arena *arena, const struct lpo_analysis *a)
{
    const struct lpo_memory_peaks *peaks = lpo_analysis_memory(a);

    return lpo_tables_rows(lpo_tables_of(arena, a, NULL), &peaks_kind, peaks->rows.at,
                           peaks->rows.len);
}

/* Somebody who owns a part of a peak, or what a part is for. */
typedef struct {
    const struct lpo_memory_peaks_row *peak;
    const struct lpo_memory_share *o;
    enum lpo_memory_category category;
} share_row;

static const struct lpo_memory_sum *sum_of(const share_row *r)
{
    return &r->peak->categories[r->category];
}

#define SHARE(X)                                                                                   \
    X(share, device, "GPU", TEXT, KEY, "whose memory",                                             \
      lpo_tables_scope(rows, allocator_of(rows, r->peak)->device), .width = 12)                    \
    X(share, source, "From", TEXT, KEY, "profiler or snapshot",                                    \
      sources[allocator_of(rows, r->peak)->source], .minor = 3, .width = 8)                        \
    X(share, bytes, "Bytes", BYTES, ADDS, "of the peak", r->o->bytes)                              \
    X(share, share, "Of the peak", PERCENT, FACT, "bytes over its bytes",                          \
      lpo_cell_share((double)r->o->bytes, (double)r->peak->peak_bytes))                            \
    X(share, allocations, "Allocations", COUNT, ADDS, "of these", r->o->allocations, .minor = 1)   \
    X(share, place, "Place", TEXT, KEY, "innermost frame outside of the framework", r->o->place)   \
    X(share, library, "Through", TEXT, FACT, "what the program called",                            \
      lpo_tables_name(rows, r->o->library), .minor = 3)                                            \
    X(share, operator, "Operator", TEXT, KEY, "that allocated it",                                 \
      lpo_tables_name(rows, r->o->op))                                                             \
    X(share, category, "For", TEXT, FACT, "an estimate",                                           \
      lpo_memory_category_name((enum lpo_memory_category)r->o->category), .minor = 2)              \
    X(share, lifetime_ns, "Lived", NS, FACT, "mean of the blocks that were freed",                 \
      lpo_cell_whole_if(r->o->freed > 0, r->o->freed ? r->o->lived_ns / (int64_t)r->o->freed : 0)) \
    X(share, shapes, "Shapes", TEXT, FACT, "of the operator's inputs",                             \
      lpo_tables_name(rows, r->o->shapes), .minor = 2)                                             \
    X(share, purpose, "For", TEXT, KEY, "an estimate", lpo_memory_category_name(r->category))      \
    X(share, purpose_bytes, "Bytes (estimated)", BYTES, ADDS, "of the peak", sum_of(r)->bytes)     \
    X(share, purpose_share, "Of the peak", PERCENT, FACT, "bytes over its bytes",                  \
      lpo_cell_share((double)sum_of(r)->bytes, (double)r->peak->peak_bytes))                       \
    X(share, blocks, "Blocks", COUNT, ADDS, "of these", sum_of(r)->blocks, .minor = 1)

LPO_TABLE(share, SHARE)

static const struct lpo_table_kind shares_kind =
    LPO_TABLE_KIND(share, "memory_owners", "Who owns the most memory in use, and what it is for");

typedef LPO_VEC(share_row) share_rows;

static struct lpo_rows keep_shares(const void *of, share_rows *all)
{
    struct lpo_rows rows = lpo_tables_kept(of, &shares_kind, all->at, all->len, sizeof *all->at);

    lpo_vec_free(all);
    return rows;
}

static struct lpo_rows owners_of(const void *of, const struct lpo_memory_peaks_row *peaks,
                                 size_t count, size_t most)
{
    share_rows all = { 0 };

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < peaks[i].owners.len && k < most; k++)
            lpo_vec_push(&all, (share_row){ .peak = &peaks[i], .o = &peaks[i].owners.at[k] });
    return keep_shares(of, &all);
}

static struct lpo_rows purposes_of(const void *of, const struct lpo_memory_peaks_row *peaks,
                                   size_t count, bool zeros)
{
    share_rows all = { 0 };

    for (size_t i = 0; i < count; i++)
        for (int c = 0; peaks[i].has_categories && c < LPO_MEMORY_CATEGORIES; c++)
            if (zeros || peaks[i].categories[c].bytes)
                lpo_vec_push(&all, (share_row){ .peak = &peaks[i],
                                                .category = (enum lpo_memory_category)c });
    return keep_shares(of, &all);
}

/* --- segments --------------------------------------------------------------------------------- */

static const char *pool_name(struct lpo_arena *a, const struct lpo_memory_pool *p)
{
    const char *size = p->large ? "large" : "small";

    if (!p->graph[0] && !p->graph[1])
        return size;
    return lpo_arena_printf(a, "%s, private %lld.%lld", size, (long long)p->graph[0],
                            (long long)p->graph[1]);
}

typedef struct lpo_memory_pool pool_row;

static struct lpo_cell stream_cell(const struct lpo_rows *rows, int64_t stream)
{
    lpo_str_addf(lpo_table_scratch(rows), "%lld", (long long)stream);
    return lpo_cell_scratch(rows);
}

#define POOL(X)                                                                                    \
    X(pool, device, "GPU", TEXT, KEY, "whose memory",                                              \
      lpo_tables_scope(rows, lpo_tables_trace(rows)->allocators.at[r->allocator].device))          \
    X(pool, pool, "Pool", TEXT, KEY, "large or small, of a graph",                                 \
      pool_name(((const struct lpo_tables_of *)rows->of)->arena, r))                               \
    X(pool, stream, "Stream", COUNT, KEY, "its number", r->stream)                                 \
    X(pool, stream_shown, "Stream", TEXT, KEY, "its number", stream_cell(rows, r->stream),         \
      .minor = 3)                                                                                  \
    X(pool, segments, "Segments", COUNT, ADDS, "of the GPU's memory", r->segments)                 \
    X(pool, reserved_bytes, "Reserved", BYTES, ADDS, "in segments", r->reserved)                   \
    X(pool, allocated_bytes, "Allocated", BYTES, ADDS, "of these", r->allocated)                   \
    X(pool, requested_bytes, "Requested", BYTES, ADDS, "before rounding", r->requested)            \
    X(pool, active_bytes, "Active", BYTES, ADDS, "not yet free on the GPU", r->active)             \
    X(pool, rounding_bytes, "Of it rounding", BYTES, ADDS, "allocated without being requested",    \
      r->allocated - r->requested, .minor = 2)                                                     \
    X(pool, free_bytes, "Free", BYTES, ADDS, "of the reserved", r->free_bytes)                     \
    X(pool, split_bytes, "Free beside used", BYTES, ADDS, "in a segment that is in use",           \
      r->split_bytes)                                                                              \
    X(pool, largest_free_bytes, "Largest free block", BYTES, MOST, "of all", r->largest_free,      \
      .minor = 1)

LPO_TABLE(pool, POOL)

static const struct lpo_table_kind pools_kind =
    LPO_TABLE_KIND(pool, "memory_pools", "Segments when a snapshot was taken");

/* Free memory of the pools, and the largest block of it, when the snapshot was taken: a program
 * that stopped for want of memory wrote it at that moment. */
static void sum_pools(const struct lpo_trace *t, uint32_t allocator, struct lpo_memory_pool *sum)
{
    for (size_t i = 0; i < t->memory_pools.len; i++) {
        const struct lpo_memory_pool *p = &t->memory_pools.at[i];

        if (p->allocator != allocator)
            continue;
        sum->reserved += p->reserved;
        sum->free_bytes += p->free_bytes;
        sum->largest_free =
            p->largest_free > sum->largest_free ? p->largest_free : sum->largest_free;
    }
}

static void add_fragments(struct lpo_str *text, const struct lpo_memory_pool *sum, int64_t wanted)
{
    lpo_str_add(text, "; ");
    lpo_units_add_bytes(text, (double)sum->free_bytes);
    lpo_str_add(text, " of the reserved memory was free, the largest block ");
    lpo_units_add_bytes(text, (double)sum->largest_free);
    if (sum->free_bytes >= wanted && sum->largest_free < wanted)
        lpo_str_add(text, ": enough, but in pieces "
                          "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True avoids that)");
}

static void note_refusals(struct lpo_doc *doc, const struct lpo_trace *t)
{
    for (size_t i = 0; i < t->allocators.len; i++) {
        const struct lpo_allocator *a = &t->allocators.at[i];
        const struct lpo_memory_owner *o =
            a->refused_owner == LPO_NONE ? NULL : &t->memory_owners.at[a->refused_owner];
        struct lpo_memory_pool sum = { 0 };
        LPO_STR text = { 0 };

        if (!a->out_of_memory || a->source != LPO_ALLOCATOR_SNAPSHOT)
            continue;
        sum_pools(t, (uint32_t)i, &sum);
        lpo_str_addf(&text, "%s ran out of memory %llu time%s: a request for ",
                     scope_of(doc->arena, t, (uint32_t)i), (unsigned long long)a->out_of_memory,
                     a->out_of_memory == 1 ? "" : "s");
        lpo_units_add_bytes(&text, (double)a->refused_bytes);
        lpo_str_add(&text, " failed");
        if (o && o->place != LPO_NONE)
            lpo_str_addf(&text, " at %s", lpo_trace_text(t, o->place));
        if (a->gpu_free_bytes != LPO_NO_TIME) {
            lpo_str_add(&text, "; the GPU had ");
            lpo_units_add_bytes(&text, (double)a->gpu_free_bytes);
            lpo_str_add(&text, " left");
        }
        if (sum.free_bytes > 0)
            add_fragments(&text, &sum, a->refused_bytes);
        lpo_doc_note(doc, LPO_NOTE_WARNING, "%s", lpo_str_text(&text));
    }
}

/* --- the chapter ------------------------------------------------------------------------------ */

static void add_peaks(struct lpo_doc *doc, const struct lpo_analysis *a)
{
    const struct lpo_memory_peaks *peaks = lpo_analysis_memory(a);
    const struct lpo_trace *t = a->trace;
    struct lpo_rows rows = lpo_report_memory_rows(doc->arena, a);
    const void *of = rows.of;
    size_t owners = 0;

    if (!rows.count)
        return;
    lpo_doc_table_of(doc, "memory_peaks", "Most in use at one time", &rows,
                     "device=scope source peak_bytes peak_at_ns reserved_bytes unused_bytes "
                     "most_reserved_bytes older_bytes allocations frees",
                     0);
    for (size_t i = 0; i < peaks->rows.len; i++)
        owners += peaks->rows.at[i].owners.len;
    rows = owners_of(of, peaks->rows.at, peaks->rows.len, SHOWN);
    if (rows.count) {
        struct lpo_table *table =
            lpo_doc_table_of(doc, "memory_owners", "Allocated by", &rows,
                             "device source bytes share allocations place library operator "
                             "category shapes",
                             0);

        table->total_rows = rows.count < owners ? owners : 0;
        table->least_rows = SHOWN;
    }
    rows = purposes_of(of, peaks->rows.at, peaks->rows.len, false);
    if (rows.count)
        lpo_doc_table_of(doc, "memory_categories", "What the peak was for", &rows,
                         "device category=purpose bytes=purpose_bytes share=purpose_share blocks",
                         0);
    rows = lpo_tables_rows(of, &pools_kind, t->memory_pools.at, t->memory_pools.len);
    if (rows.count)
        lpo_doc_table_of(doc, "memory_pools", "Segments when the snapshot was taken", &rows,
                         "device pool stream=stream_shown segments reserved_bytes allocated_bytes "
                         "rounding_bytes free_bytes split_bytes largest_free_bytes",
                         0);
    note_refusals(doc, t);
}

void lpo_report_chapter_memory(struct lpo_doc *doc, const struct lpo_rundir *d,
                               const struct lpo_source *s)
{
    const struct lpo_source *from = lpo_report_memory_source(d, s);

    if (!from)
        return;
    begin(doc, from);
    add_over_time(doc, from->analysis);
    add_peaks(doc, from->analysis);
}

/* --- for machines ----------------------------------------------------------------------------- */

static void put_bytes(struct lpo_record *r, const char *key, int64_t bytes)
{
    lpo_doc_put(r, LPO_KV(key, lpo_jv_int_if(bytes != LPO_NO_TIME, bytes)));
}

/* Most that segments of one pool held without using it. */
static void put_unused(struct lpo_record *to, const struct lpo_trace *t,
                       const struct lpo_memory_peaks_row *row)
{
    static const char *const names[][2] = { { "large", LPO_SNAPSHOT_UNUSED_LARGE },
                                            { "small", LPO_SNAPSHOT_UNUSED_SMALL } };
    struct lpo_record *list = lpo_doc_put_list(to, "unused");

    for (size_t k = 0; k < COUNT(names); k++)
        for (size_t i = 0; i < t->series.len; i++) {
            const struct lpo_series *s = &t->series.at[i];
            const struct lpo_series_point *most = s->points.at;
            struct lpo_record *r;

            if (s->device != t->allocators.at[row->allocator].device || !s->points.len ||
                strcmp(lpo_trace_text(t, s->name), names[k][1]) != 0)
                continue;
            for (size_t p = 1; p < s->points.len; p++)
                most = s->points.at[p].value > most->value ? &s->points.at[p] : most;
            r = lpo_doc_put_record(list, NULL);
            lpo_doc_put(r, LPO_KV("pool", names[k][0]), LPO_KV("most_bytes", (int64_t)most->value),
                        LPO_KV("at_ns", most->ns - row->first_ns),
                        LPO_KV("last_bytes", (int64_t)s->points.at[s->points.len - 1].value));
        }
}

static void put_refusal(struct lpo_record *to, const struct lpo_trace *t,
                        const struct lpo_allocator *from, int64_t first_ns)
{
    const struct lpo_memory_owner *o =
        from->refused_owner == LPO_NONE ? NULL : &t->memory_owners.at[from->refused_owner];
    struct lpo_record *r;

    if (!from->out_of_memory)
        return;
    r = lpo_doc_put_record(to, "refused");
    lpo_doc_put(r, LPO_KV("bytes", from->refused_bytes),
                LPO_KV("at_ns", from->refused_ns - first_ns));
    put_bytes(r, "gpu_free_bytes", from->gpu_free_bytes);
    lpo_doc_put(r, LPO_KV("place", o ? name_of(t, o->place) : NULL),
                LPO_KV("operator", o ? name_of(t, o->op) : NULL));
}

static void put_pools(struct lpo_record *to, const struct lpo_analysis *a, uint32_t allocator)
{
    LPO_FREED LPO_VEC(pool_row) all = { 0 };
    struct lpo_rows rows;

    for (size_t i = 0; i < a->trace->memory_pools.len; i++)
        if (a->trace->memory_pools.at[i].allocator == allocator)
            lpo_vec_push(&all, a->trace->memory_pools.at[i]);
    rows = lpo_tables_kept(lpo_tables_of(to->arena, a, NULL), &pools_kind, all.at, all.len,
                           sizeof *all.at);
    lpo_doc_put_rows(to, "pools", &rows,
                     "pool stream segments reserved_bytes allocated_bytes requested_bytes "
                     "active_bytes free_bytes split_bytes largest_free_bytes");
}

static void put_lists(const struct lpo_rows *peaks, size_t i, struct lpo_record *r)
{
    const struct lpo_analysis *a = lpo_tables_analysis(peaks);
    const peak_row *row = (const peak_row *)peaks->at + i;
    const struct lpo_allocator *from = allocator_of(peaks, row);
    const void *of = lpo_tables_of(r->arena, a, NULL); /* as long as the record */
    struct lpo_rows rows = owners_of(of, row, 1, KEPT);
    int64_t left_out = 0;

    lpo_doc_put_rows(r, "owners", &rows,
                     row->has_categories
                         ? "place operator shapes allocations bytes library category lifetime_ns"
                         : "place operator shapes allocations bytes");
    for (size_t k = KEPT; k < row->owners.len; k++)
        left_out += row->owners.at[k].bytes;
    if (row->owners.len > KEPT)
        lpo_doc_put(r, LPO_KV("owners_left_out_bytes", left_out));
    rows = purposes_of(of, row, 1, true);
    if (row->has_categories)
        lpo_doc_put_rows(r, "categories", &rows, "category=purpose bytes=purpose_bytes blocks");
    if (from->source != LPO_ALLOCATOR_SNAPSHOT)
        return;
    put_refusal(r, a->trace, from, row->first_ns);
    put_unused(r, a->trace, row);
    put_pools(r, a, row->allocator);
}

void lpo_report_put_memory(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_rows rows = lpo_report_memory_rows(to->arena, a);

    if (rows.count)
        lpo_doc_put_rows_and(to, "memory", &rows,
                             "scope source allocations frees peak_bytes peak_at_ns reserved_bytes "
                             "unused_bytes most_reserved_bytes older_bytes out_of_memory",
                             put_lists);
}
