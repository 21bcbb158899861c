/* SPDX-License-Identifier: Apache-2.0 */
/* cli/report_via.h - `lpo report --via slurm`: the cluster makes a digest of each trace. */
#pragma once

#include <stddef.h>

struct lpo_app;
struct lpo_err;

/* Writes the list of traces and the batch script into `dir`, submits the array job, waits for it,
 * and gives the digests that are there then, with a line on stderr for each trace without one. */
int lpo_cli_report_via(struct lpo_app *app, const char *via, const char *const *paths, size_t count,
                       const char *dir, const char ***digests, size_t *ndigests,
                       struct lpo_err *err);
