/* SPDX-License-Identifier: Apache-2.0 */
/* The built program as others see it: exit codes, files, ranges. */
#include "../unit.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json.h"
#include "util/str.h"

#define SMALL                                                                                      \
    " --layers 2 --hidden 32 --heads 4 --kv-heads 2 --ffn 48 --vocab 64 --prompt-tokens 5"         \
    " --max-new-tokens 4 --repeats 2 --warmup 1"

static char dir[] = "/tmp/lpo-toy-XXXXXX";

/* Runs the program with `words`, @ standing for the test's own folder. */
static int run_toy(const char *before, const char *words)
{
    LPO_STR cmd = { 0 };
    int status;

    lpo_str_addf(&cmd, "%s '%s/workloads/toy_llm' ", before, unit_env("LPO_BUILD_ROOT", "build"));
    for (const char *p = words; *p; p++)
        if (*p == '@')
            lpo_str_add(&cmd, dir);
        else
            lpo_str_addc(&cmd, *p);
    lpo_str_addf(&cmd, " >%s/stdout 2>%s/stderr", dir, dir);
    status = system(cmd.at);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static struct lpo_file_text *slurp(const char *name)
{
    LPO_STR path = { 0 };
    struct lpo_file_text *t = NULL;
    struct lpo_err err = { 0 };

    lpo_str_addf(&path, "%s/%s", dir, name);
    if (lpo_file_text_read(path.at, &t, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    return t;
}

static const struct exit_case {
    const char *name, *words;
    int code;
    const char *says; /* on stderr */
} exits[] = {
    { "help", "--help", 0, "" },
    { "a wrong flag", "--bogus", 2, "unknown option '--bogus'" },
    { "a metrics file that cannot be", SMALL " --metrics /nonexistent/m.json", 1, "metrics" },
    { "a check of itself", SMALL " --check", 0, "" },
    { "one token has no decode", SMALL " --max-new-tokens 1 --metrics @/m.json", 0, "" },
};

static void exit_code(void **state)
{
    const struct exit_case *c = *state;
    LPO_AUTO(lpo_file_text) said = NULL;

    assert_int_equal(run_toy("", c->words), c->code);
    said = slurp("stderr");
    assert_non_null(strstr(said->at, c->says));
    if (!*c->says)
        assert_string_equal(said->at, "");
}

static double at(const struct lpo_json *v, const char *path)
{
    return lpo_json_real(lpo_json_at(v, path), NAN);
}

static void metrics_hold_what_was_measured(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    const struct lpo_json *m = NULL;
    int samples = 0;
    double sum = 0;

    (void)state;
    assert_int_equal(run_toy("", SMALL " --batch 3 --metrics @/metrics.json"), 0);
    text = slurp("metrics.json");
    assert_int_equal(lpo_json_parse(a, text->at, text->len, &m, NULL), 0);
    assert_string_equal(lpo_json_text(lpo_json_get(m, "schema"), ""), "lpo.workload_metrics/1");
    /* embed and head 2*64*32; per layer q, o 2*32*32, k, v 2*16*32, mlp 3*48*32, norms 64; norm 32
     */
    assert_true(at(m, "model.parameters") == 4096 + 2 * (2048 + 1024 + 4608 + 64) + 32);
    assert_true(at(m, "model.config.num_key_value_heads") == 2);
    assert_true(at(m, "aggregate.prefill_ms.count") == 2);
    assert_true(at(m, "aggregate.inter_token_ms.count") == 6);
    assert_true(at(m, "peak_host_bytes") > 1 << 19);
    assert_int_equal(lpo_json_get(m, "peak_device_bytes")->kind, LPO_JSON_NULL);
    LPO_JSON_EACH(s, lpo_json_get(m, "samples"))
    {
        double steps = 0;

        samples++;
        assert_true(at(s, "tokens") == 12 && at(s, "prompt_tokens") == 15);
        assert_true(at(s, "prefill_ms") > 0 && at(s, "ttft_ms") >= at(s, "prefill_ms"));
        LPO_JSON_EACH(t, lpo_json_get(s, "inter_token_ms"))
        steps += t->real;
        assert_true(fabs(steps - at(s, "decode_ms")) < 1e-6);
        assert_true(fabs(at(s, "tokens_per_s") - 9e3 / steps) < 1e-3);
        assert_true(at(s, "total_ms") >= at(s, "ttft_ms") + at(s, "decode_ms"));
        sum += at(s, "prefill_ms");
    }
    assert_int_equal(samples, 2);
    assert_true(fabs(at(m, "aggregate.prefill_ms.mean") - sum / 2) < 1e-9);
}

static void one_token_has_no_rate(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    const struct lpo_json *m = NULL;

    (void)state;
    assert_int_equal(run_toy("", SMALL " --max-new-tokens 1 --metrics @/m.json"), 0);
    text = slurp("m.json");
    assert_int_equal(lpo_json_parse(a, text->at, text->len, &m, NULL), 0);
    assert_int_equal(lpo_json_at(m, "aggregate.tokens_per_s")->kind, LPO_JSON_NULL);
    assert_int_equal(lpo_json_at(m, "aggregate.decode_ms")->kind, LPO_JSON_NULL);
    assert_int_equal(lpo_json_at(m, "aggregate.inter_token_ms")->kind, LPO_JSON_NULL);
}

static const struct same_case {
    const char *name, *one, *two;
    bool same;
} sames[] = {
    { "the same twice", SMALL, SMALL, true },
    { "threads do not matter", SMALL, SMALL " --threads 2", true },
    { "another seed, other tokens", SMALL, SMALL " --seed 2", false },
    { "sampling, the same twice", SMALL " --temperature 1 --top-k 8",
      SMALL " --temperature 1 --top-k 8", true },
    { "sampling with another seed", SMALL " --temperature 1 --max-new-tokens 20",
      SMALL " --temperature 1 --max-new-tokens 20 --sample-seed 9", false },
};

static void predictions_are_the_same(void **state)
{
    const struct same_case *c = *state;
    LPO_STR words = { 0 };
    LPO_AUTO(lpo_file_text) one = NULL;
    LPO_AUTO(lpo_file_text) two = NULL;

    lpo_str_addf(&words, "%s --predictions @/p", c->one);
    assert_int_equal(run_toy("", words.at), 0);
    one = slurp("p");
    lpo_str_clear(&words);
    lpo_str_addf(&words, "%s --predictions @/p", c->two);
    assert_int_equal(run_toy("", words.at), 0);
    two = slurp("p");
    assert_int_equal(strcmp(one->at, two->at) == 0, c->same);
}

/* What 2 layers, 2 repeats, 1 prefill and 3 steps each must open, besides load and warmup. */
static const struct range_case {
    const char *name; /* of the region */
    int visits;
} ranges[] = {
    { "load", 1 },
    { "warmup", 1 },
    { "prefill", 2 },
    { "prefill/layer0", 2 },
    { "prefill/layer0/attn", 2 },
    { "prefill/layer0/mlp", 2 },
    { "prefill/layer1", 2 },
    { "prefill/layer1/attn", 2 },
    { "prefill/layer1/mlp", 2 },
    { "prefill/lm_head", 2 },
    { "decode", 2 },
    { "decode/step", 6 },
    { "decode/step/layer0", 6 },
    { "decode/step/layer0/attn", 6 },
    { "decode/step/layer0/mlp", 6 },
    { "decode/step/layer1", 6 },
    { "decode/step/layer1/attn", 6 },
    { "decode/step/layer1/mlp", 6 },
    { "decode/step/lm_head", 6 },
    { "+decode_window", 2 },
    { "-42", 2 },
    { "!pop", 0 },
    { "thread:matmul", 2 * 4 * (2 * 7 + 1) }, /* 7 products a layer and the head, 4 passes */
    { "thread:attention", 2 * 4 * 2 },
};

static int count_lines(const char *text, const char *line)
{
    size_t len = strlen(line);
    int n = 0;

    for (const char *p = text; p && *p; p = strchr(p, '\n'), p += p != NULL)
        n += !strncmp(p, line, len) && p[len] == '\n';
    return n;
}

static int count_all(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static struct lpo_file_text *recorded(void)
{
    LPO_STR before = { 0 };

    lpo_str_addf(&before, "rm -f %s/nvtx; LPO_TEST_NVTX_LOG=%s/nvtx NVTX_INJECTION64_PATH='%s'",
                 dir, dir, unit_env("LPO_TEST_RECORDER", ""));
    assert_int_equal(run_toy(before.at, SMALL " --start-end-ranges --threads 2"), 0);
    return slurp("nvtx");
}

static void range_is_visited(void **state)
{
    const struct range_case *c = *state;
    LPO_AUTO(lpo_file_text) log = recorded();

    assert_int_equal(count_lines(log->at, c->name), c->visits);
}

static void no_other_range(void **state)
{
    LPO_AUTO(lpo_file_text) log = recorded();
    int want = 0;

    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        want += ranges[i].visits;
    assert_int_equal(count_all(log->at), want);
}

static void model_folder_is_whole(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_text) config = NULL;
    LPO_AUTO(lpo_file_text) again = NULL;
    LPO_AUTO(lpo_file_text) file = NULL;
    const struct lpo_json *head = NULL;
    uint64_t size = 0;
    size_t end = 0;

    (void)state;
    assert_int_equal(run_toy("", SMALL " --write-model @/model --write-config @/c.json"), 0);
    config = slurp("model/config.json");
    again = slurp("c.json");
    assert_string_equal(config->at, again->at);
    file = slurp("model/model.safetensors");
    for (int i = 7; i >= 0; i--)
        size = size << 8 | (unsigned char)file->at[i];
    assert_true(size % 8 == 0 && size < file->len - 8);
    assert_int_equal(lpo_json_parse(a, file->at + 8, size, &head, NULL), 0);
    assert_int_equal(head->count, 3 + 2 * 9);
    LPO_JSON_EACH(t, head)
    {
        size_t bytes = 4;

        LPO_JSON_EACH(n, lpo_json_get(t, "shape"))
        bytes *= (size_t)n->integer;
        assert_int_equal(lpo_json_get(t, "data_offsets")->first->integer, end);
        end += bytes;
        assert_int_equal(lpo_json_get(t, "data_offsets")->first->next->integer, end);
    }
    assert_int_equal(8 + size + end, file->len);
}

int main(void)
{
    struct unit u = { 0 };
    char cmd[64];
    int failed;

    if (!mkdtemp(dir))
        return 1;
    UNIT_ROWS(&u, exits, exit_code);
    UNIT_ROWS(&u, sames, predictions_are_the_same);
    UNIT_ROWS(&u, ranges, range_is_visited);
    UNIT_TEST(&u, no_other_range);
    UNIT_TEST(&u, metrics_hold_what_was_measured);
    UNIT_TEST(&u, one_token_has_no_rate);
    UNIT_TEST(&u, model_folder_is_whole);
    failed = unit_run(&u);
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd) ? 1 : failed;
}
