# Reads lines of results, after lists.awk and lines.awk; status 1 if one is damaged.
BEGIN { read_list() }
{ read_line($0) }
END { if (failed) exit 1 }
