// Adam and AdamW: every parameter number by number (Kingma & Ba 2015; decoupled decay: Loshchilov & Hutter 2019).
#include "models/optimizers/optimizer.h"

void bpt_update_by_adam(const bpt_update_nodes_t *u, const bpt_update_part_t *part, float decay) {
    const bpt_optimizer_options_t *o = u->options;
    const int64_t count = part->end - part->begin;
    const bpt_adam_attrs_t attrs = {.beta1 = o->beta1,
                                    .beta2 = o->beta2,
                                    .eps = o->eps,
                                    .weight_decay = decay,
                                    .lr_scale = 1,
                                    .decoupled = bpt_optimizers[o->kind]->decoupled};
    const bpt_value_t operands[] = {
        bpt_update_elements(u, u->params, part->begin, part->end), bpt_update_elements(u, u->grads, part->begin, part->end),
        bpt_update_elements(u, u->m, part->m, part->m + count), bpt_update_elements(u, u->v, part->v, part->v + count)};
    bpt_adam(u->g, operands[0], operands[1], operands[2], operands[3], u->hyper, u->square_sum, &attrs);
}

const bpt_optimizer_spec_t bpt_optimizer_adam = {.name = "adam", .numbers = bpt_update_by_adam};
const bpt_optimizer_spec_t bpt_optimizer_adamw = {.name = "adamw", .decoupled = true, .numbers = bpt_update_by_adam};
