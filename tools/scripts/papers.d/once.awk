# Of lines that say the same the first one, after lists.awk and lines.awk.
{ text = finding($0) }
!(text in said) { print }
{ said[text] = 1 }
