#!/usr/bin/env bash
# Measures how long `rtether bound` takes on a plant like an avionics network, start of the process
# and reading of the file included, and prints medians.
#
# usage: benches/bounds.sh
#
#   RUNS     runs of the program (default 21)
#   FLOWS    flows of the plant (default 6000)
#   RTETHER  the program (default: target/dist/rtether)
#   GOAL     milliseconds of user time to stay below with total flow analysis alone (default 50),
#            above it, or above 10 s with all methods, the script fails
#   KEEP     a file to keep the scenario in
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
runs=${RUNS:-21}
flows=${FLOWS:-6000}
rtether=${RTETHER:-${CARGO_TARGET_DIR:-target}/dist/rtether}
goal=${GOAL:-50}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cd "$root"
if ! command -v "$rtether" >/dev/null; then
    echo "no $rtether; build it with: cargo build --profile dist -p rtether-cli" >&2
    exit 2
fi

source benches/lib.sh
mesh "$flows" >"$scratch/plant.yaml"
if [[ -n ${KEEP:-} ]]; then
    cp "$scratch/plant.yaml" "$KEEP"
fi

TIMEFORMAT='%R %U'

# Measures with these methods, and says whether the median of the user time is below a goal.
measure() {
    local methods=$1 goal=$2 runs=$3 times=$scratch/times-$1 least ports
    for ((run = 1; run <= runs; run++)); do
        { time "$rtether" bound "$scratch/plant.yaml" --json --methods "$methods" \
            >"$scratch/bounds.json"; } 2>>"$times"
    done
    least=$(cut -d ' ' -f 2 "$times" | sort -n | awk 'NR == 1 { printf "%.0f", 1000 * $1 }')
    ports=$(grep -c '"port":' "$scratch/bounds.json")
    echo "$methods: $flows flows, $ports ports: $(median 2 "$times") ms of user time (median of" \
        "$runs, least $least), $(median 1 "$times") ms until the end"
    if [[ $(median 2 "$times") -ge $goal ]]; then
        echo "not below $goal ms" >&2
        return 1
    fi
}

# Prints the median of a column of times, in milliseconds.
median() {
    cut -d ' ' -f "$1" "$2" | sort -n |
        awk '{ value[NR] = $1 } END { printf "%.0f", 1000 * value[int((NR + 1) / 2)] }'
}

status=0
measure total-flow "$goal" "$runs" || status=1
measure all 10000 5 || status=1
exit "$status"
