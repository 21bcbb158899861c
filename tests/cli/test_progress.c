/* SPDX-License-Identifier: Apache-2.0 */
/* What `lpo run` prints while it runs, where its output is not a terminal. */
#include "../unit.h"
#include "cli/run/job.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage.h"
#include "run/manifest.h"

static const char *const two_notes[] = { "first", "second" };

static const struct progress_case {
    const char *name;
    bool quiet;
    enum lpo_state state;
    const char *message;
    size_t notes;
    const char *want;
} cases[] = {
    { "a stage that is done", false, LPO_DONE, NULL, 0,
      "nsys: system timeline\nnsys: done in 1.500 s\n" },
    { "its message", false, LPO_DONE, "3 files", 0,
      "nsys: system timeline\nnsys: done in 1.500 s: 3 files\n" },
    { "its notes, a line each", false, LPO_DONE, NULL, 2,
      "nsys: system timeline\nnsys: done in 1.500 s\n  note: first\n  note: second\n" },
    { "quiet prints nothing of it", true, LPO_DONE, "3 files", 2, "" },
    { "a failure is printed when quiet", true, LPO_FAILED, "exit 1", 0,
      "nsys: failed in 1.500 s: exit 1\n" },
};

static void check_progress(void **state)
{
    const struct progress_case *c = *state;
    struct lpo_stage stage = { .name = "nsys", .summary = "system timeline" };
    struct lpo_stage_record record = { .name = "nsys",
                                       .state = c->state,
                                       .message = c->message,
                                       .wall_ns = 1500000000,
                                       .notes = (const char **)two_notes,
                                       .nnotes = c->notes };
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    struct lpo_progress p;
    struct lpo_pipeline_events events;

    lpo_cli_progress_init(&p, f, c->quiet);
    events = lpo_cli_progress_events(&p);
    events.begin(events.ctx, &stage);
    events.tick(events.ctx, NULL, 0, "a line of the program"); /* only a terminal shows it */
    events.end(events.ctx, &record);
    fclose(f);
    assert_string_equal(text, c->want);
    free(text);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_progress);
    return unit_run(&u);
}
