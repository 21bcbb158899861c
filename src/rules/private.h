/* SPDX-License-Identifier: Apache-2.0 */
/* rules/private.h - the files of conf/rules, as scripts/embed.py puts them into the program. */
#pragma once

#include <stddef.h>

extern const char lpo_rules_kernels[];
extern const size_t lpo_rules_kernels_len;
extern const char lpo_rules_operators[];
extern const size_t lpo_rules_operators_len;
