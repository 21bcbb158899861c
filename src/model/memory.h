/* SPDX-License-Identifier: Apache-2.0 */
/* model/memory.h - what must fit into one device's memory. */
#pragma once

struct lpo_model_needs;

/* Fills `a->memory` and `a->kv_elements` from the tensors, the prefill's operations and the
 * options. */
void lpo_model_memory_plan(struct lpo_model_needs *a);
