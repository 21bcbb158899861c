/* A vision part's numbers from its config. */
#include <string.h>

#include "model/fields.h"
#include "model/model.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"

enum { MAX_LAYERS = 1024, MAX_HEADS = 1024, MAX_SIZE = 1 << 26, MAX_IMAGE = 1 << 20 };

static int read_inter(struct lpo_model_vision *v, struct lpo_err *err)
{
    const struct lpo_fields *f = v->fields;
    double wide = (double)v->hidden * lpo_model_field_real(f, "mlp_ratio", 4);
    int rc;

    if (!(wide >= 1 && wide < MAX_SIZE))
        return lpo_fail(err, LPO_E_RANGE, "'mlp_ratio' gives a width of %g", wide);
    rc = lpo_model_size(f, "intermediate_size|mlp_dim", (int64_t)wide, 1, MAX_SIZE, &v->inter, err);
    v->swiglu = v->family->swiglu_when && lpo_model_family_says(f, v->family->swiglu_when);
    if (rc == 0 && v->swiglu) /* two thirds, rounded up to a multiple of eight, as DINOv2 does */
        v->inter = ((uint64_t)((double)v->inter * 2 / 3) + 7) / 8 * 8;
    return rc;
}

static int read_windows(struct lpo_arena *a, struct lpo_model_vision *v, struct lpo_err *err)
{
    const struct lpo_fields *f = v->fields;
    const struct lpo_json *list = lpo_model_field_json(f, "global_attn_indexes");
    int rc = lpo_model_size(f, "window_size", 14, 0, MAX_IMAGE, &v->window, err);

    if (rc == 0)
        rc = lpo_model_size(f, "output_channels", 256, 1, MAX_SIZE, &v->neck, err);
    v->global = lpo_arena_array(a, v->layers, sizeof *v->global);
    if (!list) /* the class's own choice: 2, 5, 8, 11 of 12 */
        for (uint64_t l = 2; l < v->layers; l += 3)
            v->global[l] = true;
    LPO_JSON_EACH(item, list)
    {
        int64_t l = lpo_json_int(item, -1);

        if (l >= 0 && l < (int64_t)v->layers)
            v->global[l] = true;
    }
    return rc;
}

int lpo_model_vision_create(struct lpo_arena *a, const struct lpo_json *config,
                            const struct lpo_vision_family *family, struct lpo_model_vision **out,
                            struct lpo_err *err)
{
    struct lpo_model_vision *v = LPO_NEW(a, struct lpo_model_vision);
    const struct lpo_fields *f;
    int rc;

    v->family = family;
    v->root = family->root;
    v->fields = LPO_NEW(a, struct lpo_fields);
    *v->fields = (struct lpo_fields){ config, family->defaults };
    f = v->fields;
    rc = lpo_model_size(f, "hidden_size|width|embed_dim", 0, 1, MAX_SIZE, &v->hidden, err);
    if (rc == 0)
        rc = lpo_model_size(f, "num_hidden_layers|layers|depth", 0, 1, MAX_LAYERS, &v->layers, err);
    if (rc == 0)
        rc = lpo_model_size(f, "num_attention_heads|heads|num_heads", 0, 1, MAX_HEADS, &v->heads,
                            err);
    if (rc == 0)
        rc = lpo_model_size(f, "image_size", 0, 1, MAX_IMAGE, &v->image, err);
    if (rc == 0)
        rc = lpo_model_size(f, "patch_size", 0, 1, MAX_IMAGE, &v->patch, err);
    if (rc == 0)
        rc = lpo_model_size(f, "num_channels|in_channels", 3, 1, MAX_SIZE, &v->channels, err);
    if (rc == 0)
        rc = read_inter(v, err);
    if (rc == 0 && family->windowed)
        rc = read_windows(a, v, err);
    if (rc < 0)
        return rc;
    if (v->patch > v->image)
        return lpo_fail(err, LPO_E_RANGE, "a patch of %llu pixels is larger than the image of %llu",
                        (unsigned long long)v->patch, (unsigned long long)v->image);
    *out = v;
    return 0;
}
