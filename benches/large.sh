#!/usr/bin/env bash
# Measures large plants: CPU seconds and memory of reading them, bounds, simulation, and a check of a
# second with its page, for each number of flows.
#
# usage: benches/large.sh [FLOWS...]        (default: 10000 30000 100000)
#
#   STATIONS  stations (default 10000); switches form a tree of eight
#   EACH      stations at each switch (default 11)
#   VERBS     what is measured (default: read bound sim check page)
#   RTETHER   the program (default: target/dist/rtether)
#   BASE      another build of the program to compare it with
#
# One flow in ten is for any other station, the others stay at their switch. Needs /usr/bin/time.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
stations=${STATIONS:-10000}
each=${EACH:-11}
verbs=${VERBS:-read bound sim check page}
rtether=${RTETHER:-${CARGO_TARGET_DIR:-target}/dist/rtether}
base=${BASE:-}
if [[ $# -eq 0 ]]; then set -- 10000 30000 100000; fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

source benches/lib.sh
need awk /usr/bin/time "$rtether"

# row NAME PROGRAM FLOWS WHAT: requirements that are not met (exit code 1) or have no answer (3) do not matter here.
row() {
    local status=0 plant="$scratch/plant.yaml"
    local -A commands=(
        # The flow is not there, which is known when the plant has been read and checked.
        [read]="$2 why $plant no-such-flow"
        [bound]="$2 bound $plant --json"
        [sim]="$2 sim $plant --json"
        [check]="$2 check $plant --for 1s --json"
        [page]="$2 check $plant --for 1s --json --report $scratch/page.html"
    )
    # shellcheck disable=SC2086  # no word of a command has a space
    /usr/bin/time -f '%U %S %M' -o "$scratch/times" ${commands[$4]} \
        >"$scratch/out.json" 2>"$scratch/errors" || status=$?
    if [[ $status != [013] && $4 != read ]]; then
        cat "$scratch/errors" >&2
        exit 1
    fi
    tail -n 1 "$scratch/times" | awk -v name="$1" -v what="$4" -v flows="$3" \
        '{ printf "| %s, %s | %d | %.2f | %.0f | %.1f |\n", what, name, flows, $1 + $2, $3 / 1024, $3 / flows }'
}

echo "| | flows | CPU s | MiB | KiB per flow |"
echo "|---|--:|--:|--:|--:|"
for flows in "$@"; do
    tree "$stations" "$each" "$flows" 1 >"$scratch/plant.yaml"
    for what in $verbs; do
        if [[ -n $base ]]; then row before "$base" "$flows" "$what"; fi
        row now "$rtether" "$flows" "$what"
    done
done
