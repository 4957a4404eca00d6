// Which package brings what on which system (bpt/platforms.def), for messages that say what helps on the system at hand.
#ifndef BPT_PLATFORMS_H
#define BPT_PLATFORMS_H

#include "bpt/base.h"

BPT_BEGIN_DECLS

typedef enum {
    BPT_NEED_OPENCL_LOADER,
    BPT_NEED_OPENCL,
    BPT_NEED_CLBLAST,
    BPT_NEED_VULKAN_LOADER,
    BPT_NEED_VULKAN,
    BPT_NEED_VULKAN_LAYER,
    BPT_NEED_CUDA,
    BPT_NEED_NVRTC,
    BPT_NEED_OCLOC,
    BPT_NEED_DRM_SHIM,
    BPT_NEED_OPENBLAS,
    BPT_NEED_ONEDNN,
    BPT_NEED_ZLIB,
    BPT_NEED_LZMA,
    BPT_NEED_ZSTD,
    BPT_NEED_BZIP2,
    BPT_NEED_LZ4,
    BPT_NEEDS
} bpt_need_t;

enum { BPT_SYSTEMS = 6 };

typedef struct {
    const char *name, *id;  // NULL after the last
    int least;              // of the version's numbers; 0: any
    const char *tried;
} bpt_system_t;

// One line of the table. A need may have several, one for each kind of device.
typedef struct {
    bpt_need_t need;
    const char *what;                   // NULL after the last
    const char *packages[BPT_SYSTEMS];  // "-": the system has none; "": not known
} bpt_packages_t;

BPT_API extern const bpt_system_t bpt_systems[];
BPT_API extern const bpt_packages_t bpt_packages[];

// The place of the system at hand among bpt_systems, by /etc/os-release or the file that BPT_OS_RELEASE names, on Windows without one; -1: it
// is none of them.
BPT_API int bpt_system_here(void);
// What to install here, half a sentence: "on Debian 13 install pocl-opencl-icd (processors)"; on a system that is not known what the others
// call it. Stays valid.
BPT_API const char *bpt_platform_remedy(bpt_need_t need);
// Whether the system at hand is known to have no package of it.
BPT_API bool bpt_platform_has_none(bpt_need_t need);

BPT_END_DECLS

#endif
