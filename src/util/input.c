/* SPDX-License-Identifier: Apache-2.0 */
/* A thread fills blocks, the reader empties them. Each block has room in front, so that the bytes
 * a reader keeps are put before the new ones and nothing else is ever copied. */
#include "util/input.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/ahead.h"
#include "util/budget.h"
#include "util/stale.h"

/* KEPT: two files under way on each of two cores. */
enum { FRONT = 64 * 1024, BLOCK = 512 * 1024, KEPT = 10, LEAST_READ = 4096 };

struct block {
    char *mem; /* FRONT + BLOCK + 1 bytes, taken on first use */
    size_t len;
};

struct lpo_input {
    char *path;

    /* the thread's, until the end */
    struct lpo_raw raw;
    const struct lpo_codec *codec;
    void *state;
    const char *damage;
    uint64_t given; /* decompressed bytes so far */
    bool over_budget;

    /* the reader's own */
    struct lpo_ahead *blocks;
    struct lpo_input_window window;
    char *spill; /* when more is kept than a block's front holds */
    size_t spill_cap;
};

/* Memory of blocks that nobody uses, as long as any file is open. The next file takes it: the
 * system's fresh pages cost as much as what is read into them, and a job has a thousand small
 * files.
 */
static struct {
    pthread_mutex_t lock;
    char *at[KEPT];
    size_t len, open; /* open: files */
} idle = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void count_open(int more)
{
    pthread_mutex_lock(&idle.lock);
    idle.open += (size_t)more;
    while (!idle.open && idle.len)
        free(idle.at[--idle.len]);
    pthread_mutex_unlock(&idle.lock);
}

static char *take_memory(void)
{
    char *mem = NULL;

    pthread_mutex_lock(&idle.lock);
    if (idle.len)
        mem = idle.at[--idle.len];
    pthread_mutex_unlock(&idle.lock);
    return mem ? mem : lpo_xcalloc(1, FRONT + BLOCK + 1);
}

static void give_memory(char *mem)
{
    bool keep;

    pthread_mutex_lock(&idle.lock);
    keep = mem && idle.len < KEPT;
    if (keep)
        idle.at[idle.len++] = mem;
    pthread_mutex_unlock(&idle.lock);
    if (!keep)
        free(mem);
}

static uint64_t inflate_limit(uint64_t taken)
{
    const struct lpo_budget *b = lpo_budget();

    return b->inflate_bytes + b->inflate_ratio * taken;
}

/* One block, full unless the text ends. */
static bool fill_block(void *ctx, void *batch)
{
    struct lpo_input *in = ctx;
    struct block *b = batch;

    if (!b->mem) /* small files need only the first */
        b->mem = take_memory();
    b->len = 0;
    while (b->len < BLOCK && !in->damage) {
        size_t n = in->codec->decode(in->state, &in->raw, b->mem + FRONT + b->len, BLOCK - b->len,
                                     &in->damage);

        if (n == 0)
            break;
        b->len += n;
        in->given += n;
        /* 270 KB of zstd can hold terabytes of nothing */
        in->over_budget = in->codec->magic_len && in->given > inflate_limit(in->raw.taken);
        if (in->over_budget)
            in->damage = "stopped: it inflates to hundreds of times its size (" LPO_BUDGET_HINT ")";
    }
    return b->len == BLOCK;
}

static void free_block(void *batch)
{
    give_memory(((struct block *)batch)->mem);
}

int lpo_input_open_file(const char *path, struct lpo_err *err)
{
    /* a FIFO that nobody writes to would block in open() for ever */
    unsigned tries = 0;
    struct stat st;
    int fd;

    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && lpo_stale_retry(errno, &tries));
    if (fd < 0)
        return lpo_fail_errno(err, "cannot open '%s'", path);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    if (S_ISDIR(st.st_mode))
        lpo_fail(err, LPO_E_IO, "'%s' is a folder, not a file", path);
    else if (S_ISCHR(st.st_mode) && !isatty(fd))
        return fd; /* /dev/null */
    else
        lpo_fail(err, LPO_E_IO, "'%s' is a pipe or a device, not a file", path);
    close(fd);
    return LPO_E_IO;
}

/* Without the thread. `at_once`: see struct lpo_raw. */
static int open_codec(const char *path, size_t at_once, struct lpo_input **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_input) in = lpo_xcalloc(1, sizeof *in);

    count_open(1);
    in->path = lpo_xstrdup(path);
    in->raw.fd = lpo_input_open_file(path, err);
    if (in->raw.fd < 0)
        return err ? err->code : LPO_E_IO;
    in->raw.path = in->path;
    in->raw.at_once = at_once;
    in->raw.block = (unsigned char *)take_memory(); /* more than it needs */
    lpo_input_raw_fill(&in->raw);
    if (in->raw.error)
        return lpo_fail(err, LPO_E_IO, "cannot read '%s': %s", path, strerror(in->raw.error));
    in->codec = lpo_input_codec_find(in->raw.at, in->raw.len);
    in->state = in->codec->create();
    *out = in;
    in = NULL;
    return 0;
}

int lpo_input_open(const char *path, struct lpo_input **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_input) in = NULL;
    int rc = open_codec(path, 0, &in, err);

    if (rc < 0)
        return rc;
    in->blocks = lpo_ahead_start(sizeof(struct block), fill_block, in);
    if (!in->blocks)
        return lpo_fail_errno(err, "cannot start a thread to read '%s'", path);
    *out = in;
    in = NULL;
    return 0;
}

void lpo_input_destroy(struct lpo_input *in)
{
    if (!in)
        return;
    lpo_ahead_stop(in->blocks, free_block);
    if (in->codec)
        in->codec->destroy(in->state);
    if (in->raw.fd >= 0)
        close(in->raw.fd);
    give_memory((char *)in->raw.block);
    free(in->spill);
    free(in->path);
    free(in);
    count_open(-1);
}

/* The next block, or NULL at the end; the one before goes back to the thread. */
static struct block *next_block(struct lpo_input *in)
{
    struct block *b = lpo_ahead_next(in->blocks);

    return b && b->len ? b : NULL; /* a text of whole blocks ends with an empty one */
}

/* Puts the kept bytes at the start of the spill buffer. */
static void keep_in_spill(struct lpo_input *in, const char *kept, size_t keep)
{
    size_t need = keep * 2 + BLOCK + 1;

    if (in->spill_cap < need) {
        char *bigger = lpo_xmalloc(need);

        memcpy(bigger, kept, keep);
        free(in->spill);
        in->spill = bigger;
        in->spill_cap = need;
    } else {
        memmove(in->spill, kept, keep);
    }
}

/* Kept bytes and as many new ones, so that re-reading a long value costs no more than twice. */
static int next_in_spill(struct lpo_input *in, const char *kept, size_t keep)
{
    size_t len = keep;

    keep_in_spill(in, kept, keep);
    while (len < keep * 2) {
        const struct block *b = next_block(in);

        if (!b)
            break;
        memcpy(in->spill + len, b->mem + FRONT, b->len);
        len += b->len;
    }
    in->spill[len] = '\0';
    in->window.at = in->spill;
    in->window.len = len;
    return len > keep;
}

static int next_in_block(struct lpo_input *in, const char *kept, size_t keep)
{
    char held[FRONT];
    struct block *b;

    /* The kept bytes go through `held`: the block they lie in goes back to the thread with the
     * call for the next one. */
    memcpy(held, kept, keep);
    b = next_block(in);
    if (!b) {
        keep_in_spill(in, held, keep);
        in->spill[keep] = '\0';
        in->window.at = in->spill;
        in->window.len = keep;
        return 0;
    }
    memcpy(b->mem + FRONT - keep, held, keep);
    b->mem[FRONT + b->len] = '\0';
    in->window.at = b->mem + FRONT - keep;
    in->window.len = keep + b->len;
    return 1;
}

int lpo_input_next(struct lpo_input *in, size_t keep, struct lpo_input_window *w,
                   struct lpo_err *err)
{
    const char *kept;
    int rc;

    if (keep > in->window.len)
        keep = in->window.len;
    kept = in->window.len ? in->window.at + in->window.len - keep : "";
    in->window.offset += in->window.len - keep;
    rc = keep > FRONT ? next_in_spill(in, kept, keep) : next_in_block(in, kept, keep);
    *w = in->window;
    if (rc == 0 && in->raw.error)
        return lpo_fail(err, LPO_E_IO, "cannot read '%s': %s", in->path, strerror(in->raw.error));
    return rc;
}

const char *lpo_input_damage(const struct lpo_input *in)
{
    return in->damage;
}

bool lpo_input_over_budget(const struct lpo_input *in)
{
    return in->over_budget;
}

int lpo_input_head(const char *path, unsigned char *head, size_t room, size_t *len,
                   struct lpo_err *err)
{
    LPO_AUTO(lpo_input) in = NULL;
    int rc = open_codec(path, room > LEAST_READ ? room : LEAST_READ, &in, err);
    size_t n = 1;

    if (rc < 0)
        return rc;
    for (*len = 0; *len < room && n > 0 && !in->damage; *len += n)
        n = in->codec->decode(in->state, &in->raw, (char *)head + *len, room - *len, &in->damage);
    if (!*len && in->raw.error)
        return lpo_fail(err, LPO_E_IO, "cannot read '%s': %s", path, strerror(in->raw.error));
    return 0;
}
