/* SPDX-License-Identifier: Apache-2.0 */
/* To add a client: its names below, a row in the table at the end, a file in
 * tests/data/clients/. Names may stand for each other: the first that is there counts. */
#include "analysis/requests/spellings.h"

#define END                                                                                        \
    {                                                                                              \
        -1, NULL                                                                                   \
    }

static const struct lpo_requests_spelling own_figures[] = {
    { LPO_REQUESTS_COMPLETED, "completed" },
    { LPO_REQUESTS_FAILED, "failed" },
    { LPO_REQUESTS_SECONDS, "duration_s" },
    { LPO_REQUESTS_INPUT_TOKENS, "input_tokens" },
    { LPO_REQUESTS_OUTPUT_TOKENS, "output_tokens" },
    { LPO_REQUESTS_RATE, "requests_per_s" },
    { LPO_REQUESTS_OUTPUT_RATE, "output_tokens_per_s" },
    END,
};

static const struct lpo_requests_spelling own_times[] = {
    { LPO_REQUESTS_TTFT, "ttft_ms" },
    { LPO_REQUESTS_ITL, "itl_ms" },
    { LPO_REQUESTS_TPOT, "tpot_ms" },
    { LPO_REQUESTS_E2E, "e2e_ms" },
    END,
};

static const struct lpo_requests_spelling own_stats[] = {
    { LPO_REQUESTS_COUNT, "count" }, { LPO_REQUESTS_MEAN, "mean" },
    { LPO_REQUESTS_STD, "std" },     { LPO_REQUESTS_MIN, "min" },
    { LPO_REQUESTS_P50, "p50" },     { LPO_REQUESTS_P90, "p90" },
    { LPO_REQUESTS_P95, "p95" },     { LPO_REQUESTS_P99, "p99" },
    { LPO_REQUESTS_MAX, "max" },     END,
};

/* vLLM's `bench serve`, the clients that descend from it (TensorRT-LLM's benchmark_serving), and
 * SGLang's bench_serving: "p99_ttft_ms". */
static const struct lpo_requests_spelling flat_figures[] = {
    { LPO_REQUESTS_COMPLETED, "completed" },
    { LPO_REQUESTS_FAILED, "failed" },
    { LPO_REQUESTS_SECONDS, "duration" },
    { LPO_REQUESTS_INPUT_TOKENS, "total_input_tokens" },
    { LPO_REQUESTS_OUTPUT_TOKENS, "total_output_tokens" },
    { LPO_REQUESTS_RATE, "request_throughput" },
    { LPO_REQUESTS_OUTPUT_RATE, "output_throughput" },
    END,
};

static const struct lpo_requests_spelling flat_times[] = {
    { LPO_REQUESTS_TTFT, "ttft" },
    { LPO_REQUESTS_ITL, "itl" },
    { LPO_REQUESTS_TPOT, "tpot" },
    { LPO_REQUESTS_E2E, "e2el" },
    { LPO_REQUESTS_E2E, "e2e_latency" }, /* SGLang */
    END,
};

static const struct lpo_requests_spelling flat_stats[] = {
    { LPO_REQUESTS_MEAN, "mean" },  { LPO_REQUESTS_STD, "std" },
    { LPO_REQUESTS_P50, "median" }, { LPO_REQUESTS_P50, "p50" },
    { LPO_REQUESTS_P90, "p90" },    { LPO_REQUESTS_P95, "p95" },
    { LPO_REQUESTS_P99, "p99" },    { LPO_REQUESTS_MIN, "min" },
    { LPO_REQUESTS_MAX, "max" },    END,
};

/* GenAI-Perf and AIPerf: an object with a unit for each metric. Their inter-token latency is a mean
 * over each request, which others call time per output token; chunk by chunk is
 * inter_chunk_latency. */
static const struct lpo_requests_spelling perf_figures[] = {
    { LPO_REQUESTS_COMPLETED, "request_count.avg" },
    { LPO_REQUESTS_FAILED, "error_request_count.avg" },
    { LPO_REQUESTS_SECONDS, "benchmark_duration.avg" },
    { LPO_REQUESTS_INPUT_TOKENS, "total_isl.avg" },
    { LPO_REQUESTS_OUTPUT_TOKENS, "total_osl.avg" },
    { LPO_REQUESTS_OUTPUT_TOKENS, "total_output_tokens.avg" },
    { LPO_REQUESTS_RATE, "request_throughput.avg" },
    { LPO_REQUESTS_OUTPUT_RATE, "output_token_throughput.avg" },
    END,
};

static const struct lpo_requests_spelling perf_times[] = {
    { LPO_REQUESTS_TTFT, "time_to_first_token" },
    { LPO_REQUESTS_ITL, "inter_chunk_latency" },
    { LPO_REQUESTS_TPOT, "inter_token_latency" },
    { LPO_REQUESTS_E2E, "request_latency" },
    END,
};

static const struct lpo_requests_spelling perf_stats[] = {
    { LPO_REQUESTS_COUNT, "count" }, { LPO_REQUESTS_MEAN, "avg" },
    { LPO_REQUESTS_STD, "std" },     { LPO_REQUESTS_MIN, "min" },
    { LPO_REQUESTS_P50, "p50" },     { LPO_REQUESTS_P90, "p90" },
    { LPO_REQUESTS_P95, "p95" },     { LPO_REQUESTS_P99, "p99" },
    { LPO_REQUESTS_MAX, "max" },     END,
};

/* llama.cpp's tools/server/bench: `k6 run script.js --summary-export FILE`. Its own trend is in
 * seconds, k6's durations in milliseconds, so only the former is read as a time. */
static const struct lpo_requests_spelling k6_figures[] = {
    { LPO_REQUESTS_COMPLETED, "metrics.iterations.count" },
    { LPO_REQUESTS_INPUT_TOKENS, "metrics.llamacpp_prompt_tokens_total_counter.count" },
    { LPO_REQUESTS_OUTPUT_TOKENS, "metrics.llamacpp_completion_tokens_total_counter.count" },
    { LPO_REQUESTS_RATE, "metrics.iterations.rate" },
    { LPO_REQUESTS_OUTPUT_RATE, "metrics.llamacpp_completion_tokens_total_counter.rate" },
    END,
};

static const struct lpo_requests_spelling k6_times[] = {
    { LPO_REQUESTS_TTFT, "llamacpp_emit_first_token_second" },
    END,
};

static const struct lpo_requests_spelling k6_stats[] = {
    { LPO_REQUESTS_MEAN, "avg" },  { LPO_REQUESTS_MIN, "min" },
    { LPO_REQUESTS_P50, "med" },   { LPO_REQUESTS_P90, "p(90)" },
    { LPO_REQUESTS_P95, "p(95)" }, { LPO_REQUESTS_P99, "p(99)" },
    { LPO_REQUESTS_MAX, "max" },   END,
};

const struct lpo_requests_client lpo_requests_clients[] = {
    { "lpo.client", "schema", "%T.%S", 1e6, own_figures, own_times, own_stats },
    { "GenAI-Perf or AIPerf", "time_to_first_token.avg", "%T.%S", 1e6, perf_figures, perf_times,
      perf_stats },
    { "GenAI-Perf or AIPerf", "request_latency.avg", "%T.%S", 1e6, perf_figures, perf_times,
      perf_stats },
    { "llama.cpp's k6 script", "metrics.llamacpp_completion_tokens_total_counter", "metrics.%T.%S",
      1e9, k6_figures, k6_times, k6_stats },
    { "vLLM or SGLang", "request_throughput", "%S_%T_ms", 1e6, flat_figures, flat_times,
      flat_stats },
};

const size_t lpo_requests_client_count = sizeof lpo_requests_clients / sizeof *lpo_requests_clients;
