/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of kernel classes decides the name that stands in its row; a rule that a wider one
 * before it hides fails here. */
#include "../unit.h"
#include "region/kernel_name/class.h"

static void check_rule(void **state)
{
    const struct lpo_class_rule *r = *state;
    struct lpo_class_decision d = lpo_region_class_decide(r->example, strlen(r->example));

    if (d.example != r->example)
        print_message("decided by the rule of: %s\n", d.example ? d.example : "(none)");
    assert_ptr_equal(d.example, r->example);
    assert_int_equal(d.class, r->class);
}

static void check_carrier(void **state)
{
    const struct lpo_class_carrier *c = *state;
    struct lpo_class_decision d = lpo_region_class_decide(c->example, strlen(c->example));

    assert_ptr_equal(d.example, c->example);
    assert_int_equal(d.class, c->otherwise);
}

static void add_rules(struct unit *u, struct lpo_class_rules rules)
{
    for (size_t i = 0; i < rules.len; i++)
        unit_add(u, rules.at[i].example, check_rule, &rules.at[i]);
}

int main(void)
{
    struct unit u = { 0 };

    add_rules(&u, lpo_region_class_functions);
    add_rules(&u, lpo_region_class_scopes);
    add_rules(&u, lpo_region_class_fusions);
    for (size_t i = 0; i < lpo_region_class_carrier_count; i++) {
        const struct lpo_class_carrier *c = &lpo_region_class_carriers[i];

        unit_add(&u, c->example, check_carrier, c);
        /* carriers of one table share its rules: once is enough */
        if (i == 0 || c->functors.at != lpo_region_class_carriers[i - 1].functors.at)
            add_rules(&u, c->functors);
    }
    return unit_run(&u);
}
