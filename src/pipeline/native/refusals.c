/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/native/refusals.h"

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lpo/refusal.h"
#include "pipeline/stage.h"
#include "run/manifest.h"
#include "util/arena.h"

enum {
    NAMED = 8,   /* more would fill the report */
    MOST = 4096, /* anybody may send; reading ends */
};

struct lpo_refusals {
    int fd;
};

struct lpo_refusals *lpo_pipeline_native_refusals_listen(struct lpo_arena *a, const char *dir)
{
    struct lpo_refusals *r = LPO_NEW(a, struct lpo_refusals);
    struct sockaddr_un address = { 0 };
    socklen_t len = lpo_refusal_address(&address, dir);
    int on = 1;

    r->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (r->fd < 0)
        return NULL;
    if (bind(r->fd, (struct sockaddr *)&address, len) < 0 ||
        setsockopt(r->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0) {
        close(r->fd);
        return NULL;
    }
    return r;
}

/* The next one, and who sent it: the kernel's word, not the sender's. */
static bool next_refusal(int fd, struct lpo_refusal *out, struct ucred *who)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec io = { out, sizeof *out };
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    ssize_t n = recvmsg(fd, &m, 0);
    struct cmsghdr *c;

    if (n < 0)
        return false;
    memset(who, 0, sizeof *who);
    c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
        memcpy(who, CMSG_DATA(c), sizeof *who);
    if (n != (ssize_t)sizeof *out || out->magic != LPO_REFUSAL_MAGIC)
        out->magic = 0;
    return true;
}

unsigned lpo_pipeline_native_refusals_note(struct lpo_refusals *r, struct lpo_stage_ctx *ctx)
{
    struct lpo_refusal refusal = { 0 };
    struct ucred who;
    unsigned count = 0;

    if (!r || r->fd < 0)
        return 0;
    for (int i = 0; i < MOST && next_refusal(r->fd, &refusal, &who); i++) {
        if (refusal.magic == 0)
            continue;
        if (count++ < NAMED)
            lpo_run_manifest_note(ctx->manifest, ctx->record,
                                  "process %d of user %u is not recorded: it could not make its "
                                  "trace in this run folder: %s. Run lpo as that user, or give it "
                                  "a folder to which it may write",
                                  (int)who.pid, (unsigned)who.uid, strerror(refusal.why));
    }
    if (count > NAMED)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%u more processes are not recorded",
                              count - NAMED);
    close(r->fd);
    r->fd = -1;
    return count;
}
