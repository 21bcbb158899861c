/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <errno.h>

#include "util/err.h"

static void error_gathers_context(void **state)
{
    struct lpo_err err = { 0 };
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    (void)state;
    assert_int_equal(lpo_fail(&err, LPO_E_FORMAT, "line %d is bad", 3), LPO_E_FORMAT);
    assert_int_equal(lpo_ctx(&err, "manifest '%s'", "x"), LPO_E_FORMAT);
    lpo_err_print(f, "lpo report", &err);
    fclose(f);
    assert_string_equal(text, "lpo report: manifest 'x'\n  because: line 3 is bad\n");
    free(text);
}

static void no_err_is_fine(void **state)
{
    (void)state;
    assert_int_equal(lpo_fail(NULL, LPO_E_RANGE, "too large"), LPO_E_RANGE);
    errno = ENOENT;
    assert_int_equal(lpo_fail_errno(NULL, "cannot open"), LPO_E_IO);
}

static void the_system_says_why(void **state)
{
    struct lpo_err err = { 0 };

    (void)state;
    errno = ENOENT;
    lpo_fail_errno(&err, "cannot open '%s'", "x");
    assert_string_equal(lpo_err_cause(&err), "cannot open 'x': No such file or directory");
}

/* A deep failure must not write beyond the error, and keeps its cause. */
static void too_much_context_is_left_out(void **state)
{
    struct lpo_err err = { 0 };
    char line[400];

    (void)state;
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    lpo_fail(&err, LPO_E_FORMAT, "the cause");
    for (int i = 0; i < 100; i++)
        assert_int_equal(lpo_ctx(&err, "%d %s", i, line), LPO_E_FORMAT);
    assert_true(err.lines <= LPO_ERR_LINES && err.used <= LPO_ERR_TEXT);
    assert_string_equal(lpo_err_cause(&err), "the cause");
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, error_gathers_context);
    UNIT_TEST(&u, no_err_is_fine);
    UNIT_TEST(&u, the_system_says_why);
    UNIT_TEST(&u, too_much_context_is_left_out);
    return unit_run(&u);
}
