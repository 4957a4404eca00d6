// Forgets one kernel's .inc.
#undef KERNEL
#undef CONSTANTS
#undef BINDINGS
#undef PARAMS
#undef LOCALS
