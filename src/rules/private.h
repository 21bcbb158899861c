/* SPDX-License-Identifier: Apache-2.0 */
/* rules/private.h - the files of conf/rules, as scripts/embed.py puts them into the program. */
#pragma once

#include "util/base.h"

extern const char lpo_rules_kernels[], lpo_rules_operators[], lpo_rules_steps[],
    lpo_rules_clients[], lpo_rules_metrics[], lpo_rules_families[], lpo_rules_settings[],
    lpo_rules_tools[], lpo_rules_secrets[], lpo_rules_findings[];
extern const size_t lpo_rules_kernels_len, lpo_rules_operators_len, lpo_rules_steps_len,
    lpo_rules_clients_len, lpo_rules_metrics_len, lpo_rules_families_len, lpo_rules_settings_len,
    lpo_rules_tools_len, lpo_rules_secrets_len, lpo_rules_findings_len;
