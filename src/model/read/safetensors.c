/* SPDX-License-Identifier: Apache-2.0 */
#include "model/read/read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/count.h"
#include "util/input.h"
#include "util/json.h"

static int read_shape(const struct lpo_json *shape, struct lpo_stored *t, struct lpo_err *err)
{
    if (!shape || shape->kind != LPO_JSON_ARRAY)
        return lpo_fail(err, LPO_E_FORMAT, "tensor '%s' has no shape", t->name);
    if (shape->count > LPO_STORED_DIMS)
        return lpo_fail(err, LPO_E_LIMIT, "tensor '%s' has %zu dimensions; at most %d are read",
                        t->name, shape->count, LPO_STORED_DIMS);
    t->count = 1;
    LPO_JSON_EACH(dim, shape)
    {
        if (dim->kind != LPO_JSON_INT || dim->integer < 0)
            return lpo_fail(err, LPO_E_FORMAT, "tensor '%s' has a bad shape", t->name);
        t->shape[t->dims++] = (uint64_t)dim->integer;
        t->count = lpo_model_mul(t->count, (uint64_t)dim->integer);
    }
    if (t->count == LPO_COUNT_MAX)
        return lpo_fail(err, LPO_E_RANGE, "tensor '%s' has too many elements to count", t->name);
    return 0;
}

static int read_offsets(const struct lpo_json *offsets, uint64_t data_bytes, struct lpo_stored *t,
                        struct lpo_err *err)
{
    const struct lpo_json *first =
        offsets && offsets->kind == LPO_JSON_ARRAY ? offsets->first : NULL;
    int64_t begin = lpo_json_int(first, -1), end = lpo_json_int(first ? first->next : NULL, -1);

    if (!first || offsets->count != 2 || begin < 0 || end < begin)
        return lpo_fail(err, LPO_E_FORMAT, "tensor '%s' has bad data_offsets", t->name);
    if ((uint64_t)end > data_bytes)
        return lpo_fail(err, LPO_E_FORMAT,
                        "tensor '%s' ends at byte %" PRId64 ", but the file holds %" PRIu64
                        " bytes of data: is it cut short?",
                        t->name, end, data_bytes);
    t->bytes = (uint64_t)(end - begin);
    return 0;
}

static int check_bytes(const struct lpo_stored *t, struct lpo_err *err)
{
    unsigned bits = lpo_dtype_bits(lpo_dtype_parse(t->type));
    uint64_t want = lpo_model_mul(t->count, bits);

    if (bits == 0) /* a format newer than this program: its size is taken from the file */
        return 0;
    want = want == LPO_COUNT_MAX ? want : want / 8 + (want % 8 != 0);
    if (want == t->bytes)
        return 0;
    return lpo_fail(err, LPO_E_FORMAT,
                    "tensor '%s' of %" PRIu64 " %s elements takes %" PRIu64 " bytes, not %" PRIu64,
                    t->name, t->count, t->type, want, t->bytes);
}

static int read_tensor(struct lpo_arena *a, const struct lpo_json *item, uint64_t data_bytes,
                       lpo_stored_vec *out, struct lpo_err *err)
{
    struct lpo_stored t = { .name = lpo_arena_strndup(a, item->key, item->key_len) };
    const char *type = lpo_json_text(lpo_json_get(item, "dtype"), NULL);
    int rc;

    if (item->kind != LPO_JSON_OBJECT || !type)
        return lpo_fail(err, LPO_E_FORMAT, "tensor '%s' has no dtype", t.name);
    t.type = lpo_arena_strdup(a, type);
    rc = read_shape(lpo_json_get(item, "shape"), &t, err);
    if (rc == 0)
        rc = read_offsets(lpo_json_get(item, "data_offsets"), data_bytes, &t, err);
    if (rc == 0)
        rc = check_bytes(&t, err);
    if (rc < 0)
        return rc;
    lpo_vec_push(out, t);
    return 0;
}

int lpo_model_safetensors_parse(struct lpo_arena *a, const char *header, size_t len,
                                uint64_t data_bytes, lpo_stored_vec *out, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) scratch = lpo_arena_create();
    const struct lpo_json *root = NULL;
    int rc = lpo_json_parse(scratch, header, len, &root, err);

    if (rc < 0)
        return lpo_ctx(err, "the header is not JSON");
    if (root->kind != LPO_JSON_OBJECT)
        return lpo_fail(err, LPO_E_FORMAT, "the header is not a table of tensors");
    if (root->count > LPO_SAFETENSORS_TENSORS_MAX)
        return lpo_fail(err, LPO_E_LIMIT, "the header lists %zu tensors; at most %u are read",
                        root->count, LPO_SAFETENSORS_TENSORS_MAX);
    LPO_JSON_EACH(item, root)
    {
        if (strcmp(item->key, "__metadata__") == 0) /* free text of whoever wrote the file */
            continue;
        rc = read_tensor(a, item, data_bytes, out, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_exactly(int fd, void *to, size_t len, off_t at, struct lpo_err *err)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (char *)to + done, len - done, at + (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lpo_fail_errno(err, "cannot read");
        if (n == 0)
            return lpo_fail(err, LPO_E_FORMAT, "the file ends inside its header");
        done += (size_t)n;
    }
    return 0;
}

static int read_header(struct lpo_arena *a, int fd, lpo_stored_vec *out, struct lpo_err *err)
{
    unsigned char head[8];
    uint64_t len = 0;
    struct stat st;
    LPO_FREED char *text = NULL;
    int rc;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return lpo_fail(err, LPO_E_IO, "not a regular file");
    rc = read_exactly(fd, head, sizeof head, 0, err);
    if (rc < 0)
        return rc;
    for (int i = 7; i >= 0; i--) /* little-endian */
        len = len << 8 | head[i];
    if (len > LPO_SAFETENSORS_HEADER_MAX || len > (uint64_t)st.st_size - sizeof head)
        return lpo_fail(
            err, LPO_E_FORMAT,
            "a header of %" PRIu64 " bytes does not fit: this is not a safetensors file", len);
    text = lpo_xmalloc(len);
    rc = read_exactly(fd, text, len, sizeof head, err);
    if (rc == 0)
        rc = lpo_model_safetensors_parse(a, text, len, (uint64_t)st.st_size - sizeof head - len,
                                         out, err);
    return rc;
}

int lpo_model_safetensors_read(struct lpo_arena *a, const char *path, lpo_stored_vec *out,
                               struct lpo_err *err)
{
    int fd = lpo_input_open_file(path, err), rc;

    if (fd < 0)
        return fd;
    rc = read_header(a, fd, out, err);
    close(fd);
    return rc < 0 ? lpo_ctx(err, "'%s'", path) : 0;
}
