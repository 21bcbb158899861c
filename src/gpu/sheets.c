/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/sheets.h"

#include <ctype.h>
#include <dirent.h>

#include "gpu/driver.h"
#include "hydra/compose.h"
#include "util/file.h"
#include "util/path.h"

enum { MAX_FILE = 1 << 16 }; /* a sheet is a kilobyte; a wrong path must not fill the memory */
static const double gib = 1024.0 * 1024 * 1024;

static int read_yaml(struct lpo_arena *a, const char *path, struct lpo_node **out,
                     struct lpo_err *err)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    int rc = lpo_file_text_read_limit(path, MAX_FILE, &text, err);

    if (rc == 0)
        rc = lpo_yaml_parse(a, text->at, text->len, path, out, err);
    if (rc == 0 && (*out)->kind != LPO_NODE_MAP)
        rc = lpo_fail(err, LPO_E_FORMAT,
                      "'%s' is not a hardware sheet: it has no keys such as bandwidth_gbs", path);
    return rc;
}

/* True when the map `block` has a rate. */
static bool read_flops(const struct lpo_node *root, const char *block, struct lpo_hardware *hw)
{
    bool any = false;

    for (int t = 1; t < LPO_DTYPES; t++) {
        char key[48];
        double rate;

        snprintf(key, sizeof key, "%s.%s", block, lpo_dtype_name((enum lpo_dtype)t));
        rate = lpo_node_real_at(root, key);
        if (rate > 0) {
            hw->flops[t] = rate * 1e12;
            any = true;
        }
    }
    return any;
}

static void read_rates(const struct lpo_node *root, struct lpo_hardware *hw)
{
    read_flops(root, "tflops", hw);
    if (lpo_node_real_at(root, "bandwidth_gbs") > 0)
        hw->bandwidth = lpo_node_real_at(root, "bandwidth_gbs") * 1e9;
}

static void read_entry(struct lpo_arena *a, const struct lpo_node *root, struct lpo_hardware *hw)
{
    const char *cc = lpo_node_text_at(root, "compute_capability");
    const char *name = lpo_node_text_at(root, "name"), *label = lpo_node_text_at(root, "label");
    double tensor_mhz = lpo_node_real_at(root, "tensor_mhz");

    *hw = (struct lpo_hardware){
        .name = lpo_arena_strdup(a, name ? name : "unnamed"),
        .source = "sheet",
        .memory = lpo_node_real_at(root, "memory_gib") * gib,
        .l2_bytes = lpo_node_real_at(root, "l2_mib") * 1024 * 1024,
        .link = lpo_node_real_at(root, "nvlink_gbs") * 1e9,
        .watts = lpo_node_real_at(root, "watts"),
        .sms = (uint32_t)lpo_node_int_at(root, "sms"),
        .boost_hz = lpo_node_real_at(root, "boost_mhz") * 1e6,
    };
    hw->label = lpo_arena_strdup(a, label ? label : hw->name);
    hw->tensor_hz = tensor_mhz > 0 ? tensor_mhz * 1e6 : hw->boost_hz;
    if (!cc || sscanf(cc, "%u.%u", &hw->cc_major, &hw->cc_minor) != 2)
        hw->cc_major = hw->cc_minor = 0;
    read_rates(root, hw);
}

static const struct lpo_hardware *keep_sheet(struct lpo_arena *a, const struct lpo_hardware *hw)
{
    struct lpo_hardware *sheet = LPO_NEW(a, struct lpo_hardware);

    *sheet = *hw;
    return hw->sheet ? hw->sheet : sheet;
}

/* The rates that the best kernels reach become the ceilings; MFU is still of the sheet's. */
static void read_achievable(struct lpo_arena *a, const struct lpo_node *root,
                            struct lpo_hardware *hw)
{
    struct lpo_hardware best = *hw;

    if (!read_flops(root, "achievable", &best))
        return;
    best.sheet = keep_sheet(a, hw);
    best.source = "achievable";
    *hw = best;
}

/* Replaces the ceilings by those that `lpo doctor --calibrate` measured, where it did; the sheet
 * stays reachable. */
static int read_measured(struct lpo_arena *a, const char *const *dirs, struct lpo_hardware *hw,
                         struct lpo_err *err)
{
    for (; *dirs; dirs++) {
        const char *path = lpo_arena_printf(a, "%s/hardware/%s.measured.yaml", *dirs, hw->name);
        struct lpo_node *root = NULL;
        int rc;

        if (!lpo_path_exists(path))
            continue;
        rc = read_yaml(a, path, &root, err);
        if (rc < 0)
            return rc;
        hw->sheet = keep_sheet(a, hw);
        hw->source = "measured";
        read_rates(root, hw);
        break;
    }
    return 0;
}

static int load(struct lpo_arena *a, const char *const *dirs, const char *path,
                struct lpo_hardware *out, struct lpo_err *err)
{
    struct lpo_node *root = NULL;
    int rc = read_yaml(a, path, &root, err);

    if (rc < 0)
        return rc;
    read_entry(a, root, out);
    if (out->bandwidth <= 0)
        return lpo_fail(err, LPO_E_FORMAT, "'%s' has no bandwidth_gbs", path);
    read_achievable(a, root, out);
    return read_measured(a, dirs, out, err);
}

/* '_' belongs to a word, so that a mistyped entry ("h200_smx") is not taken for a GPU's name. */
static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *word(const char *p, size_t *len)
{
    while (*p && !in_word(*p))
        p++;
    *len = 0;
    while (in_word(p[*len]))
        (*len)++;
    return p;
}

static unsigned words_from(const char *name, const char *pattern)
{
    size_t n, m;
    unsigned letters = 0;

    for (;;) {
        name = word(name, &n);
        pattern = word(pattern, &m);
        if (m == 0)
            return letters;
        if (n != m || strncasecmp(name, pattern, n) != 0)
            return 0;
        letters += (unsigned)n;
        name += n;
        pattern += m;
    }
}

/* The words of `pattern` stand in `name` one after the other: "A100 SXM4 80GB" in
 * "NVIDIA A100-SXM4-80GB". Returns their letters, 0 when they do not. */
static unsigned hardware_name_score(const char *name, const char *pattern)
{
    size_t len;

    for (name = word(name, &len); len > 0; name = word(name + len, &len)) {
        unsigned letters = words_from(name, pattern);

        if (letters)
            return letters;
    }
    return 0;
}

static unsigned best_in_list(const struct lpo_node *list, const char *name)
{
    unsigned best = 0;

    if (!list || list->kind != LPO_NODE_LIST)
        return 0;
    for (size_t i = 0; i < list->count; i++) {
        unsigned score = list->items[i]->kind == LPO_NODE_STRING
                             ? hardware_name_score(name, list->items[i]->text)
                             : 0;

        best = score > best ? score : best;
    }
    return best;
}

static int is_entry(const struct dirent *e)
{
    return lpo_str_ends(e->d_name, ".yaml") && !lpo_str_ends(e->d_name, ".measured.yaml");
}

/* Calls `visit` for every entry of every folder; an entry of an earlier folder hides later ones by
 * being visited first. */
static void each_entry(struct lpo_arena *a, const char *const *dirs,
                       void (*visit)(const char *path, const char *file, void *arg), void *arg)
{
    for (; *dirs; dirs++) {
        const char *dir = lpo_path_join(a, *dirs, "hardware");
        LPO_FREED struct dirent **list = NULL;
        int n = scandir(dir, &list, is_entry, alphasort);

        for (int i = 0; i < n; i++) {
            visit(lpo_path_join(a, dir, list[i]->d_name), list[i]->d_name, arg);
            free(list[i]);
        }
    }
}

struct search {
    struct lpo_arena *arena;
    const char *gpu;
    const char *path;
    unsigned score;
};

static void consider(const char *path, const char *file, void *arg)
{
    struct search *s = arg;
    struct lpo_node *root = NULL;
    struct lpo_err ignored = { 0 };
    unsigned score;

    (void)file;
    if (read_yaml(s->arena, path, &root, &ignored) < 0)
        return; /* whoever asks for this entry by name gets the error; other GPUs must not suffer */
    score = best_in_list(lpo_node_at(root, "match"), s->gpu);
    if (score > s->score && !best_in_list(lpo_node_at(root, "unlike"), s->gpu)) {
        s->score = score;
        s->path = path;
    }
}

bool lpo_gpu_hardware_match(struct lpo_arena *a, const char *const *dirs, const char *gpu_name,
                            struct lpo_hardware *out)
{
    struct search s = { .arena = a, .gpu = gpu_name };
    struct lpo_err ignored = { 0 };

    each_entry(a, dirs, consider, &s);
    return s.path && load(a, dirs, s.path, out, &ignored) == 0;
}

typedef LPO_VEC(const char *) name_vec;

struct listing {
    struct lpo_arena *arena;
    name_vec names;
};

static void note_name(const char *path, const char *file, void *arg)
{
    struct listing *l = arg;
    const char *name = lpo_arena_strndup(l->arena, file, strlen(file) - strlen(".yaml"));

    (void)path;
    for (size_t i = 0; i < l->names.len; i++)
        if (strcmp(l->names.at[i], name) == 0)
            return;
    lpo_vec_push(&l->names, name);
}

const char **lpo_gpu_hardware_list(struct lpo_arena *a, const char *const *dirs)
{
    struct listing l = { .arena = a };
    const char **out;

    each_entry(a, dirs, note_name, &l);
    out = lpo_arena_array(a, l.names.len + 1, sizeof *out);
    if (l.names.len)
        memcpy(out, l.names.at, l.names.len * sizeof *out);
    lpo_vec_free(&l.names);
    return out;
}

static int unknown(struct lpo_arena *a, const char *const *dirs, const char *name,
                   struct lpo_err *err)
{
    const char **names = lpo_gpu_hardware_list(a, dirs);
    const char *near;
    size_t n = 0;
    LPO_STR all = { 0 };

    for (; names[n]; n++)
        lpo_str_addf(&all, "%s%s", n ? ", " : "", names[n]);
    near = lpo_str_nearest(name, names, n);
    if (n == 0)
        return lpo_fail(err, LPO_E_NOTFOUND,
                        "there are no hardware sheets: the folder conf/hardware is missing");
    return lpo_fail(err, LPO_E_CONFIG, "no hardware entry '%s'%s%s%s There are: %s, this, cpu",
                    name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : ".",
                    lpo_str_text(&all));
}

int lpo_gpu_hardware_read(struct lpo_arena *a, const char *const *dirs, const char *name,
                          struct lpo_hardware *out, struct lpo_err *err)
{
    if (strchr(name, '/') || lpo_str_ends(name, ".yaml"))
        return load(a, dirs, name, out, err);
    for (const char *const *dir = dirs; *dir; dir++) {
        const char *path = lpo_arena_printf(a, "%s/hardware/%s.yaml", *dir, name);

        if (lpo_path_exists(path))
            return load(a, dirs, path, out, err);
    }
    if (lpo_gpu_hardware_match(a, dirs, name, out))
        return 0;
    return unknown(a, dirs, name, err);
}

static double positive(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    double v = text ? strtod(text, &end) : 0;

    return text && *text && !*end && v > 0 && v < 1e9 ? v : 0;
}

/* Ceilings from the environment: MFU_PEAK_TFLOPS (16-bit products) and MFU_PEAK_GBS. */
static void hardware_from_env(struct lpo_hardware *hw)
{
    double rate = positive("MFU_PEAK_TFLOPS"), bandwidth = positive("MFU_PEAK_GBS");

    if (rate > 0)
        hw->flops[LPO_BF16] = hw->flops[LPO_FP16] = rate * 1e12;
    if (bandwidth > 0)
        hw->bandwidth = bandwidth * 1e9;
    if (rate > 0 || bandwidth > 0)
        hw->source = "given in MFU_PEAK_*";
}

/* Long enough for a clock to rise, short enough that nobody waits for it. LPO_CPU_SECONDS is for
 * tests, which start lpo more than a thousand times. */
static double cpu_seconds(void)
{
    const char *text = getenv("LPO_CPU_SECONDS");
    double seconds = text ? strtod(text, NULL) : 0;

    return seconds > 0 && seconds < 1 ? seconds : 0.05;
}

static double attribute(const struct lpo_gpu_driver *d, int device, enum lpo_gpu_attribute which)
{
    int value = 0;

    return d->attribute(&value, (int)which, device) == 0 && value > 0 ? value : 0;
}

static bool ask(const struct lpo_gpu_driver *d, struct lpo_arena *a, int number,
                struct lpo_gpu_attributes *out)
{
    char name[256] = "";
    size_t memory = 0;
    int device;

    if (d->device(&device, number) != 0 || d->name(name, sizeof name, device) != 0)
        return false;
    d->memory(&memory, device);
    *out = (struct lpo_gpu_attributes){
        .name = lpo_arena_strdup(a, name),
        .sms = (uint32_t)attribute(d, device, LPO_GPU_MULTIPROCESSORS),
        .cc_major = (uint32_t)attribute(d, device, LPO_GPU_CAPABILITY_MAJOR),
        .cc_minor = (uint32_t)attribute(d, device, LPO_GPU_CAPABILITY_MINOR),
        .clock_hz = attribute(d, device, LPO_GPU_CLOCK_KHZ) * 1e3,
        .memory_clock_hz = attribute(d, device, LPO_GPU_MEMORY_CLOCK_KHZ) * 1e3,
        .bus_bits = attribute(d, device, LPO_GPU_MEMORY_BUS_BITS),
        .memory = (double)memory,
        .l2_bytes = attribute(d, device, LPO_GPU_L2_BYTES),
    };
    return true;
}

bool lpo_gpu_ask(struct lpo_arena *a, int device, struct lpo_gpu_attributes *out)
{
    struct lpo_gpu_driver d;
    bool known;

    if (!lpo_gpu_driver_open(&d))
        return false;
    known = ask(&d, a, device, out);
    lpo_gpu_driver_close(&d);
    return known;
}

bool lpo_gpu_hardware_this_gpu(struct lpo_arena *a, const char *const *dirs, int device,
                               struct lpo_hardware *out)
{
    struct lpo_gpu_attributes gpu;

    if (!lpo_gpu_ask(a, device, &gpu))
        return false;
    if (!lpo_gpu_hardware_match(a, dirs, gpu.name, out) && !lpo_gpu_hardware_compute(&gpu, out))
        return false;
    /* a sheet is of the model; this GPU may be a slice (MIG) or sold with less memory */
    if (gpu.memory > 0)
        out->memory = gpu.memory;
    if (gpu.l2_bytes > 0)
        out->l2_bytes = gpu.l2_bytes;
    return true;
}

int lpo_gpu_hardware_find(struct lpo_arena *a, const char *const *dirs, const char *name,
                          struct lpo_hardware *out, struct lpo_err *err)
{
    int rc = 0;

    if (strcmp(name, "cpu") == 0)
        lpo_gpu_hardware_measure_cpu(a, cpu_seconds(), out);
    else if (strcmp(name, "this") != 0)
        rc = lpo_gpu_hardware_read(a, dirs, name, out, err);
    else if (!lpo_gpu_hardware_this_gpu(a, dirs, 0, out))
        lpo_gpu_hardware_measure_cpu(a, cpu_seconds(), out);
    if (rc == 0)
        hardware_from_env(out);
    return rc;
}
