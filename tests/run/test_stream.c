/* SPDX-License-Identifier: Apache-2.0 */
/* One output stream of a child: what is kept, what is lost, the last line. */
#include "../unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "run/child/stream.h"
#include "run/secrets/secrets.h"
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

static const struct secret_case {
    const char *name;
    const char *pieces[4]; /* as they come through the pipe */
    const char *kept;
    unsigned mode;
} secret_cases[] = {
    { "no secret in it", { "a hf_S3k", "rit\n" }, "a hf_S3krit\n", 0 },
    { "in one piece", { "is hf_S3kritValue9.\n" }, "is (hidden).\n", 0600 },
    { "in two pieces", { "is hf_S3kri", "tValue9.\n" }, "is (hidden).\n", 0600 },
    { "byte by byte at its ends", { "h", "f_S3kritValue", "9" }, "(hidden)", 0600 },
    { "as JSON quotes it", { "\"a\\", "nb_SecondOne77\"" }, "\"(hidden)\"", 0600 },
    { "twice", { "hf_S3kritValue9hf_S3", "kritValue9" }, "(hidden)(hidden)", 0600 },
    { "a beginning inside another", { "hf_hf_S3krit", "Value9" }, "hf_(hidden)", 0600 },
    { "a short one is a word of its own",
      { "pass S3k", "! ", "S3k!y S3k!" },
      "pass (hidden) S3k!y (hidden)",
      0600 },
    { "a password of a URL",
      { "get http://me:un", "known1@host/x y" },
      "get http://me:(hidden)@host/x y",
      0600 },
    { "only the beginning came", { "hf_S3kritVal" }, "hf_S3kritVal", 0 },
};

static void check_secret(void **state)
{
    const struct secret_case *c = *state;
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_stream s;
    struct stat before, after;
    char path[UNIT_PATH];
    int ends[2];

    lpo_secrets_add(LPO_NAME_SECRET, "hf_S3kritValue9", "HF_TOKEN");
    lpo_secrets_add(LPO_NAME_SECRET, "a\nb_SecondOne77", "OTHER_TOKEN");
    lpo_secrets_add(LPO_NAME_PASSWORD, "S3k!", "DB_PASSWORD");
    unit_file("", 0, path);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(pipe(ends), 0);
    lpo_run_stream_open(&s, ends[0], path, 0);
    for (size_t i = 0; i < 4 && c->pieces[i]; i++) {
        assert_true(write(ends[1], c->pieces[i], strlen(c->pieces[i])) > 0);
        lpo_run_stream_pump(&s);
    }
    close(ends[1]);
    lpo_run_stream_close(&s);
    assert_int_equal(lpo_file_text_read(path, &text, NULL), 0);
    assert_string_equal(text->at, c->kept);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_mode & 0777, c->mode ? c->mode : before.st_mode & 0777);
    unlink(path);
    lpo_secrets_forget();
}

/* Bytes that cannot begin a secret are in the file at once: people watch logs. */
static void a_log_can_be_watched(void **state)
{
    struct lpo_stream s;
    struct stat st;
    char path[UNIT_PATH];
    int ends[2];

    (void)state;
    lpo_secrets_add(LPO_NAME_SECRET, "hf_S3kritValue9", "HF_TOKEN");
    unit_file("", 0, path);
    assert_int_equal(pipe(ends), 0);
    lpo_run_stream_open(&s, ends[0], path, 0);
    assert_int_equal(write(ends[1], "loading 10%", 11), 11);
    lpo_run_stream_pump(&s);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 11);
    close(ends[1]);
    lpo_run_stream_close(&s);
    unlink(path);
    lpo_secrets_forget();
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
    UNIT_ROWS(&u, secret_cases, check_secret);
    UNIT_TEST(&u, a_log_can_be_watched);
    UNIT_TEST(&u, a_file_that_cannot_be_made);
    return unit_run(&u);
}
