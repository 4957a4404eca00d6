# What a measure needs to know of a table, after lists.awk: metric, options of bpt eval, translation, with the character 31 between.
BEGIN {
    read_list()
    printf "%s\037%s\037%s\n", metric[table_asked], evaluation[table_asked], translation[table_asked]
    exit 0
}
