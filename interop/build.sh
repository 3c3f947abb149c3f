#!/usr/bin/env bash
# Builds the peers into a folder: peer-cyclone, peer-cyclone-types and peer-fastdds; peer-fastdds3,
# too, if RTETHER_FASTDDS is a folder with `include/fastdds` and `lib/libfastdds.so` of Fast DDS 3.
# Exit codes: 0 built, 2 wrong usage, 4 something has to be installed first.
set -euo pipefail

if [[ $# -ne 1 ]]; then
    echo "usage: interop/build.sh OUTDIR" >&2
    exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
third=${RTETHER_FASTDDS:+$(realpath "$RTETHER_FASTDDS")}
if [[ -n $third && ! -e $third/include/fastdds/config.hpp ]]; then
    echo "missing: Fast DDS 3 in $third, which RTETHER_FASTDDS names; see interop/README.md" >&2
    exit 4
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)

lacking=()
# need PACKAGE WHAT: notes that WHAT is missing, unless the rest of the command line succeeds.
need() {
    local package=$1 what=$2
    shift 2
    "$@" >/dev/null 2>&1 || { echo "missing: $what" >&2; lacking+=("$package"); }
}
has_header() { echo "#include <$1>" | "${@:2}" -E -x c++ - ; }

need gcc "a C compiler (cc)" command -v cc
need g++ "a C++ compiler (g++)" command -v g++
need cyclonedds-tools "the IDL compiler of Cyclone DDS (idlc)" command -v idlc
if command -v g++ >/dev/null; then
    need cyclonedds-dev "the headers of Cyclone DDS (dds/dds.h)" has_header dds/dds.h g++
    need libfastrtps-dev "the headers of Fast DDS 2 (fastdds/dds/...)" \
        has_header fastdds/dds/domain/DomainParticipantFactory.hpp g++
    need libfastcdr-dev "the headers of Fast CDR 1 (fastcdr/Cdr.h)" has_header fastcdr/Cdr.h g++
else
    lacking+=(cyclonedds-dev libfastrtps-dev libfastcdr-dev)
fi
if ((${#lacking[@]})); then
    echo "install it with: sudo apt-get install ${lacking[*]}" >&2
    exit 4
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warn=(-O2 -Wall -Wextra)

cc -std=gnu11 "${warn[@]}" -c "$here/common.c" -o "$work/common.o"

# The variants differ in whether discovery carries type information (PID_TYPE_INFORMATION).
for variant in plain types; do
    mkdir "$work/$variant"
    options=()
    name=peer-cyclone-types
    if [[ $variant == plain ]]; then
        options=(-t)
        name=peer-cyclone
    fi
    (cd "$work/$variant" && idlc "${options[@]}" "$here/peer.idl")
    cc -std=gnu11 "${warn[@]}" -I"$work/$variant" -I"$here" \
        "$here/cyclone.c" "$work/$variant/peer.c" "$work/common.o" -lddsc -o "$out/$name"
done

g++ -std=c++17 "${warn[@]}" -I"$here" "$here/fastdds.cpp" "$here/fastdds_types.cpp" \
    "$work/common.o" -lfastrtps -lfastcdr -o "$out/peer-fastdds"
built=(peer-cyclone peer-cyclone-types peer-fastdds)

if [[ -n $third ]]; then
    # What the packages of Python bring along is found by the program alone, not by its libraries.
    bundled=$(echo "$third"/lib/python3*/site-packages/ros_fastdds.libs)
    g++ -std=c++17 "${warn[@]}" -I"$here" -isystem "$third/include" "$here/fastdds.cpp" \
        "$here/fastdds_types.cpp" "$work/common.o" -o "$out/peer-fastdds3" \
        -L"$third/lib" -lfastdds -lfastcdr -Wl,--disable-new-dtags,--allow-shlib-undefined \
        -Wl,-rpath,"$third/lib" -Wl,-rpath,"$bundled"
    built+=(peer-fastdds3)
fi
echo "built in $1: ${built[*]}"
