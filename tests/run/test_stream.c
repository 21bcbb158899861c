/* SPDX-License-Identifier: Apache-2.0 */
/* One output stream of a child: what is kept, what is lost, the last line. */
#include "../unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "run/child/stream.h"
#include "util/err.h"
#include "util/file.h"

static const struct stream_case {
    const char *name, *written;
    uint64_t limit;
    const char *kept, *last_line;
    uint64_t lost;
} stream_cases[] = {
    { "nothing", "", 0, "", "", 0 },
    { "lines", "a\nb\n", 0, "a\nb\n", "b", 0 },
    { "a line without its end", "a\nb", 0, "a\nb", "b", 0 },
    { "an empty line is not the last", "a\n\n\n", 0, "a\n\n\n", "a", 0 },
    { "a progress bar", "10%\r50%\r100%\r", 0, "10%\r50%\r100%\r", "100%", 0 },
    { "control bytes are not shown", "a\033[1mb\n", 0, "a\033[1mb\n", "a?[1mb", 0 },
    { "over the limit: the start is kept, the last line is known", "12345\n", 3, "123", "12345",
      3 },
    { "exactly the limit", "123", 3, "123", "123", 0 },
};

static void check_stream(void **state)
{
    const struct stream_case *c = *state;
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_stream s;
    char path[UNIT_PATH];
    int ends[2];

    unit_file("old", 3, path);
    assert_int_equal(pipe(ends), 0);
    lpo_run_stream_open(&s, ends[0], path, c->limit);
    assert_int_equal(write(ends[1], c->written, strlen(c->written)), (ssize_t)strlen(c->written));
    close(ends[1]);
    while (s.fd >= 0)
        lpo_run_stream_pump(&s);
    lpo_run_stream_close(&s);
    assert_int_equal(lpo_file_text_read(path, &text, NULL), 0);
    assert_string_equal(text->at, c->kept);
    assert_string_equal(s.last_line, c->last_line);
    assert_int_equal(s.lost, c->lost);
    assert_int_equal(s.bytes, strlen(c->written));
    unlink(path);
}

/* A file that cannot be made must not block the program: its output is read and counted. */
static void a_file_that_cannot_be_made(void **state)
{
    struct lpo_stream s;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    lpo_run_stream_open(&s, ends[0], "/no/such/folder/file", 0);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    close(ends[1]);
    while (s.fd >= 0)
        lpo_run_stream_pump(&s);
    lpo_run_stream_close(&s);
    assert_int_not_equal(s.disk_errno, 0);
    assert_int_equal(s.lost, 3);
    assert_string_equal(s.last_line, "abc");
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, stream_cases, check_stream);
    UNIT_TEST(&u, a_file_that_cannot_be_made);
    return unit_run(&u);
}
