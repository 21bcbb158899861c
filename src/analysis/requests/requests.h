/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/requests/requests.h - what the clients of a server measured, from any client's JSON.
 *
 * Benchmark clients write the same figures under different names; conf/rules/clients.yaml
 * has them. A figure that a client does not give is unknown. Nothing is computed here that the
 * client could have computed from what it saw, but for sums over its own seconds. */
#pragma once

#include "util/base.h"

struct lpo_json;

/* Of the whole load. */
enum lpo_requests_figure {
    LPO_REQUESTS_COMPLETED,
    LPO_REQUESTS_FAILED,
    LPO_REQUESTS_SECONDS,
    LPO_REQUESTS_INPUT_TOKENS,
    LPO_REQUESTS_OUTPUT_TOKENS,
    LPO_REQUESTS_RATE,        /* requests a second */
    LPO_REQUESTS_OUTPUT_RATE, /* output tokens a second */
    LPO_REQUESTS_FIGURES
};

/* Times, each with its spread over requests or tokens. */
enum lpo_requests_time {
    LPO_REQUESTS_TTFT, /* to the first token */
    LPO_REQUESTS_ITL,  /* between two tokens, or chunks, as they arrive */
    LPO_REQUESTS_TPOT, /* a request's mean time for each token after the first */
    LPO_REQUESTS_E2E,  /* a request, to its last token */
    LPO_REQUESTS_TIMES
};

enum lpo_requests_stat {
    LPO_REQUESTS_COUNT,
    LPO_REQUESTS_MEAN,
    LPO_REQUESTS_STD,
    LPO_REQUESTS_MIN,
    LPO_REQUESTS_P50,
    LPO_REQUESTS_P90,
    LPO_REQUESTS_P95,
    LPO_REQUESTS_P99,
    LPO_REQUESTS_MAX,
    LPO_REQUESTS_STATS
};

struct lpo_requests {
    const char *client; /* whose JSON it is: "vLLM or SGLang", "AIPerf or GenAI-Perf" */
    struct lpo_measure figures[LPO_REQUESTS_FIGURES];
    struct lpo_measure times[LPO_REQUESTS_TIMES][LPO_REQUESTS_STATS]; /* ns; the count as it is */
};

/* False where nothing in the document is known. */
bool lpo_requests_read(const struct lpo_json *doc, struct lpo_requests *out);

/* "ttft", "itl", "tpot", "e2e"; "mean", "p99" */
const char *lpo_requests_time_name(enum lpo_requests_time time);
const char *lpo_requests_stat_name(enum lpo_requests_stat stat);
/* "completed", "output_tokens_per_s" */
const char *lpo_requests_figure_name(enum lpo_requests_figure figure);
