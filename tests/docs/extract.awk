# Makes one program of the cpp blocks of a Markdown file, in order; with -v want=text, the concatenated text blocks: what it prints.
# Preprocessor lines, declarations that start with one of the words below and the lines up to their end go before main().
# SPDX-License-Identifier: MIT
/^```/ {
  block = block == "" ? substr($0, 4) : ""
  if (block == "cpp") inside = inside "#line " (NR + 1) " \"" FILENAME "\"\n"
  next
}
block == "text" && want == "text" { print }
block != "cpp" { next }
/^#/ { before = before $0 "\n"; inside = inside "\n"; next }
!declaration && /^(struct|class|template|namespace|using|inline|enum)[ <]/ {
  declaration = 1
  before = before "#line " NR " \"" FILENAME "\"\n"
  single = /[;}] *(\/\/.*)?$/
}
declaration {
  before = before $0 "\n"
  inside = inside "\n"
  if (single || /^}/) declaration = single = 0
  next
}
{ inside = inside $0 "\n" }
END { if (want != "text") printf "%sint main() {\n%s}\n", before, inside }
