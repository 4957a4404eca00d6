// Remembered verdicts (see verdict.h): two lines of text, the date and the problem.
#include "tools/bpt/devices/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/gpu/cache.h"
#include "backends/gpu/quirks.h"
#include "bpt/alloc.h"
#include "tools/bpt/devices/drivers.h"

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static bpt_cache_key_t key_of(const char *backend, const bpt_device_info_t *info, bpt_dtype_t precision) {
    enum { FIXED = 7, MOST_VARIABLES = 8 };
    const char *parts[FIXED + MOST_VARIABLES] = {
        backend, info->name, info->pci, info->driver, bpt_dtype_name(precision), variable("BPT_LIMITS"), variable("BPT_DISABLE")};
    int n = FIXED;
    for (int i = 0; n < (int)BPT_COUNT(parts) && bpt_gpu_quirks_variable_name(i); ++i)
        parts[n++] = cli_drivers_users_variable(bpt_gpu_quirks_variable_name(i));
    return bpt_cache_key("verdict", parts, n);
}

void cli_verdict_remember(const char *backend, const bpt_device_info_t *info, bpt_dtype_t precision, const char *problem) {
    const bpt_cache_key_t key = key_of(backend, info, precision);
    const time_t now = time(NULL);
    struct tm day;
    char date[16], text[sizeof(cli_verdict_t) + 2];
    if (!localtime_r(&now, &day) || !strftime(date, sizeof date, "%Y-%m-%d", &day)) return;
    const int length = snprintf(text, sizeof text, "%s\n%.255s", date, problem);
    bpt_cache_put(&key, text, (size_t)length);
}

bool cli_verdict_recall(const char *backend, const bpt_device_info_t *info, bpt_dtype_t precision, cli_verdict_t *out) {
    const bpt_cache_key_t key = key_of(backend, info, precision);
    void *data;
    size_t length;
    if (!bpt_cache_get(&key, &data, &length)) return false;
    *out = (cli_verdict_t){.problem = ""};
    const bool known = sscanf(data, "%15[^\n]%*1[\n]%255[^\n]", out->date, out->problem) >= 1;
    bpt_free(data);
    return known;
}
