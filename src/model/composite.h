/* SPDX-License-Identifier: Apache-2.0 */
/* model/composite.h - models of several parts: nested configs joined by a projector.
 *
 * To add one, add a row to the table in composite.c. */
#pragma once

struct lpo_arena;
struct lpo_err;
struct lpo_json;
struct lpo_model;
struct lpo_projector;

/* Fills `m` when the config is one of several parts; leaves it without parts when it is not. */
int lpo_model_composite_create(struct lpo_arena *a, const struct lpo_json *config,
                               struct lpo_model *m, struct lpo_err *err);

/* From model.c, for the rows: one more part of the model. */
int lpo_model_add_decoder(struct lpo_arena *a, struct lpo_model *m, const struct lpo_json *config,
                          const char *model_type, struct lpo_err *err);
int lpo_model_add_vision(struct lpo_arena *a, struct lpo_model *m, const struct lpo_json *config,
                         const char *model_type, struct lpo_err *err);
void lpo_model_add_projector(struct lpo_model *m, const struct lpo_projector *p);
