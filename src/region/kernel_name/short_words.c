/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of kernels whose whole name is one word: its parts between underscores say which
 * tile, type and layout it is made for. */
#include <ctype.h>

#include "region/kernel_name/short.h"
#include "region/kernel_name/short_text.h"
#include "rules/rules.h"
#include "util/str.h"

typedef struct lpo_kernel_span span;

/* The next part of a name between underscores. */
static bool next_part(span s, size_t *at, span *out)
{
    size_t from = *at, i;

    while (from < s.len && s.at[from] == '_')
        from++;
    for (i = from; i < s.len && s.at[i] != '_'; i++)
        ;
    *at = i;
    *out = (span){ s.at + from, i - from };
    return i > from;
}

/* "MT64x32x8": *out is the size behind what stands before it. A whole one has an 'x'. */
static bool is_tile(span s, const char *before, bool need_whole, span *out)
{
    size_t n = strlen(before), digits;

    if (s.len <= n || memcmp(s.at, before, n) != 0)
        return false;
    *out = (span){ s.at + n, s.len - n };
    digits = lpo_kernel_digits(*out);
    return digits && (!need_whole || (digits + 1 < out->len && out->at[digits] == 'x' &&
                                      isdigit((unsigned char)out->at[digits + 1])));
}

/* What a family keeps of its parts, beside the first ones. */
static const struct family {
    const char *mark; /* its names have it; '^': at their beginning */
    const char *text; /* before what is kept */
    size_t skip;      /* bytes of the mark that are no part */
    int first;        /* parts that are kept and joined by '_' */
    const char *tile; /* stands before the tile */
    bool whole_tile;  /* which is kept too */
    bool one_tile;    /* only the first one; a name without any is of no family */
    const char *all_behind,
        *ends;  /* a part behind which all are kept; how parts that are kept end */
    bool typed; /* the first part with a digit at its end, layouts of two letters, "indexed" */
} families[] = {
    /* nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT */
    { "^nvjet_", "nvjet", 6, 0, "", false, true, "bz", NULL, false },
    /* sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_… */
    { "_xmma_", "xmma", 6, 1, "tilesize", false, false, NULL, NULL, true },
    /* Cijk_Alik_Bljk_BBS_BH_…_MT64x32x256_…: Tensile's index names, types and macro tile */
    { "Cijk_", NULL, 0, 4, "MT", true, false, NULL, NULL, false },
    /* bmm_E2m1_E2m1E2m1_Fp32_Ab16_…_t128x32x512u2_s4_…_swiGlu_dynB_sm100f */
    { "^bmm_", "bmm", 4, 2, "t", false, true, NULL, "Glu", false },
};

static bool keeps(const struct family *f, int n, bool *typed, span part)
{
    bool type = !*typed && n && isdigit((unsigned char)part.at[part.len - 1]);

    if (!f->typed)
        return f->ends && lpo_kernel_ends(part, f->ends);
    *typed |= type;
    return type || lpo_kernel_is(part, "indexed") || (part.len == 2 && n < 8);
}

static bool add_parts(const struct family *f, span s, struct lpo_str *out)
{
    bool tile = false, behind = false, typed = false;
    span part, size;
    size_t from = out->len;
    int n = 0;

    for (size_t at = 0; next_part(s, &at, &part); n++) {
        bool has_tile = n >= f->first && is_tile(part, f->tile, f->one_tile, &size), kept;

        if (n < f->first) {
            lpo_str_addf(out, "%s%.*s",
                         n                            ? "_"
                         : out->len > from || f->text ? " "
                                                      : "",
                         (int)part.len, part.at);
            continue;
        }
        if (has_tile && (!tile || !f->one_tile)) {
            size = f->whole_tile ? part : size;
            lpo_str_addf(out, " %.*s", (int)size.len, size.at);
            if (f->typed)
                return true;
        }
        kept = behind || keeps(f, n, &typed, part);
        if (kept && !(has_tile && !tile))
            lpo_str_addf(out, " %.*s", (int)part.len, part.at);
        tile |= has_tile;
        behind |= f->all_behind && lpo_kernel_is(part, f->all_behind);
    }
    return tile || !f->one_tile;
}

bool lpo_region_short_one_word(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct family *f = &families[i];
        span at = p->function;

        if (*f->mark == '^' ? !lpo_kernel_begins(at, f->mark + 1)
                            : !(at = lpo_kernel_from(at, f->mark)).at)
            continue;
        if (f->text)
            lpo_str_add(out, f->text);
        return add_parts(f, (span){ at.at + f->skip, at.len - f->skip }, out);
    }
    return false;
}

/* kernel_cutlass_kernel_<module><Class>_object_at_<types>: CuTe DSL's, of which the class says what
 * it is. */
bool lpo_region_short_cute(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    span c;

    if (!lpo_kernel_begins(p->function, "kernel_cutlass_"))
        return false;
    c = lpo_region_short_word(lpo_region_kernel_chosen_part(p->function));
    if (lpo_kernel_begins(c, "kernel_")) /* cut before its class */
        c = (span){ c.at + 7, c.len - 7 };
    lpo_str_addf(out, "cute<%.*s>", (int)c.len, c.at);
    return c.len > 0;
}

/* One word that is too long for a table: without parts that all of its kind have. */
bool lpo_region_short_long_word(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    size_t begin = out->len;
    span w;

    if ((!lpo_kernel_from(p->function, "gemm_").at &&
         !lpo_kernel_from(p->function, "cudnn_generated_").at) ||
        p->arguments.len || p->function.len <= LPO_SHORT_NAME)
        return false;
    for (size_t at = 0; next_part(p->function, &at, &w);)
        if (!lpo_rules_value(lpo_region_short_rules()->common, w.at, w.len))
            lpo_str_addf(out, out->len > begin ? "_%.*s" : "%.*s", (int)w.len, w.at);
    return true;
}
