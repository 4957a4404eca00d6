// What the files of the Vulkan driver share. Knows no op: see backends/gpu/driver.h for what is implemented.
#ifndef BPT_VULKAN_INTERNAL_H
#define BPT_VULKAN_INTERNAL_H

#include <stdatomic.h>

#include "backends/gpu/driver.h"
#include "backends/vulkan/loader.h"

enum { VULKAN_STAGING_BYTES = 16 << 20 };

// ---- files.c ---------------------------------------------------------------------------------------------------------

extern const bpt_loader_t bpt_vulkan_loader;

// ---- instance.c ------------------------------------------------------------------------------------------------------

// An instance with, under BPT_VULKAN_VALIDATION=1, the validation layer, every message of which is counted. Must not move.
typedef struct {
    VkInstance handle;
    VkDebugUtilsMessengerEXT messenger;
    atomic_uint messages;
    char first_message[640];
} bpt_vulkan_instance_t;

bpt_status_t bpt_vulkan_instance_create(bpt_vulkan_instance_t *out);
void bpt_vulkan_instance_destroy(bpt_vulkan_instance_t *instance);

// ---- validation.c ----------------------------------------------------------------------------------------------------

bool bpt_vulkan_validation_wanted(void);
// An instance as `plain` asks for it, under the layer, with its checks of synchronisation. *result is that of vkCreateInstance.
bpt_status_t bpt_vulkan_validation_create(const VkInstanceCreateInfo *plain, bpt_vulkan_instance_t *out, VkResult *result);
bpt_status_t bpt_vulkan_validation_hear(bpt_vulkan_instance_t *instance);  // counts and logs its messages from now on
void bpt_vulkan_validation_end(bpt_vulkan_instance_t *instance);
bpt_status_t bpt_vulkan_instance_check(const bpt_vulkan_instance_t *instance);  // BPT_ERR_INTERNAL when validation complained

// ---- physical.c ------------------------------------------------------------------------------------------------------

// What is known of a device before it is opened.
typedef struct {
    VkPhysicalDevice handle;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceVulkan11Properties properties11;
    VkPhysicalDeviceVulkan12Properties properties12;
    VkPhysicalDeviceMemoryProperties memory;
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci;
    uint32_t queue_family, timestamp_bits;
    bool on_pci;              // `pci` is filled
    bool mapped;              // its memory may be mapped into the host's
    uint32_t least_subgroup;  // the smallest that the compiler may choose; 0: not said
    uint32_t subgroup_size;   // that a kernel may ask for, whose subgroups are then full; 0: none
    uint32_t most_subgroups;  // of such a work-group
    bool shuffles;            // kernels may pass values between the items of a subgroup of that size
    bool tells_resources;     // of compiled kernels (VK_KHR_pipeline_executable_properties)
    bool matrix_left_out;     // it has units for products of matrices, which this build has no kernels for
    bpt_gpu_limits_t limits;
    uint64_t free_bytes;  // of the limits' memory_bytes
    char reason[256];     // why it cannot be used, "" when it can
} bpt_vulkan_physical_t;

// The devices in the order of their numbers: discrete, integrated, others, software. *out is freed with bpt_free.
bpt_status_t bpt_vulkan_physical_list(VkInstance instance, bpt_vulkan_physical_t **out, int *count);
bpt_status_t bpt_vulkan_enumerate(bpt_device_info_t *infos, int capacity, int *count);

// ---- matrix.c --------------------------------------------------------------------------------------------------------

// Of a device with the extension and a subgroup size: limits.fragments, all 0 where no size suits cl/matrix/matmul_matrix.cl.
bpt_status_t bpt_vulkan_matrix_know(VkInstance instance, bpt_vulkan_physical_t *p);
// The last link of the features that a device with limits.fragments is opened with, else NULL.
void *bpt_vulkan_matrix_feature(const bpt_vulkan_physical_t *p);

// ---- device.c --------------------------------------------------------------------------------------------------------

// Layouts of a kernel, shared by its variants that read texels, or that do not.
typedef struct {
    VkDescriptorSetLayout set;
    VkPipelineLayout pipeline;
    uint32_t n_bindings, n_texels, params_bytes;
    VkFormat texels[BPT_GPU_MAX_BINDINGS];  // of the bindings that are texel buffers; VK_FORMAT_UNDEFINED: a storage buffer
} bpt_vulkan_layout_t;

typedef struct {
    bpt_gpu_api_t base;
    bpt_vulkan_instance_t instance;
    bpt_vulkan_physical_t physical;
    VkDevice device;
    VkQueue queue;
    VkCommandPool command_pool;
    VkSemaphore timeline;                                  // counts the submissions that have finished
    uint64_t submitted;                                    // number of the last submission
    uint64_t finished;                                     // submissions known to have finished
    bool lost;                                             // nothing is submitted any more
    bool compiles_only;                                    // opened without a queue, to compile and to tell what kernels take
    bool stuck;                                            // bpt_vulkan_idle has waited in vain
    uint64_t memory_bytes;                                 // allocated
    VkPipelineCache pipelines;                             // what the driver has compiled; NULL: it keeps nothing
    size_t pipelines_bytes;                                // as loaded
    bpt_vulkan_layout_t layouts[BPT_GPU_KERNEL_COUNT][2];  // [reads texels]
    bpt_gpu_memory_t *dummy, *staging;                     // staging: made when first needed
} bpt_vulkan_t;

bpt_status_t bpt_vulkan_open(int index, bpt_gpu_api_t **out);
void bpt_vulkan_close(bpt_gpu_api_t *api);
// The same for compiling alone, which devices without hardware allow too (Mesa's RADV_FORCE_FAMILY). There are no targets.
bpt_status_t bpt_vulkan_compiler_open(int index, const char *target, bpt_gpu_api_t **out);
// A failure of a Vulkan call as a status: "<device>: <what>: <result>". Remembers that a device is lost.
bpt_status_t bpt_vulkan_fail(bpt_vulkan_t *vulkan, VkResult result, const char *what) BPT_MUST_USE;
// Is nothing running that uses the device's objects? What still runs is granted a short time; if that does not suffice, objects in use
// are left behind, because destroying them could take the process down.
bool bpt_vulkan_idle(bpt_vulkan_t *vulkan);
// Makes everything before, on the device and by earlier submissions, visible to everything after, on the device and the host.
void bpt_vulkan_full_barrier(VkCommandBuffer commands);
bpt_status_t bpt_vulkan_queue_submit(bpt_vulkan_t *vulkan, VkCommandBuffer commands, uint64_t *ticket);
bpt_status_t bpt_vulkan_wait(bpt_gpu_api_t *api, uint64_t ticket, uint64_t timeout_ns);

// ---- memory.c --------------------------------------------------------------------------------------------------------

struct bpt_gpu_memory {
    VkBuffer buffer;
    VkDeviceMemory memory;
    size_t bytes, allocated_bytes;
    uint8_t *mapped;  // NULL: reached by copies through the staging memory only
    bool cached;      // the host reads it at full speed
};

bpt_status_t bpt_vulkan_memory_create(bpt_gpu_api_t *api, size_t bytes, bpt_gpu_memory_t **out);
void bpt_vulkan_memory_destroy(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory);
bpt_status_t bpt_vulkan_write(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory, size_t offset, const void *source, size_t bytes);
bpt_status_t bpt_vulkan_read(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory, size_t offset, void *target, size_t bytes);

// ---- program.c -------------------------------------------------------------------------------------------------------

struct bpt_gpu_program {
    VkPipeline pipeline;
    bpt_gpu_kernel_t kernel;
    const bpt_vulkan_layout_t *layout;
};

bpt_status_t bpt_vulkan_program_create(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out);
void bpt_vulkan_program_destroy(bpt_gpu_api_t *api, bpt_gpu_program_t *program);
void bpt_vulkan_layouts_destroy(bpt_vulkan_t *vulkan);
bpt_status_t bpt_vulkan_compiler_source(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, void **source, size_t *bytes);
bpt_status_t bpt_vulkan_compiler_name(bpt_gpu_api_t *api, char *text, size_t bytes);                                       // resources.c
bpt_status_t bpt_vulkan_compiler_compile(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_resources_t *out);  // resources.c
// What the driver compiles, from and into the cache of bpt.
void bpt_vulkan_pipelines_load(bpt_vulkan_t *vulkan);
void bpt_vulkan_pipelines_save(bpt_vulkan_t *vulkan);

// ---- commands.c ------------------------------------------------------------------------------------------------------

bpt_status_t bpt_vulkan_commands_create(bpt_gpu_api_t *api, bpt_gpu_commands_t **out);
void bpt_vulkan_commands_destroy(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands);
bpt_status_t bpt_vulkan_dispatch(bpt_gpu_commands_t *commands, const bpt_gpu_dispatch_t *dispatch);
bpt_status_t bpt_vulkan_barrier(bpt_gpu_commands_t *commands);
bpt_status_t bpt_vulkan_mark(bpt_gpu_commands_t *commands);
bpt_status_t bpt_vulkan_finish(bpt_gpu_commands_t *commands);
bpt_status_t bpt_vulkan_submit(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands, uint64_t *ticket);
bpt_status_t bpt_vulkan_marks(bpt_gpu_commands_t *commands, double *seconds, int capacity, int *count);

#endif
