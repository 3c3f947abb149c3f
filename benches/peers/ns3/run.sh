#!/usr/bin/env bash
# Measures ns-3 and rtether on the same work and prints a table of medians.
#
# usage: benches/peers/ns3/run.sh
#
#   RUNS           runs of each program, taken in turn (default 5)
#   SECONDS_LONG   simulated seconds of a run (default 10)
#   PACKETS        packets that one run delivers (default 46080 for each of them)
#   RTETHER_CMD    what to measure against ns-3, run at the root of the checkout
#   RTETHER_PROOF  pattern that its output must hold, so that only equal work is compared
#                  (default: "received" or "delivered": PACKETS)
#   NS3_ONLY       set to 1 to leave rtether out
#
# Needs g++ and the headers and libraries of ns-3; as root on Debian it installs them.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
runs=${RUNS:-5}
seconds=${SECONDS_LONG:-10}
packets=${PACKETS:-$((46080 * seconds))}
own="${CARGO_TARGET_DIR:-target}/dist/rtether sim benches/scenarios/star.yaml --json --for ${seconds}s"
rtether=${RTETHER_CMD:-$own}
default_proof="\"(received|delivered)\": *$packets([^0-9]|\$)"
proof=${RTETHER_PROOF:-$default_proof}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Installs Debian packages, or says which are missing.
need() {
    if [[ -f /etc/debian_version && $(id -u) == 0 ]]; then
        apt-get update -q >/dev/null || true
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >/dev/null
    else
        echo "missing: $*; on Debian or Ubuntu: sudo apt-get install $*" >&2
        exit 4
    fi
}

[[ -x /usr/bin/time ]] || need time
command -v g++ >/dev/null || need g++
echo '#include "ns3/core-module.h"' | g++ -std=c++17 -x c++ -fsyntax-only - 2>/dev/null || need libns3-dev

g++ -std=c++17 -O3 -DNDEBUG "$here/star.cc" -o "$scratch/star" \
    -lns3-internet -lns3-bridge -lns3-csma -lns3-traffic-control -lns3-network -lns3-core

# Runs a command; appends "CPU-seconds wall-seconds RSS-KiB" to the file of the given name.
# bash keeps times to the millisecond, GNU time knows the memory.
measure() {
    local name=$1
    shift
    local TIMEFORMAT='%U %S %R'
    { time /usr/bin/time -f %M -o "$scratch/rss" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"; } \
        2>"$scratch/times" || {
        echo "failed: $*" >&2
        cat "$scratch/$name.err" >&2
        exit 1
    }
    awk -v rss="$(tail -n 1 "$scratch/rss")" '{ print $1 + $2, $3, rss }' "$scratch/times" \
        >>"$scratch/$name.runs"
}

# Prints the median of one column of a file.
median() {
    awk -v column="$2" '{ print $column }' "$1" | sort -n |
        awk '{ value[NR] = $1 } END {
            middle = int((NR + 1) / 2)
            print NR % 2 ? value[middle] : (value[middle] + value[middle + 1]) / 2
        }'
}

# Prints the table row of one program; the ratio is to the faster form of ns-3.
row() {
    local name=$1 title=$2
    local cpu wall rss
    cpu=$(median "$scratch/$name.runs" 1)
    wall=$(median "$scratch/$name.runs" 2)
    rss=$(median "$scratch/$name.runs" 3)
    awk -v title="$title" -v cpu="$cpu" -v wall="$wall" -v rss="$rss" -v base="$base" -v n="$packets" \
        'BEGIN {
            if (cpu < 0.001) cpu = 0.001
            printf "| %s | %.3f | %.3f | %.1f | %.0f | %.1f |\n",
                title, cpu, wall, rss / 1024, n / cpu / 1000, base / cpu
        }'
}

cd "$root"
with_rtether=1
if [[ ${NS3_ONLY:-0} == 1 ]]; then
    with_rtether=0
elif [[ ! -x ${rtether%% *} ]] && ! command -v "${rtether%% *}" >/dev/null; then
    echo "no ${rtether%% *}; build it with: cargo build --profile dist -p rtether-cli" >&2
    echo "or set NS3_ONLY=1" >&2
    exit 2
fi

for ((run = 1; run <= runs; run++)); do
    echo "run $run of $runs" >&2
    measure ns3 "$scratch/star" "--seconds=$seconds"
    measure ns3_bare "$scratch/star" "--seconds=$seconds" --tc=false
    if [[ $with_rtether == 1 ]]; then
        # The command is one line of words.
        # shellcheck disable=SC2086
        measure rtether $rtether
    fi
done

grep -q "\"received\": $packets," "$scratch/ns3.out" || {
    echo "ns-3 delivered another number of packets: $(cat "$scratch/ns3.out")" >&2
    exit 1
}
if [[ $with_rtether == 1 ]] && ! grep -Eq "$proof" "$scratch/rtether.out"; then
    echo "rtether's output does not show $packets delivered packets (pattern: $proof)" >&2
    exit 1
fi
base=$(median "$scratch/ns3_bare.runs" 1)
echo "| | CPU s | wall s | peak RSS MiB | thousand packets per CPU s | times ns-3 |"
echo "|---|---|---|---|---|---|"
row ns3 "ns-3, its defaults"
row ns3_bare "ns-3, no queueing discipline"
if [[ $with_rtether == 1 ]]; then
    row rtether "rtether"
fi
echo
echo "ns-3: $(cat "$scratch/ns3_bare.out")"
