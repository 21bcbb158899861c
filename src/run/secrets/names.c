/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>

#include "rules/rules.h"
#include "run/secrets/secrets.h"

enum { MAX_WORDS = 16, WORD_BYTES = 32 };

/* A name as its words in lower case: "HF_TOKEN", "hfToken" and "--hf-token" are { "hf", "token" }.
 */
struct words {
    char at[MAX_WORDS][WORD_BYTES];
    size_t len;
    bool upper; /* written as variables of the environment are */
};

static struct words split(const char *name)
{
    struct words w = { .upper = true };
    size_t n = 0;
    char before = 0;

    for (const char *p = name; *p; before = *p++) {
        bool begins = isupper((unsigned char)*p) && islower((unsigned char)before);

        w.upper = w.upper && !islower((unsigned char)*p);
        if (n && (begins || !isalnum((unsigned char)*p))) {
            w.len++;
            n = 0;
        }
        if (w.len == MAX_WORDS)
            return w;
        if (isalnum((unsigned char)*p) && n < WORD_BYTES - 1)
            w.at[w.len][n++] = (char)tolower((unsigned char)*p);
    }
    w.len += n > 0;
    return w;
}

static bool is_a(const char *kind, const char *word)
{
    return lpo_rules_has("secrets", "names", kind, word);
}

static bool ends_in_password(const char *word)
{
    const struct lpo_map *passwords = lpo_rules_words("secrets", "names", "password");

    return lpo_any(i, lpo_map_count(passwords),
                   lpo_str_ends(word, lpo_map_key(passwords, i, NULL)));
}

/* max_new_tokens, eos_token, token_type, num_key_value_heads: words of models, not of secrets. */
static bool is_of_a_model(const struct words *w, size_t i)
{
    const char *next = i + 1 < w->len ? w->at[i + 1] : "";
    bool key = strcmp(w->at[i], "key") == 0; /* but AWS_ACCESS_KEY_ID */

    return (i && is_a("model_before", w->at[i - 1])) ||
           (is_a("model_behind", next) && !(key && lpo_str_starts(next, "id")));
}

/* SOME_KEY of the environment is a secret; of the keys of a config (image_key, sort_key) and of
 * options only those that open something. */
static bool opens_something(const struct words *w, size_t i)
{
    return w->upper || i == 0 || is_a("opens", w->at[i - 1]);
}

static bool word_is_secret(const struct words *w, size_t i)
{
    const char *word = w->at[i];

    if (is_of_a_model(w, i))
        return false;
    if (lpo_str_ends(word, "key"))
        return opens_something(w, i) || lpo_str_ends(word, "apikey");
    return is_a("secret", word) || lpo_str_ends(word, "token") ||
           (w->upper && is_a("variable", word));
}

enum lpo_secret_name lpo_secrets_name(const char *name)
{
    enum lpo_secret_name found = LPO_NAME_PLAIN;
    struct words w = split(name);

    /* HF_TOKEN_PATH says where the secret is, not what it is */
    if (w.len && is_a("place", w.at[w.len - 1]))
        return LPO_NAME_PLAIN;
    for (size_t i = 0; i < w.len; i++) {
        if (ends_in_password(w.at[i]))
            return LPO_NAME_PASSWORD;
        /* DB_PWD, but PWD and OLDPWD are folders */
        if (i && strcmp(w.at[i], "pwd") == 0)
            return LPO_NAME_PASSWORD;
        if (word_is_secret(&w, i))
            found = LPO_NAME_SECRET;
    }
    return found;
}

bool lpo_secrets_name_is_secret(const char *name)
{
    return lpo_secrets_name(name) != LPO_NAME_PLAIN;
}
