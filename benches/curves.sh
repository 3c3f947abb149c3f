#!/usr/bin/env bash
# Curves: CPU time and memory of `sim` and `bound` against flows, stations, switches, hops and load, one
# of them varied at a time; pictures on logarithmic axes with the exponent of each curve.
#
# usage: benches/curves.sh [CURVE...]      (default: flows stations switches hops load)
#
#   RUNS     runs of each point, of which the median counts (default 3)
#   OUT      folder of the pictures (default docs/images)
#   CSV      file of the points (default benches/curves.csv)
#   RTETHER  the program (default target/dist/rtether)
#
# The plants: flows, stations and switches are a tree of switches as in benches/large.sh, hops a line of
# switches with all flows from its first to its last, load a tree in which flows send more often. `sim`
# simulates 100 ms, against hops and load a second, with one seed on one core. Both write JSON and are
# measured whole, from the start of the program. Needs /usr/bin/time.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
runs=${RUNS:-3}
out=${OUT:-docs/images}
csv=${CSV:-benches/curves.csv}
rtether=${RTETHER:-${CARGO_TARGET_DIR:-target}/dist/rtether}
if [[ $# -eq 0 ]]; then set -- flows stations switches hops load; fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

source benches/lib.sh
need awk /usr/bin/time "$rtether"

# line SWITCHES FLOWS: all flows pass all switches.
line() {
    awk -v switches="$1" -v flows="$2" 'BEGIN {
        print "rtether: 1\nname: line\nnodes:"
        for (i = 0; i < 20; i++) printf "  a%d: { stack: zero }\n  b%d: { stack: zero }\n", i, i
        print "switches:"
        for (i = 0; i < switches; i++) printf "  w%d: { ports: 42, latency: 1 us }\n", i
        print "links:"
        for (i = 1; i < switches; i++)
            printf "  - { ends: [\"w%d:42\", \"w%d:41\"], rate: 10 Gbit/s }\n", i - 1, i
        for (i = 0; i < 20; i++) {
            printf "  - { ends: [a%d, \"w0:%d\"], rate: 1 Gbit/s }\n", i, i + 1
            printf "  - { ends: [b%d, \"w%d:%d\"], rate: 1 Gbit/s }\n", i, switches - 1, i + 21
        }
        print "flows:"
        for (i = 0; i < flows; i++)
            printf "  - { name: f%d, from: a%d, to: b%d, period: %d ms, size: %d B, deadline: 100 ms }\n", \
                i, i % 20, int(i / 20) % 20, 5 + i % 7, 60 + i % 300
        print "run: { for: 100 ms, seeds: 1 }"
    }'
}

declare -A length=([flows]=100ms [stations]=100ms [switches]=100ms [hops]=1s [load]=1s)

# point CURVE X: measures both verbs on the plant; requirements that are not met (exit code 1) do not
# matter here.
point() {
    local verb i status
    local -A more=([sim]="--jobs 1 --for ${length[$1]}" [bound]="")
    for verb in sim bound; do
        : >"$scratch/times"
        for ((i = 0; i < runs; i++)); do
            status=0
            # shellcheck disable=SC2086  # words of an option
            /usr/bin/time -f '%U %S %M' -o "$scratch/one" "$rtether" "$verb" "$scratch/plant.yaml" --json ${more[$verb]} \
                >"$scratch/out.json" 2>"$scratch/errors" || status=$?
            if [[ $status -gt 1 ]]; then
                head -n 5 "$scratch/errors" >&2
                exit 1
            fi
            tail -n 1 "$scratch/one" | awk '{ print $1 + $2, $3 / 1024 }' >>"$scratch/times"
        done
        sort -n "$scratch/times" | awk -v head="$1,$verb,$2" \
            '{ row[NR] = $0 } END { split(row[int((NR + 1) / 2)], at, " "); printf "%s,%.3f,%.1f\n", head, at[1], at[2] }'
    done
}

# Prints the points of a curve; each makes its plant first.
curve() {
    local x
    case $1 in
    flows) for x in 1000 3000 10000 30000 100000; do tree $((x / 10)) 11 $x 1 >"$scratch/plant.yaml"; point "$1" $x; done ;;
    stations) for x in 100 1000 10000 30000 90000; do tree $x 11 10000 1 >"$scratch/plant.yaml"; point "$1" $x; done ;;
    switches)
        for x in 100 300 1000 3000 10000; do
            tree 10000 $((10000 / x)) 10000 1 >"$scratch/plant.yaml"
            point "$1" $x
        done
        ;;
    hops) for x in 1 2 4 8 16 32; do line $x 2000 >"$scratch/plant.yaml"; point "$1" $x; done ;;
    # Ten flows of each station take 2.5 % of its link on average.
    load) for x in 1 2 4 8 16; do tree 1000 11 10000 $x >"$scratch/plant.yaml"; point "$1" $x; done ;;
    *) echo "no curve $1" >&2; exit 2 ;;
    esac
}

for name in "$@"; do
    echo "$name" >&2
    curve "$name" >"$scratch/$name"
done
{
    echo "curve,verb,x,cpu_s,mib"
    for name in "$@"; do cat "$scratch/$name"; done
} >"$csv"

: >"$scratch/fits"
declare -A across=([flows]="flows" [stations]="stations" [switches]="switches" [hops]="switches on the way"
    [load]="packets, times those of the least load")
for name in "$@"; do
    # On one picture: seconds of CPU time, and hundreds of MiB.
    awk -F, '{ printf "%s time,%s,%s\n", $2, $3, $4 }' "$scratch/$name" >"$scratch/points"
    awk -F, '{ printf "%s memory,%s,%s\n", $2, $3, $5 / 100 }' "$scratch/$name" >>"$scratch/points"
    sort -s -t, -k1,1 "$scratch/points" |
        awk -v title="Cost against $name" -v across="${across[$name]}" -v up="CPU seconds; memory in 100 MiB" \
            -v fits="$scratch/fits" -f benches/plot.awk >"$out/curve-$name.svg"
done
echo "| cost | of | exponent |"
echo "|---|---|--:|"
awk -F, '{ printf "| %s | %s | %s |\n", $1, $2, $3 }' "$scratch/fits"
