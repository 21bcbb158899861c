#include "report/kernel_summary.h"

#include "report/doc/doc.h"
#include "util/json_write.h"
#include "util/str.h"

#define KERNELS_SCHEMA "lpo.kernels/1"

const char *lpo_report_kernel_state_name(enum lpo_kernel_state state)
{
    static const char *const names[] = { "not tried", "done", "no match", "failed" };

    return names[state];
}

static const struct lpo_column columns[] = {
    { "number", "#", LPO_CELL_COUNT, NULL },
    { "class", "Class", LPO_CELL_TEXT, NULL },
    { "duration_ns", "Time", LPO_CELL_NS, NULL },
    { "compute_percent", "Compute", LPO_CELL_PERCENT, NULL },
    { "memory_percent", "Memory", LPO_CELL_PERCENT, NULL },
    { "dram_percent", "DRAM", LPO_CELL_PERCENT, NULL },
    { "dram_bytes_per_second", "DRAM rate", LPO_CELL_MEASURE, "B/s" },
    { "occupancy_percent", "Occupancy", LPO_CELL_PERCENT, NULL },
    { "grid", "Grid", LPO_CELL_TEXT, NULL },
    { "block", "Block", LPO_CELL_TEXT, NULL },
    { "kernel", "Kernel", LPO_CELL_TEXT, NULL }, /* last: names are long */
};

static void row_dims(struct lpo_table *t, bool known, const uint32_t *d)
{
    if (known)
        lpo_doc_row_textf(t, "%ux%ux%u", d[0], d[1], d[2]);
    else
        lpo_doc_row_unknown(t);
}

static void add_row(struct lpo_table *t, size_t number, const struct lpo_kernel_profile *p)
{
    lpo_doc_row_count(t, number);
    lpo_doc_row_text(t, lpo_counters_bound_name(p->bound));
    lpo_doc_row_measure(t, p->duration_ns);
    lpo_doc_row_measure(t, p->compute_percent);
    lpo_doc_row_measure(t, p->memory_percent);
    lpo_doc_row_measure(t, p->dram_percent);
    lpo_doc_row_measure(t, p->dram_bytes_per_second);
    lpo_doc_row_measure(t, p->occupancy_percent);
    row_dims(t, p->shaped, p->grid);
    row_dims(t, p->shaped, p->block);
    lpo_doc_row_text(t, p->kernel);
}

void lpo_report_kernel_summary_doc(const struct lpo_kernel_summary *s, struct lpo_doc *doc)
{
    struct lpo_table *t;

    lpo_doc_section(doc, "kernels", "", 1);
    lpo_doc_fact_text(doc, "program", "Program", s->program);
    lpo_doc_fact_text(doc, "ncu", "ncu", s->ncu);
    lpo_doc_fact_text(doc, "gpu", "GPU", s->gpu);
    t = lpo_doc_table(doc, "launches", "", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->len; i++)
        for (size_t k = 0; k < s->at[i].profiles.len; k++)
            add_row(t, i + 1, &s->at[i].profiles.at[k]);
    for (size_t i = 0; i < s->len; i++) {
        const struct lpo_kernel_outcome *o = &s->at[i];

        if (o->state != LPO_KERNEL_DONE || o->message)
            lpo_doc_note(doc, o->state == LPO_KERNEL_FAILED ? LPO_NOTE_WARNING : LPO_NOTE_INFO,
                         "%zu %s: %s%s%s", i + 1, o->name, lpo_report_kernel_state_name(o->state),
                         o->message ? ": " : "", o->message ? o->message : "");
    }
}

static void json_dims(struct lpo_json_writer *w, const char *key, bool known, const uint32_t *d)
{
    if (!known) {
        lpo_jw_null(w, key);
        return;
    }
    lpo_jw_array(w, key);
    for (int i = 0; i < 3; i++)
        lpo_jw_uint(w, NULL, d[i]);
    lpo_jw_end(w);
}

static void json_launch(struct lpo_json_writer *w, const struct lpo_kernel_profile *p)
{
    lpo_jw_object(w, NULL);
    lpo_jw_text(w, "kernel", p->kernel);
    lpo_jw_text(w, "class", lpo_counters_bound_name(p->bound));
    json_dims(w, "grid", p->shaped, p->grid);
    json_dims(w, "block", p->shaped, p->block);
    lpo_jw_whole(w, "duration_ns", p->duration_ns);
    lpo_jw_measure(w, "compute_percent", p->compute_percent);
    lpo_jw_measure(w, "memory_percent", p->memory_percent);
    lpo_jw_measure(w, "dram_percent", p->dram_percent);
    lpo_jw_measure(w, "dram_bytes_per_second", p->dram_bytes_per_second);
    lpo_jw_measure(w, "occupancy_percent", p->occupancy_percent);
    lpo_jw_end(w);
}

void lpo_report_kernel_summary_json(const struct lpo_kernel_summary *s, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 1);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", KERNELS_SCHEMA);
    lpo_jw_text(&w, "folder", s->folder);
    lpo_jw_text(&w, "program", s->program);
    lpo_jw_text(&w, "ncu", s->ncu);
    lpo_jw_text(&w, "gpu", s->gpu);
    lpo_jw_array(&w, "kernels");
    for (size_t i = 0; i < s->len; i++) {
        const struct lpo_kernel_outcome *o = &s->at[i];

        lpo_jw_object(&w, NULL);
        lpo_jw_text(&w, "name", o->name);
        lpo_jw_text(&w, "regex", o->regex);
        lpo_jw_text(&w, "folder", o->folder);
        lpo_jw_text(&w, "state", lpo_report_kernel_state_name(o->state));
        lpo_jw_text(&w, "message", o->message);
        lpo_jw_array(&w, "launches");
        for (size_t k = 0; k < o->profiles.len; k++)
            json_launch(&w, &o->profiles.at[k]);
        lpo_jw_end(&w);
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
    lpo_jw_end(&w);
}
