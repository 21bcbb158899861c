/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/nsys/nsys.h - what differs between installations of Nsight Systems. */
#pragma once

#include <stdbool.h>

struct lpo_arena;
struct lpo_err;
struct lpo_stage;

extern const struct lpo_stage lpo_pipeline_nsys;

/* Versions before 2023 call their reports gpukernsum, nvtxsum, … */
bool lpo_pipeline_nsys_has_old_names(struct lpo_arena *a, const char *nsys);
const char *lpo_pipeline_nsys_old_name(
    const char *report); /* the name itself when it has no older one */

/* QdstrmImporter of this installation, or NULL. */
const char *lpo_pipeline_nsys_importer(struct lpo_arena *a, const char *nsys);
/* Why the importer does not start: names the missing library. Returns the error. */
int lpo_pipeline_nsys_explain_importer(struct lpo_arena *a, const char *nsys, struct lpo_err *err);
