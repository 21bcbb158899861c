/* SPDX-License-Identifier: Apache-2.0 */
#include "report/stack_files.h"

#include "trace/trace.h"
#include "util/json_write.h"
#include "util/pack.h"

enum { LONGEST_NAME = 400 };

static bool has_own(const struct lpo_stack_node *n)
{
    return lpo_any(w, LPO_STACK_WEIGHTS, n->own[w] > 0);
}

/* A name of at most LONGEST_NAME bytes, in whole characters. */
static void add_name(const struct lpo_stack_view *view, const struct lpo_stack_node *n,
                     struct lpo_str *out)
{
    size_t len;
    const char *text = lpo_stacks_text(view->tree, n, &len);

    if (len > LONGEST_NAME)
        for (len = LONGEST_NAME; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
            len--;
    lpo_str_addn(out, text, len);
}

/* --- folded --------------------------------------------------------------------------------- */

/* A semicolon would end the frame, a line end the stack. */
static void add_folded_name(const struct lpo_stack_view *view, const struct lpo_stack_node *n,
                            struct lpo_str *out)
{
    size_t from = out->len;

    add_name(view, n, out);
    for (size_t i = from; i < out->len; i++)
        if (out->at[i] == ';')
            out->at[i] = ':';
        else if ((unsigned char)out->at[i] < ' ')
            out->at[i] = ' ';
}

static void add_folded_path(const struct lpo_stack_view *view, uint32_t row, struct lpo_str *out)
{
    const struct lpo_stack_node *n = &view->stacks->nodes.at[row];

    if (n->parent != LPO_NONE) {
        add_folded_path(view, n->parent, out);
        lpo_str_addc(out, ';');
    }
    add_folded_name(view, n, out);
}

void lpo_report_stacks_folded(const struct lpo_stack_view *view, struct lpo_str *out)
{
    for (uint32_t i = 0; i < view->stacks->nodes.len; i++) {
        int64_t own = view->stacks->nodes.at[i].own[view->weight];

        if (own <= 0)
            continue;
        add_folded_path(view, i, out);
        lpo_str_addf(out, " %lld\n", (long long)own);
    }
}

/* --- frames that stacks share --------------------------------------------------------------- */

/* One for each kind and name: nodes share them. */
struct frames {
    struct lpo_map_pair map;
    uint32_t *of;       /* per node */
    uint32_t *examples; /* per frame: a node that is one */
    size_t count;
};

static struct frames find_frames(const struct lpo_stacks *s)
{
    struct frames f = { .of = lpo_xmalloc((s->nodes.len + 1) * sizeof *f.of),
                        .examples = lpo_xmalloc((s->nodes.len + 1) * sizeof *f.examples) };

    for (uint32_t i = 0; i < s->nodes.len; i++) {
        bool fresh;

        f.of[i] = lpo_map_pair_put(&f.map, s->nodes.at[i].kind, s->nodes.at[i].name, &fresh);
        if (fresh)
            f.examples[f.count++] = i;
    }
    return f;
}

static void free_frames(struct frames *f)
{
    lpo_map_pair_free(&f->map);
    free(f->of);
    free(f->examples);
}

/* --- speedscope ----------------------------------------------------------------------------- */

static void put_frames(const struct lpo_stack_view *view, const struct frames *f,
                       struct lpo_json_writer *w)
{
    LPO_STR name = { 0 };

    lpo_jw_object(w, "shared");
    lpo_jw_array(w, "frames");
    for (size_t i = 0; i < f->count; i++) {
        name.len = 0;
        add_name(view, &view->stacks->nodes.at[f->examples[i]], &name);
        lpo_jw_record(w, NULL, LPO_KV("name", lpo_jv_textn(lpo_str_text(&name), name.len)));
    }
    lpo_jw_end(w);
    lpo_jw_end(w);
}

static void put_stack(const struct lpo_stacks *s, const struct frames *f, uint32_t row,
                      struct lpo_json_writer *w)
{
    if (s->nodes.at[row].parent != LPO_NONE)
        put_stack(s, f, s->nodes.at[row].parent, w);
    lpo_jw_put(w, LPO_V(f->of[row]));
}

static void put_profile(const struct lpo_stacks *s, const struct frames *f, int weight,
                        struct lpo_json_writer *w)
{
    int64_t sum = 0;

    lpo_jw_object(w, NULL);
    lpo_jw_put(w, LPO_KV("type", "sampled"),
               LPO_KV("name", lpo_stacks_weight_name((enum lpo_stack_weight)weight)),
               /* speedscope has no unit of energy */
               LPO_KV("unit", weight == LPO_STACK_ENERGY
                                  ? "none"
                                  : lpo_stacks_weight_unit((enum lpo_stack_weight)weight)));
    lpo_jw_array(w, "samples");
    for (uint32_t i = 0; i < s->nodes.len; i++) {
        if (s->nodes.at[i].own[weight] <= 0)
            continue;
        lpo_jw_array(w, NULL);
        put_stack(s, f, i, w);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
    lpo_jw_array(w, "weights");
    for (uint32_t i = 0; i < s->nodes.len; i++) {
        if (s->nodes.at[i].own[weight] <= 0)
            continue;
        lpo_jw_put(w, LPO_V(s->nodes.at[i].own[weight]));
        sum += s->nodes.at[i].own[weight];
    }
    lpo_jw_end(w);
    lpo_jw_put(w, LPO_KV("startValue", 0), LPO_KV("endValue", sum));
    lpo_jw_end(w);
}

static bool has_weight(const struct lpo_stacks *s, int weight)
{
    return lpo_any(i, s->nodes.len, s->nodes.at[i].own[weight] > 0);
}

void lpo_report_stacks_speedscope(const struct lpo_stack_view *view, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 0);
    struct frames f = find_frames(view->stacks);
    int active = 0, profiles = 0;

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("$schema", "https://www.speedscope.app/file-format-schema.json"),
               LPO_KV("name", view->title), LPO_KV("exporter", "lpo"));
    put_frames(view, &f, &w);
    lpo_jw_array(&w, "profiles");
    for (int weight = 0; weight < LPO_STACK_WEIGHTS; weight++) {
        if (!has_weight(view->stacks, weight) && weight != (int)view->weight)
            continue;
        if (weight == (int)view->weight)
            active = profiles;
        profiles++;
        put_profile(view->stacks, &f, weight, &w);
    }
    lpo_jw_end(&w);
    lpo_jw_put(&w, LPO_KV("activeProfileIndex", active));
    lpo_jw_end(&w);
    free_frames(&f);
}

/* --- pprof ---------------------------------------------------------------------------------- */

/* Fields of perftools.profiles (profile.proto), by message. */
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_LOCATION = 4, PROFILE_FUNCTION, PROFILE_STRING };
enum { PROFILE_FIRST_TYPE = 14, TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3 };
enum { VARINT = 0, BYTES = 2 };

static void add_number(struct lpo_str *to, unsigned field, uint64_t number)
{
    lpo_pack_add(to, field << 3 | VARINT);
    lpo_pack_add(to, number);
}

static void add_bytes(struct lpo_str *to, unsigned field, const char *bytes, size_t len)
{
    lpo_pack_add(to, field << 3 | BYTES);
    lpo_pack_add(to, len);
    lpo_str_addn(to, bytes, len);
}

/* Strings: "" first, then the weights, their units, and a name for each frame. */
enum { STRING_UNITS = 1 + LPO_STACK_WEIGHTS, STRING_FRAMES = STRING_UNITS + LPO_STACK_WEIGHTS };

static void add_strings(const struct lpo_stack_view *view, const struct frames *f,
                        struct lpo_str *out)
{
    LPO_STR name = { 0 };

    add_bytes(out, PROFILE_STRING, "", 0);
    for (int w = 0; w < LPO_STACK_WEIGHTS; w++) {
        const char *text = lpo_stacks_weight_name((enum lpo_stack_weight)w);

        add_bytes(out, PROFILE_STRING, text, strlen(text));
    }
    for (int w = 0; w < LPO_STACK_WEIGHTS; w++) {
        const char *text = lpo_stacks_weight_unit((enum lpo_stack_weight)w);

        add_bytes(out, PROFILE_STRING, text, strlen(text));
    }
    for (size_t i = 0; i < f->count; i++) {
        name.len = 0;
        add_name(view, &view->stacks->nodes.at[f->examples[i]], &name);
        add_bytes(out, PROFILE_STRING, lpo_str_text(&name), name.len);
    }
}

static void add_types(struct lpo_str *out)
{
    LPO_STR type = { 0 };

    for (int w = 0; w < LPO_STACK_WEIGHTS; w++) {
        type.len = 0;
        add_number(&type, TYPE_TYPE, 1 + (unsigned)w);
        add_number(&type, TYPE_UNIT, STRING_UNITS + (unsigned)w);
        add_bytes(out, PROFILE_TYPE, lpo_str_text(&type), type.len);
    }
}

/* A location and a function for each frame, numbered from 1. */
static void add_frames(const struct frames *f, struct lpo_str *out)
{
    LPO_STR line = { 0 }, message = { 0 };

    for (size_t i = 0; i < f->count; i++) {
        line.len = message.len = 0;
        add_number(&line, LINE_FUNCTION, i + 1);
        add_number(&message, LOCATION_ID, i + 1);
        add_bytes(&message, LOCATION_LINE, lpo_str_text(&line), line.len);
        add_bytes(out, PROFILE_LOCATION, lpo_str_text(&message), message.len);
        message.len = 0;
        add_number(&message, FUNCTION_ID, i + 1);
        add_number(&message, FUNCTION_NAME, STRING_FRAMES + i);
        add_number(&message, FUNCTION_SYSTEM_NAME, STRING_FRAMES + i);
        add_bytes(out, PROFILE_FUNCTION, lpo_str_text(&message), message.len);
    }
}

static void add_sample(const struct lpo_stacks *s, const struct frames *f, uint32_t row,
                       struct lpo_str *out)
{
    LPO_STR sample = { 0 }, list = { 0 };

    for (uint32_t i = row; i != LPO_NONE; i = s->nodes.at[i].parent)
        lpo_pack_add(&list, f->of[i] + 1);
    add_bytes(&sample, SAMPLE_LOCATIONS, lpo_str_text(&list), list.len);
    list.len = 0;
    for (int w = 0; w < LPO_STACK_WEIGHTS; w++)
        lpo_pack_add(&list, s->nodes.at[row].own[w] > 0 ? (uint64_t)s->nodes.at[row].own[w] : 0);
    add_bytes(&sample, SAMPLE_VALUES, lpo_str_text(&list), list.len);
    add_bytes(out, PROFILE_SAMPLE, lpo_str_text(&sample), sample.len);
}

void lpo_report_stacks_pprof(const struct lpo_stack_view *view, struct lpo_str *out)
{
    const struct lpo_stacks *s = view->stacks;
    struct frames f = find_frames(s);
    LPO_STR bytes = { 0 };

    add_types(&bytes);
    for (uint32_t i = 0; i < s->nodes.len; i++)
        if (has_own(&s->nodes.at[i]))
            add_sample(s, &f, i, &bytes);
    add_frames(&f, &bytes);
    add_strings(view, &f, &bytes);
    add_number(&bytes, PROFILE_FIRST_TYPE, 1 + (unsigned)view->weight);
    lpo_pack_gzip(out, lpo_str_text(&bytes), bytes.len);
    free_frames(&f);
}
