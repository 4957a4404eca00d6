# What tables need, after lists.awk: the data of `table_asked` with files, layout and origin; without it the names of all tables.
BEGIN {
    read_list()
    n = split(needs[table_asked], need, /[ \t]+/)
    for (i = 1; i <= n; ++i) printf "%s\037%s\037%s\037%s\n", need[i], data_files[need[i]], data_layout[need[i]], data_from[need[i]]
    for (i = 1; table_asked == "" && i <= table_count; ++i) print tables[i]
    exit 0
}
