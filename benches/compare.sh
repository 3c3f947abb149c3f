#!/usr/bin/env bash
# Compares this program with an older one, both built here: the same work, instructions, and times
# in turn. Results that differ are named.
#
# usage: benches/compare.sh REV
#
#   RUNS     runs of each program for the times, taken in turn (default 7)
#   RTETHER  this program, if it is built already
#   BASE     the older program, if it is built already; REV is then only its name
#
# A simulation is counted as the difference of two lengths, so that reading and writing are not in
# it; `bound` is counted whole. Instructions hardly depend on what else the machine does, times do.
set -euo pipefail
export LC_ALL=C

if [[ $# -ne 1 ]]; then
    echo "usage: benches/compare.sh REV" >&2
    exit 2
fi
rev=$1
runs=${RUNS:-7}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"; git worktree prune' EXIT
if ! command -v valgrind >/dev/null; then
    echo "no valgrind, which counts the instructions" >&2
    exit 2
fi

# Builds what others get: the profile `dist`, or `release` before there was one.
build() {
    local profile=release
    if grep -q '^\[profile.dist\]' "$1/Cargo.toml"; then profile=dist; fi
    (cd "$1" && cargo build --quiet --locked --profile "$profile" -p rtether-cli --target-dir "$2") >&2
    echo "$2/$profile/rtether"
}

older() {
    local tree=$scratch/tree hash
    hash=$(git rev-parse --verify --quiet "$rev^{commit}") || { echo "no commit $rev" >&2; exit 2; }
    if [[ ! -x $target/compare/$hash ]]; then
        git worktree add --quiet --detach "$tree" "$hash"
        cp "$(build "$tree" "$target/compare/build")" "$target/compare/$hash" || exit 1
        git worktree remove --force "$tree"
    fi
    echo "$target/compare/$hash"
}

base=${BASE:-$(older)}
rtether=${RTETHER:-$(build . "$target")}

# stations N: as many stations, a tenth of them at each of ten switches at a core, each with a packet
# of 60 octets for the station half way round every millisecond.
stations() {
    awk -v n="$1" 'BEGIN {
        print "rtether: 1\nname: stations\nnodes:"
        for (i = 0; i < n; i++) printf "  s%d: { stack: zero }\n", i
        print "switches:\n  core: { ports: 10, latency: 1 us }"
        for (i = 0; i < 10; i++) printf "  w%d: { ports: %d, latency: 1 us }\n", i, n / 10 + 1
        print "links:"
        for (i = 0; i < 10; i++)
            printf "  - { ends: [\"core:%d\", \"w%d:%d\"], rate: 10 Gbit/s }\n", i + 1, i, n / 10 + 1
        for (i = 0; i < n; i++)
            printf "  - { ends: [s%d, \"w%d:%d\"], rate: 100 Mbit/s }\n", i, i % 10, int(i / 10) + 1
        print "flows:"
        for (i = 0; i < n; i++)
            printf "  - { name: f%d, from: s%d, to: s%d, period: 1 ms, size: 60 B }\n", i, i, (i + n / 2 + 1) % n
        print "run: { for: 1 s, seeds: 1 }"
    }'
}

# Six thousand flows of eighteen stations through one switch.
flows() {
    awk 'BEGIN {
        print "rtether: 1\nname: flows\nnodes:"
        for (i = 0; i < 18; i++) printf "  s%d: { stack: zero }\n", i
        print "switches:\n  sw: { ports: 18, latency: 1 us }\nlinks:"
        for (i = 0; i < 18; i++) printf "  - { ends: [s%d, \"sw:%d\"], rate: 1 Gbit/s }\n", i, i + 1
        print "flows:"
        for (i = 0; i < 6000; i++)
            printf "  - { name: f%d, from: s%d, to: s%d, period: %d ms, size: %d B, deadline: 100 ms }\n",
                i, i % 18, (i + 1 + int(i / 18) % 17) % 18, 20 + i % 7, 60 + i % 400
        print "run: { for: 1 s, seeds: 1 }"
    }'
}

# Runs a program; requirements that are not met (exit code 1) do not matter here.
run() {
    local status=0
    "$@" >"$scratch/out.json" 2>"$scratch/errors" || status=$?
    if [[ $status -gt 1 ]]; then
        cat "$scratch/errors" >&2
        exit 1
    fi
}

# Prints the number of instructions of a run, and leaves its result in out.json.
count() {
    run valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$scratch/log" "$@"
    grep -o 'refs: *[0-9,]*' "$scratch/log" | tr -dc 0-9
}

# Prints the user seconds of a run.
seconds() {
    local TIMEFORMAT=%U
    { time run "$@"; } 2>&1
}

median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

# The version of the program is in every result, and times are in those of `bound`.
results() { grep -v -e '"version"' -e '"elapsed' "$1"; }

# row NAME SCENARIO SHORT LONG: a simulation of two lengths, in instructions a simulated second.
row() {
    local name=$1 scenario=$2 short=$3 long=$4 which program few many
    local -A cost=()
    for which in base rtether; do
        program=${!which}
        few=$(count "$program" sim "$scenario" --for "$short ms" --jobs 1 --json)
        many=$(count "$program" sim "$scenario" --for "$long ms" --jobs 1 --json)
        results "$scratch/out.json" >"$scratch/$which.json"
        cost[$which]=$(((many - few) * 1000 / (long - short)))
    done
    finish "$name, a simulated second" "${cost[base]}" "${cost[rtether]}" \
        sim "$scenario" --for "$((long * 5)) ms" --jobs 1 --json
}

# finish NAME INSTRUCTIONS INSTRUCTIONS ARGUMENT...: measures times in turn and prints the row.
finish() {
    local name=$1 before=$2 now=$3 which i
    shift 3
    rm -f "$scratch/base.times" "$scratch/rtether.times"
    for ((i = 0; i < runs; i++)); do
        for which in base rtether; do
            seconds "${!which}" "$@" >>"$scratch/$which.times"
        done
    done
    awk -v name="$name" -v before="$before" -v now="$now" \
        -v was="$(median <"$scratch/base.times")" -v is="$(median <"$scratch/rtether.times")" \
        -v same="$(cmp -s "$scratch/base.json" "$scratch/rtether.json" && echo same || echo differ)" \
        'BEGIN {
            ratio = was > 0 ? is / was : 1
            printf "| %s | %.1f | %.1f | %+.1f %% | %.2f | %s |\n",
                name, before / 1e6, now / 1e6, 100 * (now / before - 1), ratio, same
        }'
}

for n in 1000 10000; do stations $n >"$scratch/$n.yaml"; done
sed 's/^\( *[a-z0-9]*: { ports: [0-9]*\)/\1, queues: 8/' benches/scenarios/star.yaml >"$scratch/queues.yaml"
cmp -s benches/scenarios/star.yaml "$scratch/queues.yaml" && { echo "star.yaml has no switch to change" >&2; exit 1; }
flows >"$scratch/flows.yaml"
echo "| work | $rev, million instructions | now | change | time, ratio of medians of $runs | results |"
echo "|---|--:|--:|--:|--:|---|"
row star benches/scenarios/star.yaml 500 1500
row hub benches/scenarios/hub.yaml 500 1500
row "star, eight queues a port" "$scratch/queues.yaml" 500 1500
row "1 000 stations" "$scratch/1000.yaml" 20 70
row "10 000 stations" "$scratch/10000.yaml" 5 15
row goose-multicast scenarios/goose-multicast.yaml 500 1500
row substation scenarios/substation.yaml 500 1500
before=$(count "$base" bound "$scratch/flows.yaml" --json)
results "$scratch/out.json" >"$scratch/base.json"
now=$(count "$rtether" bound "$scratch/flows.yaml" --json)
results "$scratch/out.json" >"$scratch/rtether.json"
finish "bounds of 6 000 flows, all of the program" "$before" "$now" bound "$scratch/flows.yaml" --json
