// Usual names of fields and columns (see roles.h).
#include "data/readers/roles.h"

#include <stddef.h>

const bpt_role_t bpt_role_text = {"text", "text-field", {"text", "sentence"}},
                 bpt_role_first = {"first text", "text-field", {"sentence1", "premise", "text1", "question1"}},
                 bpt_role_second = {"second text", "text-field", {"sentence2", "hypothesis", "text2", "question2"}},
                 bpt_role_tokens = {"list of tokens", "text-field", {"tokens", "words"}},
                 bpt_role_side = {"text", "source or --target", {NULL}},
                 bpt_role_label = {"label", "label-field", {"label", "gold_label", "score"}},
                 bpt_role_tags = {"list of tags", "label-field", {"tags", "ner_tags", "labels"}};
