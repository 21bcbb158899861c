/* region/attribute.h - fills a region tree from the ranges and launches of its trace. */
#pragma once

struct lpo_region_tree;

/* Called once, by lpo_region_tree_create(). n log n in ranges and launches. */
void lpo_region_attribute(struct lpo_region_tree *tree);
