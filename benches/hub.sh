#!/usr/bin/env bash
# Measures how many packets the simulator delivers per CPU second on a hub, and prints a median.
#
# usage: benches/hub.sh
#
#   RUNS         runs of each program, taken in turn (default 5)
#   SCENARIO     what to simulate (default: benches/scenarios/hub.yaml)
#   RTETHER      the program (default: target/dist/rtether)
#   BASE         another build of the program to compare it with
#   GOAL         packets per CPU second to reach (default 875000); below it the script fails
#   INSTRUCTIONS set to 1 to count instructions, too, with valgrind (takes minutes)
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
runs=${RUNS:-5}
scenario=${SCENARIO:-benches/scenarios/hub.yaml}
rtether=${RTETHER:-${CARGO_TARGET_DIR:-target}/dist/rtether}
base=${BASE:-}
goal=${GOAL:-875000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cd "$root"
if ! command -v "$rtether" >/dev/null; then
    echo "no $rtether; build it with: cargo build --profile dist -p rtether-cli" >&2
    exit 2
fi

# Runs a program; appends its CPU seconds to the file of the given name. Requirements that are not
# met (exit code 1) do not matter here.
measure() {
    local name=$1 program=$2
    local TIMEFORMAT='%U %S' status=0
    { time "$program" sim "$scenario" --json >"$scratch/$name.json"; } 2>"$scratch/times" || status=$?
    if [[ $status -gt 1 ]]; then
        cat "$scratch/times" >&2
        exit 1
    fi
    awk '{ print $1 + $2 }' "$scratch/times" | tail -n 1 >>"$scratch/$name.runs"
}

# Prints the number of packets that a result says were delivered.
delivered() {
    grep -m 1 -o '"delivered": [0-9]*' "$1" | grep -o '[0-9]*$'
}

# Prints one line of the result.
report() {
    local name=$1
    sort -n "$scratch/$name.runs" | awk -v name="$name" -v n="$(delivered "$scratch/$name.json")" \
        '{ value[NR] = $1 } END {
            middle = int((NR + 1) / 2)
            cpu = NR % 2 ? value[middle] : (value[middle] + value[middle + 1]) / 2
            printf "%s: %d packets in %.3f CPU s, %.0f packets per CPU s\n", name, n, cpu, n / cpu
        }'
}

for ((run = 1; run <= runs; run++)); do
    echo "run $run of $runs" >&2
    measure rtether "$rtether"
    if [[ -n $base ]]; then
        measure base "$base"
    fi
done
report rtether
if [[ -n $base ]]; then
    report base
fi

# Two lengths: the difference has neither start nor end of the program in it.
if [[ ${INSTRUCTIONS:-0} == 1 ]]; then
    for length in 1 3; do
        valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$scratch/count.$length" \
            "$rtether" sim "$scenario" --for "$length s" --json >"$scratch/count.$length.json" || true
        count=$(grep -o 'refs: *[0-9,]*' "$scratch/count.$length" | tr -dc 0-9)
        echo "$count $(delivered "$scratch/count.$length.json")"
    done | awk '{ count[NR] = $1; packets[NR] = $2 } END {
        printf "%.0f instructions per packet\n", (count[2] - count[1]) / (packets[2] - packets[1])
    }'
fi

report rtether | awk -v goal="$goal" '{ exit $(NF - 4) >= goal ? 0 : 1 }' ||
    { echo "fewer than $goal packets per CPU s" >&2; exit 1; }
