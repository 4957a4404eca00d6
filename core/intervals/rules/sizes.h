// Numbers of attention graphs that kernels and host take the sizes of arrays from (a kernel's .inc includes this).
#define MOST_RANGES 112  // of a query or a key, empty ones included
