/* SPDX-License-Identifier: Apache-2.0 */
/* report/static/static.h - a static analysis as a document.
 *
 * `lpo analyze` prints it as text or JSON; the stage static_analysis writes
 * static_compute.{md,json}.
 */
#pragma once

#include "reference/reference.h"

struct lpo_doc;
struct lpo_limits;
struct lpo_model_files;
struct lpo_record;
struct lpo_reference;

/* One point of a sweep: what was asked for, and what came out. */
struct lpo_sweep_row {
    uint64_t seq, context, batch, tp, image;
    uint64_t prefill_flops, decode_flops, vision_flops; /* of the whole model */
    uint64_t rank_flops[3];                             /* of one rank, by enum lpo_phase_kind */
    double prefill_s, decode_s, vision_s;               /* ranks side by side; 0 without hardware */
    double peak_bytes;                                  /* of one rank */
    int fits;                                           /* -1: unknown */
    uint64_t osl, ep;
    double ttft_ms, tpot_ms, tokens_per_second; /* as predicted; NAN: not known */
};

/* What a server would do, and by which reference. */
struct lpo_static_serving {
    const char *gpu, *source;
    struct lpo_serving predicted;
    const struct lpo_limits *measured; /* a run's regions; NULL: none */
};

struct lpo_static_report {
    const char *path; /* as the user gave it */
    const struct lpo_model_needs *needs;
    const struct lpo_model_files *files; /* NULL: only a config */
    const struct lpo_sweep_row *sweep;
    size_t sweeps;
    const struct lpo_static_serving *serving; /* NULL: not asked for */
    const struct lpo_reference *best;         /* of this hardware; NULL: it has none */
};

struct lpo_sweep_row lpo_static_sweep_row(const struct lpo_model_needs *needs,
                                          const struct lpo_serving *predicted);

/* "compute", "memory", or "communication" where that takes longer than both; NULL without
 * hardware. */
const char *lpo_static_bound(const struct lpo_sums *s, double comm_seconds);

struct lpo_doc *lpo_static_doc(const struct lpo_static_report *r);

/* Parts of lpo_static_doc(): the prediction for people and for scripts. */
void lpo_static_serving_add(struct lpo_doc *doc, const struct lpo_static_report *r);
void lpo_static_serving_put(struct lpo_record *data, const struct lpo_static_report *r);

/* Part of lpo_static_doc(): the members of docs/analyze.md; scripts rely on them. */
void lpo_static_put_records(struct lpo_record *data, const struct lpo_static_report *report);

/* What a reader must know before believing the numbers: appended as text, one note a line. */
void lpo_static_notes(const struct lpo_static_report *r, struct lpo_str *out);
