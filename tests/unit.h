/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit.h - a table of named rows as cmocka tests.
 *
 *     UNIT_ROWS(&u, rows, check)     one test per row of `rows` (a struct with .name), run by check
 *     unit_file(bytes, len, path)    a temporary file with these bytes
 *
 * Use: int main(void) { struct unit u = { 0 }; UNIT_ROWS(&u, cases, check); return unit_run(&u); }
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct unit {
    struct CMUnitTest *at;
    size_t len;
};

static inline void unit_add(struct unit *u, const char *name, CMUnitTestFunction fn,
                            const void *row)
{
    u->at = realloc(u->at, (u->len + 1) * sizeof *u->at);
    u->at[u->len++] = (struct CMUnitTest){ name, fn, NULL, NULL, (void *)row };
}

#define UNIT_ROWS(u, rows, fn)                                                                     \
    for (size_t i_ = 0; i_ < sizeof(rows) / sizeof *(rows); i_++)                                  \
    unit_add((u), (rows)[i_].name, (fn), &(rows)[i_])

#define UNIT_TEST(u, fn) unit_add((u), #fn, (fn), NULL)

static inline int unit_run(struct unit *u)
{
    int failed = _cmocka_run_group_tests("tests", u->at, u->len, NULL, NULL);

    free(u->at);
    return failed;
}

/* Ends the whole program as skipped; Meson shows the reason. */
#define UNIT_SKIP(reason)                                                                          \
    do {                                                                                           \
        printf("1..0 # SKIP %s\n", (reason));                                                      \
        return 0;                                                                                  \
    } while (0)

static inline const char *unit_env(const char *name, const char *fallback)
{
    const char *v = getenv(name);

    return v ? v : fallback;
}

enum { UNIT_PATH = sizeof "/tmp/lpo-test-XXXXXX" };

/* Makes a new file with these bytes and says where; the test unlinks it. */
static inline void unit_file(const void *bytes, size_t len, char path[UNIT_PATH])
{
    int fd = mkstemp(strcpy(path, "/tmp/lpo-test-XXXXXX"));

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}
