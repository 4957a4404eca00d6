// Several files and folders in one --data, and CSV, through the program: the same losses as from one file; what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/gzip.h"
#include "support/process.h"
#include "support/scratch.h"

#define ON "--backend ref --quiet"
#define SMALL "--layers 1 --d-model 8 --heads 2 --lr 0.02 --warmup 1 --seed 3 " ON

static char folder[256];

static int setup(void **state) {
    (void)state;
    char whole[8192] = "", csv[8192] = "text,label\r\n", part[4][4096] = {"", "", "", ""}, three[3 * 4096];
    snprintf(folder, sizeof folder, "%s", test_path("data"));
    if (mkdir(folder, 0777) || mkdir(test_path("shards"), 0777)) return 1;
    for (int i = 0; i < 80; ++i) {
        char line[64];
        sprintf(line, "%s\t%s film %d\n", i % 2 ? "bad" : "good", i % 2 ? "awful" : "fine", i % 10);
        strcat(whole, line), strcat(part[i / 20], line);
        sprintf(csv + strlen(csv), "\"%s\r\nfilm %d\",%s\r\n", i % 2 ? "awful" : "fine", i % 10, i % 2 ? "bad" : "good");
    }
    test_write_file(test_path("data/whole.tsv"), whole, strlen(whole));
    test_write_file(test_path("data/whole.csv"), csv, strlen(csv));
    for (int i = 0; i < 4; ++i) {
        char name[32];
        snprintf(name, sizeof name, "data/part-%d.tsv.gz", i);
        test_write_gzip(test_path("%s", name), part[i], strlen(part[i]));
        snprintf(name, sizeof name, i < 3 ? "shards/train-%d.tsv" : "shards/valid.tsv", i);
        test_write_file(test_path("%s", name), part[i], strlen(part[i]));
    }
    snprintf(three, sizeof three, "%s%s%s", part[0], part[1], part[2]);
    return mkdir(test_path("plain"), 0777) || (test_write_file(test_path("plain/train.tsv"), three, strlen(three)),
                                               test_write_file(test_path("plain/valid.tsv"), part[3], strlen(part[3])), 0);
}

static void expect_same_model(const char *one, const char *other) {
    size_t a, b;
    char *first = test_read_file(test_path("%s/latest/model.safetensors", one), &a),
         *second = test_read_file(test_path("%s/latest/model.safetensors", other), &b);
    assert_true(first && second && a == b && !memcmp(first, second, a));
    free(first), free(second);
}

#define CLASSIFY "train --task classify --batch-examples 8 --steps 4 " SMALL

static void files_teach_the_same_as_one(void **state) {
    (void)state;
    char out[4][256];
    for (int i = 0; i < 4; ++i) snprintf(out[i], sizeof out[i], "%s", test_path("files-%d", i));
    test_succeed(CLASSIFY " --data %s/whole.tsv --out %s", folder, out[0]);
    test_succeed(CLASSIFY " --data %s/part-0.tsv.gz %s/part-1.tsv.gz --out %s --data %s/part-2.tsv.gz --data=%s/part-3.tsv.gz", folder,
                 folder, out[1], folder, folder);
    expect_same_model("files-0", "files-1");
    test_succeed(CLASSIFY " --data %s/whole.csv --out %s", folder, out[2]);
    expect_same_model("files-0", "files-2");
    test_succeed(CLASSIFY " --stop-at 2 --data %s/part-0.tsv.gz %s/part-1.tsv.gz %s/part-2.tsv.gz %s/part-3.tsv.gz --out %s", folder,
                 folder, folder, folder, out[3]);
    test_succeed("train --resume --out %s " ON, out[3]);
    expect_same_model("files-0", "files-3");
    test_refused(2, "the training data are not those", "train --resume --steps 6 --data %s/part-0.tsv.gz %s/part-1.tsv.gz --out %s " ON,
                 folder, folder, out[3]);
}

static char *said(const char *line) {
    test_process_t p = test_run_line(line);
    if (p.exit_status) fail_msg("bpt %s: %s", line, p.err);
    char *out = p.out;
    p.out = NULL;
    char *seconds = strstr(out, "\"seconds\"");
    if (seconds) *seconds = 0;
    test_process_free(&p);
    return out;
}

static void expect_same_answer(const char *one, const char *other) {
    char *first = said(one), *second = said(other);
    assert_string_equal(first, second);
    assert_true(*first);
    free(first), free(second);
}

static void evaluations_read_them_too(void **state) {
    (void)state;
    char run[256], one[2048], other[2048];
    snprintf(run, sizeof run, "%s", test_path("files-1"));
    snprintf(one, sizeof one, "eval %s --json " ON, run);  // the test part of the run's own files
    snprintf(other, sizeof other, "eval %s --json --split test --data %s/whole.tsv " ON, run, folder);
    expect_same_answer(one, other);
    snprintf(one, sizeof one, "eval %s --json " ON " --data %s/part-1.tsv.gz %s/part-0.tsv.gz %s/part-2.tsv.gz %s/part-3.tsv.gz", run,
             folder, folder, folder, folder);
    snprintf(other, sizeof other, "eval --data %s/whole.csv %s --json " ON, folder, run);
    expect_same_answer(one, other);
}

static void shards_are_read_in_their_order(void **state) {
    (void)state;
    char shards[256], plain[256], out[2][256];
    snprintf(shards, sizeof shards, "%s", test_path("shards")), snprintf(plain, sizeof plain, "%s", test_path("plain"));
    static const char *const tasks[] = {"--task classify --batch-examples 8", "--task lm --unit byte --context 16 --batch-tokens 64",
                                        "--task lm --unit word --context 16 --batch-tokens 64"};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; ++i) {
        char names[2][32];
        for (int k = 0; k < 2; ++k) snprintf(names[k], sizeof names[k], "%s-%zu", k ? "sharded" : "joined", i);
        for (int k = 0; k < 2; ++k) snprintf(out[k], sizeof out[k], "%s", test_path("%s", names[k]));
        test_succeed("train %s --steps 4 " SMALL " --data %s --out %s", tasks[i], plain, out[0]);
        test_succeed("train %s --steps 4 " SMALL " --data %s --out %s", tasks[i], shards, out[1]);
        expect_same_model(names[0], names[1]);
    }
}

// However each is packed; but one file packed in two ways is no two shards.
static void shards_may_be_packed(void **state) {
    (void)state;
    char mixed[256], out[256], command[1200];
    snprintf(mixed, sizeof mixed, "%s", test_path("mixed")), snprintf(out, sizeof out, "%s", test_path("mixed-run"));
    snprintf(command, sizeof command, "cp -r '%s' '%s' && gzip '%s/train-1.tsv' && xz '%s/train-2.tsv'", test_path("shards"), mixed, mixed,
             mixed);
    if (system(command)) skip();  // no xz here
    test_succeed(CLASSIFY " --data %s --out %s", mixed, out);
    expect_same_model("joined-0", "mixed-run");
    snprintf(command, sizeof command, "gzip -k '%s/train-0.tsv'", mixed);
    assert_int_equal(system(command), 0);
    test_refused(1, "both 'train-0.tsv' and 'train-0.tsv.gz' could be the train part", CLASSIFY " --data %s --out %s-2", mixed, out);
}

static void bad_ones_are_named(void **state) {
    (void)state;
    char bad[256], out[256];
    snprintf(bad, sizeof bad, "%s", test_path("bad.tsv")), snprintf(out, sizeof out, "%s", test_path("refused"));
    test_write_file(bad, "good\ta\nno tab\n", 14);
    test_refused(1, "bad.tsv: line 2: no tab", CLASSIFY " --data %s/part-0.tsv.gz %s --out %s", folder, bad, out);
    test_refused(1, "nowhere", CLASSIFY " --data %s/part-0.tsv.gz %s/nowhere --out %s", folder, folder, out);
    test_write_file(test_path("bad.csv"), "text,label\na,x\n\"b,y\n", 20);
    test_refused(1, "bad.csv: line 3: the quote that begins here is not closed", CLASSIFY " --data %s --out %s", test_path("bad.csv"), out);
    test_refused(1, "there is no such file or folder", CLASSIFY " --data %s %s/nowhere --out %s", test_path("shards"), folder, out);
    test_refused(2, "twice, and what it names is cut into parts", CLASSIFY " --data %s/part-0.tsv.gz %s/part-0.tsv.gz --out %s", folder,
                 folder, out);
    char shell[1400], *said;
    size_t length;
    snprintf(shell, sizeof shell, "\"$BPT_PROGRAM\" " CLASSIFY " --data - - --out '%s' < '%s/whole.tsv' 2> '%s'", out, folder,
             test_path("words"));
    assert_int_not_equal(system(shell), 0);
    said = test_read_file(test_path("words"), &length);
    if (!said || !strstr(said, "the standard input (-) is named 2 times")) fail_msg("%s", said ? said : "nothing");
    free(said);
    test_refused(1, "its name says no part", CLASSIFY " --data %s %s --out %s", test_path("shards"), bad, out);
}

static void csv_is_classified(void **state) {
    (void)state;
    static const char few[] = "id,text\n1,\"fine\nfilm 3\"\n2,\"awful, film\"\n";
    char run[256], one[1024], other[1024];
    snprintf(run, sizeof run, "%s", test_path("files-2"));
    test_write_file(test_path("few.csv"), few, strlen(few));
    test_write_file(test_path("few.txt"), "fine film 3\nawful, film\n", 24);
    test_write_file(test_path("few.ft"), "__label__x fine film 3\n__label__y awful, film\n", 46);
    snprintf(one, sizeof one, "classify %s %s " ON, run, test_path("few.csv"));
    snprintf(other, sizeof other, "classify %s %s " ON, run, test_path("few.txt"));
    expect_same_answer(one, other);
    char shell[2048];
    snprintf(shell, sizeof shell, "cat '%s' | \"$BPT_PROGRAM\" classify '%s' " ON " > '%s'", test_path("few.ft"), run,
             test_path("answers"));
    assert_int_equal(system(shell), 0);
    size_t length;
    char *answers = test_read_file(test_path("answers"), &length), *wanted = said(other);
    assert_true(length == strlen(wanted) && !memcmp(answers, wanted, length));
    free(answers), free(wanted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_teach_the_same_as_one),
        cmocka_unit_test(evaluations_read_them_too),
        cmocka_unit_test(shards_are_read_in_their_order),
        cmocka_unit_test(shards_may_be_packed),
        cmocka_unit_test(bad_ones_are_named),
        cmocka_unit_test(csv_is_classified),
    };
    return cmocka_run_group_tests_name("several_paths", tests, setup, NULL);
}
