/* SPDX-License-Identifier: Apache-2.0 */
/* run/workload/server.h - workload=server: a server and its clients as one command line. */
#pragma once

#include <stdbool.h>

struct lpo_arena;
struct lpo_err;
struct lpo_node;
struct lpo_step;

/* `lpo __server …` (run/server/server.h) as the words of the step. Where workload.argv is empty,
 * the built-in toy_server with the model of the config, and toy_client. */
int lpo_workload_server_build(struct lpo_arena *a, const struct lpo_node *config,
                              const char *out_dir, struct lpo_step *step, struct lpo_err *err);
/* Is this workload a server that is to be recorded while it is under load, and not before? */
bool lpo_workload_server_under_load(const struct lpo_node *config);
/* What can be known before anything is made. LPO_E_CONFIG. */
int lpo_workload_server_check(struct lpo_arena *a, const struct lpo_node *config,
                              struct lpo_err *err);
