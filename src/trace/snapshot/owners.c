/* SPDX-License-Identifier: Apache-2.0 */
/* Who asked for memory: the frames of an allocation, the innermost first.
 *
 * Torch may record frames of C++ and of Python in one list. The place is the innermost frame of
 * Python that is neither of torch nor of Python itself, or, where all are, the innermost one. The
 * operator is the outermost one below that frame. */
#include <string.h>

#include "trace/snapshot/private.h"
#include "trace/trace.h"
#include "util/map.h"
#include "util/str.h"

/* Frames of one stack that are looked at; Python allows a thousand. */
enum { MOST_FRAMES = 4096 };

static bool holds(const struct lpo_pickle_value *text, const char *part)
{
    return text && memmem(text->text, text->len, part, strlen(part)) != NULL;
}

static bool is_python(const struct lpo_pickle_value *file)
{
    return file && ((file->len > 3 && memcmp(file->text + file->len - 3, ".py", 3) == 0) ||
                    (file->len > 2 && file->text[0] == '<')); /* <stdin>, <ipython-input-3> */
}

static bool is_of_a_library(const struct lpo_pickle_value *file)
{
    return holds(file, "/torch/") || holds(file, "<frozen") || holds(file, "<eval_with_key>") ||
           (holds(file, "/lib/python") && !holds(file, "-packages/"));
}

/* As the profiler of torch writes a function: the last folder, the file, the line. */
static uint32_t place_name(struct lpo_trace *t, const struct lpo_pickle_value *frame,
                           const struct lpo_pickle_value *file)
{
    const struct lpo_pickle_value *function = lpo_snapshot_pickle_text(frame, "name");
    const char *from = file->text + file->len;
    LPO_STR text = { 0 };

    for (int slashes = 0; from > file->text && (from[-1] != '/' || ++slashes < 2);)
        from--;
    lpo_str_addn(&text, from, (size_t)(file->text + file->len - from));
    lpo_str_addf(&text, "(%lld): ", (long long)lpo_snapshot_pickle_int(frame, "line", 0));
    if (function)
        lpo_str_addn(&text, function->text, function->len);
    return lpo_trace_namen(t, lpo_str_text(&text), text.len);
}

/* "at::_ops::mm::call(at::Tensor const&, …)" is aten::mm; "torch::autograd::generated::
 * MmBackward0::apply(…)" is MmBackward0. */
static const struct spelling {
    const char *before, *prefix;
} spellings[] = {
    { "at::_ops::", "aten::" },
    { "torch::autograd::generated::", "" },
};

static uint32_t op_name(struct lpo_trace *t, const struct lpo_pickle_value *function)
{
    for (size_t i = 0; function && i < sizeof spellings / sizeof *spellings; i++) {
        size_t skip = strlen(spellings[i].before);
        LPO_STR text = { 0 };
        const char *end;

        if (function->len <= skip || memcmp(function->text, spellings[i].before, skip) != 0)
            continue;
        end = memmem(function->text + skip, function->len - skip, "::", 2);
        if (!end)
            continue;
        lpo_str_add(&text, spellings[i].prefix);
        lpo_str_addn(&text, function->text + skip, (size_t)(end - function->text) - skip);
        return lpo_trace_namen(t, lpo_str_text(&text), text.len);
    }
    return LPO_NONE;
}

static struct lpo_memory_owner read_frames(struct snapshot *s,
                                           const struct lpo_pickle_value *frames)
{
    struct lpo_memory_owner owner = { LPO_NONE, LPO_NONE };
    const struct lpo_pickle_value *frame, *innermost = NULL, *innermost_file = NULL;
    struct lpo_pickle_walk w = { 0 };

    for (int i = 0;
         i < MOST_FRAMES && lpo_snapshot_step(s) && (frame = lpo_snapshot_pickle_next(frames, &w));
         i++) {
        const struct lpo_pickle_value *file = lpo_snapshot_pickle_text(frame, "filename");
        uint32_t op;

        if (is_python(file)) {
            if (!is_of_a_library(file)) {
                owner.place = place_name(s->t, frame, file);
                return owner;
            }
            innermost_file = innermost ? innermost_file : file;
            innermost = innermost ? innermost : frame;
        } else {
            op = innermost ? LPO_NONE : op_name(s->t, lpo_snapshot_pickle_text(frame, "name"));
            owner.op = op == LPO_NONE ? owner.op : op;
        }
    }
    if (innermost)
        owner.place = place_name(s->t, innermost, innermost_file);
    return owner;
}

uint32_t lpo_snapshot_owner(struct snapshot *s, const struct lpo_pickle_value *frames)
{
    struct lpo_memory_owner owner;
    uint32_t *row;
    bool fresh;

    if (!frames || frames->kind != LPO_PICKLE_LIST || !frames->box->count)
        return LPO_NONE;
    row = lpo_map_u64_put(s->owners, (uint64_t)(uintptr_t)frames->box, &fresh);
    if (!fresh)
        return *row;
    owner = read_frames(s, frames);
    *row = (uint32_t)s->t->memory_owners.len;
    lpo_vec_push(&s->t->memory_owners, owner);
    return *row;
}
