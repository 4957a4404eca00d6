// Subwords through the program: training, resumption bit for bit, evaluation in bits of the text, generation, classification, export and
// import, starting from a run, the library's functions, and what is refused.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/alloc.h"
#include "data/vocab/sentencepiece.h"
#include "models/api/model.h"
#include "support/check.h"
#include "support/process.h"
#include "support/scratch.h"
#include "support/support.h"

#define NEEDS_LIBRARY() \
    if (!bpt_sentencepiece_there) skip()
#define SMALL "--backend cpu --layers 1 --d-model 16 --heads 2 --k 2 --lr 0.01 --seed 3 --quiet "

static char text[512], examples[512], lm[512], classifier[512];

static int setup(void **state) {
    (void)state;
    static char words[40000], labelled[40000];
    static const char *const names[] = {"the caf\xC3\xA9 opens", "the cat sleeps  quietly", "a slow walker walked",
                                        "the walkers are walking"};
    size_t used = 0, filled = 0;
    for (int i = 0; i < 300; ++i) used += (size_t)sprintf(words + used, "%s%s\n", names[(i * 7 + i / 5) % 4], i % 3 ? "" : " again");
    for (int i = 0; i < 200; ++i)
        filled += (size_t)sprintf(labelled + filled, i % 2 ? "bad\tawfully dull, %s film\n" : "good\tFinely warm %s playing\n",
                                  i % 3 ? "slow" : "quick");
    snprintf(text, sizeof text, "%s", test_file("text.txt", words));
    snprintf(examples, sizeof examples, "%s", test_file("examples.tsv", labelled));
    snprintf(lm, sizeof lm, "%s", test_path("lm"));
    snprintf(classifier, sizeof classifier, "%s", test_path("classifier"));
    if (!bpt_sentencepiece_there) return 0;
    test_succeed("train " SMALL
                 "--data %s --unit subword --subwords 60 --context 16 --batch-tokens 64 --steps 12 --save-every 6 --keep 5 --out %s",
                 text, lm);
    test_succeed(
        "train " SMALL
        "--task classify --data %s --unit subword --subword-kind unigram --subwords 24 --lower --batch-examples 16 --steps 60 --out %s",
        examples, classifier);
    return 0;
}

static void same_file(const char *run_a, const char *run_b, const char *name) {
    size_t n = 0, m = 0;
    char *a = test_read_file(test_path("%s/%s", run_a, name), &n), *b = test_read_file(test_path("%s/%s", run_b, name), &m);
    if (!a || !b || n != m || memcmp(a, b, n)) fail_msg("%s: %s and %s differ", name, run_a, run_b);
    free(a);
    free(b);
}

static json_t *evaluate(const char *path, const char *more) {
    char line[1500];
    snprintf(line, sizeof line, "eval %s --json --quiet --backend cpu %s", path, more);
    test_process_t p = test_run_to(0, "%s", line);
    json_t *result = json_loads(p.out, 0, NULL);
    assert_non_null(result);
    test_process_free(&p);
    return result;
}

static double number(const json_t *object, const char *key) {
    if (!json_is_number(json_object_get(object, key))) fail_msg("no number %s", key);
    return json_number_value(json_object_get(object, key));
}

// ---- Language models

static void a_resumed_run_is_the_same(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    const char *options = "--unit subword --subwords 60 --context 16 --batch-tokens 64 --steps 12 --save-every 6 --keep 5";
    test_succeed("train " SMALL "--data %s %s --stop-at 6 --out %s", text, options, test_path("resumed"));
    test_succeed("train --resume --quiet --backend cpu --out %s", test_path("resumed"));
    same_file("lm", "resumed", "subword.model");
    same_file("lm", "resumed", "vocab.txt");
    same_file("lm", "resumed", "checkpoints/step-12/model.safetensors");
    same_file("lm", "resumed", "checkpoints/step-12/optimizer.safetensors");
    test_refused(2, "--subwords cannot change when a run is resumed", "train --resume --out %s --subwords 50", lm);
    test_refused(2, "--subword-model cannot change when a run is resumed", "train --resume --out %s --subword-model %s/subword.model", lm,
                 classifier);
}

// The bits of all scored tokens, over the characters and bytes of all but the first token: "the", at the start of this file.
static void bits_are_of_the_text(void **state) {
    (void)state;
    static const char part[] = "the  caf\xC3\xA9 opens \r\n\nthe walkers are walking\n";
    const char *file = test_file("part.txt", part);
    test_succeed("train " SMALL "--data %s --unit word --context 16 --batch-tokens 64 --steps 6 --out %s", text, test_path("words"));
    for (int unit = bpt_sentencepiece_there ? 0 : 1; unit < 2; ++unit) {
        char options[700];
        snprintf(options, sizeof options, "--data %s", file);
        json_t *result = evaluate(unit ? test_path("words") : lm, options);
        const double nats = number(result, "loss") * number(result, "scored");
        if (unit) assert_int_equal((int)number(result, "scored"), 9);
        assert_int_equal((int)number(result, "bytes"), strlen(part) - 3);
        assert_int_equal((int)number(result, "characters"), strlen(part) - 3 - 1);
        assert_true(fabs(number(result, "bits_per_char") * number(result, "characters") * log(2) - nats) < 1e-6 * nats);
        assert_true(fabs(number(result, "bits_per_byte") * number(result, "bytes") * log(2) - nats) < 1e-6 * nats);
        json_decref(result);
        snprintf(options, sizeof options, "--data %s --protocol released --eval-context 4", file);
        json_t *released = evaluate(unit ? test_path("words") : lm, options);
        assert_true(number(released, "bytes") < strlen(part) - 3 && number(released, "bytes") > 0);
        json_decref(released);
    }
}

static void generated_text_is_text(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    test_process_t whole =
                       test_run_to(0, "generate %s --backend cpu --prompt 'the walk' --max-tokens 40 --temperature 0.7 --echo --quiet", lm),
                   rest = test_run_to(0, "generate %s --backend cpu --prompt 'the walk' --max-tokens 40 --temperature 0.7 --quiet", lm);
    assert_memory_equal(whole.out, "the walk", 8);
    assert_string_equal(whole.out + 8, rest.out);  // a blank before the first word, where there is one
    assert_null(strstr(whole.out, "\xE2\x96\x81"));
    assert_non_null(strchr(whole.out + 8, ' '));
    test_process_free(&whole);
    test_process_free(&rest);
    test_process_t unknown = test_run_to(0, "generate %s --backend cpu --prompt 'the \xE2\x98\x83' --max-tokens 2", lm);
    assert_non_null(strstr(unknown.err, "read as <unk> in 1 place\n"));
    test_process_free(&unknown);
    const char *prompts = test_file("prompts.txt", "the cat\n\na slow");
    test_process_t many = test_run_to(0, "generate %s --backend cpu --prompts %s --max-tokens 5 --quiet", lm, prompts);
    assert_non_null(strstr(many.out, "\"text\": null"));
    test_process_free(&many);
}

// What the program writes at once begins and ends between characters; a packet of this socket is one such piece.
static void characters_are_written_whole(void **state) {
    (void)state;
    static char letters[8001];
    size_t used = 0;
    int ends[2], status;
    while (used + 4 < sizeof letters) used += (size_t)sprintf(letters + used, used % 5 ? "\xE6\x97\xA5" : "\xC3\xA9");
    const char *bytes = test_file("letters.txt", letters);
    test_succeed("train " SMALL "--data %s --unit byte --context 32 --batch-tokens 256 --steps 80 --out %s", bytes, test_path("bytes"));
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    const char *program = getenv("BPT_PROGRAM");
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("bytes"));
    const pid_t child = fork();
    if (!child) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, "bpt", "generate", path, "--backend", "cpu", "--quiet", "--prompt", "\xC3\xA9\xE6\x97\xA5", "--max-tokens", "60",
              "--temperature", "0", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    char packet[4096];
    int packets = 0;
    for (ssize_t n; (n = recv(ends[0], packet, sizeof packet, 0)) > 0; ++packets)
        if (((unsigned char)packet[0] & 0xC0) == 0x80) fail_msg("packet %d begins within a character", packets);
    close(ends[0]);
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(packets > 5);
}

// ---- Classifiers

static void classifiers_read_subwords(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    json_t *result = evaluate(classifier, "");
    assert_true(number(result, "accuracy") == 1);
    json_decref(result);
    const char *lines = test_file("lines.txt", "AWFULLY dullest film\nfinely playing \xE2\x98\x83\n");
    test_process_t p = test_run_to(0, "classify %s %s --backend cpu --quiet", classifier, lines);
    assert_memory_equal(p.out, "bad\t", 4);
    assert_non_null(strstr(p.out, "\ngood\t"));
    test_process_free(&p);
    test_refused(1, "line 1: ", "train " SMALL "--task classify --data %s --unit subword --subwords 24 --max-length 2 --out %s", examples,
                 test_path("x"));
    test_succeed("train " SMALL "--task classify --data %s --unit subword --subwords 24 --truncate 2 --max-length 2 --steps 2 --out %s",
                 examples, test_path("truncated"));
}

// ---- Files

static void exported_and_imported(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    const char *const runs[] = {"lm", "classifier"};
    for (int i = 0; i < 2; ++i) {
        test_succeed("export %s --out %s --quiet", test_path("%s", runs[i]), test_path("%s.safetensors", runs[i]));
        test_succeed("import %s --out %s --quiet", test_path("%s.safetensors", runs[i]), test_path("%s-back", runs[i]));
        char back[64], more[700];
        snprintf(back, sizeof back, "%s-back", runs[i]);
        same_file(runs[i], back, "subword.model");
        same_file(runs[i], back, "vocab.txt");
        snprintf(more, sizeof more, "--data %s", i ? examples : text);
        json_t *a = evaluate(test_path("%s", runs[i]), more), *b = evaluate(test_path("%s", back), more);
        assert_true(number(a, "loss") == number(b, "loss"));
        json_decref(a);
        json_decref(b);
    }
    test_succeed("train " SMALL "--data %s --init %s --context 16 --batch-tokens 64 --steps 2 --out %s", text, test_path("lm.safetensors"),
                 test_path("from-file"));
    same_file("lm", "from-file", "subword.model");
}

static void the_mean_of_checkpoints_reads_the_same_subwords(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    char more[700];
    test_succeed("average %s --last 2 --out %s --quiet", lm, test_path("lm-mean"));
    same_file("lm", "lm-mean", "subword.model");
    same_file("lm", "lm-mean", "vocab.txt");
    snprintf(more, sizeof more, "--data %s", text);
    json_t *result = evaluate(test_path("lm-mean"), more);
    assert_true(isfinite(number(result, "loss")));
    json_decref(result);
}

static void the_library_reads_subwords(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    bpt_model_t *model;
    uint32_t *tokens;
    int64_t count;
    char *back;
    size_t bytes;
    const char *const said = "the caf\xC3\xA9 walks\nquietly";
    assert_ok(bpt_model_open(lm, NULL, &model));
    assert_ok(bpt_model_tokenize(model, said, strlen(said), &tokens, &count));
    assert_ok(bpt_model_text(model, tokens, count, false, &back, &bytes));
    assert_string_equal(back, said);
    bpt_free(back);
    bpt_free(tokens);
    assert_ok(bpt_model_save_run(model, test_path("saved")));
    assert_ok(bpt_model_save(model, test_path("saved.safetensors")));
    bpt_model_close(model);
    same_file("lm", "saved", "subword.model");
    assert_ok(bpt_model_open(test_path("saved.safetensors"), NULL, &model));
    assert_ok(bpt_model_tokenize(model, said, strlen(said), &tokens, &count));
    bpt_free(tokens);
    bpt_model_close(model);
}

static void copy_run(const char *from, const char *to) {
    char command[2400];
    snprintf(command, sizeof command, "rm -rf %s && cp -r %s %s", to, from, to);
    assert_int_equal(system(command), 0);
}

// ---- The version of the library

static char *version_of(const char *run) {
    json_t *config = json_load_file(test_path("%s/config.json", run), 0, NULL);
    char *version = strdup(json_string_value(json_object_get(config, "sentencepiece")));
    json_decref(config);
    return version;
}

// In a copy of a file the version begins with another digit.
static void fake_version(const char *from, const char *to, const char *version) {
    char quoted[100], *at;
    size_t bytes;
    char *content = test_read_file(from, &bytes);
    snprintf(quoted, sizeof quoted, "\"%s\"", version);
    at = memmem(content, bytes, quoted, strlen(quoted));
    assert_non_null(at);
    at[1] = '9';
    test_write_file(to, content, bytes);
    free(content);
}

static void expect_warning(bool wanted, const char *line) {
    test_process_t p = test_run_to(0, "%s", line);
    if ((strstr(p.err, "its subwords were made with SentencePiece 9") != NULL) != wanted) fail_msg("%s: %s", line, p.err);
    test_process_free(&p);
}

// A run, a file and what is made of them say by which version their tokens were made; a program with another one says so.
static void another_version_of_the_library_is_told(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    if (!*bpt_sentencepiece_version) skip();
    static const char *const runs[] = {"lm", "classifier", "saved", "lm-mean"};
    char line[3000], exported[512], faked[512];
    for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i) {
        char *version = version_of(runs[i]);
        assert_string_equal(version, bpt_sentencepiece_version);
        free(version);
    }
    snprintf(exported, sizeof exported, "%s", test_path("of-version.safetensors"));
    snprintf(faked, sizeof faked, "%s", test_path("faked.safetensors"));
    test_succeed("export %s --out %s --quiet", lm, exported);
    fake_version(exported, faked, bpt_sentencepiece_version);
    test_succeed("import %s --out %s --quiet", exported, test_path("same"));
    test_process_t p = test_run_to(0, "import %s --out %s --quiet", faked, test_path("other"));
    if (!strstr(p.err, "faked.safetensors: its subwords were made with SentencePiece 9")) fail_msg("%s", p.err);
    test_process_free(&p);
    char *version = version_of("other");
    assert_true(version[0] == '9' && !strcmp(version + 1, bpt_sentencepiece_version + 1));
    free(version);
    for (int other = 0; other < 2; ++other) {
        const char *run = other ? "other" : "same";
        snprintf(line, sizeof line, "eval %s --data %s --backend cpu --quiet", test_path("%s", run), text);
        expect_warning(other, line);
        snprintf(line, sizeof line, "generate %s --prompt the --max-tokens 2 --backend cpu --quiet", test_path("%s", run));
        expect_warning(other, line);
        snprintf(line, sizeof line, "train " SMALL "--data %s --init %s --steps 1 --out %s", text, other ? faked : exported,
                 test_path("from-%s", run));
        expect_warning(other, line);
        version = version_of(other ? "from-other" : "from-same");  // its own tokens are made here
        assert_string_equal(version, bpt_sentencepiece_version);
        free(version);
    }
    test_succeed("export %s --out %s --quiet", test_path("other"), test_path("again.safetensors"));
    size_t n, m;
    char *a = test_read_file(faked, &n), *b = test_read_file(test_path("again.safetensors"), &m);
    assert_true(n == m && !memcmp(a, b, n));
    free(a), free(b);
    copy_run(lm, test_path("edited"));
    fake_version(test_path("lm/config.json"), test_path("edited/config.json"), bpt_sentencepiece_version);
    test_refused(1, "config.json", "eval %s --data %s --backend cpu --quiet", test_path("edited"), text);
}

static void the_form_for_other_programs_is_named(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    const char *file = test_file("my.spm.fb", "\x18\0\0\0SPFB");
    test_refused(1, "give the .model file that was made with it", "train " SMALL "--unit subword --data %s --subword-model %s --out x",
                 text, file);
}

static void damaged_and_mixed_files_are_refused(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    char copy[512], model[700];
    snprintf(copy, sizeof copy, "%s", test_path("copy"));
    snprintf(model, sizeof model, "%s/subword.model", copy);
    const char *const uses[] = {"eval %s --quiet --backend cpu", "generate %s --prompt the --quiet --backend cpu",
                                "export %s --out x.safetensors", "train --resume --quiet --backend cpu --out %s"};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; ++i) {
        char line[1400];
        snprintf(line, sizeof line, uses[i], copy);
        copy_run(lm, copy);
        unlink(model);
        test_refused(1, "subword.model is missing", "%s", line);
        size_t n = 0;
        char *other = test_read_file(test_path("classifier/subword.model"), &n);
        test_write_file(model, other, n);
        test_refused(1, "subword.model", "%s", line);
        test_write_file(model, other, n / 2);
        test_refused(1, "state.json lists", "%s", line);
        free(other);
    }
}

// ---- Where subwords come from

static void taken_from_a_file(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    test_succeed("train " SMALL
                 "--data %s --unit subword --subword-model %s/subword.model --context 16 --batch-tokens 64 --steps 12 --out %s",
                 text, lm, test_path("taken"));
    same_file("lm", "taken", "subword.model");
    same_file("lm", "taken", "vocab.txt");
    same_file("lm", "taken", "latest/model.safetensors");
    const char *head = "train " SMALL "--unit subword --context 16 --batch-tokens 64 --steps 2";
    test_refused(2, "has 60 subwords, not --subwords 50", "%s --data %s --subword-model %s/subword.model --subwords 50 --out x", head, text,
                 lm);
    test_refused(2, "--subword-kind is for subwords that are trained",
                 "%s --data %s --subword-model %s/subword.model --subword-kind bpe --out x", head, text, lm);
    test_refused(1, "text.txt is no SentencePiece model", "%s --data %s --subword-model %s --out x", head, text, text);
    test_refused(1, "nowhere.model", "%s --data %s --subword-model nowhere.model --out x", head, text);
}

static void a_new_run_starts_with_the_subwords_of_its_source(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    char head[1400];
    snprintf(head, sizeof head, "train --backend cpu --quiet --data %s --init %s --context 16 --batch-tokens 64 --steps 2", text, lm);
    test_succeed("%s --out %s", head, test_path("started"));
    same_file("lm", "started", "subword.model");
    test_succeed("%s --subword-model %s/subword.model --out %s", head, lm, test_path("started-again"));
    test_succeed("%s --match-vocabulary --subwords 50 --out %s", head, test_path("matched"));
    test_refused(2, "is another model than that of --init", "%s --subword-model %s/subword.model --out x", head, classifier);
    test_refused(2, "--subwords 50 contradicts --init", "%s --subwords 50 --out x", head);
    test_refused(2, "--unit word contradicts --init", "%s --unit word --out x", head);
    test_refused(2, "--subword-kind is for subwords that are trained", "%s --subword-kind unigram --out x", head);
}

static void options_that_make_no_sense(void **state) {
    (void)state;
    test_refused(2, "--subwords is for --unit subword, and this is --unit word", "train --data x --out y --unit word --subwords 50");
    test_refused(2, "--subword-model is for --unit subword, and this is --unit byte", "train --data x --out y --subword-model m");
    test_refused(2, "--subword-kind is for --unit subword", "train --data x --out y --unit char --subword-kind unigram");
    test_refused(2, "--vectors is for --unit word, and this is --unit subword",
                 "train --data x --out y --unit subword --subwords 50 --vectors v");
    test_refused(2, "\"unit\" must be byte, char, word, subword or ids", "train --config %s --out y",
                 test_file("bad.json", "{\"data\": \"x\", \"unit\": \"piece\"}"));
    if (!bpt_sentencepiece_there) {
        test_refused(1, "libsentencepiece-dev", "train --data %s --out y --unit subword --subwords 50", text);
        return;
    }
    test_refused(2, "needs --subwords N", "train --data x --out y --unit subword");
    test_refused(2, "a tag belongs to a word", "train --data x --out y --task tag --unit subword --subwords 50");
    test_refused(2, "--ngram-max", "train --data x --out y --task classify --model star --unit subword --subwords 50 --ngram-max 3");
    test_refused(1, "5 subwords are too few for this text", "train --data %s --out y --unit subword --subwords 5", text);
    test_refused(1, "5000 subwords are too many for this text", "train --data %s --out y --unit subword --subwords 5000", text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resumed_run_is_the_same),
        cmocka_unit_test(bits_are_of_the_text),
        cmocka_unit_test(generated_text_is_text),
        cmocka_unit_test(characters_are_written_whole),
        cmocka_unit_test(classifiers_read_subwords),
        cmocka_unit_test(exported_and_imported),
        cmocka_unit_test(the_mean_of_checkpoints_reads_the_same_subwords),
        cmocka_unit_test(the_library_reads_subwords),
        cmocka_unit_test(another_version_of_the_library_is_told),
        cmocka_unit_test(the_form_for_other_programs_is_named),
        cmocka_unit_test(damaged_and_mixed_files_are_refused),
        cmocka_unit_test(taken_from_a_file),
        cmocka_unit_test(a_new_run_starts_with_the_subwords_of_its_source),
        cmocka_unit_test(options_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
