install(TARGETS bpt)
