/* SPDX-License-Identifier: Apache-2.0 */
/* Who asked for memory: the frames of an allocation, the innermost first.
 *
 * Torch may record frames of C++ and of Python in one list. The place is the innermost frame of
 * Python that is the program's own; where all are of installed packages, the innermost one that is
 * neither of torch nor of Python itself; where those are all, the innermost one. The operator is
 * the outermost one below the innermost frame of Python. */

#include "trace/snapshot/private.h"
#include "trace/trace.h"

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

/* Whose code a frame of Python is; a larger one is asked later. */
enum whose { OWN, PACKAGE, FRAMEWORK, WHOSE };

static bool begins(const struct lpo_pickle_value *text, const char *part)
{
    return text && text->len >= strlen(part) && memcmp(text->text, part, strlen(part)) == 0;
}

static enum whose whose_code(const struct lpo_pickle_value *file)
{
    static const char *const framework[] = { "/torch/", "<frozen", "<eval_with_key>", "<string>",
                                             "/torchinductor_" };

    for (size_t i = 0; i < sizeof framework / sizeof *framework; i++)
        if (holds(file, framework[i]))
            return FRAMEWORK;
    if (begins(file, "torch/"))
        return FRAMEWORK;
    if (holds(file, "-packages/")) /* site-packages, dist-packages */
        return PACKAGE;
    return holds(file, "/lib/python") ? FRAMEWORK : OWN;
}

/* --- what the program was doing ------------------------------------------------------------- */

/* The innermost frame that says it decides. */
static const struct phase_row {
    const char *file, *function; /* a part of the path; the whole name. NULL: any */
    enum lpo_memory_phase phase;
} phase_rows[] = {
    { "torch/optim/", NULL, LPO_MEMORY_OPTIMIZER },
    { "optim", "step", LPO_MEMORY_OPTIMIZER },
    { NULL, "_engine_run_backward", LPO_MEMORY_BACKWARD },
    { NULL, "backward", LPO_MEMORY_BACKWARD },
    { NULL, "forward", LPO_MEMORY_FORWARD },
    { "torch/nn/modules/module.py", "_call_impl", LPO_MEMORY_FORWARD },
    { "torch/nn/modules/module.py", "_apply", LPO_MEMORY_SETUP },
    { NULL, "__init__", LPO_MEMORY_SETUP },
    { NULL, "reset_parameters", LPO_MEMORY_SETUP },
    { NULL, "load_state_dict", LPO_MEMORY_SETUP },
    { NULL, "from_pretrained", LPO_MEMORY_SETUP },
    { NULL, "load_weights", LPO_MEMORY_SETUP },
    { NULL, "load_file", LPO_MEMORY_SETUP },
};

static enum lpo_memory_phase phase_of(const struct lpo_pickle_value *file,
                                      const struct lpo_pickle_value *function)
{
    if (!is_python(file))
        return holds(function, "autograd::Engine::") || holds(function, "Backward0::") ||
                       holds(function, "autograd::AccumulateGrad::")
                   ? LPO_MEMORY_BACKWARD
                   : LPO_MEMORY_ELSEWHERE;
    for (size_t i = 0; i < sizeof phase_rows / sizeof *phase_rows; i++)
        if ((!phase_rows[i].file || holds(file, phase_rows[i].file)) &&
            (!phase_rows[i].function || lpo_snapshot_pickle_is(function, phase_rows[i].function)))
            return phase_rows[i].phase;
    return LPO_MEMORY_ELSEWHERE;
}

/* --- names ---------------------------------------------------------------------------------- */

/* As the profiler of torch writes a function: the last folder, the file, the line; without the
 * line, which function it is. */
static uint32_t place_name(struct lpo_trace *t, const struct lpo_pickle_value *frame, bool line)
{
    const struct lpo_pickle_value *function = lpo_snapshot_pickle_text(frame, "name"),
                                  *file = lpo_snapshot_pickle_text(frame, "filename");
    const char *from = file->text + file->len;
    LPO_STR text = { 0 };

    for (int slashes = 0; from > file->text && (from[-1] != '/' || ++slashes < 2);)
        from--;
    lpo_str_addn(&text, from, (size_t)(file->text + file->len - from));
    if (line)
        lpo_str_addf(&text, "(%lld)", (long long)lpo_snapshot_pickle_int(frame, "line", 0));
    lpo_str_add(&text, ": ");
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
    struct lpo_memory_owner owner = { LPO_NONE, LPO_NONE, LPO_NONE, LPO_NONE,
                                      LPO_MEMORY_ELSEWHERE };
    const struct lpo_pickle_value *frame, *innermost[WHOSE] = { NULL };
    struct lpo_pickle_walk w = { 0 };
    enum whose whose = OWN;
    bool python = false;

    for (int i = 0;
         i < MOST_FRAMES && lpo_snapshot_step(s) && (frame = lpo_snapshot_pickle_next(frames, &w));
         i++) {
        const struct lpo_pickle_value *file = lpo_snapshot_pickle_text(frame, "filename"),
                                      *function = lpo_snapshot_pickle_text(frame, "name");

        if (owner.phase == LPO_MEMORY_ELSEWHERE)
            owner.phase = (uint8_t)phase_of(file, function);
        if (is_python(file)) {
            python = true;
            whose = whose_code(file);
            innermost[whose] = innermost[whose] ? innermost[whose] : frame;
            if (whose == PACKAGE && !innermost[OWN] && owner.library == LPO_NONE)
                owner.library = place_name(s->t, frame, true);
        } else if (!python) {
            uint32_t op = op_name(s->t, function);

            owner.op = op == LPO_NONE ? owner.op : op;
        }
    }
    for (whose = OWN; python && whose < FRAMEWORK && !innermost[whose];)
        whose++;
    if (python) {
        owner.place = place_name(s->t, innermost[whose], true);
        owner.function = place_name(s->t, innermost[whose], false);
        owner.library = whose == OWN ? owner.library : LPO_NONE;
    }
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
