/* SPDX-License-Identifier: Apache-2.0 */
#include "util/unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file.h"
#include "util/input.h"

static int temp_file(struct lpo_unpack_file *u, struct lpo_err *err)
{
    u->fd = lpo_file_scratch("inflate", &u->temp, err);
    if (u->fd < 0)
        return err ? err->code : LPO_E_IO;
    u->path = u->temp;
    return 0;
}

/* A broken or short stream keeps what came before it. */
static int inflate_to_temp(struct lpo_unpack_file *u, const char *path, struct lpo_err *err)
{
    LPO_AUTO(lpo_input) in = NULL;
    struct lpo_input_window w;
    uint64_t written = 0;
    int rc = lpo_input_open(path, &in, err);

    if (rc == 0)
        rc = temp_file(u, err);
    if (rc < 0)
        return rc;
    while ((rc = lpo_input_next(in, 0, &w, err)) > 0) {
        written += w.len;
        rc = lpo_file_scratch_write(u->fd, w.at, w.len, err);
        if (rc < 0)
            return rc;
    }
    if (rc < 0)
        return rc;
    u->cut = lpo_input_damage(in) != NULL;
    if (u->cut && lpo_input_over_budget(in))
        return lpo_fail(err, LPO_E_LIMIT, "%s", lpo_input_damage(in));
    if (u->cut && written == 0)
        return lpo_fail(err, LPO_E_FORMAT, "%s", lpo_input_damage(in));
    if (lseek(u->fd, 0, SEEK_SET) < 0)
        return lpo_fail_errno(err, "cannot rewind the temporary file");
    return 0;
}

int lpo_unpack(const char *path, struct lpo_unpack_file **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_unpack_file) u = lpo_xcalloc(1, sizeof *u);
    unsigned char head[8];
    ssize_t n;
    int in;

    u->fd = -1;
    in = lpo_input_open_file(path, err);
    if (in < 0)
        return err ? err->code : LPO_E_IO;
    n = pread(in, head, sizeof head, 0);
    if (lpo_input_codec_find(head, n > 0 ? (size_t)n : 0)->magic_len > 0) {
        close(in);
        if (inflate_to_temp(u, path, err) < 0)
            return lpo_ctx(err, "cannot inflate '%s'", path);
    } else {
        u->fd = in;
        u->path = path;
    }
    *out = u;
    u = NULL;
    return 0;
}

/* Without a name nothing is left behind, even when the process is killed. */
void lpo_unpack_file_unname(struct lpo_unpack_file *u)
{
    if (!u->temp)
        return;
    unlink(u->temp);
    free(u->temp);
    u->temp = NULL;
    u->path = NULL;
}

void lpo_unpack_file_destroy(struct lpo_unpack_file *u)
{
    if (!u)
        return;
    lpo_unpack_file_unname(u);
    if (u->fd >= 0)
        close(u->fd);
    free(u);
}
