/* SPDX-License-Identifier: Apache-2.0 */
/* The peak rates of the hardware that a run used.
 *
 * A folder without hardware.json (made by an older lpo, or put together from traces) still says on
 * what it ran: the entry that its config names, else the device of its trace, looked up by name or
 * computed from its attributes. Only sheets are used then: what was measured on the machine that
 * makes the report says nothing about that device. */
#include "rundir/rundir.h"

#include "gpu/sheets.h"
#include "run/install.h"
#include "run/provenance.h"
#include "settings/settings.h"
#include "trace/trace.h"

/* Words of the config that mean the machine of the run. */
static bool names_an_entry(const char *name)
{
    static const char *const machines[] = { "auto", "this", "cpu" };

    return !lpo_any(i, sizeof machines / sizeof *machines, strcmp(name, machines[i]) == 0);
}

static bool of_config(const struct lpo_rundir *d, const char *const *dirs, struct lpo_hardware *out)
{
    const struct lpo_rundir_kind *kind = lpo_rundir_kind_with(d, LPO_ROLE_MODEL);
    const char *name = kind && kind->hardware ? lpo_settings_text(d->config, kind->hardware) : NULL;
    struct lpo_err ignored = { 0 }; /* the entry may not be on this machine */

    return name && names_an_entry(name) &&
           lpo_gpu_hardware_read(d->arena, dirs, name, out, &ignored) == 0;
}

static bool of_device(struct lpo_arena *a, const struct lpo_trace *t, const struct lpo_device *g,
                      const char *const *dirs, struct lpo_hardware *out)
{
    struct lpo_gpu_attributes gpu = {
        .name = g->name == LPO_NONE ? NULL : lpo_arena_strdup(a, lpo_trace_text(t, g->name)),
        .sms = g->sms,
        .cc_major = g->cc_major,
        .cc_minor = g->cc_minor,
        .clock_hz = g->sm_clock_khz * 1e3,
        .memory_clock_hz = g->mem_clock_khz * 1e3,
        .bus_bits = g->bus_bits,
        .memory = (double)g->memory_bytes,
        .l2_bytes = (double)g->l2_bytes,
    };

    return gpu.name &&
           (lpo_gpu_hardware_match(a, dirs, gpu.name, out) || lpo_gpu_hardware_compute(&gpu, out));
}

static bool of_trace(const struct lpo_rundir *d, const struct lpo_trace *t, const char *const *dirs,
                     struct lpo_hardware *out)
{
    return lpo_any(i, t->devices.len, of_device(d->arena, t, &t->devices.at[i], dirs, out));
}

int lpo_rundir_hardware(const struct lpo_rundir *d, const struct lpo_source *s,
                        const struct lpo_hardware **out, struct lpo_err *err)
{
    const char *const *dirs = (const char *const *)lpo_run_install_config_dirs(d->arena);
    struct lpo_hardware *hw = NULL;

    *out = NULL;
    if (d->dir && lpo_run_hardware_load(d->arena, d->dir, &hw, err) < 0)
        return err->code;
    if (!hw) {
        hw = LPO_NEW(d->arena, struct lpo_hardware);
        if (!of_config(d, dirs, hw) && !of_trace(d, s->trace, dirs, hw))
            return 0;
        if (strcmp(hw->source, "measured") == 0) /* on this machine; the trace may be of another */
            hw = (struct lpo_hardware *)lpo_gpu_hardware_sheet(hw);
    }
    *out = hw;
    return 0;
}
