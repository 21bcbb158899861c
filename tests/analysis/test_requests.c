/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "analysis/requests/requests.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"

/* The files of tests/data/clients/ tell of the same load, each as far as its client does. */
static const struct file_case {
    const char *name, *file, *client;
    bool counts;  /* completed, tokens, rates */
    bool seconds; /* the duration, input tokens */
    bool spreads; /* ITL, TPOT, whole requests; all have TTFT */
    bool p99;
} files[] = {
    { "vLLM bench serve", "vllm.json", "vLLM or SGLang", true, true, true, true },
    { "AIPerf", "aiperf.json", "GenAI-Perf or AIPerf", true, false, true, true },
    { "llama.cpp with k6", "llama_cpp_k6.json", "llama.cpp's k6 script", true, false, false,
      false },
};

static const struct lpo_json *parse(struct lpo_arena *a, const char *text)
{
    const struct lpo_json *doc = NULL;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_json_parse(a, text, strlen(text), &doc, &err), 0);
    return doc;
}

static void assert_measure(struct lpo_measure m, bool known, double value)
{
    assert_int_equal(lpo_measure_known(m), known);
    if (known)
        assert_float_equal(m.value, value, value * 1e-9);
}

static void check_file(void **state)
{
    const struct file_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *dir = lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "tests/data/clients");
    const struct lpo_json *doc = NULL;
    struct lpo_err err = { 0 };
    struct lpo_requests r;

    assert_int_equal(lpo_json_read_file(a, lpo_path_join(a, dir, c->file), &doc, &err), 0);
    assert_true(lpo_requests_read(doc, &r));
    assert_string_equal(r.client, c->client);
    assert_measure(r.figures[LPO_REQUESTS_COMPLETED], c->counts, 100);
    assert_measure(r.figures[LPO_REQUESTS_OUTPUT_TOKENS], c->counts, 12800);
    assert_measure(r.figures[LPO_REQUESTS_RATE], c->counts, 4.878);
    assert_measure(r.figures[LPO_REQUESTS_OUTPUT_RATE], c->counts, 624.39);
    assert_measure(r.figures[LPO_REQUESTS_SECONDS], c->seconds, 20.5);
    assert_measure(r.times[LPO_REQUESTS_TTFT][LPO_REQUESTS_MEAN], true, 55.5e6);
    assert_measure(r.times[LPO_REQUESTS_TTFT][LPO_REQUESTS_P50], true, 50.25e6);
    assert_measure(r.times[LPO_REQUESTS_TTFT][LPO_REQUESTS_P99], c->p99, 91e6);
    assert_measure(r.times[LPO_REQUESTS_TPOT][LPO_REQUESTS_P50], c->spreads, 10.5e6);
    assert_measure(r.times[LPO_REQUESTS_ITL][LPO_REQUESTS_P99], c->spreads, 35e6);
    assert_measure(r.times[LPO_REQUESTS_E2E][LPO_REQUESTS_P50], c->spreads, 1400e6);
}

static const struct text_case {
    const char *name, *text;
    bool known;
    double completed, ttft_mean; /* below 0: unknown */
} texts[] = {
    { "our own",
      "{\"schema\": \"lpo.client/1\", \"client\": \"mine\", \"completed\": 3, \"ttft_ms\": "
      "{\"mean\": "
      "2.5}}",
      true, 3, 2.5e6 },
    { "another schema is not ours", "{\"schema\": \"lpo.client/9\", \"completed\": 3}", false, -1,
      -1 },
    { "nothing known", "{\"a\": 1}", false, -1, -1 },
    { "a list", "[1, 2]", false, -1, -1 },
    { "a number", "7", false, -1, -1 },
    { "text in place of a number",
      "{\"request_throughput\": 1, \"completed\": \"many\", \"mean_ttft_ms\": null}", true, -1,
      -1 },
    { "a number that cannot be",
      "{\"request_throughput\": 1, \"completed\": -1, \"mean_ttft_ms\": 1e300}", true, -1, -1 },
    { "nanoseconds of AIPerf",
      "{\"time_to_first_token\": {\"unit\": \"ns\", \"avg\": 7}, \"request_count\": {\"avg\": 2}}",
      true, 2, 7 },
    { "an unknown unit is as usual",
      "{\"time_to_first_token\": {\"unit\": \"fortnight\", \"avg\": 7}}", true, -1, 7e6 },
};

static void check_text(void **state)
{
    const struct text_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_requests r;

    assert_int_equal(lpo_requests_read(parse(a, c->text), &r), c->known);
    assert_measure(r.figures[LPO_REQUESTS_COMPLETED], c->completed >= 0, c->completed);
    assert_measure(r.times[LPO_REQUESTS_TTFT][LPO_REQUESTS_MEAN], c->ttft_mean >= 0, c->ttft_mean);
}

static void nothing_is_fine(void **state)
{
    struct lpo_requests r;

    (void)state;
    assert_false(lpo_requests_read(NULL, &r));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, files, check_file);
    UNIT_ROWS(&u, texts, check_text);
    UNIT_TEST(&u, nothing_is_fine);
    return unit_run(&u);
}
