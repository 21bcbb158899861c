/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/second_form.h - files that tools leave beside another with the same content.
 *
 * In a folder the other one is read: the report of nsys and not its export, XLA's profile and not
 * the JSON that XProf made of it. */
#pragma once

#include <stdbool.h>

bool lpo_rundir_is_second_form(const char *path);
