/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/python.h - what lpo puts into a Python workload, by a `sitecustomize` folder. */
#pragma once

struct lpo_err;
struct lpo_stage_ctx;
struct lpo_step;

/* Puts the folder first on the program's PYTHONPATH, once: the interpreter imports `sitecustomize`
 * at its start, and ours then imports the one that it hides. */
int lpo_pipeline_python_inject(struct lpo_stage_ctx *ctx, struct lpo_step *step,
                               struct lpo_err *err);
/* A range for each call of an nn.Module, where pipeline.native.modules asks for it and the workload
 * may be a Python program. */
int lpo_pipeline_python_modules(struct lpo_stage_ctx *ctx, struct lpo_step *step,
                                struct lpo_err *err);
