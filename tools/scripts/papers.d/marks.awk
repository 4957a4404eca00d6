# Puts the files of `folder` between the marks of a page.
function wrong(message) {
    print "papers: " page ": line " NR ": " message > "/dev/stderr"
    failed = 1
    exit 1
}
/^<!-- papers: end -->$/ {
    if (name == "") wrong("the mark ends no table")
    name = ""
}
name != "" && /^<!-- papers: / { wrong("the mark of " name " has no end, <!-- papers: end -->") }
name == "" { print }
/^<!-- papers: [a-z0-9-]+ -->$/ && !/ end / {
    name = $3
    file = folder "/" name ".md"
    found = 0
    while ((getline line < file) > 0) {
        print line
        found = 1
    }
    close(file)
    if (!found && name != "open") wrong("there is no table " name " in the list of experiments")
}
END {
    if (!failed && name != "") wrong("the mark of " name " has no end, <!-- papers: end -->")
    if (failed) exit 1
}
