/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>

#include "util/base.h"

/* A line that does not fit is cut, and one too many is dropped: the first line is the cause and is
 * always there. Nothing is allocated, since memory may be what failed. */
static void add_line(struct lpo_err *err, const char *fmt, va_list ap)
{
    size_t room = sizeof err->text - err->used;
    int n;

    if (err->lines >= LPO_ERR_LINES || room < 2)
        return;
    err->at[err->lines] = err->used;
    n = vsnprintf(err->text + err->used, room, fmt, ap);
    if (n < 0)
        return;
    if ((size_t)n >= room)
        n = (int)room - 1;
    err->used += (unsigned)n + 1;
    err->lines++;
}

static void start(struct lpo_err *err, int code, const char *file, int line)
{
    err->code = code;
    err->system = 0;
    err->lines = 0;
    err->used = 0;
    err->file = file;
    err->line = line;
}

int lpo_err_fail(struct lpo_err *err, int code, const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return code;
    start(err, code, file, line);
    va_start(ap, fmt);
    add_line(err, fmt, ap);
    va_end(ap);
    return code;
}

int lpo_err_fail_errno(struct lpo_err *err, const char *file, int line, const char *fmt, ...)
{
    /* printing may change it */
    int saved = errno;
    char what[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    lpo_err_fail(err, LPO_E_IO, file, line, "%s: %s", what, strerror(saved));
    if (err)
        err->system = saved;
    return LPO_E_IO;
}

int lpo_err_ctx(struct lpo_err *err, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return LPO_E_FORMAT;
    va_start(ap, fmt);
    add_line(err, fmt, ap);
    va_end(ap);
    return err->code;
}

const char *lpo_err_cause(const struct lpo_err *err)
{
    return err->lines ? err->text + err->at[0] : "";
}

void lpo_err_print(FILE *to, const char *who, const struct lpo_err *err)
{
    fprintf(to, "%s: ", who);
    for (unsigned i = err->lines; i-- > 0;)
        fprintf(to, "%s%s\n", i + 1 == err->lines ? "" : "  because: ", err->text + err->at[i]);
    if (err->lines == 0)
        fputs("failed\n", to);
}

void lpo_err_print_source(FILE *to, const struct lpo_err *err)
{
    if (err->file)
        fprintf(to, "  raised at %s:%d\n", err->file, err->line);
}

int lpo_err_exit_code(int code)
{
    switch (code) {
    case 0:
        return 0;
    case LPO_E_USAGE:
    case LPO_E_CONFIG:
        return 2;
    case LPO_E_MISSING:
        return 3;
    case LPO_E_NOPROGRAM:
        return 127;
    case LPO_E_INTERRUPTED:
        return 130;
    default:
        return 1;
    }
}
