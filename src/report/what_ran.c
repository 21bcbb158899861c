/* SPDX-License-Identifier: Apache-2.0 */
/* What ran and how it ended, in words: from the config and the manifest of a run, else from what
 * the traces say themselves. */

#include "report/what_ran.h"
#include "analysis/analysis.h"
#include "analysis/frameworks.h"
#include "report/doc/doc.h"
#include "run/secrets/secrets.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "util/path.h"

enum { MOST_BYTES = 400 }; /* of a command: a script given to sh -c may be long */

const char *lpo_report_run_model(const struct lpo_rundir *d)
{
    const char *name = lpo_settings_text(d->config, "model.name");

    return name && strcmp(name, "none") != 0 ? name : NULL; /* conf/model/none.yaml */
}

/* A list of traces has no config: the command of the first process that a trace names. */
static struct lpo_settings_words traced_words(const struct lpo_rundir *d)
{
    const char *command = lpo_report_traced_command(d);
    struct lpo_settings_words words = { 0 };

    if (!command)
        return words;
    words.at = lpo_arena_array(d->arena, MOST_BYTES, sizeof *words.at);
    for (const char *p = command; *p && words.len < MOST_BYTES;) {
        size_t len = strcspn(p, " ");

        if (len)
            words.at[words.len++] = lpo_arena_strndup(d->arena, p, len);
        p += len + (p[len] == ' ');
    }
    return words;
}

static struct lpo_settings_words words_of(const struct lpo_rundir *d)
{
    static const char *built_in[] = { "toy_server" };
    struct lpo_settings_words words;
    const char *kind;

    if (!d->dir)
        return traced_words(d);
    kind = lpo_settings_text(d->config, "workload.kind");
    words = lpo_settings_list(d->arena, d->config, "workload.argv");
    if (lpo_streq(kind, "server") && !words.len)
        return (struct lpo_settings_words){ built_in, 1 };
    if (!lpo_streq(kind, "command") && !lpo_streq(kind, "server"))
        return (struct lpo_settings_words){ 0 };
    return words;
}

const char *lpo_report_run_program(const struct lpo_rundir *d)
{
    struct lpo_settings_words argv = words_of(d);
    const char **words = argv.at, *name;
    size_t n = argv.len;

    if (n == 0)
        return NULL;
    name = lpo_path_base(words[0]);
    if (n > 2 && lpo_str_starts(name, "python") && strcmp(words[1], "-m") == 0)
        return words[2];
    return n > 1 && lpo_str_starts(name, "python") && words[1][0] != '-' ? lpo_path_base(words[1])
                                                                         : name;
}

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789.,")] == '\0';
}

/* Absolute paths by their last part alone: a report that is shared shows no folders of its machine.
 */
static const char *short_paths(struct lpo_arena *a, const char *text)
{
    LPO_STR out = { 0 };

    for (const char *p = text; *p;) {
        size_t len = strcspn(p, " \t\n'\":;,|&<>()`"), from = len;

        if (*p != '/' || p[1] == '/' || (p > text && !strchr(" \t\n=:'\":;,|&<>(`", p[-1]))) {
            len = strncmp(p, "//", 2) == 0 ? 2 : 1; /* of https:// */
            lpo_str_addn(&out, p, len);
            p += len;
            continue;
        }
        while (from > 1 && p[from - 1] == '/')
            from--;
        while (from > 1 && p[from - 1] != '/')
            from--;
        lpo_str_addn(&out, p + from, len - from);
        p += len;
    }
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

/* One word as it may be shown to others. `option`: the word before, where this is its value. */
static const char *shown(const struct lpo_rundir *d, const char *word, const char *option)
{
    const char *equals = strchr(word, '=');
    size_t key = equals ? (size_t)(equals - word) + 1 : 0;
    const char *name = equals ? lpo_arena_strndup(d->arena, word, key - 1) : option;
    const char *value = word + key;

    if (d->private_too)
        return word;
    if (name && lpo_secrets_name_is_secret(name) && !is_number(value))
        value = "…"; /* --max-new-tokens 8 is none */
    else
        value = short_paths(d->arena, value);
    return lpo_arena_printf(d->arena, "%.*s%s", (int)key, word, value);
}

const char *lpo_report_run_command(const struct lpo_rundir *d)
{
    struct lpo_settings_words argv = words_of(d);
    const char **words = argv.at;
    size_t n = argv.len;
    LPO_STR text = { 0 };

    for (size_t i = 0; i < n && text.len < MOST_BYTES; i++) {
        const char *before =
            i && words[i - 1][0] == '-' && words[i][0] != '-' ? words[i - 1] : NULL;
        const char *word = shown(d, words[i], before);

        if (i)
            lpo_str_addc(&text, ' ');
        if (strcmp(word, "…") == 0)
            lpo_str_add(&text, word);
        else
            lpo_str_add_shell(&text, word);
    }
    if (text.len > MOST_BYTES) {
        size_t cut = MOST_BYTES;

        while (cut && ((unsigned char)text.at[cut] & 0xc0) == 0x80)
            cut--; /* not inside a character */
        return lpo_arena_printf(d->arena, "%.*s…", (int)cut, text.at);
    }
    return n ? lpo_arena_strdup(d->arena, text.at) : NULL;
}

enum { MOST_LISTED = 8 }; /* ranks and files by name; of more, their number */

static const struct lpo_trace *main_trace(const struct lpo_rundir *d)
{
    const struct lpo_source *s = lpo_rundir_main(d);

    return s ? s->trace : NULL;
}

/* --- GPUs ----------------------------------------------------------------------------------- */

/* Devices with the name of device `i` that have operations; 0 where an earlier one has the name. */
static size_t count_named(const struct lpo_trace *t, const bool *used, size_t i)
{
    size_t n = 0;

    for (size_t k = 0; k < t->devices.len; k++) {
        if (!used[k] || strcmp(lpo_trace_text(t, t->devices.at[k].name),
                               lpo_trace_text(t, t->devices.at[i].name)) != 0)
            continue;
        if (k < i)
            return 0;
        n++;
    }
    return n;
}

const char *lpo_report_traced_gpus(const struct lpo_rundir *d)
{
    const struct lpo_trace *t = main_trace(d);
    LPO_STR text = { 0 };
    bool *used;

    if (!t || !t->devices.len)
        return NULL;
    used = lpo_arena_array(d->arena, t->devices.len, sizeof *used);
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (t->gpu_ops.at[i].device < t->devices.len)
            used[t->gpu_ops.at[i].device] = true;
    for (size_t i = 0; i < t->devices.len; i++) {
        size_t n = used[i] ? count_named(t, used, i) : 0;
        uint32_t name = t->devices.at[i].name;

        if (n && !*lpo_trace_text(t, name))
            lpo_str_addf(&text, "%s%zu GPU%s that the trace does not name", text.len ? ", " : "", n,
                         n == 1 ? "" : "s");
        else if (n)
            lpo_str_addf(&text, "%s%zu x %s", text.len ? ", " : "", n, lpo_trace_text(t, name));
    }
    return text.len ? lpo_arena_strdup(d->arena, text.at) : NULL;
}

/* --- ranks and files ------------------------------------------------------------------------ */

LPO_COMPARE(by_number, int32_t, LPO_UP_OF(*a, *b));

/* ", without 3, 13": of the numbers below `all`, which the others are. */
static void add_absent(struct lpo_str *text, const int32_t *ranks, size_t n, uint32_t all)
{
    size_t at = 0;

    for (uint32_t i = 0; i < all && all - n <= MOST_LISTED && n < all; i++) {
        while (at < n && ranks[at] < (int32_t)i)
            at++;
        if (at == n || ranks[at] != (int32_t)i)
            lpo_str_addf(text, "%s %u", strstr(text->at, "without") ? "," : ", without", i);
    }
}

const char *lpo_report_traced_ranks(const struct lpo_rundir *d)
{
    const struct lpo_trace *t = main_trace(d);
    int32_t *ranks;
    size_t n = 0, different = 0;
    LPO_STR text = { 0 };

    if (!t)
        return NULL;
    ranks = lpo_arena_array(d->arena, t->processes.len + 1, sizeof *ranks);
    for (size_t i = 0; i < t->processes.len; i++)
        if (t->processes.at[i].rank >= 0)
            ranks[n++] = t->processes.at[i].rank;
    if (!n)
        return NULL;
    qsort(ranks, n, sizeof *ranks, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || ranks[i] != ranks[i - 1])
            ranks[different++] = ranks[i];
    for (size_t i = 0; i < different && different <= MOST_LISTED; i++)
        lpo_str_addf(&text, "%s%d", i ? ", " : "", ranks[i]);
    if (different > MOST_LISTED)
        lpo_str_addf(&text, "%zu", different);
    if (t->ranks) {
        lpo_str_addf(&text, " of %u", t->ranks);
        add_absent(&text, ranks, different, t->ranks);
    }
    return lpo_arena_strdup(d->arena, text.at);
}

const char *lpo_report_traced_files(const struct lpo_rundir *d)
{
    LPO_STR text = { 0 };

    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_source *s = &d->sources.at[i];

        if (!s->trace)
            continue;
        lpo_str_add(&text, text.len ? "; " : "");
        for (size_t k = 0; k < s->nfiles && s->nfiles <= MOST_LISTED; k++)
            lpo_str_addf(&text, "%s%s", k ? ", " : "",
                         strcmp(s->files[k], "-") == 0 ? "standard input"
                                                       : lpo_path_base(s->files[k]));
        if (s->nfiles > MOST_LISTED)
            lpo_str_addf(&text, "%zu files", s->nfiles);
        lpo_str_addf(&text, " (%s)", s->what);
    }
    return text.len ? lpo_arena_strdup(d->arena, text.at) : NULL;
}

/* --- framework and command ------------------------------------------------------------------ */

const char *lpo_report_traced_framework(const struct lpo_rundir *d)
{
    bool ran[LPO_FRAMEWORKS] = { false };
    LPO_STR text = { 0 };

    for (size_t i = 0; i < d->sources.len; i++)
        for (int f = 0; d->sources.at[i].analysis && f < LPO_FRAMEWORKS; f++)
            ran[f] |= lpo_analysis_frameworks(d->sources.at[i].analysis)->ran[f];
    for (int f = 0; f < LPO_FRAMEWORKS; f++)
        if (ran[f])
            lpo_str_addf(&text, "%s%s", text.len ? ", " : "",
                         lpo_analysis_frameworks_name((enum lpo_framework)f));
    return text.len ? lpo_arena_strdup(d->arena, text.at) : NULL;
}

/* The process with most GPU operations among those that have a name. */
static uint32_t main_process_name(struct lpo_arena *a, const struct lpo_trace *t)
{
    size_t *ops = lpo_arena_array(a, t->processes.len + 1, sizeof *ops);
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (t->gpu_ops.at[i].process < t->processes.len)
            ops[t->gpu_ops.at[i].process]++;
    for (size_t i = 0; i < t->processes.len; i++)
        if (t->processes.at[i].name != LPO_NONE && *lpo_trace_text(t, t->processes.at[i].name) &&
            (best == SIZE_MAX || ops[i] > ops[best]))
            best = i;
    return best == SIZE_MAX ? LPO_NONE : t->processes.at[best].name;
}

const char *lpo_report_traced_command(const struct lpo_rundir *d)
{
    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_trace *t = d->sources.at[i].trace;
        uint32_t name = t ? main_process_name(d->arena, t) : LPO_NONE;

        if (name != LPO_NONE)
            return lpo_trace_text(t, name);
    }
    return NULL;
}

/* --- clocks --------------------------------------------------------------------------------- */

bool lpo_report_is_replay(const struct lpo_trace *t)
{
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (!(t->gpu_ops.at[i].flags & LPO_GPU_OP_UNTIMED))
            return false;
    return t->gpu_ops.len > 0;
}

const char *lpo_report_why_no_clock(const struct lpo_trace *t)
{
    if (lpo_report_is_replay(t))
        return "- Idle time is not known: Nsight Compute runs each kernel alone and repeats it. "
               "The "
               "times above are those of the kernels under replay.";
    if (t->summaries.len)
        return "- Idle time is not known: the file holds sums, and not when each kernel ran.";
    return "- When GPU operations ran was not recorded, so idle time is not known.";
}

static const char recorders[] = "native, nsys, torch_profiler or ncu";

/* The stage's part in run.json, or NULL. */
static const struct lpo_stage_record *run_stage(const struct lpo_rundir *d, const char *stage)
{
    for (size_t i = 0; d->has_manifest && i < d->manifest.nstages; i++)
        if (strcmp(d->manifest.stages[i].name, stage) == 0)
            return &d->manifest.stages[i];
    return NULL;
}

/* Messages name files by absolute paths. They are shown relative to the run folder: its place is
 * private, and wrong as soon as the folder is moved. */
const char *lpo_report_stage_message(const struct lpo_rundir *d, const struct lpo_stage_record *r)
{
    const char *at = r->message;
    const char *const marks[] = { lpo_arena_printf(d->arena, "/workload/%s/", r->name),
                                  lpo_arena_printf(d->arena, "/%s/", r->name) };
    LPO_STR text = { 0 };

    for (size_t i = 0; at && i < sizeof marks / sizeof *marks; i++) {
        const char *own = strstr(at, marks[i]), *start = own;

        while (start && start > at && !strchr(" '\"(", start[-1]))
            start--;
        if (!start || *start != '/')
            continue;
        lpo_str_addn(&text, at, (size_t)(start - at));
        lpo_str_add(&text, own + 1);
        return lpo_arena_strdup(d->arena, lpo_str_text(&text));
    }
    return at;
}

static const struct lpo_source *source_of(const struct lpo_rundir *d, const char *stage)
{
    return lpo_find(i, d->sources.at, d->sources.len, strcmp(d->sources.at[i].stage, stage) == 0);
}

const char *lpo_report_why_stage_left_no_trace(const struct lpo_rundir *d, const char *stage)
{
    const struct lpo_source *s = source_of(d, stage);
    const struct lpo_stage_record *r = run_stage(d, stage);

    if (!s || s->analysis)
        return NULL;
    if (s->problem)
        return s->problem;
    return r && r->started_ns ? lpo_report_stage_message(d, r) : NULL;
}

/* How stages may end, the worst first. %s: their names. */
static const struct ending {
    enum lpo_state state;
    const char *words;
} endings[] = {
    { LPO_INTERRUPTED, "The run was interrupted in %s" },
    { LPO_RUNNING, "The run was cut short in %s: lpo was killed, or is still running" },
    { LPO_FAILED, "The run failed in %s" },
    { LPO_MISSING, "Something is missing for %s" },
    { LPO_PENDING, "Not started: %s. lpo run --resume with this folder continues there" },
};

static bool any_in(const struct lpo_rundir *d, enum lpo_state state)
{
    for (size_t i = 0; d->has_manifest && i < d->manifest.nstages; i++)
        if (d->manifest.stages[i].state == state)
            return true;
    return false;
}

static void add_ending(struct lpo_doc *doc, const struct lpo_rundir *d, const struct ending *e)
{
    const char *said = NULL;
    LPO_STR names = { 0 };
    LPO_STR words = { 0 };

    for (size_t i = 0; i < d->manifest.nstages; i++) {
        const struct lpo_stage_record *r = &d->manifest.stages[i];

        if (r->state != e->state)
            continue;
        lpo_str_addf(&names, "%s%s", names.len ? ", " : "", r->name);
        if (!said && r->message && strcmp(r->message, lpo_run_state_name(r->state)) != 0)
            said = lpo_report_stage_message(d, r);
    }
    lpo_str_addn(&words, e->words, (size_t)(strstr(e->words, "%s") - e->words));
    lpo_str_add(&words, lpo_str_text(&names));
    lpo_str_add(&words, strstr(e->words, "%s") + 2);
    lpo_doc_note(doc, LPO_NOTE_WARNING, "%s%s%s", words.at, said ? ": " : ".", said ? said : "");
}

void lpo_report_add_stage_endings(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (any_in(d, endings[i].state))
            add_ending(doc, d, &endings[i]);
}

const char *lpo_report_why_no_trace(const struct lpo_rundir *d)
{
    LPO_STR text = { 0 };

    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_source *s = &d->sources.at[i];
        const struct lpo_stage_record *r = run_stage(d, s->stage);
        const char *why = lpo_report_why_stage_left_no_trace(d, s->stage);

        if (!why && r && r->started_ns)
            why = "its trace is not in the folder";
        if (!why)
            continue;
        lpo_str_add(&text, text.len ? "; " : "");
        if (!lpo_str_starts(why, s->stage)) /* a step has the stage's name, and files its folder */
            lpo_str_addf(&text, "%s: ", s->stage);
        lpo_str_add(&text, why);
    }
    if (text.len)
        return lpo_arena_printf(d->arena, "This run holds no trace that can be read. %s.", text.at);
    return lpo_arena_printf(d->arena,
                            d->has_manifest
                                ? "This run holds no trace: no stage that records one (%s) has run."
                                : "This folder holds no trace that lpo can read (from %s).",
                            recorders);
}

/* Did a stage do its work and find nothing to record? */
static bool found_nothing(const struct lpo_rundir *d)
{
    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_stage_record *r = run_stage(d, d->sources.at[i].stage);

        if (r && r->state == LPO_DONE && !d->sources.at[i].nfiles && r->message)
            return true;
    }
    return false;
}

const char *lpo_report_how_to_get_a_trace(const struct lpo_rundir *d)
{
    if (any_in(d, LPO_INTERRUPTED) || any_in(d, LPO_RUNNING))
        return "Complete the run first: lpo run --resume with this folder continues where it "
               "stopped.";
    if (any_in(d, LPO_FAILED))
        return "Make the run succeed first: the error is shown above.";
    if (found_nothing(d))
        return lpo_arena_printf(d->arena,
                                "What was recorded does not support any advice. %s Mark the parts "
                                "of the program with NVTX ranges to get some.",
                                lpo_report_why_no_trace(d));
    if (any_in(d, LPO_MISSING))
        return "Install what is missing (lpo doctor says how), or record without it: "
               "pipeline.native.enable=true.";
    for (size_t i = 0; i < d->sources.len; i++)
        if (lpo_report_why_stage_left_no_trace(d, d->sources.at[i].stage))
            return lpo_arena_printf(d->arena, "There is no advice. %s", lpo_report_why_no_trace(d));
    return "What was recorded does not support any advice: enable a stage that traces (native, "
           "nsys or torch_profiler).";
}
