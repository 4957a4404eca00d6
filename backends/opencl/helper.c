// A thread that helps the driver of a processor. Such a driver may count on the thread that waits in clFinish as one of the device's
// units: without it Intel's computes with one of two. Our own waits can be given up and so are not for clFinish; this thread is.
#include "backends/opencl/internal.h"

static void *help(void *user) {
    bpt_opencl_api_t *api = user;
    uint64_t helped = 0;  // submissions
    pthread_mutex_lock(&api->mutex);
    while (!api->closing) {
        const uint64_t begun = api->finished + (uint64_t)api->pending;
        if (helped == begun) {
            pthread_cond_wait(&api->changed, &api->mutex);
            continue;
        }
        helped = begun;
        pthread_mutex_unlock(&api->mutex);
        api->cl->clFinish(api->queue);  // an error comes with the submission's callback
        pthread_mutex_lock(&api->mutex);
    }
    pthread_mutex_unlock(&api->mutex);
    api->cl->clReleaseCommandQueue(api->queue);
    return NULL;
}

bpt_status_t bpt_opencl_helper_start(bpt_opencl_api_t *api) {
    if (!bpt_opencl_is_processor(api->cl, api->id.device)) return BPT_OK;
    BPT_TRY(bpt_opencl_check(api->cl->clRetainCommandQueue(api->queue), "starting the driver's helper"));
    api->has_helper = pthread_create(&api->helper, NULL, help, api) == 0;
    if (api->has_helper) return BPT_OK;
    api->cl->clReleaseCommandQueue(api->queue);
    return bpt_fail(BPT_ERR_NO_MEMORY, "no thread could be started for the device's driver");
}

void bpt_opencl_helper_stop(bpt_opencl_api_t *api) {
    if (!api->has_helper) return;
    pthread_mutex_lock(&api->mutex);
    api->closing = true;
    const bool stuck = api->pending > 0;  // perhaps in a driver that never answers: then nobody waits for the thread
    pthread_cond_broadcast(&api->changed);
    pthread_mutex_unlock(&api->mutex);
    if (stuck)
        pthread_detach(api->helper);
    else
        pthread_join(api->helper, NULL);
}
