#!/bin/sh -e
# The linker of programs for Windows. It sorts what is imported by the paths of the libraries that
# import it. Run in their folder, with names for paths, it makes the same octets in every folder.
last=
for argument; do
  if [ "$last" = -o ]; then folder=${argument%/*}; fi
  last=$argument
done
cd "$folder"
count=$#
while [ "$count" -gt 0 ]; do
  set -- "$@" "${1#"$folder"/}"
  shift
  count=$((count - 1))
done
exec x86_64-w64-mingw32-gcc "$@"
