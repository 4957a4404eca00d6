// One op call on one device, once, compared with the reference backend: for scripts that count what kernels do. The call is a line as
// bpt/line.h has it.
//
//   op_call BACKEND LINE       for example  op_call opencl 'attention graph=bpt n=128 k=4 causal heads=1 head_dim=32 type=f32'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/execute.h"

static void must(bpt_status_t status, const char *what) {
    if (status == BPT_OK) return;
    fprintf(stderr, "op_call: %s: %s\n", what, bpt_error_message());
    exit(1);
}

static bpt_device_t *open_device(const char *name) {
    const bpt_backend_t *backend = bpt_backend_find(name);
    bpt_device_info_t infos[8];
    bpt_device_t *device;
    int count = 0;
    if (!backend) must(bpt_fail(BPT_ERR_USAGE, "no such backend in this build"), name);
    must(backend->enumerate(infos, (int)BPT_COUNT(infos), &count), name);
    for (int i = 0; i < count && i < (int)BPT_COUNT(infos); ++i) {
        if (!infos[i].usable) continue;
        must(backend->open(i, NULL, &device), name);
        return device;
    }
    must(bpt_fail(BPT_ERR_UNSUPPORTED, "%s", count > 0 ? infos[0].reason : "no device"), name);
    return NULL;
}

int main(int argc, char **argv) {
    bpt_op_line_t line;
    test_case_t c;
    test_data_t got, want;
    if (argc != 3) must(bpt_fail(BPT_ERR_USAGE, "wants a backend and a line: op_call opencl 'copy source=f32[128]'"), "usage");
    must(bpt_line_parse(argv[2], &line), "line");
    bpt_device_t *device = open_device(argv[1]);
    test_case_of_line(&c, &line);
    test_data_create(&c, &got);
    test_data_create(&c, &want);
    must(test_execute(device, &c, TEST_ALIGNED, 1, &got), device->info.name);
    must(test_execute(test_ref_device(), &c, TEST_ALIGNED, 1, &want), "ref");
    printf("%s on %s, %s: error %.2f of what is allowed\n", bpt_op_name(c.call.op), device->info.name, device->info.driver,
           test_compare("against ref", &c, &got, &want));
    test_data_destroy(&got);
    test_data_destroy(&want);
    device->backend->close(device);
    return 0;
}
