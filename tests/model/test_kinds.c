// Kinds and tasks as tables: the lists name each other's files, and what a kind cannot give is refused in a sentence.
#include "model_fixture.h"

#include <jansson.h>

#include "models/config/config_json.h"
#include "models/config/config_names.h"
#include "models/kinds/kind.h"

static void lists_have_an_entry_for_every_name(void **state) {
    (void)state;
    for (int i = 0; i < BPT_N_TASKS; ++i) {
        assert_string_equal(bpt_tasks[i]->name, bpt_task_names[i]);
        assert_ptr_equal(bpt_task_find(bpt_task_names[i]), bpt_tasks[i]);
    }
    for (int i = 0; i < BPT_N_KINDS; ++i) {
        assert_string_equal(bpt_kinds[i]->name, bpt_model_names[i]);
        assert_ptr_equal(bpt_kind_find(bpt_model_names[i]), bpt_kinds[i]);
    }
    assert_null(bpt_task_names[BPT_N_TASKS]);
    assert_null(bpt_model_names[BPT_N_KINDS]);
    assert_null(bpt_task_find("l"));
    assert_null(bpt_kind_find(""));
}

static void every_kind_does_every_task_but_for_its_nature(void **state) {
    (void)state;
    for (int k = 0; k < BPT_N_KINDS; ++k)
        for (int t = 0; t < BPT_N_TASKS; ++t) {
            if (k == BPT_MODEL_STAR && (bpt_tasks[t]->causal || bpt_task_sides(bpt_tasks[t]) > 1))
                assert_fails(bpt_kind_check_task(bpt_kinds[k], bpt_tasks[t]), BPT_ERR_USAGE, "its relay node reads the whole text");
            else if (k == BPT_MODEL_TREE && bpt_tasks[t]->causal)
                assert_fails(bpt_kind_check_task(bpt_kinds[k], bpt_tasks[t]), BPT_ERR_USAGE, "a node reads all tokens below it");
            else if (k == BPT_MODEL_TREE && bpt_tasks[t]->per_token && bpt_task_sides(bpt_tasks[t]) == 1)
                assert_fails(bpt_kind_check_task(bpt_kinds[k], bpt_tasks[t]), BPT_ERR_USAGE, "its trees have labels of whole texts");
            else
                assert_ok(bpt_kind_check_task(bpt_kinds[k], bpt_tasks[t]));
        }
}

static void a_kind_refuses_what_it_cannot_give(void **state) {
    (void)state;
    const bpt_kind_spec_t both_sides = {
        .name = "ring", .gives = BPT_WANT_TOKENS | BPT_WANT_POOLED, .not_causal = "its tokens read both neighbours"};
    const bpt_kind_spec_t no_root = {.name = "flat", .gives = BPT_WANT_TOKENS};
    assert_ok(bpt_kind_check_task(&both_sides, bpt_task_find("classify")));
    assert_int_equal(bpt_kind_check_task(&both_sides, bpt_task_find("lm")), BPT_ERR_USAGE);
    assert_string_equal(bpt_error_message(),
                        "model ring cannot be a language model: its tokens read both neighbours; choose another model");
    assert_ok(bpt_kind_check_task(&no_root, bpt_task_find("lm")));
    assert_int_equal(bpt_kind_check_task(&no_root, bpt_task_find("classify")), BPT_ERR_USAGE);
    assert_string_equal(bpt_error_message(),
                        "model flat cannot do task classify, which takes states of whole texts: it has none; choose another model");
}

static void models_whose_work_is_the_square_of_a_text_are_known(void **state) {
    (void)state;
    static const struct {
        bpt_model_config_t config;
        bool dense;
    } cases[] = {
        {{.model = BPT_MODEL_TRANSFORMER}, true},
        {{.model = BPT_MODEL_TRANSFORMER, .causal = true}, true},
        {{.model = BPT_MODEL_TRANSFORMER, .attention = BPT_ATTENTION_WINDOW, .window = 4096}, false},
        {{.model = BPT_MODEL_TREE}, true},
        {{.model = BPT_MODEL_BPT, .k = 1}, false},
        {{.model = BPT_MODEL_BPT, .k = 64, .causal = true}, false},
        {{.model = BPT_MODEL_SEGTREE}, false},
        {{.model = BPT_MODEL_STAR}, false},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) assert_int_equal(bpt_model_is_dense(&cases[i].config), cases[i].dense);
}

static void keys_of_one_kind_apply_to_it_alone(void **state) {
    (void)state;
    for (int k = 0; k < BPT_N_KINDS; ++k) {
        assert_int_equal(bpt_kind_has_key(bpt_kinds[k], "k"), k == BPT_MODEL_BPT);
        assert_int_equal(bpt_kind_has_key(bpt_kinds[k], "span_self"), k == BPT_MODEL_SEGTREE);
        assert_int_equal(bpt_kind_has_key(bpt_kinds[k], "window"), k == BPT_MODEL_TRANSFORMER);
        assert_false(bpt_kind_has_key(bpt_kinds[k], "layers"));
    }
}

// Files of classifiers from before the key `pool` do not have it, and those that pool as they do stay the same.
static void a_file_is_silent_about_pooling_by_roots(void **state) {
    (void)state;
    bpt_model_config_t c = fixture_classifier(), read;
    c.ring = c.radical = true;
    c.head_dim = 8;
    for (int pool = 0; bpt_pool_names[pool]; ++pool) {
        json_t *object;
        c.model = BPT_MODEL_BPT;
        for (int kind = 0; kind < BPT_N_KINDS && !(bpt_kinds[c.model]->pools >> pool & 1); ++kind) c.model = (bpt_model_kind_t)kind;
        if (c.model == BPT_MODEL_STAR) c.positions = BPT_POSITIONS_NONE;
        c.pool = (bpt_pool_t)pool;
        assert_ok(bpt_model_config_to_json(&c, &object));
        assert_int_equal(json_object_get(object, "pool") != NULL, pool != BPT_POOL_ROOT);
        assert_ok(bpt_model_config_from_json(object, "the test", &read));
        assert_int_equal(read.pool, pool);
        json_decref(object);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_have_an_entry_for_every_name),
        cmocka_unit_test(every_kind_does_every_task_but_for_its_nature),
        cmocka_unit_test(a_kind_refuses_what_it_cannot_give),
        cmocka_unit_test(keys_of_one_kind_apply_to_it_alone),
        cmocka_unit_test(models_whose_work_is_the_square_of_a_text_are_known),
        cmocka_unit_test(a_file_is_silent_about_pooling_by_roots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
