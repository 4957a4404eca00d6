// Packages by system (see bpt/platforms.h).
#include "bpt/platforms.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/env.h"
#include "bpt/machine.h"

const bpt_system_t bpt_systems[] = {
#define BPT_SYSTEM(name, id, least, tried) {name, id, least, tried},
#define BPT_PACKAGES(...)
#include "bpt/platforms.def"
    {0},
};
_Static_assert(sizeof bpt_systems / sizeof *bpt_systems == BPT_SYSTEMS + 1, "BPT_SYSTEMS is not their number");

const bpt_packages_t bpt_packages[] = {
#define BPT_SYSTEM(...)
#define BPT_PACKAGES(need, what, ...) {BPT_NEED_##need, what, {__VA_ARGS__}},
#include "bpt/platforms.def"
    {0},
};

// ---- The system at hand ----------------------------------------------------------------------------------------------

typedef struct {
    char id[32], like[96];
    int version;  // before the point; a system without one is ahead of all numbers
} release_t;

static void take_value(const char *line, const char *key, char *out, size_t bytes) {
    const size_t length = strlen(key);
    if (strncmp(line, key, length) || line[length] != '=') return;
    line += length + 1;
    line += *line == '"';
    snprintf(out, bytes, "%.*s", (int)strcspn(line, "\"\r\n"), line);
}

static bool read_release(release_t *out) {
    const char *other = bpt_env_text("BPT_OS_RELEASE");
    char line[256], version[32] = "";
    *out = (release_t){.id = ""};
    if (!other && *bpt_machine_os()) {
        snprintf(out->id, sizeof out->id, "%s", bpt_machine_os());
        return true;
    }
    FILE *file = fopen(other ? other : "/etc/os-release", "r");
    if (!file) return false;
    while (fgets(line, sizeof line, file)) {
        take_value(line, "ID", out->id, sizeof out->id);
        take_value(line, "ID_LIKE", out->like, sizeof out->like);
        take_value(line, "VERSION_ID", version, sizeof version);
    }
    fclose(file);
    out->version = *version ? atoi(version) : 1 << 20;
    return true;
}

// The newest that is not newer than this one.
static int find_system(const char *id, size_t length, int version) {
    int found = -1;
    for (int i = 0; i < BPT_SYSTEMS; ++i)
        if (strlen(bpt_systems[i].id) == length && !strncmp(bpt_systems[i].id, id, length) && bpt_systems[i].least <= version) found = i;
    return found;
}

// A system that is made of another has the other's packages, of a version that its own number does not tell.
int bpt_system_here(void) {
    release_t r;
    if (!read_release(&r)) return -1;
    int found = find_system(r.id, strlen(r.id), r.version);
    for (const char *at = r.like + strspn(r.like, " "); *at && found < 0; at += strcspn(at, " "), at += strspn(at, " "))
        found = find_system(at, strcspn(at, " "), 1 << 20);
    return found;
}

// ---- Remedies --------------------------------------------------------------------------------------------------------

enum { REMEDY_BYTES = 512 };

static char remedies[BPT_NEEDS][REMEDY_BYTES];

static void put(char *text, const char *format, const char *a, const char *b) {
    const size_t used = strlen(text);
    snprintf(text + used, REMEDY_BYTES - used, format, a, b);
}

static bool is_known(const char *packages) { return *packages && strcmp(packages, "-"); }

// The packages of a system for a need, each with what it is for where there are several; the number of them.
static int put_packages(char *text, bpt_need_t need, int system, bool reasons) {
    int count = 0, known = 0;
    for (const bpt_packages_t *p = bpt_packages; p->what; ++p) known += p->need == need && is_known(p->packages[system]);
    for (const bpt_packages_t *p = bpt_packages; p->what; ++p) {
        if (p->need != need || !is_known(p->packages[system])) continue;
        ++count;
        put(text, "%s%s", count == 1 ? "" : count == known ? " or " : ", ", p->packages[system]);
        if (reasons && known > 1) put(text, " (%s%s)", p->what, "");
    }
    return count;
}

static bool has_none(bpt_need_t need, int system) {
    for (const bpt_packages_t *p = bpt_packages; p->what; ++p)
        if (p->need == need) return !strcmp(p->packages[system], "-");
    return false;
}

// What the newest version of each system calls it.
static void put_others(char *text, bpt_need_t need) {
    for (int i = 0; i < BPT_SYSTEMS; ++i) {
        char names[REMEDY_BYTES] = "";
        if (i + 1 < BPT_SYSTEMS && !strcmp(bpt_systems[i].id, bpt_systems[i + 1].id)) continue;
        if (put_packages(names, need, i, false)) put(text, *text ? "; %s: %s" : "install it: %s: %s", bpt_systems[i].name, names);
    }
}

bool bpt_platform_has_none(bpt_need_t need) {
    const int here = bpt_system_here();
    return here >= 0 && has_none(need, here);
}

static void make_remedies(void) {
    const int here = bpt_system_here();
    for (int need = 0; need < BPT_NEEDS; ++need) {
        char *text = remedies[need];
        if (here >= 0) put(text, "on %s install %s", bpt_systems[here].name, "");
        if (here >= 0 && put_packages(text, (bpt_need_t)need, here, true)) continue;
        text[0] = '\0';
        if (here >= 0 && has_none((bpt_need_t)need, here))
            put(text, "%s has no package of it%s", bpt_systems[here].name, "");
        else
            put_others(text, (bpt_need_t)need);
    }
}

const char *bpt_platform_remedy(bpt_need_t need) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_remedies);
    return remedies[need];
}
