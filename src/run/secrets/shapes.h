/* SPDX-License-Identifier: Apache-2.0 */
/* run/secrets/shapes.h - secrets that are recognised by how they look, or by what stands before
 * them. Only for this folder. */
#pragma once

#include "run/secrets/secrets.h"

enum {
    LPO_SECRETS_NAME = 128,
    LPO_SECRETS_WORD = '\x1f',
    LPO_SECRETS_BEFORE = 256, /* what stands before a value and says that it is one */
};

enum lpo_secrets_where {
    LPO_SECRETS_FILE,    /* any bytes: only what is certain */
    LPO_SECRETS_COMMAND, /* a word of a command line: every secret name, options; a word begins
                            behind LPO_SECRETS_WORD, and those before it stand in front */
};

struct lpo_secrets_shape {
    size_t from, len; /* the value alone */
    enum lpo_secret_name kind;
    char name[LPO_SECRETS_NAME]; /* as it stands there, or the usual variable */
};

/* The bytes at which lpo_secrets_shape_at() may find something. */
void lpo_secrets_shape_begins(bool begins[256]);
bool lpo_secrets_shape_at(const char *bytes, size_t len, size_t i, enum lpo_secrets_where where,
                          struct lpo_secrets_shape *out);
/* May what begins at `i` go on behind the end? */
bool lpo_secrets_shape_open(const char *bytes, size_t len, size_t i);

/* --- table.c, for config.c -------------------------------------------------------------------- */

struct lpo_secrets_hit {
    size_t from, len;
    enum lpo_secret_name kind;
    char variable[LPO_SECRETS_NAME]; /* where a pasted command takes it from */
};

/* The next secret at or behind `from`: by its value, or by its shape. */
bool lpo_secrets_find(const char *bytes, size_t len, size_t from, enum lpo_secrets_where where,
                      struct lpo_secrets_hit *hit);
/* Adds what is found to the table. `place` names the passwords of URLs. */
void lpo_secrets_collect_text(const char *text, size_t from, enum lpo_secrets_where where,
                              const char *place);
/* --api-key and a key that ends in .api_key: API_KEY. */
void lpo_secrets_variable(const char *name, char out[LPO_SECRETS_NAME]);
