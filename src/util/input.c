/* A thread fills blocks, the reader empties them. Each block has room in front, so that the bytes
 * a reader keeps are put before the new ones and nothing else is ever copied. */
#include "util/input.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/input_codec.h"

enum { FRONT = 64 * 1024, BLOCK = 512 * 1024, BLOCKS = 4 };

struct block {
    char *mem; /* FRONT + BLOCK + 1 bytes, made on first use */
    size_t len;
};

struct lpo_input {
    char *path;
    struct lpo_raw raw;
    const struct lpo_codec *codec;
    void *state;
    const char *damage; /* written by the thread before it says `done` */
    pthread_t thread;
    bool running;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    struct block blocks[BLOCKS];
    uint64_t filled, emptied; /* blocks so far; their difference waits for the reader */
    bool done, stop;

    /* the reader's own */
    bool holding; /* the block emptied next is the one in the window */
    struct lpo_input_window window;
    char *spill; /* when more is kept than a block's front holds */
    size_t spill_cap;
};

/* One block, full unless the text ends. */
static size_t fill_block(struct lpo_input *in, struct block *b)
{
    size_t len = 0;

    if (!b->mem) /* small files need only the first */
        b->mem = lpo_xmalloc(FRONT + BLOCK + 1);
    while (len < BLOCK && !in->damage) {
        size_t n =
            in->codec->decode(in->state, &in->raw, b->mem + FRONT + len, BLOCK - len, &in->damage);

        if (n == 0)
            break;
        len += n;
    }
    return len;
}

static void *fill_blocks(void *arg)
{
    struct lpo_input *in = arg;

    pthread_mutex_lock(&in->lock);
    while (!in->done) {
        struct block *b = &in->blocks[in->filled % BLOCKS];

        while (!in->stop && in->filled - in->emptied == BLOCKS)
            pthread_cond_wait(&in->changed, &in->lock);
        if (in->stop)
            break;
        pthread_mutex_unlock(&in->lock);
        b->len = fill_block(in, b);
        pthread_mutex_lock(&in->lock);
        in->filled += b->len > 0;
        in->done = b->len < BLOCK;
        pthread_cond_broadcast(&in->changed);
    }
    pthread_mutex_unlock(&in->lock);
    return NULL;
}

static int start_thread(struct lpo_input *in, struct lpo_err *err)
{
    sigset_t all, before;
    int rc;

    /* signals belong to the program's own thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&in->thread, NULL, fill_blocks, in);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return lpo_fail(err, LPO_E_IO, "cannot start a thread to read '%s': %s", in->path,
                        strerror(rc));
    in->running = true;
    return 0;
}

int lpo_input_open(const char *path, struct lpo_input **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_input) in = lpo_xcalloc(1, sizeof *in);
    struct stat st;

    in->path = lpo_xstrdup(path);
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->changed, NULL);
    in->raw.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (in->raw.fd < 0)
        return lpo_fail_errno(err, "cannot open '%s'", path);
    if (fstat(in->raw.fd, &st) == 0 && S_ISDIR(st.st_mode))
        return lpo_fail(err, LPO_E_IO, "'%s' is a folder, not a file", path);
    in->raw.block = lpo_xmalloc(LPO_RAW_SIZE);
    lpo_input_raw_fill(&in->raw);
    if (in->raw.error)
        return lpo_fail(err, LPO_E_IO, "cannot read '%s': %s", path, strerror(in->raw.error));
    in->codec = lpo_input_codec_find(in->raw.at, in->raw.len);
    in->state = in->codec->create();
    if (start_thread(in, err) < 0)
        return err ? err->code : LPO_E_IO;
    *out = in;
    in = NULL;
    return 0;
}

void lpo_input_destroy(struct lpo_input *in)
{
    if (!in)
        return;
    if (in->running) {
        pthread_mutex_lock(&in->lock);
        in->stop = true;
        pthread_cond_broadcast(&in->changed);
        pthread_mutex_unlock(&in->lock);
        pthread_join(in->thread, NULL);
    }
    if (in->codec)
        in->codec->destroy(in->state);
    for (int i = 0; i < BLOCKS; i++)
        free(in->blocks[i].mem);
    if (in->raw.fd >= 0)
        close(in->raw.fd);
    pthread_mutex_destroy(&in->lock);
    pthread_cond_destroy(&in->changed);
    free(in->raw.block);
    free(in->spill);
    free(in->path);
    free(in);
}

/* The next full block, or NULL at the end. */
static struct block *wait_block(struct lpo_input *in)
{
    struct block *b = NULL;

    pthread_mutex_lock(&in->lock);
    while (in->filled == in->emptied && !in->done)
        pthread_cond_wait(&in->changed, &in->lock);
    if (in->filled != in->emptied)
        b = &in->blocks[in->emptied % BLOCKS];
    pthread_mutex_unlock(&in->lock);
    return b;
}

static void release_block(struct lpo_input *in)
{
    pthread_mutex_lock(&in->lock);
    in->emptied++;
    pthread_cond_broadcast(&in->changed);
    pthread_mutex_unlock(&in->lock);
    in->holding = false;
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
    if (in->holding)
        release_block(in);
    while (len < keep * 2) {
        const struct block *b = wait_block(in);

        if (!b)
            break;
        memcpy(in->spill + len, b->mem + FRONT, b->len);
        len += b->len;
        release_block(in);
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

    /* the kept bytes go through `held`: the block they lie in is given back first, or the thread
     * could wait for us while we wait for it */
    memcpy(held, kept, keep);
    if (in->holding)
        release_block(in);
    b = wait_block(in);
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
    in->holding = true;
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

int lpo_input_head(const char *path, unsigned char *head, size_t room, size_t *len,
                   struct lpo_err *err)
{
    LPO_AUTO(lpo_input) in = NULL;
    struct lpo_input_window w;
    int rc = lpo_input_open(path, &in, err);

    if (rc == 0)
        rc = lpo_input_next(in, 0, &w, err);
    if (rc < 0)
        return rc;
    *len = w.len < room ? w.len : room;
    memcpy(head, w.at, *len);
    return 0;
}
