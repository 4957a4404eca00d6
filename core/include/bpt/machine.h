// What the operating system says about the machine and about this process on it.
#ifndef BPT_MACHINE_H
#define BPT_MACHINE_H

#include "bpt/base.h"

BPT_BEGIN_DECLS

BPT_API int bpt_machine_processors(void);  // online
// The numbers of the processors that this process may run on, at most `capacity`; returns how many, 0: not known.
BPT_API int bpt_machine_own_processors(int *numbers, int capacity);
BPT_API uint64_t bpt_machine_memory_bytes(void);
// Memory, and what of it can be had without swapping; false: the system does not tell.
BPT_API bool bpt_machine_room(uint64_t *total_bytes, uint64_t *available_bytes);
// The processor's name, and its features as Linux names them, with spaces between them; false: not known.
BPT_API bool bpt_machine_processor(char *name, size_t bytes);
BPT_API bool bpt_machine_features(char *words, size_t bytes);
// "windows", or "" where a file names the system (/etc/os-release).
BPT_API const char *bpt_machine_os(void);
// The operating system's version and architecture, one text; the path of the program that runs. False: not known.
BPT_API bool bpt_machine_system(char *text, size_t bytes);
BPT_API bool bpt_machine_program(char *path, size_t bytes);

// ---- Address space of this process

BPT_API bool bpt_address_limit(uint64_t *bytes);  // false: there is no limit
BPT_API size_t bpt_address_used(void);            // 0: the system does not tell
// Whether `count` blocks of `bytes` that can be written, and `more` bytes for which the system need not have memory, can be had at once.
BPT_API bool bpt_address_room(int count, size_t bytes, size_t more);

BPT_END_DECLS

#endif
