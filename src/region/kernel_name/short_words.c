/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of kernels whose whole name is one word: its parts between underscores say which
 * tile, type and layout it is made for. */
#include <ctype.h>
#include <string.h>

#include "region/kernel_name/short.h"
#include "region/kernel_name/short_text.h"
#include "util/str.h"

static bool same(struct lpo_kernel_span s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static bool begins(struct lpo_kernel_span s, const char *text)
{
    return s.len > strlen(text) && memcmp(s.at, text, strlen(text)) == 0;
}

static bool digits_x(struct lpo_kernel_span s)
{
    size_t i = 0;

    while (i < s.len && isdigit((unsigned char)s.at[i]))
        i++;
    return i && i + 1 < s.len && s.at[i] == 'x' && isdigit((unsigned char)s.at[i + 1]);
}

/* The next part of a name between underscores. */
static bool next_part(struct lpo_kernel_span s, size_t *at, struct lpo_kernel_span *out)
{
    size_t from = *at, i;

    while (from < s.len && s.at[from] == '_')
        from++;
    for (i = from; i < s.len && s.at[i] != '_'; i++)
        ;
    *at = i;
    *out = (struct lpo_kernel_span){ s.at + from, i - from };
    return i > from;
}

/* nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT: the tile, and all that stands behind "bz". */
bool lpo_region_short_nvjet(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    struct lpo_kernel_span w;
    bool tile = false, behind = false;

    if (p->function.len < 6 || memcmp(p->function.at, "nvjet_", 6) != 0)
        return false;
    lpo_str_add(out, "nvjet");
    for (size_t at = 6; next_part(p->function, &at, &w);) {
        if (behind || (!tile && digits_x(w)))
            lpo_str_addf(out, " %.*s", (int)w.len, w.at);
        tile = tile || digits_x(w);
        behind = behind || same(w, "bz");
    }
    return tile;
}

/* sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_…: what, type, layout, tile. */
bool lpo_region_short_xmma(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    static const char mark[] = "_xmma_", tile[] = "tilesize";
    const char *at = memmem(p->function.at, p->function.len, mark, sizeof mark - 1);
    struct lpo_kernel_span w, rest;
    bool typed = false, type;
    int n = 0;

    if (!at)
        return false;
    at += sizeof mark - 1;
    rest = (struct lpo_kernel_span){ at, p->function.len - (size_t)(at - p->function.at) };
    lpo_str_add(out, "xmma");
    for (size_t i = 0; next_part(rest, &i, &w); n++) {
        if (w.len > sizeof tile - 1 && memcmp(w.at, tile, sizeof tile - 1) == 0) {
            lpo_str_addf(out, " %.*s", (int)(w.len - sizeof tile + 1), w.at + sizeof tile - 1);
            return true;
        }
        type = !typed && n && isdigit((unsigned char)w.at[w.len - 1]);
        typed = typed || type;
        if (n == 0 || type || same(w, "indexed") || (w.len == 2 && n < 8))
            lpo_str_addf(out, " %.*s", (int)w.len, w.at);
    }
    return true;
}

/* Cijk_Alik_Bljk_BBS_BH_…_MT64x32x256_…: Tensile's index names, types and macro tile. */
bool lpo_region_short_tensile(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    const char *from = memmem(p->function.at, p->function.len, "Cijk_", 5);
    struct lpo_kernel_span w, rest;
    int n = 0;

    if (!from)
        return false;
    rest = (struct lpo_kernel_span){ from, p->function.len - (size_t)(from - p->function.at) };
    for (size_t i = 0; next_part(rest, &i, &w); n++) {
        if (n < 4)
            lpo_str_addf(out, n ? "_%.*s" : "%.*s", (int)w.len, w.at);
        else if (w.len > 2 && memcmp(w.at, "MT", 2) == 0 && isdigit((unsigned char)w.at[2]))
            lpo_str_addf(out, " %.*s", (int)w.len, w.at);
    }
    return true;
}

/* bmm_E2m1_E2m1E2m1_Fp32_Ab16_…_t128x32x512u2_s4_…_swiGlu_dynB_sm100f: types, tile, activation. */
bool lpo_region_short_bmm(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    struct lpo_kernel_span w;
    bool tile = false;
    int n = 0;

    if (!begins(p->function, "bmm_"))
        return false;
    lpo_str_add(out, "bmm ");
    for (size_t at = 4; next_part(p->function, &at, &w); n++) {
        if (n < 2) {
            lpo_str_addf(out, n ? "_%.*s" : "%.*s", (int)w.len, w.at);
        } else if (!tile && w.at[0] == 't' &&
                   digits_x((struct lpo_kernel_span){ w.at + 1, w.len - 1 })) {
            lpo_str_addf(out, " %.*s", (int)w.len - 1, w.at + 1);
            tile = true;
        } else if (w.len > 3 && memcmp(w.at + w.len - 3, "Glu", 3) == 0) {
            lpo_str_addf(out, " %.*s", (int)w.len, w.at);
        }
    }
    return tile;
}

/* kernel_cutlass_kernel_<module><Class>_object_at_<types>: CuTe DSL's, of which the class says what
 * it is. */
bool lpo_region_short_cute(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    struct lpo_kernel_span c;

    if (!begins(p->function, "kernel_cutlass_"))
        return false;
    c = lpo_region_short_word(lpo_region_kernel_chosen_part(p->function));
    if (begins(c, "kernel_")) { /* cut before its class */
        c.at += 7;
        c.len -= 7;
    }
    lpo_str_addf(out, "cute<%.*s>", (int)c.len, c.at);
    return c.len > 0;
}

/* One word that is too long for a table: without parts that all of its kind have. */
bool lpo_region_short_long_word(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    static const char *const common[] = {
        "ldg8", "f2f", "tensorop", "generated", "fort", "native"
    };
    static const char *const kinds[] = { "gemm_", "cudnn_generated_" };
    struct lpo_kernel_span w;
    size_t begin = out->len;
    bool known = false;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        known |= memmem(p->function.at, p->function.len, kinds[i], strlen(kinds[i])) != NULL;
    if (!known || p->arguments.len || p->function.len <= LPO_SHORT_NAME)
        return false;
    for (size_t at = 0; next_part(p->function, &at, &w);) {
        bool left_out = false;

        for (size_t i = 0; i < sizeof common / sizeof *common; i++)
            left_out |= same(w, common[i]);
        if (!left_out)
            lpo_str_addf(out, out->len > begin ? "_%.*s" : "%.*s", (int)w.len, w.at);
    }
    return true;
}
