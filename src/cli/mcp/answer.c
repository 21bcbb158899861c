/* SPDX-License-Identifier: Apache-2.0 */
/* An answer: JSON that fits into a budget of bytes, says what was left out and how to ask for it,
 * and where its numbers come from. */

#include "cli/mcp/private.h"
#include "util/json.h"
#include "util/json_write.h"

/* How much is shown; made smaller until the answer fits. */
struct measure {
    size_t rows;  /* of the table that was asked for */
    size_t inner; /* of a list inside something else */
    size_t text;  /* bytes of one text */
    unsigned depth;
};

struct printer {
    struct lpo_json_writer *w;
    const struct mcp_plan *p;
    struct measure m;
    struct lpo_str *cut_texts; /* members of which not all is there, with how many there are */
};

static size_t cut_text(const struct lpo_json *v, size_t most)
{
    size_t n = v->len <= most ? v->len : most;

    while (n > 0 && n < v->len && ((unsigned char)v->text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

static void note_cut(struct printer *pr, const char *key, size_t shown, size_t count)
{
    lpo_str_addf(pr->cut_texts, "%s%s: %zu of %zu", pr->cut_texts->len ? "; " : "",
                 key ? key : "rows", shown, count);
}

static void put_value(struct printer *pr, const char *key, const struct lpo_json *v,
                      unsigned depth);

static void put_array(struct printer *pr, const char *key, const struct lpo_json *v, unsigned depth)
{
    bool asked = pr->p->rows && key && strcmp(pr->p->rows, key) == 0;
    size_t from = asked ? pr->p->cut.offset : 0, most = asked ? pr->m.rows : pr->m.inner;
    size_t i = 0, shown = 0;

    lpo_jw_array(pr->w, key);
    LPO_JSON_EACH(item, v)
    if (i++ >= from && shown < most) {
        put_value(pr, NULL, item, depth + 1);
        shown++;
    }
    lpo_jw_end(pr->w);
    if (asked && (from || shown < v->count))
        note_cut(pr, key, shown, v->count);
}

static void put_value(struct printer *pr, const char *key, const struct lpo_json *v, unsigned depth)
{
    switch (v->kind) {
    case LPO_JSON_NULL:
        lpo_jw_put(pr->w, LPO_KV(key, lpo_jv_null()));
        break;
    case LPO_JSON_BOOL:
        lpo_jw_put(pr->w, LPO_KV(key, v->boolean));
        break;
    case LPO_JSON_INT:
    case LPO_JSON_REAL:
        lpo_jw_put(pr->w, LPO_KV(key, lpo_jv_raw(v->text)));
        break;
    case LPO_JSON_STRING:
        lpo_jw_put(pr->w, LPO_KV(key, lpo_jv_textn(v->text, cut_text(v, pr->m.text))));
        break;
    case LPO_JSON_ARRAY:
        put_array(pr, key, v, depth);
        break;
    case LPO_JSON_OBJECT:
        lpo_jw_object(pr->w, key);
        if (depth < pr->m.depth)
            LPO_JSON_EACH(member, v)
        put_value(pr, member->key, member, depth + 1);
        lpo_jw_end(pr->w);
        break;
    }
}

/* How a saving of each basis was found, and what would show that it is wrong. */
static const struct {
    const char *basis, *how;
} bases[] = {
    { "measured", "Summed from recorded times; no model is involved." },
    { "simulated", "The graph of what waited for what was replayed with this one change." },
    { "estimated", "A usual rate or share was assumed; the evidence says which." },
    { "reference", "Compared with the best measured time for this shape on this GPU." },
};

static void put_explanation(struct lpo_json_writer *w, const struct lpo_json *row)
{
    const char *basis = lpo_json_text(lpo_json_get(row, "basis"), "");

    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (strcmp(bases[i].basis, basis) == 0)
            lpo_jw_put(w, LPO_KV("how_it_was_computed", bases[i].how));
    lpo_jw_put(
        w,
        LPO_KV("what_would_falsify_it",
               "Make this one change, record again and compare: lpo diff BEFORE AFTER --json. The "
               "claim is wrong where wall.a_ns - wall.b_ns is clearly below saving_ns."),
        LPO_KV("more", "resource lpo://docs/findings.md"));
}

static const struct lpo_json *find_id(const struct lpo_json *rows, const char *id)
{
    LPO_JSON_EACH(row, rows)
    if (strcmp(lpo_json_text(lpo_json_get(row, "id"), ""), id) == 0)
        return row;
    return NULL;
}

static void put_members(struct printer *pr, const struct lpo_json *data)
{
    const struct mcp_plan *p = pr->p;

    if (p->only_id) {
        const struct lpo_json *row = find_id(lpo_json_at(data, p->rows), p->only_id);

        if (!row) {
            lpo_jw_put(pr->w, LPO_KV("unknown", "There is no finding of this id in this trace."));
            lpo_jw_array(pr->w, "ids");
            LPO_JSON_EACH(other, lpo_json_at(data, p->rows))
            lpo_jw_put(pr->w, LPO_V(lpo_json_text(lpo_json_get(other, "id"), NULL)));
            lpo_jw_end(pr->w);
            return;
        }
        put_value(pr, "finding", row, 0);
        put_explanation(pr->w, row);
    } else if (data->kind == LPO_JSON_ARRAY) {
        put_array(pr, "rows", data, 0);
    } else if (!p->members[0]) {
        LPO_JSON_EACH(member, data)
        put_value(pr, member->key, member, 1);
    }
    for (size_t i = 0; !p->only_id && p->members[i]; i++) {
        const struct lpo_json *member = lpo_json_get(data, p->members[i]);

        if (member)
            put_value(pr, p->members[i], member, 1);
        else
            lpo_jw_put(pr->w, LPO_KV(p->members[i], "the data cannot say"));
    }
}

static void put_answer(struct lpo_str *out, const struct mcp_plan *p, const struct lpo_json *data,
                       struct measure m)
{
    struct lpo_json_writer w = lpo_json_writer(out, 0);
    LPO_STR cut = { 0 };
    LPO_STR source = { 0 };
    struct printer pr = { &w, p, m, &cut };

    lpo_jw_object(&w, NULL);
    put_members(&pr, data);
    if (cut.len)
        lpo_jw_put(&w, LPO_KV("shown", lpo_str_text(&cut)),
                   LPO_KV("ask_for_more", "offset and limit choose other rows"));
    lpo_str_add(&source, "lpo");
    for (size_t i = 0; i < p->words.len; i++) {
        lpo_str_addc(&source, ' ');
        lpo_str_add_shell(&source, p->words.at[i]);
    }
    lpo_jw_put(&w, LPO_KV("source", lpo_str_text(&source)));
    lpo_jw_end(&w);
}

void lpo_cli_mcp_answer(struct lpo_str *out, const struct mcp_plan *p, const struct lpo_json *data)
{
    struct measure m = { p->cut.limit, 10, 600, 12 };

    for (;;) {
        lpo_str_clear(out);
        put_answer(out, p, data, m);
        if (out->len <= p->cut.most_bytes || m.depth <= 2)
            return;
        /* what is deep inside goes first, then rows, then text */
        if (m.inner > 2)
            m.inner /= 2;
        else if (m.rows > 1)
            m.rows = (m.rows + 1) / 2;
        else if (m.text > 80)
            m.text /= 2;
        else
            m.depth--;
    }
}
