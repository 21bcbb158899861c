/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Memory", second part: the moment at which most was in use, who had asked for it, and
 * what the allocator held without using it. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/memory/memory.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "trace/series.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { SHOWN = 12, KEPT = 1000 }; /* owners for people, and in the JSON */

static const struct lpo_column peak_columns[] = {
    { "device", "GPU", LPO_CELL_TEXT, NULL },
    { "source", "From", LPO_CELL_TEXT, NULL },
    { "peak_bytes", "Peak", LPO_CELL_BYTES, NULL },
    { "peak_at_ns", "After", LPO_CELL_NS, NULL },
    { "reserved_bytes", "Reserved then", LPO_CELL_BYTES, NULL },
    { "unused_bytes", "Unused", LPO_CELL_BYTES, NULL },
    { "most_reserved_bytes", "Most reserved", LPO_CELL_BYTES, NULL, 2 },
    { "older_bytes", "From before the recording", LPO_CELL_BYTES, NULL },
    { "allocations", "Allocations", LPO_CELL_COUNT, NULL, 1 },
    { "frees", "Frees", LPO_CELL_COUNT, NULL, 3 },
};

static const struct lpo_column owner_columns[] = {
    { "device", "GPU", LPO_CELL_TEXT, NULL, 0, 12 },
    { "source", "From", LPO_CELL_TEXT, NULL, 3, 8 },
    { "bytes", "Bytes", LPO_CELL_BYTES, NULL },
    { "share", "Of the peak", LPO_CELL_PERCENT, NULL },
    { "allocations", "Allocations", LPO_CELL_COUNT, NULL, 1 },
    { "place", "Place", LPO_CELL_TEXT, NULL },
    { "library", "Through", LPO_CELL_TEXT, NULL, 3 },
    { "operator", "Operator", LPO_CELL_TEXT, NULL },
    { "category", "For", LPO_CELL_TEXT, NULL, 2 },
    { "shapes", "Shapes", LPO_CELL_TEXT, NULL, 2 },
};

static const struct lpo_column category_columns[] = {
    { "device", "GPU", LPO_CELL_TEXT, NULL },
    { "category", "For", LPO_CELL_TEXT, NULL },
    { "bytes", "Bytes (estimated)", LPO_CELL_BYTES, NULL },
    { "share", "Of the peak", LPO_CELL_PERCENT, NULL },
    { "blocks", "Blocks", LPO_CELL_COUNT, NULL, 1 },
};

static const struct lpo_column pool_columns[] = {
    { "device", "GPU", LPO_CELL_TEXT, NULL },
    { "pool", "Pool", LPO_CELL_TEXT, NULL },
    { "stream", "Stream", LPO_CELL_TEXT, NULL, 3 },
    { "segments", "Segments", LPO_CELL_COUNT, NULL },
    { "reserved_bytes", "Reserved", LPO_CELL_BYTES, NULL },
    { "allocated_bytes", "Allocated", LPO_CELL_BYTES, NULL },
    { "rounding_bytes", "Of it rounding", LPO_CELL_BYTES, NULL, 2 },
    { "free_bytes", "Free", LPO_CELL_BYTES, NULL },
    { "split_bytes", "Free beside used", LPO_CELL_BYTES, NULL },
    { "largest_free_bytes", "Largest free block", LPO_CELL_BYTES, NULL, 1 },
};

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

static void row_bytes(struct lpo_table *table, int64_t bytes)
{
    if (bytes == LPO_NO_TIME)
        lpo_doc_row_unknown(table);
    else
        lpo_doc_row_bytes(table, (double)bytes);
}

static void add_peak(struct lpo_table *table, const struct lpo_trace *t,
                     const struct lpo_memory_peaks_row *row)
{
    lpo_doc_row_text(table, scope_of(table->arena, t, row->allocator));
    lpo_doc_row_text(table, sources[t->allocators.at[row->allocator].source]);
    row_bytes(table, row->peak_bytes);
    lpo_doc_row_ns(table, row->peak_ns - row->first_ns);
    row_bytes(table, row->reserved_bytes);
    row_bytes(table, unused(row));
    row_bytes(table, row->most_reserved);
    row_bytes(table, row->has_owners ? row->older_bytes : LPO_NO_TIME);
    lpo_doc_row_count(table, row->allocations);
    lpo_doc_row_count(table, row->frees);
}

/* NULL where it is not known. */
static const char *name_of(const struct lpo_trace *t, uint32_t name)
{
    return name == LPO_NONE ? NULL : lpo_trace_text(t, name);
}

static void add_owners(struct lpo_table *table, const struct lpo_trace *t,
                       const struct lpo_memory_peaks_row *row)
{
    for (size_t i = 0; i < row->owners.len && i < SHOWN; i++) {
        const struct lpo_memory_share *o = &row->owners.at[i];

        lpo_doc_row_text(table, scope_of(table->arena, t, row->allocator));
        lpo_doc_row_text(table, sources[t->allocators.at[row->allocator].source]);
        lpo_doc_row_bytes(table, (double)o->bytes);
        lpo_doc_row_share(table, (double)o->bytes, (double)row->peak_bytes);
        lpo_doc_row_count(table, o->allocations);
        lpo_doc_row_text(table, o->place);
        lpo_doc_row_text(table, name_of(t, o->library));
        lpo_doc_row_text(table, name_of(t, o->op));
        lpo_doc_row_text(table, lpo_memory_category_name((enum lpo_memory_category)o->category));
        lpo_doc_row_text(table, name_of(t, o->shapes));
    }
}

static void add_categories(struct lpo_doc *doc, const struct lpo_trace *t,
                           const struct lpo_memory_peaks *peaks)
{
    struct lpo_table *table = NULL;

    for (size_t i = 0; i < peaks->rows.len; i++) {
        const struct lpo_memory_peaks_row *row = &peaks->rows.at[i];

        for (int c = 0; row->has_categories && c < LPO_MEMORY_CATEGORIES; c++) {
            if (!row->categories[c].bytes)
                continue;
            if (!table)
                table = lpo_doc_table(doc, "memory_categories", "What the peak was for",
                                      category_columns, COUNT(category_columns));
            lpo_doc_row_text(table, scope_of(table->arena, t, row->allocator));
            lpo_doc_row_text(table, lpo_memory_category_name((enum lpo_memory_category)c));
            lpo_doc_row_bytes(table, (double)row->categories[c].bytes);
            lpo_doc_row_share(table, (double)row->categories[c].bytes, (double)row->peak_bytes);
            lpo_doc_row_count(table, row->categories[c].blocks);
        }
    }
}

static const char *pool_name(struct lpo_arena *a, const struct lpo_memory_pool *p)
{
    const char *size = p->large ? "large" : "small";

    if (!p->graph[0] && !p->graph[1])
        return size;
    return lpo_arena_printf(a, "%s, private %lld.%lld", size, (long long)p->graph[0],
                            (long long)p->graph[1]);
}

static void add_pools(struct lpo_doc *doc, const struct lpo_trace *t)
{
    struct lpo_table *table;

    if (!t->memory_pools.len)
        return;
    table = lpo_doc_table(doc, "memory_pools", "Segments when the snapshot was taken", pool_columns,
                          COUNT(pool_columns));
    for (size_t i = 0; i < t->memory_pools.len; i++) {
        const struct lpo_memory_pool *p = &t->memory_pools.at[i];

        lpo_doc_row_text(table, scope_of(table->arena, t, p->allocator));
        lpo_doc_row_text(table, pool_name(table->arena, p));
        lpo_doc_row_textf(table, "%lld", (long long)p->stream);
        lpo_doc_row_count(table, p->segments);
        lpo_doc_row_bytes(table, (double)p->reserved);
        lpo_doc_row_bytes(table, (double)p->allocated);
        lpo_doc_row_bytes(table, (double)(p->allocated - p->requested));
        lpo_doc_row_bytes(table, (double)p->free_bytes);
        lpo_doc_row_bytes(table, (double)p->split_bytes);
        lpo_doc_row_bytes(table, (double)p->largest_free);
    }
}

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

void lpo_report_memory_peaks(struct lpo_doc *doc, const struct lpo_analysis *a)
{
    const struct lpo_memory_peaks *peaks = lpo_analysis_memory(a);
    struct lpo_table *table;
    size_t owners = 0;

    if (!peaks->rows.len)
        return;
    table = lpo_doc_table(doc, "memory_peaks", "Most in use at one time", peak_columns,
                          COUNT(peak_columns));
    for (size_t i = 0; i < peaks->rows.len; i++) {
        add_peak(table, a->trace, &peaks->rows.at[i]);
        owners += peaks->rows.at[i].owners.len;
    }
    if (owners) {
        table = lpo_doc_table(doc, "memory_owners", "Allocated by", owner_columns,
                              COUNT(owner_columns));
        for (size_t i = 0; i < peaks->rows.len; i++)
            add_owners(table, a->trace, &peaks->rows.at[i]);
        if (lpo_doc_table_rows(table) < owners)
            table->total_rows = owners;
        table->least_rows = SHOWN;
    }
    add_categories(doc, a->trace, peaks);
    add_pools(doc, a->trace);
    note_refusals(doc, a->trace);
}

/* --- for machines --------------------------------------------------------------------------- */

static void put_bytes(struct lpo_record *r, const char *key, int64_t bytes)
{
    lpo_doc_put_int_if(r, key, bytes != LPO_NO_TIME, bytes);
}

static void put_owners(struct lpo_record *to, const struct lpo_trace *t,
                       const struct lpo_memory_peaks_row *row)
{
    struct lpo_record *list = lpo_doc_put_list(to, "owners");
    int64_t left_out = 0;

    for (size_t i = 0; i < row->owners.len; i++) {
        const struct lpo_memory_share *o = &row->owners.at[i];
        struct lpo_record *r;

        if (i >= KEPT) {
            left_out += o->bytes;
            continue;
        }
        r = lpo_doc_put_record(list, NULL);
        lpo_doc_put_text(r, "place", o->place);
        lpo_doc_put_text(r, "operator", name_of(t, o->op));
        lpo_doc_put_text(r, "shapes", name_of(t, o->shapes));
        lpo_doc_put_uint(r, "allocations", o->allocations);
        lpo_doc_put_int(r, "bytes", o->bytes);
        if (!row->has_categories)
            continue;
        lpo_doc_put_text(r, "library", name_of(t, o->library));
        lpo_doc_put_text(r, "category",
                         lpo_memory_category_name((enum lpo_memory_category)o->category));
        lpo_doc_put_int_if(r, "lifetime_ns", o->freed > 0,
                           o->freed ? o->lived_ns / (int64_t)o->freed : 0);
    }
    if (row->owners.len > KEPT)
        lpo_doc_put_int(to, "owners_left_out_bytes", left_out);
}

static void put_categories(struct lpo_record *to, const struct lpo_memory_peaks_row *row)
{
    struct lpo_record *list;

    if (!row->has_categories)
        return;
    list = lpo_doc_put_list(to, "categories");
    for (int c = 0; c < LPO_MEMORY_CATEGORIES; c++) {
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_text(r, "category", lpo_memory_category_name((enum lpo_memory_category)c));
        lpo_doc_put_int(r, "bytes", row->categories[c].bytes);
        lpo_doc_put_uint(r, "blocks", row->categories[c].blocks);
    }
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
            lpo_doc_put_text(r, "pool", names[k][0]);
            lpo_doc_put_int(r, "most_bytes", (int64_t)most->value);
            lpo_doc_put_int(r, "at_ns", most->ns - row->first_ns);
            lpo_doc_put_int(r, "last_bytes", (int64_t)s->points.at[s->points.len - 1].value);
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
    lpo_doc_put_int(r, "bytes", from->refused_bytes);
    lpo_doc_put_int(r, "at_ns", from->refused_ns - first_ns);
    put_bytes(r, "gpu_free_bytes", from->gpu_free_bytes);
    lpo_doc_put_text(r, "place", o ? name_of(t, o->place) : NULL);
    lpo_doc_put_text(r, "operator", o ? name_of(t, o->op) : NULL);
}

static void put_pools(struct lpo_record *to, const struct lpo_trace *t, uint32_t allocator)
{
    struct lpo_record *list = lpo_doc_put_list(to, "pools");

    for (size_t i = 0; i < t->memory_pools.len; i++) {
        const struct lpo_memory_pool *p = &t->memory_pools.at[i];
        struct lpo_record *r;

        if (p->allocator != allocator)
            continue;
        r = lpo_doc_put_record(list, NULL);
        lpo_doc_put_text(r, "pool", pool_name(to->arena, p));
        lpo_doc_put_int(r, "stream", p->stream);
        lpo_doc_put_uint(r, "segments", p->segments);
        lpo_doc_put_int(r, "reserved_bytes", p->reserved);
        lpo_doc_put_int(r, "allocated_bytes", p->allocated);
        lpo_doc_put_int(r, "requested_bytes", p->requested);
        lpo_doc_put_int(r, "active_bytes", p->active);
        lpo_doc_put_int(r, "free_bytes", p->free_bytes);
        lpo_doc_put_int(r, "split_bytes", p->split_bytes);
        lpo_doc_put_int(r, "largest_free_bytes", p->largest_free);
    }
}

void lpo_report_put_memory(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_memory_peaks *peaks = lpo_analysis_memory(a);
    const struct lpo_trace *t = a->trace;
    struct lpo_record *list;

    if (!peaks->rows.len)
        return;
    list = lpo_doc_put_list(to, "memory");
    for (size_t i = 0; i < peaks->rows.len; i++) {
        const struct lpo_memory_peaks_row *row = &peaks->rows.at[i];
        const struct lpo_allocator *from = &t->allocators.at[row->allocator];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_text(r, "scope", scope_of(to->arena, t, row->allocator));
        lpo_doc_put_text(r, "source", sources[from->source]);
        lpo_doc_put_uint(r, "allocations", row->allocations);
        lpo_doc_put_uint(r, "frees", row->frees);
        put_bytes(r, "peak_bytes", row->peak_bytes);
        lpo_doc_put_int(r, "peak_at_ns", row->peak_ns - row->first_ns);
        put_bytes(r, "reserved_bytes", row->reserved_bytes);
        put_bytes(r, "unused_bytes", unused(row));
        put_bytes(r, "most_reserved_bytes", row->most_reserved);
        put_bytes(r, "older_bytes", row->has_owners ? row->older_bytes : LPO_NO_TIME);
        lpo_doc_put_uint(r, "out_of_memory", from->out_of_memory);
        put_owners(r, t, row);
        put_categories(r, row);
        if (from->source != LPO_ALLOCATOR_SNAPSHOT)
            continue;
        put_refusal(r, t, from, row->first_ns);
        put_unused(r, t, row);
        put_pools(r, t, row->allocator);
    }
}
