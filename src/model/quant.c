/* SPDX-License-Identifier: Apache-2.0 */
#include "model/quant.h"

#include <ctype.h>
#include <fnmatch.h>

#include "util/json.h"
#include "util/pattern.h"

enum { MAX_NAME = 256 };

/* A pattern of names that are not quantised: a glob, or a regular expression. */
struct kept {
    char *text;                /* in the form of plain_name() */
    struct lpo_pattern *regex; /* or NULL */
};

struct lpo_model_quant {
    struct lpo_weight_format all; /* of what no list names; dtype NONE: not quantised */
    struct lpo_weight_format experts;
    enum lpo_dtype cache;
    LPO_VEC(struct kept) kept;
    struct lpo_map *listed; /* name to an index into `formats`; NULL: no list */
    LPO_VEC(struct lpo_weight_format) formats;
};

/* Bits with the scales of a group of weights. */
static const struct method {
    const char *name;
    enum lpo_dtype dtype;
    double bits, scale_bits; /* of one group */
    int group;               /* usual; 0: scales too few to count */
    bool storage_only;
} methods[] = {
    { "fp8", LPO_FP8, 8, 0, 0 },
    { "fbgemm_fp8", LPO_FP8, 8, 0, 0 },
    { "fp8_pb_wo", LPO_FP8, 8, 0, 0 },
    { "mxfp8", LPO_FP8, 8, 8, 32 },
    { "nvfp4", LPO_FP4, 4, 8, 16 },
    { "w4a16_nvfp4", LPO_FP4, 4, 8, 16, true },
    { "mxfp4", LPO_FP4, 4, 8, 32 },
    { "w4a8_mxfp4_fp8", LPO_FP4, 4, 8, 32 },
    { "awq", LPO_INT4, 4, 20, 128, true },
    { "gptq", LPO_INT4, 4, 20, 128, true },
    { "auto-round", LPO_INT4, 4, 20, 128, true },
    { "w4a16_awq", LPO_INT4, 4, 16, 128, true },
    { "w4a8_awq", LPO_INT4, 4, 16, 128 },
    { "int8_sq", LPO_INT8, 8, 0, 0 },
    { "w8a16", LPO_INT8, 8, 0, 0, true },
    { "load_in_4bit", LPO_INT4, 4, 32, 64, true },
    { "load_in_8bit", LPO_INT8, 8, 0, 0 },
};

static bool find_method(const char *name, int64_t group, struct lpo_weight_format *out)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcasecmp(methods[i].name, name) == 0) {
            double size = group > 0 ? (double)group : methods[i].group;

            *out = (struct lpo_weight_format){ methods[i].dtype,
                                               methods[i].bits +
                                                   (size > 0 ? methods[i].scale_bits / size : 0),
                                               methods[i].storage_only };
            return true;
        }
    return false;
}

/* "model.language_model.layers.3.block_sparse_moe.experts.7.w1" is "3.mlp.experts": checkpoints
 * wrap the layers in different modules, call the MLP differently and may list every expert. */
static const char *plain_name(const char *name, char *out)
{
    static const char *const same[] = { "block_sparse_moe", "ffn", "feed_forward" };
    const char *layers = strstr(name, "layers."), *p = layers ? layers + 7 : name;
    char *to = out, *end = out + MAX_NAME - 1;

    if (!layers && !strchr(name, '*') && strrchr(name, '.'))
        p = strrchr(name, '.') + 1;
    while (*p && to < end) {
        size_t len = strcspn(p, ".");
        const char *part = p;
        bool experts = len == 7 && strncmp(p, "experts", 7) == 0;

        p += len + (p[len] == '.');
        for (size_t i = 0; i < sizeof same / sizeof *same; i++)
            if (strlen(same[i]) == len && strncmp(part, same[i], len) == 0) {
                part = "mlp";
                len = 3;
            }
        to += snprintf(to, (size_t)(end - to) + 1, "%s%.*s", to > out ? "." : "", (int)len, part);
        to = to > end ? end : to;
        if (experts)
            break;
    }
    *to = '\0';
    return out;
}

static int add_kept(struct lpo_model_quant *q, const char *text, struct lpo_err *err)
{
    char name[MAX_NAME];
    struct kept k = { 0 };
    LPO_STR regex = { 0 };
    int rc = 0;

    if (strncmp(text, "re:", 3) == 0) {
        lpo_str_addf(&regex, "regex:%s", text + 3);
        rc = lpo_pattern_create(lpo_str_text(&regex), &k.regex, err);
    } else {
        k.text = lpo_xstrdup(plain_name(text, name));
    }
    if (rc == 0)
        lpo_vec_push(&q->kept, k);
    return rc;
}

static bool is_below(const char *name, const char *module)
{
    size_t len = strlen(module);

    return strncmp(name, module, len) == 0 && (name[len] == '\0' || name[len] == '.');
}

/* A glob covers what is below the module that it names; a bare word names a module anywhere. */
static bool covers(const struct kept *k, const char *name, const char *full)
{
    char below[MAX_NAME + 2];

    if (k->regex)
        return lpo_pattern_matches(k->regex, full, strlen(full));
    if (strchr(k->text, '*')) {
        snprintf(below, sizeof below, "%s.*", k->text);
        return fnmatch(k->text, name, 0) == 0 || fnmatch(below, name, 0) == 0;
    }
    if (isdigit((unsigned char)*k->text) || strchr(k->text, '.'))
        return is_below(name, k->text);
    for (const char *p = name; p; p = strchr(p, '.') ? strchr(p, '.') + 1 : NULL)
        if (is_below(p, k->text))
            return true;
    return false;
}

struct lpo_weight_format lpo_model_quant_of(const struct lpo_model_quant *q, const char *name,
                                            enum lpo_op_kind kind)
{
    static const struct lpo_weight_format none = { LPO_DTYPE_NONE, 0 };
    char plain[MAX_NAME];
    const uint64_t *listed;

    if (!q)
        return none;
    plain_name(name, plain);
    listed = q->listed ? lpo_map_find(q->listed, plain, strlen(plain)) : NULL;
    if (listed)
        return q->formats.at[*listed];
    if (kind != LPO_OP_PROJECTION && kind != LPO_OP_MLP && kind != LPO_OP_EXPERTS)
        return none;
    for (size_t i = 0; i < q->kept.len; i++)
        if (covers(&q->kept.at[i], plain, name))
            return none;
    return kind == LPO_OP_EXPERTS && q->experts.dtype != LPO_DTYPE_NONE ? q->experts : q->all;
}

enum lpo_dtype lpo_model_quant_main(const struct lpo_model_quant *q)
{
    const struct lpo_weight_format *f = q->formats.len ? &q->formats.at[0] : &q->all;

    return q->experts.dtype != LPO_DTYPE_NONE ? q->experts.dtype : f->dtype;
}

enum lpo_dtype lpo_model_quant_cache(const struct lpo_model_quant *q)
{
    return q ? q->cache : LPO_DTYPE_NONE;
}

static int unknown(const char *name, struct lpo_err *err)
{
    return lpo_fail(err, LPO_E_NOTFOUND,
                    "the weights are quantised by '%s', whose width lpo does not know: give "
                    "--dtype",
                    name);
}

static void add_listed(struct lpo_model_quant *q, const char *name, struct lpo_weight_format f)
{
    char plain[MAX_NAME];

    plain_name(name, plain);
    if (!q->listed)
        q->listed = lpo_map_create();
    *lpo_map_put(q->listed, plain, strlen(plain), NULL) = q->formats.len;
    lpo_vec_push(&q->formats, f);
}

/* modelopt's "MIXED_PRECISION": a format for each module. */
static int read_list(struct lpo_model_quant *q, const struct lpo_json *list, struct lpo_err *err)
{
    LPO_JSON_EACH(item, list)
    {
        const char *algo = lpo_json_text(lpo_json_get(item, "quant_algo"), "?");
        struct lpo_weight_format f;

        if (!find_method(algo, lpo_json_int(lpo_json_get(item, "group_size"), 0), &f))
            return unknown(algo, err);
        add_listed(q, item->key, f);
    }
    return 0;
}

/* compressed-tensors: groups of targets, with their number of bits. */
static int read_groups(struct lpo_model_quant *q, const struct lpo_json *groups,
                       struct lpo_err *err)
{
    LPO_JSON_EACH(group, groups)
    {
        const struct lpo_json *weights = lpo_json_get(group, "weights");
        const struct lpo_json *targets = lpo_json_get(group, "targets");
        const char *type = lpo_json_text(lpo_json_get(weights, "type"), "int");
        int64_t bits = lpo_json_int(lpo_json_get(weights, "num_bits"), 0);
        int64_t size = lpo_json_int(lpo_json_get(weights, "group_size"), 0);
        bool real = strcmp(type, "float") == 0, four = bits == 4;
        struct lpo_weight_format f = { four   ? real ? LPO_FP4 : LPO_INT4
                                       : real ? LPO_FP8
                                              : LPO_INT8,
                                       (double)bits };

        if (!four && bits != 8)
            return unknown("a number of bits other than 4 and 8", err);
        f.storage_only = four && !lpo_json_at(group, "input_activations.num_bits");
        if (size > 0)
            f.bits += (real ? 8.0 : 16.0) / (double)size;
        if (!targets || strcmp(lpo_json_text(targets->first, ""), "Linear") == 0)
            q->all = f;
        else
            LPO_JSON_EACH(target, targets)
        add_listed(q, lpo_json_text(target, ""), f);
    }
    return 0;
}

static int read_method(struct lpo_model_quant *q, const struct lpo_json *own, struct lpo_err *err)
{
    const char *method = lpo_json_text(lpo_json_get(own, "quant_method"), NULL);
    const char *algo = lpo_json_text(lpo_json_get(own, "quant_algo"), method);
    int64_t group = lpo_json_int(lpo_json_get(own, "group_size"), 0);
    int64_t bits = lpo_json_int(lpo_json_get(own, "bits"), 4);

    if (lpo_json_get(own, "quantized_layers"))
        return read_list(q, lpo_json_get(own, "quantized_layers"), err);
    if (lpo_json_get(own, "config_groups"))
        return read_groups(q, lpo_json_get(own, "config_groups"), err);
    if (!algo) /* modelopt leaves it null where only the cache is quantised */
        return 0;
    if (strcmp(algo, "bitsandbytes") == 0)
        algo = lpo_json_bool(lpo_json_get(own, "load_in_8bit"), false) ? "load_in_8bit"
                                                                       : "load_in_4bit";
    if (!find_method(algo, group, &q->all))
        return unknown(algo, err);
    if (q->all.dtype == LPO_INT4 && bits == 8)
        q->all = (struct lpo_weight_format){ LPO_INT8, q->all.bits + 4 };
    if (method && strcmp(method, "mxfp4") == 0) { /* gpt-oss: the experts alone */
        q->experts = q->all;
        q->all.dtype = LPO_DTYPE_NONE;
    }
    return 0;
}

static int read_kept(struct lpo_model_quant *q, const struct lpo_json *own, struct lpo_err *err)
{
    static const char *const keys[] = { "modules_to_not_convert", "ignore", "exclude_modules",
                                        "ignored_layers" };
    int rc = 0;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        LPO_JSON_EACH(item, lpo_json_get(own, keys[i]))
    if (rc == 0)
        rc = add_kept(q, lpo_json_text(item, ""), err);
    return rc;
}

static enum lpo_dtype cache_format(const struct lpo_json *own)
{
    const struct lpo_json *scheme = lpo_json_get(own, "kv_cache_scheme");
    const char *algo =
        lpo_json_text(lpo_json_get(own, "kv_cache_quant_algo"), lpo_json_text(scheme, ""));

    if (strcasecmp(algo, "fp8") == 0 || lpo_json_int(lpo_json_get(scheme, "num_bits"), 0) == 8)
        return LPO_FP8;
    return LPO_DTYPE_NONE;
}

int lpo_model_quant_create(const struct lpo_json *config, struct lpo_model_quant **out,
                           struct lpo_err *err)
{
    static const char *const places[] = { LPO_QUANT_BESIDE ".quantization", "quantization_config",
                                          "text_config.quantization_config", "compression_config" };
    const char *experts = lpo_json_text(lpo_json_get(config, "expert_dtype"), "");
    const struct lpo_json *own = NULL;
    LPO_AUTO(lpo_model_quant) q = NULL;
    int rc;

    for (size_t i = 0; i < sizeof places / sizeof *places && !own; i++) {
        own = lpo_json_at(config, places[i]);
        own = own && own->kind == LPO_JSON_OBJECT && own->first ? own : NULL;
    }
    *out = NULL;
    if (!own)
        return 0;
    q = lpo_xcalloc(1, sizeof *q);
    q->cache = cache_format(own);
    rc = read_method(q, own, err);
    if (rc == 0)
        rc = read_kept(q, own, err);
    if (rc < 0)
        return rc;
    if (strcmp(experts, "fp4") == 0)
        find_method("mxfp4", 0, &q->experts);
    *out = q;
    q = NULL;
    return 0;
}

void lpo_model_quant_destroy(struct lpo_model_quant *q)
{
    if (!q)
        return;
    for (size_t i = 0; i < q->kept.len; i++) {
        free(q->kept.at[i].text);
        lpo_pattern_destroy(q->kept.at[i].regex);
    }
    lpo_vec_free(&q->kept);
    lpo_vec_free(&q->formats);
    lpo_map_destroy(q->listed);
    free(q);
}
