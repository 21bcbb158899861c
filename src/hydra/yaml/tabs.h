/* hydra/yaml/tabs.h - tabs where YAML as PyYAML reads it has none.
 *
 * libyaml takes a tab for a blank between words ("a:<TAB>1"); PyYAML, and so Hydra, refuses it. The
 * text between events is looked at, so that a file means the same here as there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_ytabs {
    const char *text;
    size_t len;
    size_t byte, chars; /* how far it was looked at */
    unsigned line, column;
};

/* `from` and `to` count characters, as libyaml's marks do. True when there is a bad tab; then line
 * and column (from 1) tell where. */
bool lpo_yaml_tabs_between(struct lpo_ytabs *t, size_t to);
/* Passes over [here, to), where tabs may stand unless `plain`. */
bool lpo_yaml_tabs_over(struct lpo_ytabs *t, size_t to, bool plain);
