#!/bin/sh -e
# The dlltool of builds for Windows. It names symbols after the path of the library that it makes,
# and rustc has it made in a temporary folder. Run there, with names for paths, it makes the same
# octets in every build.
count=$#
while [ "$count" -gt 0 ]; do
  case $1 in
    /*)
      cd "${1%/*}"
      set -- "$@" "${1##*/}"
      ;;
    *) set -- "$@" "$1" ;;
  esac
  shift
  count=$((count - 1))
done
exec x86_64-w64-mingw32-dlltool "$@"
