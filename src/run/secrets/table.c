/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <strings.h>

#include "run/secrets/secrets.h"
#include "run/secrets/shapes.h"
#include "settings/schema.h"
#include "util/file.h"
#include "util/path.h"

extern char **environ;

/* A value in one of the forms in which it is written. */
struct secret {
    const char *text;
    size_t len;
    const char *variable;
    bool from_env;
    bool alone; /* found only where no letter, digit or _ stands beside it */
};

/* Longer ones first, so that one that begins with another is replaced whole. */
static struct {
    struct lpo_arena *arena;
    struct secret *at;
    size_t len, cap;
    bool begins[256];
    bool met; /* a secret, also one that is too plain to be searched for */
} table;

enum {
    SHORTEST = 4,        /* a shorter one stands in too many texts by chance */
    SHORT = 8,           /* below: only as a word of its own */
    SHORT_WORD = 16,     /* the same for what may be a word of a language */
    LONGEST_OPEN = 1024, /* what a shape may wait for in a stream; a private key waits longer */
    LONGEST_KEY = 16384,
};

/* --- which values can be searched for ----------------------------------------------------------
 */

static bool all_letters(const char *text)
{
    for (; *text; text++)
        if (!isalpha((unsigned char)*text))
            return false;
    return true;
}

static bool is_number(const char *text)
{
    char *end;

    strtod(text, &end);
    return !*end;
}

/* A key of the config, one of its fixed values, or a word of our files: replacing it everywhere
 * would make them unreadable, and --resume impossible. */
static bool is_our_word(const char *text)
{
    static const char *const words[] = {
        "true",      "false",    "none",     "null",    "auto",        "default", "cuda",
        "localhost", "pending",  "failed",   "skipped", "interrupted", "missing", "lpo",
        "basic",     "python",   "python3",  "bash",    "schema",      "stages",  "notes",
        "overrides", "hidden",   LPO_HIDDEN, "running", "done",        "version", "token",
        "secret",    "password", NULL
    };
    size_t count, len = strlen(text);
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count);

    for (const char *const *w = words; *w; w++)
        if (strcasecmp(text, *w) == 0)
            return true;
    for (size_t i = 0; i < count; i++) {
        const char *lists[] = { rows[i].path, rows[i].values, rows[i].fallback };

        for (size_t k = 0; k < 3; k++)
            for (const char *p = lists[k]; p && *p; p += p[strcspn(p, ".|,")] ? 1 : 0) {
                size_t n = strcspn(p, ".|,");

                if (n == len && memcmp(p, text, n) == 0)
                    return true;
                p += n;
            }
        if (rows[i].fallback && strcmp(rows[i].fallback, text) == 0)
            return true;
    }
    return false;
}

static bool can_be_searched(enum lpo_secret_name name, const char *value)
{
    size_t len = strlen(value);

    if (len < SHORTEST || is_number(value) || is_our_word(value) || lpo_str_starts(value, "${"))
        return false;
    /* --sort-key time, AUTH=basic: a word that reports are full of */
    if (name != LPO_NAME_PASSWORD && len < SHORT && all_letters(value))
        return false;
    return !(*value == '/' && lpo_path_exists(value)); /* SSH_AUTH_SOCK: a place */
}

/* --- filling the table ------------------------------------------------------------------------ */

static void insert(const char *text, const char *variable, bool from_env)
{
    size_t len = strlen(text), i = 0;

    for (size_t k = 0; k < table.len; k++)
        if (strcmp(table.at[k].text, text) == 0)
            return;
    if (table.len == table.cap) {
        size_t cap = table.cap ? table.cap * 2 : 32;
        struct secret *grown = lpo_arena_array(table.arena, cap, sizeof *grown);

        if (table.len)
            memcpy(grown, table.at, table.len * sizeof *grown);
        table.at = grown;
        table.cap = cap;
    }
    while (i < table.len && table.at[i].len >= len)
        i++;
    memmove(&table.at[i + 1], &table.at[i], (table.len - i) * sizeof *table.at);
    table.len++;
    table.at[i] = (struct secret){
        .text = lpo_arena_strdup(table.arena, text),
        .len = len,
        .variable = lpo_arena_strdup(table.arena, variable),
        .from_env = from_env,
        .alone = len < SHORT || (len < SHORT_WORD && all_letters(text)),
    };
    table.begins[(unsigned char)*text] = true;
}

/* The forms that quoting gives a value. A backslash before a sign is left to matches(). */
static const struct form {
    char from;
    const char *to;
} html[] = { { '&', "&amp;" },  { '<', "&lt;" },   { '>', "&gt;" },
             { '"', "&quot;" }, { '\'', "&#39;" }, { 0, NULL } },
  html_text[] = { { '&', "&amp;" }, { '<', "&lt;" }, { 0, NULL } },
  html_tags[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { 0, NULL } },
  shell[] = { { '\'', "'\\''" }, { 0, NULL } }, yaml[] = { { '\'', "''" }, { 0, NULL } },
  csv[] = { { '"', "\"\"" }, { 0, NULL } }, *const forms[] = { html,  html_text, html_tags,
                                                               shell, yaml,      csv };

static void insert_forms(const char *value, const char *variable, bool from_env)
{
    insert(value, variable, from_env);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        LPO_STR text = { 0 };

        for (const char *p = value; *p; p++) {
            const struct form *f = forms[i];

            while (f->from && f->from != *p)
                f++;
            if (f->from)
                lpo_str_add(&text, f->to);
            else
                lpo_str_addc(&text, *p);
        }
        insert(lpo_str_text(&text), variable, false); /* the value itself is the one before */
    }
}

static void add(enum lpo_secret_name name, const char *value, const char *variable, bool from_env)
{
    if (!table.arena)
        table.arena = lpo_arena_create();
    if (!value || !can_be_searched(name, value))
        return;
    insert_forms(value, variable, from_env);
    if (!strchr(value, '\n'))
        return;
    /* a private key: its lines are written one by one where a text is indented */
    for (const char *p = value; *p; p += strspn(p, "\n")) {
        size_t n = strcspn(p, "\n");
        char *line = lpo_arena_strndup(table.arena, p, n);

        if (n >= SHORT_WORD && !lpo_str_starts(line, "-----"))
            insert_forms(line, variable, false);
        p += n;
    }
}

void lpo_secrets_add(enum lpo_secret_name name, const char *value, const char *variable)
{
    table.met = true;
    add(name, value, variable, false);
}

/* The password of a URL is named after the place where the URL stands. */
static void collect(const char *text, size_t from, enum lpo_secrets_where where, const char *place,
                    bool from_env)
{
    struct lpo_secrets_hit h;

    for (; lpo_secrets_find(text, strlen(text), from, where, &h); from = h.from + h.len) {
        table.met = table.met || !from_env;
        add(h.kind, lpo_arena_strndup(table.arena, text + h.from, h.len),
            strcmp(h.variable, "URL_PASSWORD") == 0
                ? lpo_arena_printf(table.arena, "%s_PASSWORD", place)
                : h.variable,
            from_env);
    }
}

void lpo_secrets_collect_text(const char *text, size_t from, enum lpo_secrets_where where,
                              const char *place)
{
    if (!table.arena)
        table.arena = lpo_arena_create();
    collect(text, from, where, place, false);
}

/* memmem() looks at each byte, and reports have megabytes; memchr() looks at dozens at once. */
static bool has_hidden(const char *at, size_t len)
{
    const size_t mark = strlen(LPO_HIDDEN);

    for (const char *end = at + len; (size_t)(end - at) >= mark; at++) {
        at = memchr(at, LPO_HIDDEN[0], (size_t)(end - at) - mark + 1);
        if (!at)
            return false;
        if (memcmp(at, LPO_HIDDEN, mark) == 0)
            return true;
    }
    return false;
}

/* A file is for its owner alone also where the secret was replaced before it came here. */
static bool filter(const void *bytes, size_t len, struct lpo_str *out)
{
    if (lpo_secrets_mask(bytes, len, out))
        return true;
    if (!len || !has_hidden(bytes, len))
        return false;
    lpo_str_addn(out, bytes, len);
    return true;
}

void lpo_secrets_begin(void)
{
    if (!table.arena)
        table.arena = lpo_arena_create();
    for (char **e = environ; e && *e; e++) {
        size_t n = strcspn(*e, "=");
        char *name = lpo_arena_strndup(table.arena, *e, n);

        if ((*e)[n] != '=')
            continue;
        collect(*e + n + 1, 0, LPO_SECRETS_FILE, name, true);
        if (lpo_secrets_name_is_secret(name))
            add(lpo_secrets_name(name), *e + n + 1, name, true);
    }
    lpo_file_set_filter(filter);
}

bool lpo_secrets_any(void)
{
    return table.met || table.len > 0;
}

void lpo_secrets_forget(void)
{
    lpo_file_set_filter(NULL);
    if (table.arena)
        lpo_arena_destroy(table.arena);
    memset(&table, 0, sizeof table);
}

/* --- bytes without secrets -------------------------------------------------------------------- */

static bool part_of_a_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* How many bytes at `at` are this secret; 0: they are something else. JSON, YAML and Markdown put a
 * backslash before signs. */
static size_t matches(const struct secret *s, const char *at, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < s->len; i++, n++) {
        if (n < room && at[n] == s->text[i])
            continue;
        if (n == 0 || n + 1 >= room || at[n] != '\\')
            return 0;
        n++;
        if (at[n] != s->text[i] && !(s->text[i] == '\n' && at[n] == 'n') &&
            !(s->text[i] == '\t' && at[n] == 't'))
            return 0;
    }
    return n;
}

/* Is the short secret at [from, from+len) a word of its own, and not a member's name in JSON? */
static bool stands_alone(const char *bytes, size_t len, const struct lpo_secrets_hit *h)
{
    size_t end = h->from + h->len;

    if ((h->from && part_of_a_word(bytes[h->from - 1])) ||
        (end < len && part_of_a_word(bytes[end])))
        return false;
    return !(h->from && bytes[h->from - 1] == '"' && end + 1 < len && bytes[end] == '"' &&
             bytes[end + 1] == ':');
}

/* Its place says where a secret begins; where it is known, also how long it is. */
static void look_up(const char *bytes, size_t len, struct lpo_secrets_hit *h)
{
    for (size_t k = 0; k < table.len; k++) {
        size_t n = matches(&table.at[k], bytes + h->from, len - h->from);

        if (n < h->len)
            continue;
        if (n > h->len && table.at[k].alone)
            continue;
        h->len = n;
        snprintf(h->variable, sizeof h->variable, "%s", table.at[k].variable);
        return;
    }
}

static bool find_at(const char *bytes, size_t len, size_t i, enum lpo_secrets_where where,
                    struct lpo_secrets_hit *h)
{
    const size_t mark = strlen(LPO_HIDDEN);
    struct lpo_secrets_shape s;

    if (lpo_secrets_shape_at(bytes, len, i, where, &s) &&
        (s.from + mark > len || memcmp(bytes + s.from, LPO_HIDDEN, mark) != 0)) {
        *h = (struct lpo_secrets_hit){ .from = s.from, .len = s.len, .kind = s.kind };
        lpo_secrets_variable(s.name, h->variable);
        look_up(bytes, len, h);
        return true;
    }
    for (size_t k = 0; k < table.len; k++) {
        const struct secret *v = &table.at[k];

        *h = (struct lpo_secrets_hit){ i, matches(v, bytes + i, len - i), LPO_NAME_SECRET, "" };
        if (!h->len || (v->alone && !stands_alone(bytes, len, h)))
            continue;
        snprintf(h->variable, sizeof h->variable, "%s", v->variable);
        return true;
    }
    return false;
}

bool lpo_secrets_find(const char *bytes, size_t len, size_t from, enum lpo_secrets_where where,
                      struct lpo_secrets_hit *h)
{
    if (!table.begins[':'])
        lpo_secrets_shape_begins(table.begins);
    for (size_t i = from < LPO_SECRETS_BEFORE ? 0 : from - LPO_SECRETS_BEFORE; i < len; i++)
        if (table.begins[(unsigned char)bytes[i]] && find_at(bytes, len, i, where, h) &&
            h->from >= from)
            return true;
    return false;
}

static bool replace(const char *bytes, size_t len, const char *by, struct lpo_str *out)
{
    size_t done = 0;
    struct lpo_secrets_hit h;

    while (lpo_secrets_find(bytes, len, done, LPO_SECRETS_FILE, &h)) {
        lpo_str_addn(out, bytes + done, h.from - done);
        lpo_str_add(out, by);
        done = h.from + h.len;
    }
    if (done)
        lpo_str_addn(out, bytes + done, len - done);
    return done > 0;
}

bool lpo_secrets_mask(const void *bytes, size_t len, struct lpo_str *out)
{
    return replace(bytes, len, LPO_HIDDEN, out);
}

/* May what stands at `i` go on behind the end as a secret, or as a word that is none? */
static bool may_go_on(const char *bytes, size_t len, size_t i)
{
    size_t room = len - i;

    if (lpo_secrets_shape_open(bytes, len, i))
        return true;
    if (!table.begins[(unsigned char)bytes[i]])
        return false;
    for (size_t k = 0; k < table.len; k++) {
        const struct secret *s = &table.at[k];
        size_t n = matches(s, bytes + i, room), t = 0, b = 0;

        if (n && s->alone && room - n < 2)
            return true;
        while (t < s->len && b < room &&
               (bytes[i + b] == s->text[t] || (t && bytes[i + b] == '\\')))
            t += bytes[i + b] == s->text[t], b++;
        if (!n && b == room)
            return true;
    }
    return false;
}

static size_t undecided(const char *bytes, size_t len, size_t from)
{
    /* twice: each character may have a backslash before it */
    size_t most =
        2 * (table.len && table.at[0].len > LONGEST_OPEN ? table.at[0].len : LONGEST_OPEN);
    const char *key =
        len - from > most ? memmem(bytes + from, len - from, "-----BEGIN ", 11) : NULL;

    if (key && len - (size_t)(key - bytes) < LONGEST_KEY &&
        lpo_secrets_shape_open(bytes, len, (size_t)(key - bytes)))
        return (size_t)(key - bytes);
    for (size_t i = len > most && len - most > from ? len - most : from; i < len; i++)
        if (may_go_on(bytes, len, i))
            return i;
    return len;
}

size_t lpo_secrets_mask_piece(const char *bytes, size_t len, size_t *written, bool last,
                              struct lpo_str *out, bool *hid)
{
    size_t done = *written, end = last ? len : undecided(bytes, len, done), drop;
    struct lpo_secrets_hit h;

    while (lpo_secrets_find(bytes, len, done, LPO_SECRETS_FILE, &h) && h.from < end) {
        lpo_str_addn(out, bytes + done, h.from - done);
        lpo_str_add(out, LPO_HIDDEN);
        *hid = true;
        done = h.from + h.len;
        if (done > end)
            end = undecided(bytes, len, done);
    }
    lpo_str_addn(out, bytes + done, end - done);
    drop = end < LPO_SECRETS_BEFORE ? 0 : end - LPO_SECRETS_BEFORE;
    *written = end - drop;
    return drop;
}

const char *lpo_secrets_mask_text(struct lpo_arena *a, const char *text)
{
    LPO_STR out = { 0 };

    if (!replace(text, strlen(text), LPO_HIDDEN, &out))
        return text;
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

const char *lpo_secrets_mask_cut(struct lpo_arena *a, const char *text)
{
    const char *masked = lpo_secrets_mask_text(a, text);
    size_t len = strlen(masked);

    for (size_t k = 0; k < table.len; k++) {
        const struct secret *s = &table.at[k];

        for (size_t n = s->len - 1; n >= SHORTEST; n--)
            if (n <= len && memcmp(masked + len - n, s->text, n) == 0)
                return lpo_arena_printf(a, "%.*s%s", (int)(len - n), masked, LPO_HIDDEN);
    }
    return masked;
}

const char *lpo_secrets_mask_path(struct lpo_arena *a, const char *path)
{
    size_t there = 0;
    LPO_STR out = { 0 };

    /* what exists was named by somebody else, and another name would be another place */
    for (size_t i = 1; *path && i <= strlen(path); i++)
        if ((path[i] == '/' || !path[i]) && lpo_path_is_dir(lpo_arena_strndup(a, path, i)))
            there = i;
    lpo_str_addn(&out, path, there);
    /* no brackets: people type it */
    if (!replace(path + there, strlen(path + there), "hidden", &out))
        return path;
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

const char *lpo_secrets_value(const char *variable)
{
    for (size_t i = 0; i < table.len; i++)
        if (table.at[i].from_env && strcmp(table.at[i].variable, variable) == 0)
            return table.at[i].text;
    return getenv(variable);
}
