/* SPDX-License-Identifier: Apache-2.0 */
/* settings/spelling.h - older names of our keys, still understood, each with one line of advice.
 *
 * Only the table: hydra/ moves the keys while it composes. */
#pragma once

struct lpo_spelling;

/* For lpo_compose_in.spellings: the table of the shipped config. */
const struct lpo_spelling *lpo_settings_spellings(void);
/* The name of a config today, or NULL when it is not an old one. */
const char *lpo_settings_spelling_config(const char *name);
