// Version, export and attribute macros shared by every public header. Knows nothing of tensors or devices.
#ifndef BPT_BASE_H
#define BPT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BPT_VERSION_MAJOR 0
#define BPT_VERSION_MINOR 1
#define BPT_VERSION_PATCH 0
#define BPT_VERSION_STRING "0.1.0"

#if defined(_WIN32)
#define BPT_API __declspec(dllexport)
#else
#define BPT_API __attribute__((visibility("default")))
#endif

#define BPT_MUST_USE __attribute__((warn_unused_result))
#ifdef __MINGW32__  // "printf" is there Microsoft's of old, without %zu; what is called is C's
#define BPT_PRINTF(format_index, first_arg) __attribute__((format(gnu_printf, format_index, first_arg)))
#else
#define BPT_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
#endif

#define BPT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#ifdef __cplusplus
#define BPT_BEGIN_DECLS extern "C" {
#define BPT_END_DECLS }
#else
#define BPT_BEGIN_DECLS
#define BPT_END_DECLS
#endif

#endif
