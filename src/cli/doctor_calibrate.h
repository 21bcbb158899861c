/* SPDX-License-Identifier: Apache-2.0 */
/* cli/doctor_calibrate.h - `lpo doctor --calibrate`: measures the GPU and writes its ceilings to
 * the user's config folder. */
#pragma once

#include <stdbool.h>

struct lpo_app;
struct lpo_err;

int lpo_cli_doctor_calibrate(struct lpo_app *app, bool json, struct lpo_err *err);
