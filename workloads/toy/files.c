/* SPDX-License-Identifier: Apache-2.0 */
/* The model as files that other programs read: config.json and safetensors. */
#include <string.h>

#include "toy/metrics.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json_write.h"

void toy_config_add(const struct toy_config *c, struct lpo_json_writer *w, const char *key)
{
    lpo_jw_object(w, key);
    lpo_jw_list(w, "architectures", LPO_V("LlamaForCausalLM"));
    lpo_jw_put(w, LPO_KV("model_type", "llama"), LPO_KV("vocab_size", c->vocab),
               LPO_KV("hidden_size", c->hidden), LPO_KV("intermediate_size", c->ffn),
               LPO_KV("num_hidden_layers", c->layers), LPO_KV("num_attention_heads", c->heads),
               LPO_KV("num_key_value_heads", c->kv_heads), LPO_KV("head_dim", toy_head_dim(c)),
               LPO_KV("max_position_embeddings", c->context), LPO_KV("hidden_act", "silu"),
               LPO_KV("rms_norm_eps", TOY_NORM_EPS), LPO_KV("rope_theta", TOY_ROPE_THETA),
               LPO_KV("attention_bias", lpo_jv_flag(false)), LPO_KV("mlp_bias", lpo_jv_flag(false)),
               LPO_KV("tie_word_embeddings", lpo_jv_flag(false)),
               LPO_KV("bos_token_id", lpo_jv_null()), LPO_KV("eos_token_id", lpo_jv_null()),
               LPO_KV("torch_dtype", "float32"));
    lpo_jw_end(w);
}

void toy_config_write(const struct toy_config *c, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 2);

    toy_config_add(c, &w, NULL);
}

/* One line: what sequence `b` of a sample was asked, and what came out. */
static void write_prediction(const struct toy_options *o, const struct toy_results *r, int sample,
                             int b, struct lpo_str *out)
{
    const uint64_t sequence = (uint64_t)sample * o->batch + b;
    const int *tokens = r->tokens + sequence * o->max_new_tokens;
    struct lpo_json_writer w = lpo_json_writer(out, 0);
    LPO_STR name = { 0 };

    lpo_str_addf(&name, "synthetic-%d", sample);
    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("sample", name.at), LPO_KV("sequence", b));
    lpo_jw_array(&w, "prompt_tokens");
    for (int t = 0; t < o->prompt_tokens; t++)
        lpo_jw_put(&w, LPO_V(toy_prompt_token(o, sequence, t)));
    lpo_jw_end(&w);
    lpo_jw_array(&w, "tokens");
    for (int t = 0; t < o->max_new_tokens; t++)
        lpo_jw_put(&w, LPO_V(tokens[t]));
    lpo_jw_end(&w);
    lpo_jw_end(&w);
}

void toy_predictions_write(const struct toy_options *o, const struct toy_results *r,
                           struct lpo_str *out)
{
    for (int sample = 0; sample < toy_options_samples(o); sample++)
        for (int b = 0; b < o->batch; b++)
            write_prediction(o, r, sample, b, out);
}

/* "name": {"dtype", "shape", "data_offsets"} for every tensor, in storage order. */
static void write_header(const struct toy_config *c, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 0);

    lpo_jw_object(&w, NULL);
    for (size_t i = 0; i < toy_tensor_count(c); i++) {
        struct toy_tensor t = toy_tensor_at(c, i);
        size_t size = (t.rows ? t.rows : 1) * t.cols;

        lpo_jw_object(&w, t.name);
        lpo_jw_put(&w, LPO_KV("dtype", "F32"));
        lpo_jw_array(&w, "shape");
        if (t.rows)
            lpo_jw_put(&w, LPO_V(t.rows));
        lpo_jw_put(&w, LPO_V(t.cols));
        lpo_jw_end(&w);
        lpo_jw_list(&w, "data_offsets", LPO_V(t.offset * sizeof(float)),
                    LPO_V((t.offset + size) * sizeof(float)));
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
}

int toy_model_write(const struct toy_weights *w, const char *dir, struct lpo_err *err)
{
    LPO_STR path = { 0 };
    LPO_STR text = { 0 };
    LPO_STR header = { 0 };
    unsigned char size[8];
    int rc;

    if ((rc = lpo_file_make_dirs(dir, err)) < 0)
        return rc;
    toy_config_write(&w->config, &text);
    lpo_str_addf(&path, "%s/config.json", dir);
    if ((rc = lpo_file_write(path.at, text.at, text.len, err)) < 0)
        return rc;
    write_header(&w->config, &header);
    while (header.len % 8) /* the data begins aligned */
        lpo_str_addc(&header, ' ');
    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)header.len >> (8 * i));
    lpo_str_clear(&text);
    lpo_str_addn(&text, (const char *)size, sizeof size);
    lpo_str_addn(&text, header.at, header.len);
    lpo_str_addn(&text, (const char *)w->at, w->count * sizeof *w->at);
    lpo_str_clear(&path);
    lpo_str_addf(&path, "%s/model.safetensors", dir);
    return lpo_file_write(path.at, text.at, text.len, err);
}
