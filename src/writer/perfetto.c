/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's trace format, which Perfetto opens: the lanes of a document's timelines. */

#include "report/doc/doc.h"
#include "writer/writer.h"

enum { LONGEST_NAME = 1000 };

/* Microseconds with three decimals are exact nanoseconds. */
static void add_us(struct lpo_str *out, int64_t ns)
{
    uint64_t n = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

    lpo_str_addf(out, "%s%llu.%03u", ns < 0 ? "-" : "", (unsigned long long)(n / 1000),
                 (unsigned)(n % 1000));
}

/* There is no table of names in this format: each event has its own copy. */
static void add_name(struct lpo_str *out, const char *name)
{
    size_t len = strnlen(name, LONGEST_NAME + 1);
    bool cut = len > LONGEST_NAME;

    while (cut && ((unsigned char)name[--len] & 0xc0) == 0x80)
        ;
    lpo_json_add_json(out, name, len, false);
    if (!cut)
        return;
    out->len--; /* into the quotes */
    lpo_str_add(out, "\\u2026\"");
}

static void add_meta(struct lpo_str *out, const char *what, size_t pid, size_t tid,
                     const char *name)
{
    lpo_str_addf(
        out, ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%zu,\"tid\":%zu,\"args\":{\"name\":", what,
        pid, tid);
    add_name(out, name);
    lpo_str_add(out, "}}");
}

/* Lanes of one group share a process in the viewer: the group's number is that of its first lane.
 * A table of names, because a trace may have 65,000 devices. */
static size_t group_of(const struct lpo_figure *f, struct lpo_map *first_lanes, size_t lane)
{
    const char *group = f->lanes.at[lane].group;
    bool fresh;
    uint64_t *first = lpo_map_put(first_lanes, group, strlen(group), &fresh);

    if (fresh)
        *first = lane;
    return (size_t)*first;
}

/* A flow is a start and an end with the same name, category and id; each is bound to the span of
 * its thread that is open at its moment ("bp": "e" at the end, else it would be the next span). */
static void write_arrows(const struct lpo_figure *f, const size_t *groups, struct lpo_str *out)
{
    for (size_t i = 0; i < f->arrows.len; i++) {
        const struct lpo_arrow *a = &f->arrows.at[i];

        lpo_str_addf(
            out,
            ",\n{\"ph\":\"s\",\"name\":\"launch\",\"cat\":\"launch\",\"id\":%zu,\"pid\":%zu,"
            "\"tid\":%u,\"ts\":",
            i + 1, groups[a->from] + 1, a->from + 1);
        add_us(out, a->from_ns);
        lpo_str_addf(
            out,
            "},\n{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"launch\",\"cat\":\"launch\",\"id\":%zu,"
            "\"pid\":%zu,\"tid\":%u,\"ts\":",
            i + 1, groups[a->to] + 1, a->to + 1);
        add_us(out, a->to_ns);
        lpo_str_addc(out, '}');
    }
}

static void write_counts(const struct lpo_figure *f, const size_t *groups, struct lpo_str *out)
{
    for (size_t i = 0; i < f->counts.len; i++) {
        const struct lpo_count *c = &f->counts.at[i];

        lpo_str_add(out, ",\n{\"ph\":\"C\",\"name\":");
        add_name(out, c->title);
        lpo_str_addf(out, ",\"pid\":%zu,\"ts\":", groups[c->lane] + 1);
        add_us(out, c->ns);
        lpo_str_add(out, ",\"args\":{\"value\":");
        lpo_json_add_real(out, c->value);
        lpo_str_add(out, "}}");
    }
}

/* The notes of span `i`; `next` is the first that was not written yet. */
static void write_span_notes(const struct lpo_figure *f, size_t i, size_t *next,
                             struct lpo_str *out)
{
    const char *between = ",\"args\":{";

    for (; *next < f->span_notes.len && f->span_notes.at[*next].span == i; ++*next) {
        const struct lpo_span_note *n = &f->span_notes.at[*next];

        lpo_str_add(out, between);
        lpo_json_add_json(out, n->key, strlen(n->key), false);
        lpo_str_addc(out, ':');
        add_name(out, n->text);
        between = ",";
    }
    lpo_str_add(out, *between == ',' && between[1] == '\0' ? "}" : "");
}

static void write_lanes(const struct lpo_figure *f, struct lpo_str *out)
{
    LPO_AUTO(lpo_map) first_lanes = lpo_map_create();
    size_t *groups = lpo_xcalloc(f->lanes.len, sizeof *groups), note = 0;

    for (size_t i = 0; i < f->lanes.len; i++) {
        groups[i] = group_of(f, first_lanes, i);
        if (groups[i] == i)
            add_meta(out, "process_name", i + 1, 0, f->lanes.at[i].group);
        add_meta(out, "thread_name", groups[i] + 1, i + 1, f->lanes.at[i].name);
        lpo_str_addf(out,
                     ",\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%zu,\"tid\":%zu,"
                     "\"args\":{\"sort_index\":%zu}}",
                     groups[i] + 1, i + 1, i);
    }
    for (size_t i = 0; i < f->spans.len; i++) {
        const struct lpo_span *s = &f->spans.at[i];

        lpo_str_add(out, ",\n{\"ph\":\"X\",\"name\":");
        add_name(out, s->name);
        lpo_str_addf(out, ",\"pid\":%zu,\"tid\":%u,\"ts\":", groups[s->lane] + 1, s->lane + 1);
        add_us(out, s->start_ns);
        lpo_str_add(out, ",\"dur\":");
        add_us(out, s->end_ns - s->start_ns);
        write_span_notes(f, i, &note, out);
        lpo_str_addc(out, '}');
    }
    write_arrows(f, groups, out);
    write_counts(f, groups, out);
    free(groups);
}

/* What is not in the file: viewers show it among the facts about a trace. */
static void write_notes(const struct lpo_doc *doc, struct lpo_str *out)
{
    size_t n = 0;

    for (size_t i = 0; i < doc->sections.len; i++)
        for (size_t k = 0; k < doc->sections.at[i]->items.len; k++) {
            const struct lpo_item *item = &doc->sections.at[i]->items.at[k];

            if (item->kind != LPO_ITEM_NOTE)
                continue;
            lpo_str_addf(out, "%s\"note_%zu\":", n ? "," : ",\n\"otherData\":{", n + 1);
            lpo_json_add_json(out, item->text, strlen(item->text), false);
            n++;
        }
    lpo_str_add(out, n ? "}" : "");
}

static void perfetto_write(const struct lpo_doc *doc, struct lpo_str *out)
{
    lpo_str_add(out,
                "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                "{\"ph\":\"M\",\"name\":\"trace_title\",\"pid\":0,\"tid\":0,\"args\":{\"name\":");
    lpo_json_add_json(out, doc->title, strlen(doc->title), false);
    lpo_str_add(out, "}}");
    for (size_t i = 0; i < doc->sections.len; i++) {
        const struct lpo_section *s = doc->sections.at[i];

        for (size_t k = 0; k < s->items.len; k++)
            if (s->items.at[k].kind == LPO_ITEM_FIGURE &&
                s->items.at[k].figure->kind == LPO_FIG_LANES)
                write_lanes(s->items.at[k].figure, out);
    }
    lpo_str_add(out, "\n]");
    write_notes(doc, out);
    lpo_str_add(out, "}\n");
}

const struct lpo_writer lpo_writer_perfetto = {
    .name = "perfetto",
    .summary = "timelines for ui.perfetto.dev and chrome://tracing",
    .kind = "timeline",
    .streams = true,
    .file = "timeline.perfetto.json",
    .write = perfetto_write,
};
