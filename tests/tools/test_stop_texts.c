// Stop texts: what may be printed while they may still come.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/bpt/commands/stop_texts.h"

static void what_cannot_begin_a_stop_text_is_free(void **state) {
    (void)state;
    static const struct {
        const char *stops[3], *text;
        size_t free;
        bool found;
    } cases[] = {
        {{NULL}, "any text", 8, false},      {{"end"}, "", 0, false},           {{"end"}, "the", 2, false},
        {{"end"}, "then", 2, false},         {{"end"}, "thens", 5, false},      {{"end"}, "the en", 4, false},
        {{"end"}, "the end of it", 4, true}, {{"aab"}, "aaa", 1, false},         // the last two may begin it
        {{"aab"}, "aaab", 1, true},          {{"abab", "ba"}, "aaba", 2, true},  // complete before the longer one
        {{"abc", "bcd"}, "xab", 1, false},   {{"abc", "b"}, "xabc", 1, true},    // the first in the text
        {{"c", "abc"}, "xabc", 1, true},     {{"\n\n"}, "one\n", 3, false},     {{"longer than the text"}, "long", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cli_texts_t stops = {.item = (char **)cases[i].stops};
        while (stops.count < 3 && cases[i].stops[stops.count]) ++stops.count;
        bool found;
        const size_t free = cli_stop_texts_scan(&stops, cases[i].text, strlen(cases[i].text), &found);
        if (free != cases[i].free || found != cases[i].found) fail_msg("'%s': %zu, %s", cases[i].text, free, found ? "found" : "not found");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_cannot_begin_a_stop_text_is_free)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
