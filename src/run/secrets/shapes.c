/* SPDX-License-Identifier: Apache-2.0 */
/* What gives a secret away where its value is not known: its own look, or what stands before it.
 * The lists are the rules; one more shape is one more row. */
#include <ctype.h>
#include <strings.h>

#include "run/secrets/shapes.h"

enum { LONGEST_USER = 512, LONGEST_KEY = 16384, TOKEN_AS_USER = 12, LEAST_IN_FILE = 6 };

/* Tokens that are known by how they begin: then letters, digits and `extra`, at least `least` of
 * them and a digit among them. */
static const struct token {
    const char *lead, *extra;
    size_t least, dots;
    const char *variable;
    bool lead_stays; /* "Bearer S": only S is the secret */
    bool hex;        /* of letters only a to f */
} tokens[] = {
    { "hf_", "", 16, 0, "HF_TOKEN", false },
    { "ghp_", "", 16, 0, "GITHUB_TOKEN", false },
    { "gho_", "", 16, 0, "GITHUB_TOKEN", false },
    { "ghu_", "", 16, 0, "GITHUB_TOKEN", false },
    { "ghs_", "", 16, 0, "GITHUB_TOKEN", false },
    { "ghr_", "", 16, 0, "GITHUB_TOKEN", false },
    { "github_pat_", "_", 16, 0, "GITHUB_TOKEN", false },
    { "glpat-", "_-", 16, 0, "GITLAB_TOKEN", false },
    { "sk-", "_-", 16, 0, "OPENAI_API_KEY", false },
    { "sk_live_", "", 16, 0, "STRIPE_API_KEY", false },
    { "sk_test_", "", 16, 0, "STRIPE_API_KEY", false },
    { "xoxb-", "-", 10, 0, "SLACK_TOKEN", false },
    { "xoxp-", "-", 10, 0, "SLACK_TOKEN", false },
    { "xapp-", "-", 10, 0, "SLACK_TOKEN", false },
    { "AKIA", "", 16, 0, "AWS_ACCESS_KEY_ID", false },
    { "ASIA", "", 16, 0, "AWS_ACCESS_KEY_ID", false },
    { "AIza", "_-", 30, 0, "GOOGLE_API_KEY", false },
    { "ya29.", "_-.", 20, 0, "GOOGLE_TOKEN", false },
    { "nvapi-", "_-", 20, 0, "NVIDIA_API_KEY", false },
    { "npm_", "", 30, 0, "NPM_TOKEN", false },
    { "pypi-", "_-", 30, 0, "PYPI_TOKEN", false },
    { "eyJ", "_-.", 20, 2, "JWT", false },
    { "SK", "", 32, 0, "TWILIO_API_KEY", false, true },
    { "Bearer ", "._~+/=-", 8, 0, "TOKEN", true },
    { "bearer ", "._~+/=-", 8, 0, "TOKEN", true },
};

/* Names after which a value is hidden in whatever lpo writes. In commands and configs, where less
 * is lost by hiding too much, every name that names.c calls secret counts. */
static const char *const always[] = {
    "authorization", "cookie",       "api_key",       "apikey",     "access_key",
    "access_token",  "auth_token",   "refresh_token", "id_token",   "session_token",
    "hf_token",      "github_token", "client_secret", "secret_key", "private_key",
    "password",      "passwd",       "passphrase",    "x_token",    "security_token",
};

/* The same, but only as a parameter of a URL: behind ? or &. */
static const char *const in_urls[] = { "sig", "signature", "token", "secret", "key" };

/* Options whose value is user:password. */
static const char *const with_user[] = { "-u", "-U", "--user", "--proxy-user" };

/* Short options that are a password only to their program. */
static const struct program_option {
    const char *program, *option;
    bool joined; /* -pS alone: -p S means something else */
} program_options[] = {
    { "mysql", "-p", true },         { "mysqldump", "-p", true }, { "mysqladmin", "-p", true },
    { "mariadb", "-p", true },       { "sshpass", "-p", false },  { "redis-cli", "-a", false },
    { "docker login", "-p", false }, { "zip", "-P", false },      { "ldapsearch", "-w", false },
};

#define LIST(a) (a), sizeof(a) / sizeof *(a)

/* --- the pieces of a text --------------------------------------------------------------------- */

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '+' || c == '@' ||
           c == '/';
}

/* Is the byte before `i` no part of a word? The n of a "\n" in JSON is none. */
static bool begins_word(const char *bytes, size_t i)
{
    return !i || !(isalnum((unsigned char)bytes[i - 1]) || bytes[i - 1] == '_') ||
           (i > 1 && bytes[i - 2] == '\\' && strchr("nrt", bytes[i - 1]));
}

/* "X-Api-Key" ends in "api_key", "mysig" does not end in "sig". */
static bool name_ends_in(const char *name, size_t len, const char *const *list, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        size_t n = strlen(list[k]), same = 0, from = len - n;

        if (n > len || (from && isalnum((unsigned char)name[from - 1])))
            continue;
        while (same < n && (tolower((unsigned char)name[from + same]) == list[k][same] ||
                            (name[from + same] == '-' && list[k][same] == '_')))
            same++;
        if (same == n)
            return true;
    }
    return false;
}

static bool is_number(const char *at, size_t n)
{
    size_t i = 0;

    while (i < n && strchr("0123456789.+-", at[i]))
        i++;
    return i == n;
}

static enum lpo_secret_name kind_of(const char *bytes, size_t begin, size_t end,
                                    enum lpo_secrets_where where, char *name)
{
    size_t len = end - begin;
    char before = begin ? bytes[begin - 1] : 0;

    if (!len || len >= LPO_SECRETS_NAME)
        return LPO_NAME_PLAIN;
    memcpy(name, bytes + begin, len);
    name[len] = '\0';
    if (name_ends_in(name, len, LIST(always)) ||
        ((before == '?' || before == '&') && name_ends_in(name, len, LIST(in_urls))))
        return LPO_NAME_PASSWORD;
    return where == LPO_SECRETS_COMMAND ? lpo_secrets_name(name) : LPO_NAME_PLAIN;
}

/* --- values by what stands before them -------------------------------------------------------- */

struct text {
    const char *at;
    size_t len;
    enum lpo_secrets_where where;
};

/* Behind quotes and "Bearer"; *quote is what ends it, or 0. */
static size_t value_begin(const struct text *t, size_t from, char *quote)
{
    static const char *const schemes[] = { "bearer ", "basic ", "token " };

    *quote = 0;
    while (from < t->len && (t->at[from] == '\\' || t->at[from] == '"' || t->at[from] == '\''))
        *quote = t->at[from++];
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++) {
        size_t n = strlen(schemes[k]);

        if (t->len - from > n && strncasecmp(t->at + from, schemes[k], n) == 0)
            return from + n;
    }
    return from;
}

static bool put(const struct text *t, size_t from, size_t end, enum lpo_secret_name kind,
                struct lpo_secrets_shape *out)
{
    const char *at = t->at + from;
    size_t len = end - from;

    out->from = from;
    out->len = end > from ? len : 0;
    out->kind = kind;
    if (end <= from || strchr("$={[<(", *at) || (kind == LPO_NAME_SECRET && is_number(at, len)))
        return false;
    return t->where != LPO_SECRETS_FILE || (len >= LEAST_IN_FILE && !is_number(at, len));
}

static size_t value_end(const struct text *t, size_t from, char quote, bool header)
{
    const char *ends = header ? "\r\n\"'`\\" : quote ? "\r\n\\" : " \t\r\n\"'`;|&,()}]><\\";

    for (; from < t->len && t->at[from] && t->at[from] != LPO_SECRETS_WORD; from++)
        if (t->at[from] == quote || strchr(ends, t->at[from]))
            break;
    return from;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* "-ume:S" and "--user=me:S": "me" and what is joined to it stand at [begin, i), the colon at `i`.
 */
static bool find_user(const struct text *t, size_t begin, size_t i, struct lpo_secrets_shape *out)
{
    if (t->where != LPO_SECRETS_COMMAND || t->at[i] != ':')
        return false;
    for (size_t k = 0; k < sizeof with_user / sizeof *with_user; k++) {
        size_t n = strlen(with_user[k]), from = i + 1, end = value_end(t, from, 0, false);
        bool joined = n == 2 && i - begin > n && memcmp(t->at + begin, with_user[k], n) == 0;
        bool equals = begin > n && t->at[begin - 1] == '=' &&
                      memcmp(t->at + begin - 1 - n, with_user[k], n) == 0;

        if (!(joined && begins_word(t->at, begin)) && !equals)
            continue;
        memcpy(out->name, "PASSWORD", sizeof "PASSWORD");
        return !is_number(t->at + from, end - from) && put(t, from, end, LPO_NAME_PASSWORD, out);
    }
    return false;
}

/* "token=S", "Authorization: Bearer S", "\"api_key\": \"S\"": the sign stands at `i`. */
static bool find_named(const struct text *t, size_t i, struct lpo_secrets_shape *out)
{
    size_t end = i, begin, from = i + 1;
    enum lpo_secret_name kind;
    bool header, whole;
    char quote;

    while (end && i - end < 2 && is_blank(t->at[end - 1]))
        end--;
    while (end && i - end < 4 && strchr("\"'\\", t->at[end - 1]) && t->at[end - 1])
        end--;
    begin = end;
    while (begin && end - begin < LPO_SECRETS_NAME && is_name_char(t->at[begin - 1]))
        begin--;
    kind = kind_of(t->at, begin, end, t->where, out->name);
    if (kind == LPO_NAME_PLAIN)
        return find_user(t, begin, i, out);
    while ((t->at[i] == ':' || is_blank(t->at[i - 1])) && from < t->len && is_blank(t->at[from]))
        from++;
    /* --token='a b' of a command line, and a header that is a word of its own */
    header = t->at[i] == ':' && name_ends_in(t->at + begin, end - begin, always, 2);
    whole = begin && t->at[begin - 1] == LPO_SECRETS_WORD && end == i &&
            (t->at[begin] == '-' || (t->at[i] == ':' && from > i + 1));
    from = value_begin(t, from, &quote);
    return put(t, from, whole ? t->len : value_end(t, from, quote, header), kind, out);
}

/* Does a program of this name stand before `i` in the same command? A blank in the name is any. */
static bool is_run_by(const struct text *t, size_t i, const char *program)
{
    static const char gaps[] = { ' ', '\t', '"', '\'', LPO_SECRETS_WORD, '\0' };
    size_t len = strlen(program), n;

    for (; i && !strchr(";|&\n`", t->at[i - 1]); i--) {
        const char *at = t->at + i - 1;

        if (t->len - (i - 1) <= len || (i > 1 && at[-1] != '/' && !strchr(gaps, at[-1])))
            continue;
        for (n = 0; n < len; n++)
            if (at[n] != program[n] && !(program[n] == ' ' && at[n] == LPO_SECRETS_WORD))
                break;
        if (n == len && at[n] && strchr(gaps, at[n]))
            return true;
    }
    return false;
}

/* "mysql -pS" and "sshpass -p S": the option begins at `i`. */
static bool find_program_option(const struct text *t, size_t i, struct lpo_secrets_shape *out)
{
    bool word;

    if (!i || t->len - i <= 3 || !(is_blank(t->at[i - 1]) || t->at[i - 1] == LPO_SECRETS_WORD))
        return false;
    word = t->at[i - 1] == LPO_SECRETS_WORD;
    for (size_t k = 0; k < sizeof program_options / sizeof *program_options; k++) {
        const struct program_option *p = &program_options[k];
        size_t from = i + 2;
        char quote = 0;

        if (memcmp(t->at + i, p->option, 2) != 0)
            continue;
        if (!p->joined && (is_blank(t->at[from]) || t->at[from] == LPO_SECRETS_WORD))
            from++;
        if (is_blank(t->at[from]) || t->at[from] == LPO_SECRETS_WORD || t->at[from] == '-' ||
            !is_run_by(t, i, p->program))
            continue;
        memcpy(out->name, "PASSWORD", sizeof "PASSWORD");
        if (!word)
            from = value_begin(t, from, &quote);
        return put(t, from, word ? t->len : value_end(t, from, quote, false), LPO_NAME_PASSWORD,
                   out);
    }
    return false;
}

/* The line of a .netrc: "login me password S"; the blank stands at `i`. */
static bool find_in_netrc(const struct text *t, size_t i, struct lpo_secrets_shape *out)
{
    static const char name[] = " password", before[] = "login ";
    size_t user = i < sizeof name ? 0 : i - (sizeof name - 1), end = user;

    if (!user || memcmp(t->at + user, name, sizeof name - 1) != 0)
        return false;
    while (user && end - user < LONGEST_USER && is_name_char(t->at[user - 1]))
        user--;
    if (user < sizeof before - 1 ||
        memcmp(t->at + user - (sizeof before - 1), before, sizeof before - 1) != 0)
        return false;
    memcpy(out->name, "PASSWORD", sizeof "PASSWORD");
    return put(t, i + 1, value_end(t, i + 1, 0, false), LPO_NAME_PASSWORD, out);
}

/* "--token S" and "-u me:S": the blank stands at `i`. */
static bool find_behind_option(const struct text *t, size_t i, struct lpo_secrets_shape *out)
{
    size_t begin = i, from = i + 1, end;
    bool word = t->at[i] == LPO_SECRETS_WORD;
    enum lpo_secret_name kind;
    char quote = 0;

    while (begin && i - begin < LPO_SECRETS_NAME && is_name_char(t->at[begin - 1]))
        begin--;
    if (begin == i || t->at[begin] != '-')
        return false;
    while (!word && from < t->len && t->at[from] == ' ')
        from++;
    if (!word)
        from = value_begin(t, from, &quote);
    if (from >= t->len || t->at[from] == '-')
        return false;
    end = word ? t->len : value_end(t, from, quote, false);
    kind = kind_of(t->at, begin, i, LPO_SECRETS_COMMAND, out->name);
    for (size_t k = 0; k < sizeof with_user / sizeof *with_user; k++)
        if (strlen(with_user[k]) == i - begin &&
            memcmp(with_user[k], t->at + begin, i - begin) == 0) {
            const char *colon = memchr(t->at + from, ':', end - from);

            if (!colon || is_number(colon + 1, end - (size_t)(colon - t->at) - 1))
                return false;
            from = (size_t)(colon - t->at) + 1;
            kind = LPO_NAME_PASSWORD;
            memcpy(out->name, "PASSWORD", sizeof "PASSWORD");
        }
    return kind != LPO_NAME_PLAIN && put(t, from, end, kind, out);
}

/* The password in "://user:password@host"; the colon stands at `i`. */
static bool find_in_url(const struct text *t, size_t i, struct lpo_secrets_shape *out)
{
    static const char ends[] = "/?# \t\r\n\"'`<>()\\,;{}[]|";
    const char *at = t->at + i + 3;
    size_t room, n = 0, host = 0, colon = 0, from;
    bool has_host = false, has_colon = false, digit = false;

    if (i + 3 >= t->len || at[-2] != '/' || at[-1] != '/')
        return false;
    room = t->len - i - 3;
    for (; n < room && n < LONGEST_USER && at[n] && !strchr(ends, at[n]); n++) {
        if (at[n] == '@') {
            host = n;
            has_host = true;
        } else if (at[n] == ':' && !has_colon && !has_host) {
            colon = n;
            has_colon = true;
        }
        digit = digit || (!has_host && isdigit((unsigned char)at[n]));
    }
    from = has_colon ? colon + 1 : 0;
    /* https://TOKEN@host, but ssh://git@host and http://me:$PASSWORD@host */
    if (!has_host || host <= from || at[from] == '$' ||
        (!has_colon && (host < TOKEN_AS_USER || !digit)))
        return false;
    *out =
        (struct lpo_secrets_shape){ i + 3 + from, host - from, LPO_NAME_PASSWORD, "URL_PASSWORD" };
    return true;
}

/* --- values by their own look ----------------------------------------------------------------- */

/* *open: it reaches the end of the text, so more of it may come. */
static size_t token_length(const struct token *k, const char *at, size_t room, bool *open)
{
    size_t lead = strlen(k->lead), n = lead, dots = 0;
    bool digit = false;

    if (memcmp(at, k->lead, room < lead ? room : lead) != 0)
        return 0;
    for (; n < room && ((k->hex ? isxdigit((unsigned char)at[n]) : isalnum((unsigned char)at[n])) ||
                        (at[n] && strchr(k->extra, at[n])));
         n++) {
        digit = digit || isdigit((unsigned char)at[n]);
        dots += at[n] == '.';
    }
    *open = n >= room;
    return n >= lead + k->least && n <= room && digit && dots >= k->dots ? n : 0;
}

/* From -----BEGIN to the end of -----END, or as far as it goes. */
static size_t key_length(const char *at, size_t room, bool *open)
{
    static const char begin[] = "-----BEGIN ", end[] = "-----END ", what[] = "PRIVATE KEY";
    size_t n = room < LONGEST_KEY ? room : LONGEST_KEY;
    const char *name, *last;

    if (memcmp(at, begin, room < sizeof begin - 1 ? room : sizeof begin - 1) != 0)
        return 0;
    name = memmem(at, n < 48 ? n : 48, what, sizeof what - 1);
    last = name ? memmem(at, n, end, sizeof end - 1) : NULL;
    if (last) { /* the dashes after the name that it ends with */
        last += sizeof end - 1;
        last = memmem(last, n - (size_t)(last - at), "-----", 5);
    }
    *open = !last && n < LONGEST_KEY && (name || room < 48);
    return last ? (size_t)(last - at) + 5 : name ? n : 0;
}

static bool find_token(const struct text *t, size_t i, struct lpo_secrets_shape *out)
{
    size_t n, lead;
    bool open;

    if (!begins_word(t->at, i))
        return false;
    if (t->at[i] == '-' && (n = key_length(t->at + i, t->len - i, &open))) {
        *out = (struct lpo_secrets_shape){ i, n, LPO_NAME_PASSWORD, "PRIVATE_KEY" };
        return true;
    }
    for (size_t k = 0; k < sizeof tokens / sizeof *tokens; k++) {
        if (t->at[i] != *tokens[k].lead)
            continue;
        n = token_length(&tokens[k], t->at + i, t->len - i, &open);
        if (!n)
            continue;
        lead = tokens[k].lead_stays ? strlen(tokens[k].lead) : 0;
        *out = (struct lpo_secrets_shape){ i + lead, n - lead, LPO_NAME_SECRET, "" };
        memcpy(out->name, tokens[k].variable, strlen(tokens[k].variable) + 1);
        return true;
    }
    return false;
}

void lpo_secrets_shape_begins(bool begins[256])
{
    begins[':'] = begins['='] = begins['-'] = begins[' '] = begins[LPO_SECRETS_WORD] = true;
    for (size_t k = 0; k < sizeof tokens / sizeof *tokens; k++)
        begins[(unsigned char)*tokens[k].lead] = true;
}

bool lpo_secrets_shape_at(const char *bytes, size_t len, size_t i, enum lpo_secrets_where where,
                          struct lpo_secrets_shape *out)
{
    const struct text t = { bytes, len, where };

    if (bytes[i] == ':' && find_in_url(&t, i, out))
        return true;
    if (bytes[i] == ':' || bytes[i] == '=')
        return find_named(&t, i, out);
    if (bytes[i] == ' ' && find_in_netrc(&t, i, out))
        return true;
    if (bytes[i] == ' ' || bytes[i] == LPO_SECRETS_WORD)
        return where == LPO_SECRETS_COMMAND && find_behind_option(&t, i, out);
    if (bytes[i] == '-' && where == LPO_SECRETS_COMMAND && find_program_option(&t, i, out))
        return true;
    return find_token(&t, i, out);
}

bool lpo_secrets_shape_open(const char *bytes, size_t len, size_t i)
{
    const struct text t = { bytes, len, LPO_SECRETS_FILE };
    struct lpo_secrets_shape s = { .from = 0 };
    size_t room = len - i;
    bool open = false;

    if (bytes[i] == ':' && memcmp(bytes + i, "://", room < 3 ? room : 3) == 0)
        return room < LONGEST_USER && !memchr(bytes + i, '\n', room) &&
               !memchr(bytes + i, ' ', room);
    if (bytes[i] == ':' || bytes[i] == '=')
        return room < LONGEST_USER && (find_named(&t, i, &s) || s.from) && s.from + s.len >= len;
    if (bytes[i] == ' ')
        return (find_in_netrc(&t, i, &s) || s.from) && s.from + s.len >= len;
    if (!begins_word(bytes, i))
        return false;
    key_length(bytes + i, room, &open);
    for (size_t k = 0; !open && k < sizeof tokens / sizeof *tokens; k++)
        token_length(&tokens[k], bytes + i, room, &open);
    return open;
}
