/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a GGUF file, and its metadata as a config.json, so that one code reads both. */
#include "model/read/read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/count.h"
#include "rules/rules.h"
#include "util/input.h"
#include "util/json.h"
#include "util/json_write.h"

/* ggml's numbers: name, elements of a block, bytes of a block with its scales. Gaps are
 * types that ggml removed. */
static const struct lpo_model_gguf_type types[] = {
    [0] = { "F32", 1, 4 },         [1] = { "F16", 1, 2 },         [2] = { "Q4_0", 32, 18 },
    [3] = { "Q4_1", 32, 20 },      [6] = { "Q5_0", 32, 22 },      [7] = { "Q5_1", 32, 24 },
    [8] = { "Q8_0", 32, 34 },      [9] = { "Q8_1", 32, 36 },      [10] = { "Q2_K", 256, 84 },
    [11] = { "Q3_K", 256, 110 },   [12] = { "Q4_K", 256, 144 },   [13] = { "Q5_K", 256, 176 },
    [14] = { "Q6_K", 256, 210 },   [15] = { "Q8_K", 256, 292 },   [16] = { "IQ2_XXS", 256, 66 },
    [17] = { "IQ2_XS", 256, 74 },  [18] = { "IQ3_XXS", 256, 98 }, [19] = { "IQ1_S", 256, 50 },
    [20] = { "IQ4_NL", 32, 18 },   [21] = { "IQ3_S", 256, 110 },  [22] = { "IQ2_S", 256, 82 },
    [23] = { "IQ4_XS", 256, 136 }, [24] = { "I8", 1, 1 },         [25] = { "I16", 1, 2 },
    [26] = { "I32", 1, 4 },        [27] = { "I64", 1, 8 },        [28] = { "F64", 1, 8 },
    [29] = { "IQ1_M", 256, 56 },   [30] = { "BF16", 1, 2 },       [34] = { "TQ1_0", 256, 54 },
    [35] = { "TQ2_0", 256, 66 },   [39] = { "MXFP4", 32, 17 },
};

const struct lpo_model_gguf_type *lpo_model_gguf_type(uint32_t id)
{
    if (id >= sizeof types / sizeof *types || !types[id].name)
        return NULL;
    return &types[id];
}

/* GGUF's numbers, in its order. */
enum value_type {
    V_U8,
    V_I8,
    V_U16,
    V_I16,
    V_U32,
    V_I32,
    V_F32,
    V_BOOL,
    V_STRING,
    V_ARRAY,
    V_U64,
    V_I64,
    V_F64,
    V_TYPES
};

static const unsigned char value_size[V_TYPES] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

struct cursor {
    const unsigned char *p, *end;
    uint32_t version;
    bool more; /* ran past the end of what was given */
    struct lpo_arena *arena;
    struct lpo_err *err;
};

static int too_short(struct cursor *c)
{
    c->more = true;
    return lpo_fail(c->err, LPO_E_LIMIT, "the file ends inside its header");
}

static int take(struct cursor *c, unsigned size, uint64_t *out)
{
    if ((size_t)(c->end - c->p) < size)
        return too_short(c);
    *out = 0;
    for (unsigned i = size; i-- > 0;)
        *out = *out << 8 | c->p[i];
    c->p += size;
    return 0;
}

/* Lengths and counts were 32 bits wide in version 1. */
static int take_count(struct cursor *c, uint64_t *out)
{
    return take(c, c->version == 1 ? 4 : 8, out);
}

static int take_string(struct cursor *c, const char **out)
{
    uint64_t len = 0;
    int rc = take_count(c, &len);

    if (rc < 0)
        return rc;
    if (len > 1u << 30) /* more would only make us read the whole file as header */
        return lpo_fail(c->err, LPO_E_FORMAT,
                        "the metadata has a text of %" PRIu64 " bytes, which is too long", len);
    if ((uint64_t)(c->end - c->p) < len)
        return too_short(c);
    if (out)
        *out = lpo_arena_strndup(c->arena, (const char *)c->p, len);
    c->p += len;
    return 0;
}

static double as_number(unsigned type, uint64_t raw)
{
    float f;
    double d;
    uint32_t low = (uint32_t)raw;

    switch (type) {
    case V_I8:
        return (int8_t)raw;
    case V_I16:
        return (int16_t)raw;
    case V_I32:
        return (int32_t)raw;
    case V_I64:
        return (double)(int64_t)raw;
    case V_F32:
        memcpy(&f, &low, sizeof f);
        return f;
    case V_F64:
        memcpy(&d, &raw, sizeof d);
        return d;
    default:
        return (double)raw;
    }
}

static int bad_type(struct cursor *c, uint64_t type)
{
    return lpo_fail(c->err, LPO_E_FORMAT, "the metadata has a value of unknown type %" PRIu64,
                    type);
}

static int take_array(struct cursor *c, struct lpo_gguf_value *v)
{
    uint64_t type = 0, raw = 0;
    int rc = take(c, 4, &type);

    if (rc == 0)
        rc = take_count(c, &v->length);
    if (rc < 0)
        return rc;
    if (type >= V_TYPES || type == V_ARRAY)
        return bad_type(c, type);
    if (type == V_STRING) {
        for (uint64_t i = 0; i < v->length && rc == 0; i++)
            rc = take_string(c, NULL);
        return rc;
    }
    if ((uint64_t)(c->end - c->p) / value_size[type] < v->length)
        return too_short(c);
    for (uint64_t i = 0; i < v->length; i++) {
        double n;

        take(c, value_size[type], &raw);
        n = as_number((unsigned)type, raw);
        /* the largest: where a value differs by layer, the model is counted by its widest one */
        v->number = i == 0 || n > v->number ? n : v->number;
    }
    return 0;
}

static int take_value(struct cursor *c, struct lpo_gguf_value *v)
{
    uint64_t type = 0, raw = 0;
    int rc = take_string(c, &v->key);

    if (rc == 0)
        rc = take(c, 4, &type);
    if (rc < 0)
        return rc;
    if (type >= V_TYPES)
        return bad_type(c, type);
    if (type == V_ARRAY)
        return take_array(c, v);
    if (type == V_STRING)
        return take_string(c, &v->text);
    rc = take(c, value_size[type], &raw);
    if (rc == 0)
        v->number = as_number((unsigned)type, raw);
    return rc;
}

static int take_tensor(struct cursor *c, uint64_t file_bytes, struct lpo_stored *t)
{
    uint64_t dims = 0, type = 0, offset = 0, reversed[LPO_STORED_DIMS];
    const struct lpo_model_gguf_type *known;
    int rc = take_string(c, &t->name);

    if (rc == 0)
        rc = take(c, 4, &dims);
    if (rc < 0)
        return rc;
    if (dims > LPO_STORED_DIMS)
        return lpo_fail(c->err, LPO_E_LIMIT, "tensor '%s' has %" PRIu64 " dimensions", t->name,
                        dims);
    t->count = 1;
    for (uint64_t i = 0; i < dims && rc == 0; i++) {
        rc = take_count(c, &reversed[i]);
        if (rc == 0)
            t->count = lpo_model_mul(t->count, reversed[i]);
    }
    for (uint64_t i = 0; i < dims && rc == 0; i++) /* ggml lists the innermost dimension first */
        t->shape[t->dims++] = reversed[dims - 1 - i];
    if (rc == 0)
        rc = take(c, 4, &type);
    if (rc == 0)
        rc = take(c, 8, &offset);
    if (rc < 0)
        return rc;
    known = lpo_model_gguf_type((uint32_t)type);
    if (!known)
        return lpo_fail(c->err, LPO_E_FORMAT, "tensor '%s' has the unknown type %" PRIu64, t->name,
                        type);
    t->type = known->name;
    t->bytes =
        lpo_model_mul(t->count / known->elements + (t->count % known->elements != 0), known->bytes);
    if (t->bytes > file_bytes || offset > file_bytes - t->bytes)
        return lpo_fail(c->err, LPO_E_FORMAT,
                        "tensor '%s' ends after the end of the file: is it cut short?", t->name);
    return 0;
}

static int take_head(struct cursor *c, uint64_t *tensors, uint64_t *values)
{
    uint64_t magic = 0, version = 0;
    int rc = take(c, 4, &magic);

    if (rc == 0)
        rc = take(c, 4, &version);
    if (rc < 0)
        return rc;
    if (magic != 0x46554747) /* "GGUF" */
        return lpo_fail(c->err, LPO_E_FORMAT, "this is not a GGUF file");
    if (version < 1 || version > 3)
        return lpo_fail(c->err, LPO_E_FORMAT, "this is GGUF version %" PRIu64 "; lpo reads 1 to 3",
                        version);
    c->version = (uint32_t)version;
    rc = take_count(c, tensors);
    if (rc == 0)
        rc = take_count(c, values);
    if (rc == 0 && (*tensors > LPO_GGUF_MAX_ITEMS || *values > LPO_GGUF_MAX_ITEMS))
        return lpo_fail(c->err, LPO_E_FORMAT,
                        "the file has %" PRIu64 " tensors and %" PRIu64
                        " metadata keys; at most %u of each are read",
                        *tensors, *values, LPO_GGUF_MAX_ITEMS);
    return rc;
}

int lpo_model_gguf_parse(struct lpo_arena *a, const void *bytes, size_t len, uint64_t file_bytes,
                         lpo_gguf_values *values, lpo_stored_vec *tensors, bool *more,
                         struct lpo_err *err)
{
    struct cursor c = { bytes, (const unsigned char *)bytes + len, 0, false, a, err };
    uint64_t ntensors = 0, nvalues = 0;
    int rc = take_head(&c, &ntensors, &nvalues);

    for (uint64_t i = 0; rc == 0 && i < nvalues; i++) {
        struct lpo_gguf_value v = { 0 };

        rc = take_value(&c, &v);
        if (rc == 0)
            lpo_vec_push(values, v);
    }
    for (uint64_t i = 0; rc == 0 && i < ntensors; i++) {
        struct lpo_stored t = { 0 };

        rc = take_tensor(&c, file_bytes, &t);
        if (rc == 0)
            lpo_vec_push(tensors, t);
    }
    *more = c.more;
    return rc;
}

static int read_some(int fd, char *to, size_t len, size_t *got, struct lpo_err *err)
{
    *got = 0;
    while (*got < len) {
        ssize_t n = pread(fd, to + *got, len - *got, (off_t)*got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lpo_fail_errno(err, "cannot read");
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return 0;
}

/* The header may hold a whole vocabulary, so its size is unknown: read more until it is complete.
 */
static int read_header(struct lpo_arena *a, int fd, uint64_t file_bytes, lpo_gguf_values *values,
                       lpo_stored_vec *tensors, struct lpo_err *err)
{
    size_t first = tensors->len;

    for (size_t len = 1u << 20;; len *= 4) {
        bool more = false;
        char *bytes;
        size_t got;
        int rc;

        len = len < file_bytes ? len : (size_t)file_bytes;
        bytes = lpo_xmalloc(len);
        rc = read_some(fd, bytes, len, &got, err);
        values->len = 0; /* parsed again from the start: simpler than going on in the middle */
        tensors->len = first;
        if (rc == 0)
            rc = lpo_model_gguf_parse(a, bytes, got, file_bytes, values, tensors, &more, err);
        free(bytes);
        if (rc == 0 || !more || len >= file_bytes || len >= 1u << 30)
            return rc;
    }
}

int lpo_model_gguf_read(struct lpo_arena *a, const char *path, const struct lpo_json **config,
                        lpo_stored_vec *tensors, struct lpo_err *err)
{
    int fd = lpo_input_open_file(path, err), rc;
    LPO_FREED lpo_gguf_values values = { 0 };
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        rc = lpo_fail(err, LPO_E_IO, "not a regular file");
    else
        rc = read_header(a, fd, (uint64_t)st.st_size, &values, tensors, err);
    close(fd);
    if (rc == 0)
        *config = lpo_model_gguf_config(a, &values, tensors);
    return rc < 0 ? lpo_ctx(err, "'%s'", path) : 0;
}

static const struct lpo_gguf_value *find(const lpo_gguf_values *values, const char *architecture,
                                         const char *key)
{
    char full[256];

    snprintf(full, sizeof full, "%s%s%s", architecture, *architecture ? "." : "", key);
    return lpo_find(i, values->at, values->len, strcmp(values->at[i].key, full) == 0);
}

static const struct lpo_stored *tensor(const lpo_stored_vec *tensors, const char *name)
{
    return lpo_find(i, tensors->at, tensors->len, strcmp(tensors->at[i].name, name) == 0);
}

static bool whole(const struct lpo_gguf_value *v)
{
    return v && !v->text && v->number >= 0 && v->number < 1e15 && v->number == floor(v->number);
}

static const char *family_of(const lpo_gguf_values *values, const char *architecture)
{
    const struct lpo_gguf_value *experts = find(values, architecture, "expert_count");
    const char *type;

    if (strcmp(architecture, "llama") == 0 && experts && experts->number > 0)
        return "mixtral";
    type = lpo_rules_value(lpo_rules_words("families", "gguf_types", NULL), architecture,
                           strlen(architecture));
    return type ? type : architecture;
}

/* MLA's head sizes: newer files keep the expanded ones under "_mla". */
static void add_mla(struct lpo_json_writer *w, const lpo_gguf_values *values, const char *arch)
{
    const struct lpo_gguf_value *rope = find(values, arch, "rope.dimension_count");
    const struct lpo_gguf_value *key = find(values, arch, "attention.key_length_mla");
    const struct lpo_gguf_value *value = find(values, arch, "attention.value_length_mla");

    key = key ? key : find(values, arch, "attention.key_length");
    value = value ? value : find(values, arch, "attention.value_length");
    if (!whole(rope) || !whole(key) || !whole(value) || key->number <= rope->number)
        return;
    lpo_jw_put(w, LPO_KV("qk_rope_head_dim", (int64_t)rope->number),
               LPO_KV("qk_nope_head_dim", (int64_t)(key->number - rope->number)),
               LPO_KV("v_head_dim", (int64_t)value->number));
}

static void add_from_tensors(struct lpo_json_writer *w, const lpo_gguf_values *values,
                             const lpo_stored_vec *tensors, const char *arch)
{
    const struct lpo_stored *embed = tensor(tensors, "token_embd.weight");
    bool bias = tensor(tensors, "blk.0.attn_q.bias") || tensor(tensors, "blk.0.attn_qkv.bias");

    if (!find(values, arch, "vocab_size") && embed && embed->dims == 2)
        lpo_jw_put(w, LPO_KV("vocab_size", (int64_t)embed->shape[0]));
    lpo_jw_put(
        w, LPO_KV("tie_word_embeddings", lpo_jv_flag(!tensor(tensors, "output.weight"))),
        LPO_KV("attention_bias", bias), LPO_KV("use_bias", bias),
        LPO_KV("qk_layernorm", lpo_jv_flag(tensor(tensors, "blk.0.attn_q_norm.weight") != NULL)),
        LPO_KV("use_qk_norm", lpo_jv_flag(tensor(tensors, "blk.0.attn_q_norm.weight") != NULL)));
}

const struct lpo_json *lpo_model_gguf_config(struct lpo_arena *a, const lpo_gguf_values *values,
                                             const lpo_stored_vec *tensors)
{
    const struct lpo_gguf_value *named = find(values, "", "general.architecture");
    const char *arch = named && named->text ? named->text : "";
    const struct lpo_gguf_value *heads = find(values, arch, "attention.head_count");
    const struct lpo_gguf_value *rope = find(values, arch, "rope.dimension_count");
    const struct lpo_gguf_value *wide = find(values, arch, "embedding_length");
    const struct lpo_map *keys = lpo_rules_words("families", "gguf_keys", NULL);
    const struct lpo_json *config = NULL;
    struct lpo_err err = { 0 };
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 0);

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("model_type", family_of(values, arch)));
    for (size_t i = 0; i < lpo_map_count(keys); i++) {
        const char *theirs = lpo_map_key(keys, i, NULL);
        const struct lpo_gguf_value *v = find(values, arch, theirs);

        if (whole(v))
            lpo_jw_put(&w,
                       LPO_KV(lpo_rules_value(keys, theirs, strlen(theirs)), (int64_t)v->number));
    }
    if (find(values, arch, "attention.kv_lora_rank"))
        add_mla(&w, values, arch);
    else if (whole(rope) && whole(heads) && whole(wide) && heads->number >= 1 &&
             rope->number < floor(wide->number / heads->number))
        lpo_jw_put(&w, LPO_KV("partial_rotary_factor",
                              rope->number / floor(wide->number / heads->number)));
    add_from_tensors(&w, values, tensors, arch);
    lpo_jw_end(&w);
    lpo_json_parse(a, lpo_str_text(&text), text.len, &config, &err);
    return config;
}
