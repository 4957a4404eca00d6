// The OpenCL devices of all platforms, what they are and what they allow.
#include <stdio.h>
#include <string.h>

#include "backends/opencl/internal.h"
#include "bpt/platforms.h"

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 32 };

typedef struct {
    bpt_opencl_id_t id;
    bpt_device_info_t info;
} found_t;

static void text_of(const bpt_opencl_functions_t *cl, cl_device_id device, cl_device_info what, char *text, size_t bytes) {
    char long_text[8192] = "";
    size_t length = 0;
    if (cl->clGetDeviceInfo(device, what, sizeof long_text - 1, long_text, &length) != CL_SUCCESS) long_text[0] = '\0';
    long_text[sizeof long_text - 1] = '\0';
    const char *start = long_text + strspn(long_text, " ");
    snprintf(text, bytes, "%.*s", (int)bytes - 1, start);
}

#define NUMBER(type, cl, device, what)                                                                   \
    __extension__({                                                                                      \
        type value_ = 0;                                                                                 \
        if ((cl)->clGetDeviceInfo(device, what, sizeof value_, &value_, NULL) != CL_SUCCESS) value_ = 0; \
        value_;                                                                                          \
    })

static int rank(const bpt_device_info_t *info) { return !strcmp(info->type, "discrete") ? 0 : !strcmp(info->type, "integrated") ? 1 : 2; }

// Why a device cannot run the kernels; "" when it can.
static void judge(const bpt_opencl_functions_t *cl, cl_device_id device, bpt_device_info_t *info) {
    char version[128];
    int major = 0, minor = 0;
    text_of(cl, device, CL_DEVICE_VERSION, version, sizeof version);
    const bool readable = sscanf(version, "OpenCL %d.%d", &major, &minor) == 2;
    if (!readable || major < 1 || (major == 1 && minor < 2))
        snprintf(info->reason, sizeof info->reason, "it offers '%.60s'; OpenCL 1.2 is needed: update the driver", version);
    else if (!NUMBER(cl_bool, cl, device, CL_DEVICE_AVAILABLE))
        snprintf(info->reason, sizeof info->reason, "the driver says that it is not available");
    else if (!NUMBER(cl_bool, cl, device, CL_DEVICE_COMPILER_AVAILABLE))
        snprintf(info->reason, sizeof info->reason, "its driver has no compiler for kernels");
    else if (!NUMBER(cl_bool, cl, device, CL_DEVICE_ENDIAN_LITTLE))
        snprintf(info->reason, sizeof info->reason, "it is big-endian");
    info->usable = !*info->reason;
}

// The place on the bus, as the standard's or a vendor's query tells it.
static void know_pci(const bpt_opencl_functions_t *cl, cl_device_id device, const char *extensions, bpt_device_info_t *info) {
    enum { PCI_BUS_INFO_KHR = 0x410F, PCI_BUS_ID_NV = 0x4008, PCI_SLOT_ID_NV = 0x4009, PCI_DOMAIN_ID_NV = 0x400A, TOPOLOGY_AMD = 0x4037 };
    cl_uint place[4] = {0};  // domain, bus, device, function
    uint8_t topology[24] = {0};
    bool known = false;
    if (strstr(extensions, "cl_khr_pci_bus_info"))
        known = cl->clGetDeviceInfo(device, PCI_BUS_INFO_KHR, sizeof place, place, NULL) == CL_SUCCESS;
    else if (strstr(extensions, "cl_nv_device_attribute_query")) {
        const cl_uint slot = NUMBER(cl_uint, cl, device, PCI_SLOT_ID_NV);
        known = cl->clGetDeviceInfo(device, PCI_BUS_ID_NV, sizeof place[1], &place[1], NULL) == CL_SUCCESS;
        place[0] = NUMBER(cl_uint, cl, device, PCI_DOMAIN_ID_NV);
        place[2] = slot >> 3;
        place[3] = slot & 7;
    } else if (strstr(extensions, "cl_amd_device_attribute_query")) {
        known = cl->clGetDeviceInfo(device, TOPOLOGY_AMD, sizeof topology, topology, NULL) == CL_SUCCESS && topology[0] == 1;  // PCIe
        for (int i = 0; i < 3; ++i) place[1 + i] = topology[21 + i];
    }
    if (known)
        snprintf(info->pci, sizeof info->pci, "%04x:%02x:%02x.%x", place[0] & 0xffff, place[1] & 0xff, place[2] & 0xff, place[3] & 0xf);
}

bool bpt_opencl_is_processor(const bpt_opencl_functions_t *cl, cl_device_id device) {
    const cl_device_type type = NUMBER(cl_device_type, cl, device, CL_DEVICE_TYPE);
    return (type & CL_DEVICE_TYPE_CPU) && !(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR));
}

// Floats of a vector register, of processors; compilers for GPUs make no use of vectors.
static uint32_t vector_lanes(const bpt_opencl_functions_t *cl, cl_device_id device) {
    const bool processor = NUMBER(cl_device_type, cl, device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;
    return processor ? NUMBER(cl_uint, cl, device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT) : 0;
}

// Work-items that run side by side, of those that the compiler may choose from the fewest; 0 = the driver has no word for it.
static uint32_t least_subgroup(const bpt_opencl_functions_t *cl, cl_device_id device, const char *extensions) {
    enum { WARP_SIZE_NV = 0x4003, WAVEFRONT_WIDTH_AMD = 0x4043, SUB_GROUP_SIZES_INTEL = 0x4108 };
    size_t sizes[8] = {0}, bytes = 0;
    if (strstr(extensions, "cl_nv_device_attribute_query")) return NUMBER(cl_uint, cl, device, WARP_SIZE_NV);
    if (strstr(extensions, "cl_amd_device_attribute_query")) return NUMBER(cl_uint, cl, device, WAVEFRONT_WIDTH_AMD);
    if (!strstr(extensions, "cl_intel_required_subgroup_size") ||
        cl->clGetDeviceInfo(device, SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &bytes) != CL_SUCCESS)
        return 0;
    size_t least = sizes[0];
    for (size_t i = 1; i < bytes / sizeof *sizes; ++i)
        if (sizes[i] < least) least = sizes[i];
    return (uint32_t)least;
}

static void describe(const bpt_opencl_functions_t *cl, const bpt_opencl_id_t *id, bpt_device_info_t *info) {
    char driver[64], platform[60] = "", extensions[4096], version[32] = "opencl-";
    *info = (bpt_device_info_t){.f16 = true};  // stored only: vload_half and vstore_half belong to every OpenCL
    text_of(cl, id->device, CL_DEVICE_NAME, info->name, sizeof info->name);
    text_of(cl, id->device, CL_DRIVER_VERSION, driver, sizeof driver);
    text_of(cl, id->device, CL_DEVICE_VERSION, extensions, sizeof extensions);
    sscanf(extensions, "OpenCL %24s", version + strlen(version));
    text_of(cl, id->device, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
    cl->clGetPlatformInfo(id->platform, CL_PLATFORM_NAME, sizeof platform, platform, NULL);
    platform[sizeof platform - 1] = '\0';
    snprintf(info->driver, sizeof info->driver, "%s %s", platform, driver);
    const cl_device_type type = NUMBER(cl_device_type, cl, id->device, CL_DEVICE_TYPE);
    const bool unified = NUMBER(cl_bool, cl, id->device, CL_DEVICE_HOST_UNIFIED_MEMORY);
    snprintf(info->type, sizeof info->type, "%s", type & CL_DEVICE_TYPE_CPU ? "software" : unified ? "integrated" : "discrete");
    snprintf(info->features, sizeof info->features, "%s%s%s", version, strstr(extensions, "cl_khr_fp16") ? " fp16" : "",
             strstr(extensions, "cl_khr_subgroups") ? " subgroups" : "");
    info->memory_bytes = NUMBER(cl_ulong, cl, id->device, CL_DEVICE_GLOBAL_MEM_SIZE);
    info->max_buffer_bytes = NUMBER(cl_ulong, cl, id->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    const bpt_gpu_info_t gpu = {.max_binding_bytes = info->max_buffer_bytes,
                                .binding_alignment = 1,
                                .max_group_size = (uint32_t)NUMBER(size_t, cl, id->device, CL_DEVICE_MAX_WORK_GROUP_SIZE),
                                .max_local_bytes = (uint32_t)NUMBER(cl_ulong, cl, id->device, CL_DEVICE_LOCAL_MEM_SIZE),
                                .vector_lanes = vector_lanes(cl, id->device),
                                .least_subgroup = least_subgroup(cl, id->device, extensions)};
    bpt_gpu_info_set(info, &gpu);
    know_pci(cl, id->device, extensions, info);
    info->units = (int32_t)NUMBER(cl_uint, cl, id->device, CL_DEVICE_MAX_COMPUTE_UNITS);
    judge(cl, id->device, info);
}

static bpt_status_t nothing_found(const char *what) {
    char install[640];
    const char *unset = bpt_opencl_loader.unset();
    snprintf(install, sizeof install, "%s; drivers are listed in /etc/OpenCL/vendors unless OCL_ICD_VENDORS says otherwise",
             bpt_platform_remedy(BPT_NEED_OPENCL));
    return bpt_gpu_no_driver(what, unset ? unset : install);
}

static bpt_status_t find_all(found_t *found, int *count) {
    const bpt_opencl_functions_t *cl;
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n_platforms = 0;
    *count = 0;
    BPT_TRY(bpt_opencl_load(&cl));
    const cl_int code = cl->clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms);
    if (code != CL_SUCCESS || !n_platforms) return nothing_found("the OpenCL loader finds no driver");
    for (cl_uint p = 0; p < n_platforms && p < MAX_PLATFORMS; ++p) {
        cl_device_id devices[MAX_DEVICES];
        cl_uint n = 0;
        if (cl->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n) != CL_SUCCESS) continue;
        for (cl_uint d = 0; d < n && d < MAX_DEVICES && *count < MAX_DEVICES; ++d) {
            found_t one = {.id = {platforms[p], devices[d]}};
            describe(cl, &one.id, &one.info);
            int place = *count;  // insertion by rank keeps the loader's order among equals
            for (; place > 0 && rank(&found[place - 1].info) > rank(&one.info); --place) found[place] = found[place - 1];
            found[place] = one;
            ++*count;
        }
    }
    return BPT_OK;
}

bpt_status_t bpt_opencl_enumerate(bpt_device_info_t *infos, int capacity, int *count) {
    found_t found[MAX_DEVICES];
    BPT_TRY(find_all(found, count));
    for (int i = 0; i < *count && i < capacity; ++i) infos[i] = found[i].info;
    bpt_gpu_list_forbidden(infos, capacity, count);
    if (!*count) return nothing_found("the OpenCL loader finds no device");
    return BPT_OK;
}

bpt_status_t bpt_opencl_find(int index, bpt_opencl_id_t *id, bpt_device_info_t *info) {
    found_t found[MAX_DEVICES];
    int count;
    BPT_TRY(find_all(found, &count));
    if (index < 0 || index >= count) return bpt_fail(BPT_ERR_UNAVAILABLE, "OpenCL has %d devices; device %d was asked for", count, index);
    *id = found[index].id;
    *info = found[index].info;
    return BPT_OK;
}

bpt_status_t bpt_opencl_limits(const bpt_opencl_functions_t *cl, cl_device_id device, bpt_gpu_limits_t *limits) {
    size_t sizes[3] = {1, 1, 1};
    BPT_TRY(bpt_opencl_check(cl->clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL),
                             "the sizes of work-groups"));
    const size_t group = NUMBER(size_t, cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    *limits = (bpt_gpu_limits_t){
        .max_groups = {1u << 20, 65535, 65535},  // OpenCL names none; a global size must fit into 32 bits on some drivers
        .max_group_size = (uint32_t)(sizes[0] < group ? sizes[0] : group),
        .local_bytes = (uint32_t)(NUMBER(cl_ulong, cl, device, CL_DEVICE_LOCAL_MEM_SIZE) < (1u << 30)
                                      ? NUMBER(cl_ulong, cl, device, CL_DEVICE_LOCAL_MEM_SIZE)
                                      : 1u << 30),
        .max_binding_bytes = NUMBER(cl_ulong, cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        .max_allocation_bytes = NUMBER(cl_ulong, cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        .memory_bytes = NUMBER(cl_ulong, cl, device, CL_DEVICE_GLOBAL_MEM_SIZE),
        .offset_alignment = 1,
        .vector_lanes = vector_lanes(cl, device),
        .f16 = true,
        .unified = NUMBER(cl_bool, cl, device, CL_DEVICE_HOST_UNIFIED_MEMORY),
        .disjoint_writes = true,
    };
    return BPT_OK;
}
