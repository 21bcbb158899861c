/* SPDX-License-Identifier: Apache-2.0 */
/* Headers, honest and hostile. */
#include <sys/stat.h>
#include <unistd.h>

#include "../unit.h"
#include "model/needs.h"
#include "model/read/read.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"
#include "util/str.h"

static const struct safetensors_case {
    const char *name, *header;
    uint64_t data;
    int code;
    uint64_t params;
    const char *says; /* part of the error */
} safetensors[] = {
    { "one tensor", "{\"a\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12]}}", 12, 0,
      6 },
    { "metadata is no tensor",
      "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
      4, 0, 1 },
    { "an empty table", "{}", 0, 0, 0 },
    { "an unknown dtype keeps its size",
      "{\"a\":{\"dtype\":\"F6_NEW\",\"shape\":[4],\"data_offsets\":[0,3]}}", 3, 0, 4 },
    { "offsets past the end", "{\"a\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]}}", 8,
      LPO_E_FORMAT, 0, "cut short" },
    { "offsets backwards", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[5,4]}}", 9,
      LPO_E_FORMAT, 0, "data_offsets" },
    { "negative offset", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[-1,0]}}", 9,
      LPO_E_FORMAT, 0, "data_offsets" },
    { "shape that overflows",
      "{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296,2],\"data_offsets\":[0,0]}}", 9,
      LPO_E_RANGE, 0, "too many" },
    { "size that does not fit its shape",
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, LPO_E_FORMAT, 0,
      "takes 8 bytes" },
    { "negative dimension", "{\"a\":{\"dtype\":\"U8\",\"shape\":[-2],\"data_offsets\":[0,0]}}", 0,
      LPO_E_FORMAT, 0, "bad shape" },
    { "nine dimensions",
      "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1,
      LPO_E_LIMIT, 0, "dimensions" },
    { "no dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, LPO_E_FORMAT, 0, "dtype" },
    { "a list", "[]", 0, LPO_E_FORMAT, 0, "table" },
    { "no JSON", "hello", 0, LPO_E_FORMAT, 0, "" },
};

static void check_safetensors(void **state)
{
    const struct safetensors_case *c = *state;
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    lpo_stored_vec out = { 0 };
    struct lpo_err err = { 0 };
    uint64_t params = 0;

    assert_int_equal(
        lpo_model_safetensors_parse(arena, c->header, strlen(c->header), c->data, &out, &err),
        c->code);
    for (size_t i = 0; c->code == 0 && i < out.len; i++)
        params += out.at[i].count;
    assert_int_equal(params, c->params);
    if (c->code < 0 && !strstr(lpo_err_cause(&err), c->says))
        fail_msg("'%s' does not say '%s'", lpo_err_cause(&err), c->says);
    lpo_vec_free(&out);
}

/* Little-endian pieces of a GGUF file. */
static void put(struct lpo_str *s, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        lpo_str_addc(s, (char)(v >> 8 * i));
}

static void put_text(struct lpo_str *s, const char *text)
{
    put(s, strlen(text), 8);
    lpo_str_add(s, text);
}

static void put_u32(struct lpo_str *s, const char *key, uint32_t v)
{
    put_text(s, key);
    put(s, 4, 4);
    put(s, v, 4);
}

static void put_tensor(struct lpo_str *s, const char *name, uint64_t inner, uint64_t outer,
                       uint32_t type, uint64_t offset)
{
    put_text(s, name);
    put(s, outer ? 2 : 1, 4);
    put(s, inner, 8);
    if (outer)
        put(s, outer, 8);
    put(s, type, 4);
    put(s, offset, 8);
}

/* A Llama of one layer: hidden 256, two heads, one for keys and values. */
static void make_gguf(struct lpo_str *s)
{
    put(s, 0x46554747, 4);
    put(s, 3, 4);
    put(s, 3, 8);
    put(s, 9, 8);
    put_text(s, "general.architecture");
    put(s, 8, 4);
    put_text(s, "llama");
    put_u32(s, "llama.block_count", 1);
    put_u32(s, "llama.embedding_length", 256);
    put_u32(s, "llama.feed_forward_length", 512);
    put_u32(s, "llama.attention.head_count", 2);
    put_u32(s, "llama.attention.head_count_kv", 1);
    put_u32(s, "llama.context_length", 4096);
    put_u32(s, "llama.rope.dimension_count", 128);
    put_text(s, "tokenizer.ggml.tokens");
    put(s, 9, 4);
    put(s, 8, 4);
    put(s, 2, 8);
    put_text(s, "a");
    put_text(s, "b");
    put_tensor(s, "token_embd.weight", 256, 1000, 12, 0); /* Q4_K: 144 bytes for 256 */
    put_tensor(s, "output_norm.weight", 256, 0, 0, 144000);
    put_tensor(s, "blk.0.attn_q.weight", 256, 256, 30, 145024);
}

enum { GGUF_DATA = 145024 + 131072 };

static void check_gguf(void **state)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_needs_options o = lpo_model_needs_defaults();
    const struct lpo_json *config;
    LPO_AUTO(lpo_model_needs) needs = NULL;
    lpo_gguf_values values = { 0 };
    lpo_stored_vec tensors = { 0 };
    struct lpo_err err = { 0 };
    LPO_STR s = { 0 };
    bool more;

    (void)state;
    make_gguf(&s);
    assert_int_equal(
        lpo_model_gguf_parse(arena, s.at, s.len, s.len + GGUF_DATA, &values, &tensors, &more, &err),
        0);
    assert_int_equal(tensors.len, 3);
    assert_string_equal(tensors.at[0].type, "Q4_K");
    assert_int_equal(tensors.at[0].bytes, 144000);
    assert_int_equal(tensors.at[0].shape[0], 1000); /* outermost first */
    assert_int_equal(tensors.at[2].bytes, 131072);
    config = lpo_model_gguf_config(arena, &values, &tensors);
    assert_string_equal(lpo_json_text(lpo_json_get(config, "model_type"), ""), "llama");
    assert_int_equal(lpo_model_needs_create(config, &o, &needs, &err), 0);
    assert_int_equal(needs->params,
                     1000 * 256 + 2 * 256 * 256 + 2 * 128 * 256 + 3 * 256 * 512 + 3 * 256);
    assert_true(needs->model->decoder->tied); /* there is no output.weight */
    lpo_vec_free(&values);
    lpo_vec_free(&tensors);
}

/* Every prefix of a good file asks for more and never reads beyond what it was given. */
static void check_gguf_cut_anywhere(void **state)
{
    LPO_STR s = { 0 };

    (void)state;
    make_gguf(&s);
    for (size_t len = 0; len < s.len; len++) {
        LPO_AUTO(lpo_arena) arena = lpo_arena_create();
        char *exact = malloc(len ? len : 1);
        lpo_gguf_values values = { 0 };
        lpo_stored_vec tensors = { 0 };
        struct lpo_err err = { 0 };
        bool more = false;

        memcpy(exact, s.at, len);
        assert_true(lpo_model_gguf_parse(arena, exact, len, s.len + GGUF_DATA, &values, &tensors,
                                         &more, &err) < 0);
        assert_true(more);
        lpo_vec_free(&values);
        lpo_vec_free(&tensors);
        free(exact);
    }
}

static const struct gguf_case {
    const char *name;
    size_t at; /* of a byte in a good file */
    char value;
    const char *says;
} hostile[] = {
    { "wrong magic", 0, 'X', "not a GGUF" },  { "version 9", 4, 9, "version 9" },
    { "too many tensors", 12, 1, "at most" }, { "too many keys", 20, 1, "at most" },
    { "a key without end", 28, 1, "" },
};

static void check_gguf_hostile(void **state)
{
    const struct gguf_case *c = *state;
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    lpo_gguf_values values = { 0 };
    lpo_stored_vec tensors = { 0 };
    struct lpo_err err = { 0 };
    LPO_STR s = { 0 };
    bool more;

    make_gguf(&s);
    s.at[c->at] = c->value;
    assert_true(lpo_model_gguf_parse(arena, s.at, s.len, s.len + GGUF_DATA, &values, &tensors,
                                     &more, &err) < 0);
    if (!strstr(lpo_err_cause(&err), c->says))
        fail_msg("'%s' does not say '%s'", lpo_err_cause(&err), c->says);
    lpo_vec_free(&values);
    lpo_vec_free(&tensors);
}

/* A folder of 300 shards, with an index, as large checkpoints come. */
static void check_shards(void **state)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    char dir[] = "/tmp/lpo-shards-XXXXXX";
    struct lpo_model_files files;
    struct lpo_err err = { 0 };
    LPO_STR index = { 0 };

    (void)state;
    assert_non_null(mkdtemp(dir));
    lpo_str_add(&index, "{\"weight_map\":{");
    for (int i = 0; i < 300; i++) {
        const char *name = lpo_arena_printf(arena, "model-%05d-of-00300.safetensors", i + 1);
        LPO_STR file = { 0 };
        LPO_STR header = { 0 };

        lpo_str_addf(&header,
                     "{\"layers.%d.w\":{\"dtype\":\"BF16\",\"shape\":[4,4],"
                     "\"data_offsets\":[0,32]}}",
                     i);
        put(&file, header.len, 8);
        lpo_str_addn(&file, header.at, header.len);
        for (int b = 0; b < 32; b++)
            lpo_str_addc(&file, 0);
        assert_int_equal(lpo_file_write(lpo_path_join(arena, dir, name), file.at, file.len, &err),
                         0);
        lpo_str_addf(&index, "%s\"layers.%d.w\":\"%s\"", i ? "," : "", i, name);
    }
    lpo_str_add(&index, "}}");
    assert_int_equal(lpo_file_write(lpo_path_join(arena, dir, "model.safetensors.index.json"),
                                    index.at, index.len, &err),
                     0);
    assert_int_equal(lpo_file_write(lpo_path_join(arena, dir, "config.json"),
                                    "{\"model_type\":\"gpt2\"}", 21, &err),
                     0);
    assert_int_equal(lpo_model_read(arena, dir, &files, &err), 0);
    assert_int_equal(files.files, 300);
    assert_int_equal(files.params, 300 * 16);
    assert_int_equal(files.bytes, 300 * 32);
    lpo_model_files_free(&files);
    for (int i = 0; i < 300; i++)
        unlink(lpo_arena_printf(arena, "%s/model-%05d-of-00300.safetensors", dir, i + 1));
    unlink(lpo_path_join(arena, dir, "model.safetensors.index.json"));
    unlink(lpo_path_join(arena, dir, "config.json"));
    rmdir(dir);
}

/* Names and shapes of a small Llama give back its sizes. */
static void check_guess(void **state)
{
    static const struct lpo_stored tensors[] = {
        { .name = "model.embed_tokens.weight", .shape = { 1000, 256 }, .dims = 2 },
        { .name = "model.layers.0.self_attn.q_proj.weight", .shape = { 256, 256 }, .dims = 2 },
        { .name = "model.layers.0.self_attn.k_proj.weight", .shape = { 128, 256 }, .dims = 2 },
        { .name = "model.layers.3.mlp.up_proj.weight", .shape = { 512, 256 }, .dims = 2 },
    };
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    const struct lpo_json *config = lpo_model_guess(arena, tensors, 4);

    (void)state;
    assert_non_null(config);
    assert_int_equal(lpo_json_int(lpo_json_get(config, "num_hidden_layers"), 0), 4);
    assert_int_equal(lpo_json_int(lpo_json_get(config, "num_attention_heads"), 0), 2);
    assert_int_equal(lpo_json_int(lpo_json_get(config, "num_key_value_heads"), 0), 1);
    assert_true(lpo_json_bool(lpo_json_get(config, "tie_word_embeddings"), false));
    assert_null(lpo_model_guess(arena, tensors + 1, 3));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, safetensors, check_safetensors);
    UNIT_TEST(&u, check_gguf);
    UNIT_TEST(&u, check_gguf_cut_anywhere);
    UNIT_ROWS(&u, hostile, check_gguf_hostile);
    UNIT_TEST(&u, check_shards);
    UNIT_TEST(&u, check_guess);
    return unit_run(&u);
}
