// Translators through the program: their files, vocabularies and documents, resumption bit for bit, export and import, what is refused.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/alloc.h"
#include "data/vocab/sentencepiece.h"
#include "support/process.h"
#include "support/scratch.h"

#define TRAIN "train --backend cpu --task translate --layers 1 --d-model 16 --heads 2 --k 2 --lr 0.01 --seed 3 --quiet --batch-tokens 128 "
#define TREE_TRAIN \
    "train --backend cpu --task translate --model tree --layers 1 --d-model 16 --heads 2 --lr 0.01 --seed 3 --quiet --batch-tokens 128 "
#define PAIR "--source en --target de --data %s "

static char folder[512];
static int target_tokens;  // of the test part, with the end signs

// Numbers in words of two languages, in documents of ten lines. German says one word more.
static void write_part(const char *part, int lines) {
    static const char *const en[] = {"one", "two", "three", "four"}, *const de[] = {"eins", "zwei", "drei", "vier", "fuenf"};
    static char source[20000], target[20000];
    char name[64];
    size_t used = 0, filled = 0;
    target_tokens = 0;
    for (int i = 0; i < lines; ++i) {
        const int words = 1 + i * 5 % 7;
        for (int w = 0; w < words; ++w) used += (size_t)sprintf(source + used, "%s%s", w ? " " : "", en[(i + w * 3) % 4]);
        for (int w = 0; w <= words; ++w)
            filled += (size_t)sprintf(target + filled, "%s%s", w ? " " : "", de[w < words ? (i + w * 3) % 4 : 4]);
        used += (size_t)sprintf(source + used, i % 10 == 9 ? "\n\n" : "\n");
        filled += (size_t)sprintf(target + filled, i % 10 == 9 ? "\n\n" : "\n");
        target_tokens += words + 2;
    }
    snprintf(name, sizeof name, "pair/%s.en", part);
    test_write_file(test_path("%s", name), source, used);
    snprintf(name, sizeof name, "pair/%s.de", part);
    test_write_file(test_path("%s", name), target, filled);
}

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "%s", test_path("pair"));
    if (mkdir(folder, 0777)) return 1;
    write_part("train", 200);
    write_part("valid", 30);
    write_part("test", 40);
    test_succeed(TRAIN PAIR "--steps 60 --save-every 6 --keep 20 --out %s", folder, test_path("words"));
    return 0;
}

static void same_file(const char *run_a, const char *run_b, const char *name) {
    size_t n = 0, m = 0;
    char *a = test_read_file(test_path("%s/%s", run_a, name), &n), *b = test_read_file(test_path("%s/%s", run_b, name), &m);
    if (!a || !b || n != m || memcmp(a, b, n)) fail_msg("%s: %s and %s differ", name, run_a, run_b);
    free(a);
    free(b);
}

static bool exists(const char *run_name, const char *name) {
    size_t n;
    char *text = test_read_file(test_path("%s/%s", run_name, name), &n);
    free(text);
    return text != NULL;
}

// The loss of a run on its test part, all of whose tokens are scored once.
static double loss_of(const char *run_name, const char *more) {
    char line[1500];
    snprintf(line, sizeof line, "eval %s --json --quiet --backend cpu --nll-out %s %s", test_path("%s", run_name), test_path("nll.json"),
             more);
    test_process_t p = test_run_to(0, "%s", line);
    json_t *result = json_loads(p.out, 0, NULL), *nll = json_load_file(test_path("nll.json"), 0, NULL);
    const double loss = json_number_value(json_object_get(result, "loss"));
    double sum = 0;
    assert_int_equal(json_integer_value(json_object_get(result, "scored")), json_array_size(nll));
    for (size_t i = 0; i < json_array_size(nll); ++i) sum += json_number_value(json_array_get(nll, i));
    assert_true(fabs(sum / (double)json_array_size(nll) - loss) < 1e-4 &&
                fabs(exp(loss) - json_number_value(json_object_get(result, "perplexity"))) < 1e-3);
    if (!strstr(more, "--unit") && strcmp(run_name, "pieces")) assert_int_equal(json_array_size(nll), target_tokens);
    json_decref(result);
    json_decref(nll);
    test_process_free(&p);
    return loss;
}

static void words_of_each_side_have_their_vocabulary_or_one(void **state) {
    (void)state;
    size_t n;
    char *source = test_read_file(test_path("words/source_vocab.txt"), &n), *target = test_read_file(test_path("words/vocab.txt"), &n);
    assert_true(!strncmp(source, "<unk>\n<eos>\n", 12) && strstr(source, "three") && !strstr(source, "drei"));
    assert_true(!strncmp(target, "<unk>\n<eos>\n", 12) && strstr(target, "drei") && !strstr(target, "three"));
    free(source), free(target);
    assert_true(loss_of("words", "") < 1.7);  // less than the logarithm of six kinds of tokens
    test_succeed(TRAIN PAIR "--steps 4 --shared all --out %s", folder, test_path("joint"));
    target = test_read_file(test_path("joint/vocab.txt"), &n);
    assert_true(strstr(target, "drei") && strstr(target, "three") && !exists("joint", "source_vocab.txt"));
    free(target);
    assert_true(isfinite(loss_of("joint", "")));
}

static void subwords_are_of_both_sides(void **state) {
    (void)state;
    if (!bpt_sentencepiece_there) skip();
    test_succeed(TRAIN PAIR "--unit subword --subwords 40 --steps 4 --out %s", folder, test_path("pieces"));
    assert_true(exists("pieces", "subword.model") && !exists("pieces", "source_vocab.txt"));
    assert_true(isfinite(loss_of("pieces", "")));
}

static void a_resumed_run_is_the_same(void **state) {
    (void)state;
    test_succeed(TRAIN PAIR "--steps 60 --save-every 6 --keep 20 --stop-at 30 --out %s", folder, test_path("resumed"));
    test_succeed("train --resume --quiet --backend cpu --out %s --stop-at 60", test_path("resumed"));
    same_file("words", "resumed", "latest/model.safetensors");
    same_file("words", "resumed", "latest/optimizer.safetensors");
    test_refused(2, "--source cannot change", "train --resume --quiet --backend cpu --out %s --source fr", test_path("resumed"));
}

// Trees of brackets over the lines of a part: all words below one node, whose label is one or the other in turn.
static void write_trees(const char *part, const char *file, const char *labels) {
    static char out[40000];
    size_t n, used = 0, trees = 0;
    char *text = test_read_file(test_path("pair/%s.en", part), &n);
    for (char *line = text, *end; line < text + n; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text + n - line));
        *end = 0;
        if (*line) used += (size_t)sprintf(out + used, "(%c", labels[trees++ % 2]);
        for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) used += (size_t)sprintf(out + used, " (CD %s)", word);
        used += (size_t)sprintf(out + used, end > line && *line ? ")\n" : "\n");
    }
    test_write_file(test_path("%s", file), out, used);
    free(text);
}

static void write_all_trees(const char *labels) {
    static const char *const parts[] = {"train", "valid", "test"};
    for (int part = 0; part < 3; ++part) {
        char file[64];
        snprintf(file, sizeof file, "pair/%s.en.ptb", parts[part]);
        write_trees(parts[part], file, labels);
    }
}

// Trees beside the texts, the same ones made, a run that goes on; what does not belong to the text is refused with its line.
static void trees_are_read_beside_the_texts(void **state) {
    (void)state;
    static const struct {
        const char *tree, *message;
    } bad[] = {{"(S (CD one) (CD two))\n", "line 1: the tree has 2 words, the text 1"},
               {"(S (CD two))\n", "word 1 of the tree is 'two', that of the text 'one'"},
               {"(S (CD one)\n", "line 1, column 1: the brackets of this tree are not closed"},
               {"\n", "line 1: no tree"},
               {"(S (CD one))\n(S (CD two))\n", "line 2 has no counterpart: the text has 1 lines"},
               {"(S (CD one)) (S (CD one))\n", "more than one tree in a line"}};
    write_all_trees("SS");
    test_succeed(TREE_TRAIN PAIR "--steps 30 --tree-labels constant --out %s", folder, test_path("tree"));
    test_succeed(TREE_TRAIN PAIR "--steps 30 --trees flat --out %s", folder, test_path("flat"));
    same_file("tree", "flat", "latest/model.safetensors");
    test_succeed(TREE_TRAIN PAIR "--steps 30 --tree-labels constant --stop-at 12 --out %s", folder, test_path("tree-resumed"));
    test_succeed("train --resume --quiet --backend cpu --out %s --stop-at 30", test_path("tree-resumed"));
    same_file("tree", "tree-resumed", "latest/model.safetensors");
    assert_true(loss_of("tree", "") == loss_of("flat", ""));
    test_succeed("translate %s %s --backend cpu --quiet --beam 2", test_path("tree"), test_path("pair/test.en"));
    test_write_file(test_path("one.en"), "one\n", 4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        test_write_file(test_path("one.en.ptb"), bad[i].tree, strlen(bad[i].tree));
        test_refused(1, bad[i].message, "translate %s %s --backend cpu --quiet", test_path("tree"), test_path("one.en"));
    }
    test_write_file(test_path("pair/train.en.ptb"), "(S (CD one))\n", 13);
    test_refused(1, "has no counterpart", TREE_TRAIN PAIR "--steps 2 --out %s", folder, test_path("short"));
    remove(test_path("pair/train.en.ptb"));
    test_refused(1, "--trees balanced, right or flat", TREE_TRAIN PAIR "--steps 2 --out %s", folder, test_path("none"));
    test_refused(2, "--context-tokens is not for --model tree", TREE_TRAIN PAIR "--steps 2 --context-tokens 8 --out %s", folder,
                 test_path("none"));
}

// Nodes begin with their labels: other labels are another loss, labels that training did not have are none. Labels go where the model goes.
static void nodes_begin_with_their_labels(void **state) {
    (void)state;
    size_t n;
    char file[512], more[1024];
    write_all_trees("ST");
    test_succeed(TREE_TRAIN PAIR "--steps 30 --out %s", folder, test_path("labels"));
    char *labels = test_read_file(test_path("labels/labels.txt"), &n);
    assert_string_equal(labels, "S\nT\n");
    free(labels);
    test_succeed(TREE_TRAIN PAIR "--steps 30 --stop-at 12 --out %s", folder, test_path("labels-resumed"));
    test_succeed("train --resume --quiet --backend cpu --out %s --stop-at 30", test_path("labels-resumed"));
    same_file("labels", "labels-resumed", "latest/model.safetensors");
    const double loss = loss_of("labels", "--checkpoint latest"), flat = loss_of("labels", "--checkpoint latest --trees flat");
    snprintf(file, sizeof file, "%s", test_path("labels.safetensors"));
    snprintf(more, sizeof more, "--source en --target de --data %s", folder);
    test_succeed("export %s --checkpoint latest --out %s --quiet", test_path("labels"), file);
    test_succeed("import %s --out %s --quiet", file, test_path("labels-back"));
    assert_true(loss_of("labels-back", more) == loss);
    test_succeed(TREE_TRAIN PAIR "--steps 1 --init %s --out %s", folder, test_path("labels"), test_path("labels-on"));
    same_file("labels", "labels-on", "labels.txt");
    write_all_trees("TS");
    const double exchanged = loss_of("labels", "--checkpoint latest");
    assert_true(fabs(exchanged - loss) > 1e-4);
    write_all_trees("XY");
    assert_true(loss_of("labels", "--checkpoint latest") == flat && flat != loss);
    test_succeed("translate %s %s --backend cpu --quiet --beam 2", test_path("labels"), test_path("pair/test.en"));
    test_refused(2, "trees that are made have no labels", TREE_TRAIN PAIR "--steps 2 --trees flat --tree-labels state --out %s", folder,
                 test_path("none"));
    test_refused(2, "does not fit the trained model", TREE_TRAIN PAIR "--steps 2 --tree-labels constant --init %s --out %s", folder,
                 test_path("labels"), test_path("none"));
    test_refused(2, "labels are what is predicted", "train --task classify --model tree --tree-labels state --data %s --out %s",
                 test_path("pair/train.en.ptb"), test_path("none"));
}

static void documents_score_each_text_once(void **state) {
    (void)state;
    test_succeed(TRAIN PAIR "--steps 12 --context-tokens 16 --stop-at 5 --out %s", folder, test_path("documents"));
    test_succeed("train --resume --quiet --backend cpu --out %s --stop-at 12", test_path("documents"));
    test_succeed(TRAIN PAIR "--steps 12 --context-tokens 16 --out %s", folder, test_path("documents2"));
    same_file("documents", "documents2", "latest/model.safetensors");
    assert_true(isfinite(loss_of("documents", "")));
    assert_true(isfinite(loss_of("documents", "--context-tokens 0")));
}

static void vocabularies_go_where_the_model_goes(void **state) {
    (void)state;
    const double loss = loss_of("words", "--checkpoint latest");
    char file[512], more[1024];
    snprintf(file, sizeof file, "%s", test_path("words.safetensors"));
    snprintf(more, sizeof more, "--source en --target de --data %s", folder);
    test_succeed("export %s --checkpoint latest --out %s --quiet", test_path("words"), file);
    test_succeed("import %s --out %s --quiet", file, test_path("back"));
    same_file("words", "back", "source_vocab.txt");
    assert_true(loss_of("back", more) == loss);
    test_succeed("average %s --last 1 --out %s --quiet", test_path("words"), test_path("mean"));
    same_file("words", "mean", "source_vocab.txt");
    assert_true(loss_of("mean", "") == loss);
    test_succeed(TRAIN PAIR "--init %s --steps 1 --lr 1e-9 --warmup 0 --out %s", folder, test_path("words"), test_path("started"));
    same_file("words", "started", "source_vocab.txt");
    test_succeed(TRAIN PAIR "--init %s --steps 1 --lr 1e-9 --warmup 0 --out %s", folder, file, test_path("started2"));
    same_file("started", "started2", "latest/model.safetensors");
}

static void a_changed_source_vocabulary_is_found(void **state) {
    (void)state;
    size_t n;
    test_succeed("average %s --last 1 --out %s --quiet", test_path("words"), test_path("broken"));
    char *text = test_read_file(test_path("broken/source_vocab.txt"), &n);
    text[n - 2] ^= 1;
    test_write_file(test_path("broken/source_vocab.txt"), text, n);
    free(text);
    test_refused(1, "source_vocab.txt", "eval %s --quiet --backend cpu", test_path("broken"));
    remove(test_path("broken/source_vocab.txt"));
    test_refused(1, "source_vocab.txt", "eval %s --quiet --backend cpu", test_path("broken"));
}

static void ids_are_lines_of_two_columns(void **state) {
    (void)state;
    static char lines[8000];
    size_t used = 0;
    for (int i = 0; i < 100; ++i) used += (size_t)sprintf(lines + used, "%d %d 1\t%d 1\n", 2 + i % 9, 2 + i % 4, 2 + i % 5);
    const char *file = test_file("ids.txt", lines);
    test_succeed(TRAIN "--unit ids --data %s --steps 4 --out %s", file, test_path("ids"));
    assert_true(!exists("ids", "vocab.txt") && !exists("ids", "source_vocab.txt"));
    assert_true(isfinite(loss_of("ids", "--unit ids")));
    test_refused(1, "line 1: token 11 is outside the vocabulary, whose ids are 0 to 10",
                 "eval %s --quiet --backend cpu --unit ids --data %s", test_path("ids"), test_file("source.txt", "11 1\t2 1\n"));
    test_refused(1, "line 1: token 7 is outside the vocabulary, whose ids are 0 to 6", "eval %s --quiet --backend cpu --unit ids --data %s",
                 test_path("ids"), test_file("target.txt", "2 1\t7 1\n"));
    test_refused(2, "--source is without effect with --unit ids", TRAIN "--unit ids --source en --data %s --out %s", file,
                 test_path("bad"));
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    const char *bad = test_path("bad");
    test_refused(2, "--target is needed", TRAIN "--source en --data %s --out %s", folder, bad);
    test_refused(2, "--source is needed", TRAIN "--data %s --out %s", folder, bad);
    test_refused(2, "are both 'en'", TRAIN "--source en --target en --data %s --out %s", folder, bad);
    test_refused(1, "ends in '.fr'", TRAIN "--source en --target fr --data %s --out %s", folder, bad);
    test_refused(1, "is no folder", TRAIN "--source en --target de --data %s/train.en --out %s", folder, bad);
    test_refused(2, "not --unit char", TRAIN PAIR "--unit char --out %s", folder, bad);
    test_refused(2, "--match-vocabulary is not for --task translate", TRAIN PAIR "--init %s --match-vocabulary --out %s", folder,
                 test_path("words"), bad);
    test_refused(2, "--source is for --task translate", "train --task lm --source en --data %s/train.en --out %s", folder, bad);
    test_refused(1, "tokens with the end sign, more than --max-length 5", TRAIN PAIR "--max-length 5 --out %s", folder, bad);
    test_succeed(TRAIN PAIR "--max-length 5 --truncate 5 --steps 1 --out %s", folder, test_path("cut"));
    test_write_file(test_path("pair/valid.de"), "eins\n", 5);
    test_refused(1, "valid.en: line 2 has no counterpart", TRAIN PAIR "--out %s", folder, bad);
    remove(test_path("pair/valid.de"));
    test_refused(1, "the valid part has a file for .en and none for .de", TRAIN PAIR "--out %s", folder, bad);
    write_part("valid", 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_each_side_have_their_vocabulary_or_one),
        cmocka_unit_test(subwords_are_of_both_sides),
        cmocka_unit_test(a_resumed_run_is_the_same),
        cmocka_unit_test(nodes_begin_with_their_labels),
        cmocka_unit_test(trees_are_read_beside_the_texts),
        cmocka_unit_test(documents_score_each_text_once),
        cmocka_unit_test(vocabularies_go_where_the_model_goes),
        cmocka_unit_test(a_changed_source_vocabulary_is_found),
        cmocka_unit_test(ids_are_lines_of_two_columns),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
