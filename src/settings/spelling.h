/* SPDX-License-Identifier: Apache-2.0 */
/* settings/spelling.h - older names of our keys, still understood, each with one line of advice.
 *
 * Only the table: hydra/ moves the keys while it composes. */
#pragma once

struct lpo_spelling;
struct lpo_unlisted;

/* For lpo_compose_in.spellings: the table of the shipped config. */
const struct lpo_spelling *lpo_settings_spellings(void);
/* For lpo_compose_in.unlisted: groups that configs of the older system do not list. */
const struct lpo_unlisted *lpo_settings_unlisted(void);

/* An old name of the primary config: the file that stands for it, and what that switches, in words
 * and as the overrides that do the same to a tree of the user's own. */
struct lpo_old_config {
    const char *name, *file, *stages;
    const char *overrides[5];
};

/* NULL when it is not an old name. */
const struct lpo_old_config *lpo_settings_spelling_config(const char *name);
