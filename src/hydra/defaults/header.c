#include "hydra/defaults/header.h"

#include <stdbool.h>
#include <string.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

enum { HEADER_CHARS = 512 }; /* Hydra looks no further */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

static void strip(const char **p, size_t *len)
{
    while (*len && is_blank(**p))
        (*p)++, (*len)--;
    while (*len && is_blank((*p)[*len - 1]))
        (*len)--;
}

/* How many bytes the first HEADER_CHARS characters take. */
static size_t head_of(const char *text, size_t len)
{
    size_t chars = 0, i = 0;

    for (; i < len; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80 && ++chars > HEADER_CHARS)
            break;
    return i;
}

/* One "# @key value" line. */
static int read_line(struct lpo_arena *a, const char *line, size_t len, const char **package,
                     struct lpo_err *err)
{
    const char *words[2] = { NULL, NULL };
    size_t lens[2] = { 0, 0 }, count = 0;

    while (len && *line == '#')
        line++, len--;
    strip(&line, &len);
    for (size_t i = 0; i < len;) {
        size_t from = i;

        while (i < len && line[i] != ' ')
            i++;
        if (i > from && count < 2) {
            words[count] = line + from;
            lens[count] = i - from;
        }
        count += i > from;
        i++;
    }
    if (count < 2)
        return lpo_fail(err, LPO_E_CONFIG, "Expected header format: KEY VALUE, got '%.*s'",
                        (int)len, line);
    if (count > 2)
        return lpo_fail(err, LPO_E_CONFIG, "Too many components in '%.*s'", (int)len, line);
    if (lens[0] == 8 && strncmp(words[0], "@package", 8) == 0)
        *package = lpo_arena_strndup(a, words[1], lens[1]);
    return 0;
}

static bool is_header(const char *line, size_t len)
{
    size_t i = 1;

    if (len == 0 || *line != '#')
        return false;
    while (i < len && is_blank(line[i]))
        i++;
    return i < len && line[i] == '@';
}

int lpo_defaults_header_read(struct lpo_arena *a, const char *text, size_t len,
                             const char **package, struct lpo_err *err)
{
    *package = NULL;
    len = head_of(text, len);
    while (len) {
        size_t n = 0;
        const char *line = text;
        size_t line_len;

        while (n < len && text[n] != '\n' && text[n] != '\r')
            n++;
        line_len = n;
        strip(&line, &line_len);
        n += n < len;
        text += n;
        len -= n;
        if (line_len == 0)
            continue;
        if (!is_header(line, line_len))
            return 0;
        if (read_line(a, line, line_len, package, err) < 0)
            return err ? err->code : LPO_E_CONFIG;
    }
    return 0;
}
