/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/sampler/host.h"

#include <stdlib.h>

#include "util/xmalloc.h"

void lpo_sampler_host_close(const struct pm_cupti *c, void *host)
{
    struct pm_object p = { .size = PM_SIZE(pm_object, object), .object = host };

    if (host)
        c->host_deinitialize(&p);
}

/* What the metrics of the host object need: the image, then the number of passes in it. */
static int get_image(const struct pm_cupti *c, void *host, uint8_t **image, size_t *bytes,
                     size_t *passes)
{
    struct pm_host_size size = { .size = PM_SIZE(pm_host_size, bytes), .object = host };
    struct pm_host_image get = { .size = PM_SIZE(pm_host_image, image), .object = host };
    struct pm_host_passes count = { .size = PM_SIZE(pm_host_passes, passes) };
    int rc = c->host_size(&size);

    if (rc != PM_OK)
        return rc;
    *image = lpo_xcalloc(1, size.bytes + 1);
    *bytes = get.bytes = count.bytes = size.bytes;
    get.image = count.image = *image;
    rc = c->host_image(&get);
    if (rc == PM_OK)
        rc = c->host_passes(&count);
    *passes = count.passes;
    return rc;
}

int lpo_sampler_host_configure(const struct pm_cupti *c, const char *chip,
                               const uint8_t *availability, const char **names, size_t count,
                               void **host, uint8_t **image, size_t *bytes)
{
    struct pm_host_initialize init = {
        .size = PM_SIZE(pm_host_initialize, object),
        .type = PM_HOST_TYPE_SAMPLING,
        .chip = chip,
        .availability = availability,
    };
    struct pm_host_add add = { .size = PM_SIZE(pm_host_add, count),
                               .names = names,
                               .count = count };
    size_t passes = 0;
    int rc = c->host_initialize(&init);

    *image = NULL;
    *bytes = 0;
    *host = rc == PM_OK ? init.object : NULL;
    add.object = *host;
    if (rc == PM_OK && count)
        rc = c->host_add(&add);
    if (rc == PM_OK && count)
        rc = get_image(c, *host, image, bytes, &passes);
    return rc == PM_OK ? (int)passes : -rc;
}

int lpo_sampler_host_passes(const struct pm_cupti *c, const char *chip, const uint8_t *availability,
                            const char **names, size_t count)
{
    uint8_t *image = NULL;
    void *host = NULL;
    size_t bytes;
    int passes =
        lpo_sampler_host_configure(c, chip, availability, names, count, &host, &image, &bytes);

    lpo_sampler_host_close(c, host);
    free(image);
    return passes;
}
