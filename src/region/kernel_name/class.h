/* SPDX-License-Identifier: Apache-2.0 */
/* region/kernel_name/class.h - which rule decides a name; for class.c and its test. */
#pragma once

#include "region/kernel_name/class_rules.h"

struct lpo_class_decision lpo_region_class_decide(const struct lpo_class_rules *rules,
                                                  const char *name, size_t len);
