/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/static/real_inputs.h"

#include <string.h>
#include <strings.h>

#include "run/workload/image_size.h"
#include "run/workload/samples.h"
#include "settings/settings.h"
#include "util/arena.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"
#include "util/str.h"

enum { MAX_TEXT = 16 << 20, MOST_CROPS = 9, PATCH = 16, MERGED = 4 };

struct counter {
    struct lpo_arena *a;
    bool pages;          /* the model is DeepSeek-OCR */
    uint64_t side, crop; /* pixels; crop 0: pages are shown whole alone */
    uint64_t parts;      /* of the page that was counted last */
    uint64_t words;      /* tokens beside those of a page */
};

static bool has_tokenizer(struct lpo_arena *a, const char *model)
{
    static const char *const names[] = { "tokenizer.json", "tokenizer_config.json",
                                         "tokenizer.model", "vocab.json", "vocab.txt" };

    for (size_t i = 0; model && i < sizeof names / sizeof *names; i++)
        if (lpo_path_exists(lpo_path_join(
                a, lpo_path_is_dir(model) ? model : lpo_path_dir(a, model), names[i])))
            return true;
    return false;
}

static uint64_t tokens_a_side(uint64_t pixels)
{
    return (pixels / PATCH + MERGED - 1) / MERGED;
}

/* The shape of at most nine squares that is nearest to the page's; of two, the larger where the
 * page fills half of it. The rule of the model's own code, as in lpo_hf/ocr_inputs.py. */
static void grid_of(uint64_t width, uint64_t height, uint64_t crop, uint64_t *across,
                    uint64_t *down)
{
    double least = 1e300, shape = (double)width / (double)height;

    *across = *down = 1;
    if (width <= crop && height <= crop)
        return;
    for (uint64_t area = 2; area <= MOST_CROPS; area++)
        for (uint64_t i = 1; i <= area; i++) {
            uint64_t j = area / i;
            double far = shape - (double)i / (double)j;

            if (i * j != area)
                continue;
            far = far < 0 ? -far : far;
            if (far < least || (far == least && (double)width * (double)height >
                                                    0.5 * (double)(crop * crop * area))) {
                *across = i;
                *down = j;
                least = far;
            }
        }
}

uint64_t lpo_static_page_parts(uint64_t width, uint64_t height, uint64_t crop)
{
    uint64_t across, down;

    grid_of(width, height, crop, &across, &down);
    return across * down > 1 ? across * down : 0;
}

/* Rows with a newline each, for the whole page and for its parts, and a separator. */
static uint64_t page_tokens(struct counter *c, uint32_t width, uint32_t height)
{
    uint64_t whole = tokens_a_side(c->side), part = tokens_a_side(c->crop), across = 1, down = 1;

    if (c->crop)
        grid_of(width, height, c->crop, &across, &down);
    return (whole + 1) * whole + 1 + (across * down > 1 ? (part * across + 1) * part * down : 0) +
           c->words;
}

/* By its name, as lpo_hf/samples.py decides: a broken picture is no text. */
static bool is_image(const char *path)
{
    static const char *const ends[] = { ".png", ".jpg",  ".jpeg", ".webp",
                                        ".bmp", ".tiff", ".tif",  ".gif" };
    const char *dot = strrchr(lpo_path_base(path), '.');

    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (strcasecmp(dot, ends[i]) == 0)
            return true;
    return false;
}

/* 0: not known. */
static uint64_t image_tokens(struct counter *c, const char *path)
{
    uint32_t width, height;

    if (!c->pages || !lpo_workload_image_size(path, &width, &height))
        return 0;
    c->parts = c->crop ? lpo_static_page_parts(width, height, c->crop) : 0;
    return page_tokens(c, width, height);
}

/* 0: not known. */
static uint64_t text_tokens(struct counter *c, const char *path)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    const struct lpo_json *doc = NULL, *tokens;
    uint64_t n;

    if (lpo_file_text_read_limit(path, MAX_TEXT, &text, NULL) < 0)
        return 0;
    if (lpo_str_ends(path, ".json")) {
        if (lpo_json_parse(c->a, text->at, text->len, &doc, NULL) < 0)
            return 0;
        tokens = lpo_json_get(doc, "tokens");
        return tokens && tokens->kind == LPO_JSON_ARRAY ? tokens->count : 0;
    }
    n = text->len;
    for (size_t i = 1; i < text->len; i++) /* Python reads both as one character */
        n -= text->at[i - 1] == '\r' && text->at[i] == '\n';
    return n;
}

static void prepare(struct counter *c, const struct lpo_node *settings,
                    const struct lpo_json *config)
{
    const char *prompt = lpo_settings_text(settings, "infer.prompt");
    const char *page = prompt ? strstr(prompt, "<image>") : NULL;
    const struct lpo_json *first = lpo_json_at(config, "language_config.bos_token_id");

    c->pages = lpo_json_at(config, "vision_config.width.sam_vit_b") != NULL;
    c->side = (uint64_t)lpo_settings_int(settings, "infer.image_size");
    if (!c->side)
        c->side = (uint64_t)lpo_json_int(lpo_json_at(config, "vision_config.image_size"), 1024);
    if (lpo_settings_bool(settings, "infer.crop_mode"))
        c->crop = (uint64_t)lpo_settings_int(settings, "infer.crop_size");
    c->words = (prompt ? strlen(prompt) : 0) - (page ? strlen("<image>") : 0) +
               (first && first->kind == LPO_JSON_INT);
}

struct lpo_real_inputs lpo_static_real_inputs(struct lpo_arena *a, const struct lpo_node *settings,
                                              const char *call_dir, const char *model,
                                              const struct lpo_json *config)
{
    struct lpo_real_inputs r = { 0 };
    struct counter c = { .a = a };
    struct lpo_samples samples;
    uint64_t total = 0, parts = 0, first = 0;

    if (has_tokenizer(a, model)) {
        r.why = "only the model's tokenizer knows how many tokens they are";
        return r;
    }
    if (!lpo_workload_samples_list(a, settings, call_dir, &samples)) {
        r.why = "the config names none that can be read";
        lpo_vec_free(&samples.at);
        return r;
    }
    prepare(&c, settings, config);
    for (size_t i = 0; i < samples.at.len; i++) {
        const char *path = lpo_path_join(a, samples.root, samples.at.at[i]);
        uint64_t n = is_image(path) ? image_tokens(&c, path) : text_tokens(&c, path);

        if (!n)
            continue;
        if (r.samples++ == 0)
            first = c.parts;
        r.parts_differ |= c.parts != first;
        parts += c.parts;
        total += n;
        r.shortest = r.samples == 1 || n < r.shortest ? n : r.shortest;
        r.longest = n > r.longest ? n : r.longest;
    }
    lpo_vec_free(&samples.at);
    r.mean = r.samples ? (total + r.samples / 2) / r.samples : 0;
    r.parts = r.samples ? (parts + r.samples / 2) / r.samples : 0;
    if (!r.samples)
        r.why = "none of them says how many tokens it is";
    return r;
}
