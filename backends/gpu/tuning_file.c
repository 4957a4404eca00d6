// The file of a tuned rule (see tuning.h): a small JSON object that also says what it was measured on.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include <jansson.h>

#include "backends/gpu/tuning.h"
#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/json.h"

enum { MAX_BYTES = 65536 };

static bpt_status_t folder_path(char **out) { return bpt_user_folder("BPT_CONFIG_DIR", "XDG_CONFIG_HOME", ".config", out); }

bpt_status_t bpt_gpu_tuning_path(const char *backend, const bpt_device_info_t *info, char **out) {
    char key[sizeof info->name + sizeof info->driver + 2], *folder;
    const int length = snprintf(key, sizeof key, "%s\n%s", info->name, info->driver);
    *out = NULL;
    BPT_TRY(folder_path(&folder));
    if (!folder) return BPT_OK;
    const bpt_status_t status =
        bpt_path_format(out, "%s/tuning-%s-%016" PRIx64 ".json", folder, backend, (uint64_t)XXH3_64bits(key, (size_t)length));
    bpt_free(folder);
    return status;
}

// ---- Reading ---------------------------------------------------------------------------------------------------------

static bpt_status_t read_object(const json_t *object, const bpt_device_info_t *info, bpt_gpu_tuning_t *out) {
    const char *products = "", *attention = "", *device = "", *driver = "";
    char text[2 * BPT_TUNING_TEXT];
    if (!json_is_object(object)) return bpt_fail(BPT_ERR_INPUT, "it holds no JSON object");
    BPT_TRY(bpt_json_get_text(object, "products", &products));
    BPT_TRY(bpt_json_get_text(object, "device", &device));
    BPT_TRY(bpt_json_get_text(object, "driver", &driver));
    if (strcmp(device, info->name) || strcmp(driver, info->driver)) return bpt_fail(BPT_ERR_INPUT, "it is of another device or driver");
    if (!bpt_gpu_tuning_parse(products, out)) return bpt_fail(BPT_ERR_INPUT, "\"products\" is '%.60s', which is no rule", products);
    if (!json_object_get(object, "attention")) return BPT_OK;
    BPT_TRY(bpt_json_get_text(object, "attention", &attention));
    snprintf(text, sizeof text, "%s;%s", products, attention);
    return bpt_gpu_tuning_parse(text, out) ? BPT_OK : bpt_fail(BPT_ERR_INPUT, "\"attention\" is '%.60s', which is no rule", attention);
}

bpt_status_t bpt_gpu_tuning_read(const char *backend, const bpt_device_info_t *info, bool *found, bpt_gpu_tuning_t *out) {
    char *path, *text = NULL;
    size_t length;
    json_t *object = NULL;
    bpt_status_t status = BPT_OK;
    *found = false;
    BPT_TRY(bpt_gpu_tuning_path(backend, info, &path));
    if (path && bpt_file_exists(path)) {
        status = bpt_file_read(path, MAX_BYTES, &text, &length);
        if (status == BPT_OK) status = bpt_json_parse(text, length, path, &object);
        if (status == BPT_OK) status = bpt_context(read_object(object, info, out), "%s", path);
        *found = status == BPT_OK;
    }
    json_decref(object);
    bpt_free(text);
    bpt_free(path);
    return status;
}

// ---- Writing ---------------------------------------------------------------------------------------------------------

static bpt_status_t create_folder(void) {
    char *folder;
    BPT_TRY(folder_path(&folder));
    const bpt_status_t status =
        folder ? bpt_folders_create(folder)
               : bpt_fail(BPT_ERR_IO, "no folder for the tuned rule: neither BPT_CONFIG_DIR nor XDG_CONFIG_HOME nor HOME is set");
    bpt_free(folder);
    return status;
}

bpt_status_t bpt_gpu_tuning_prepare(const char *backend, const bpt_device_info_t *info) {
    bpt_file_writer_t *writer;
    char *path;
    BPT_TRY(create_folder());
    BPT_TRY(bpt_gpu_tuning_path(backend, info, &path));
    const bpt_status_t status = bpt_file_writer_open(path, &writer);
    if (status == BPT_OK) bpt_file_writer_close(writer);
    bpt_free(path);
    return status;
}

static bpt_status_t fill(json_t *object, const char *backend, const bpt_device_info_t *info, const bpt_gpu_tuning_t *tuning,
                         const double gflops[BPT_PRODUCT_FORMS]) {
    static const char *const keys[BPT_PRODUCT_FORMS] = {"forward_gflops", "backward_gflops", "weights_gflops"};
    const time_t now = time(NULL);
    struct tm day;
    char date[16] = "", products[BPT_TUNING_TEXT];
    if (localtime_r(&now, &day)) (void)strftime(date, sizeof date, "%Y-%m-%d", &day);
    bpt_gpu_tuning_text(tuning, products);
    char *attention = strchr(products, ';');
    if (attention) *attention++ = '\0';
    BPT_TRY(bpt_json_set_text(object, "products", products));
    if (attention) BPT_TRY(bpt_json_set_text(object, "attention", attention));
    BPT_TRY(bpt_json_set_text(object, "backend", backend));
    BPT_TRY(bpt_json_set_text(object, "device", info->name));
    BPT_TRY(bpt_json_set_text(object, "driver", info->driver));
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) BPT_TRY(bpt_json_set_real(object, keys[f], gflops[f]));
    BPT_TRY(bpt_json_set_text(object, "bpt", BPT_VERSION_STRING));
    return bpt_json_set_text(object, "date", date);
}

bpt_status_t bpt_gpu_tuning_write(const char *backend, const bpt_device_info_t *info, const bpt_gpu_tuning_t *tuning,
                                  const double gflops[BPT_PRODUCT_FORMS]) {
    char *path;
    BPT_TRY(create_folder());
    BPT_TRY(bpt_gpu_tuning_path(backend, info, &path));
    json_t *object = json_object();
    bpt_status_t status =
        object ? fill(object, backend, info, tuning, gflops) : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing %s", path);
    if (status == BPT_OK) status = bpt_json_write(path, object);
    json_decref(object);
    bpt_free(path);
    return status;
}
