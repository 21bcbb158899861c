/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sample_counters.h - `lpo sample-counters`: the process that samples one GPU's counters.
 *
 * Not in `lpo -h`: stage counters starts it, one for each GPU (pipeline/counters/). It prints
 * "ready" when sampling has begun and a line of totals at the end, or one line "failed: …"; it ends
 * when its standard input ends, which it does when lpo dies. */
#pragma once

struct lpo_app;

int lpo_cli_sample_counters_main(struct lpo_app *app, int argc, const char *const *argv);
