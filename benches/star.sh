#!/usr/bin/env bash
# Measures the star against a floor, and against htsim if its sources are given: programs in turn,
# packets per CPU second and instructions per packet.
#
# usage: benches/star.sh [FOLDER_OF_HTSIM]
#
#   SECONDS_LONG  simulated seconds of a run (default 100)
#   RUNS          runs of each program, taken in turn (default 5)
#   RTETHER       the program (default: target/dist/rtether)
#   LIMIT         largest ratio of rtether's CPU time to that of the floor (default 3); beyond it the
#                 script fails
#
# Needs g++, and valgrind for the instructions. htsim is https://github.com/Broadcom/csg-htsim.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
htsim=${1:-}
seconds=${SECONDS_LONG:-100}
runs=${RUNS:-5}
rtether=${RTETHER:-${CARGO_TARGET_DIR:-target}/dist/rtether}
limit=${LIMIT:-3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

source benches/lib.sh
need g++ "$rtether"
packets=$((16 * 2 * 1440 * seconds))

g++ -std=c++20 -O3 -DNDEBUG benches/peers/floor/star.cc -o "$scratch/floor"
programs=(floor)
if [[ -n $htsim ]]; then
    g++ -std=c++20 -O3 -DNDEBUG -ffunction-sections -w -I"$htsim/sim" \
        benches/peers/htsim/star.cc \
        "$htsim"/sim/{eventlist,network,route,config,pipe,queue,cbrpacket,trigger,switch,loggers,logfile,fairpullqueue}.cpp \
        -Wl,--gc-sections -o "$scratch/htsim"
    programs+=(histogram pipes queues)
fi
programs+=(rtether)

# command PROGRAM SECONDS: what to run.
command_of() {
    case $1 in
        floor) echo "$scratch/floor $2" ;;
        rtether) echo "$rtether sim benches/scenarios/star.yaml --for ${2}s --jobs 1 --json" ;;
        *) echo "$scratch/htsim $1 $2" ;;
    esac
}

name_of() {
    case $1 in
        floor) echo "the floor" ;;
        rtether) echo "**rtether**, everything included" ;;
        histogram) echo "htsim, queue and pipe for each link, with a histogram for each flow" ;;
        pipes) echo "htsim, queue and pipe for each link" ;;
        queues) echo "htsim, queues only" ;;
    esac
}

# Equal work, equal results: what each program must print. A packet of htsim has the gap of both
# links in its delay.
check() {
    local program=$1 mean=98880000 most=179520000
    case $program in
        rtether)
            grep -q "\"delivered\": $packets\b" "$2" && grep -q '"max_ns": 179520\b' "$2" && return
            ;;
        floor) grep -q "\"received\": $packets,.*_mean_ps\": $mean, .*_max_ps\": $most}" "$2" && return ;;
        *)
            mean=$((mean + 2 * 960000)) most=$((most + 2 * 960000))
            grep -q "\"received\": $packets, .*_mean_ps\": $mean, .*_max_ps\": $most}" "$2" && return
            ;;
    esac
    echo "$program does other work:" >&2
    head -c 2000 "$2" >&2
    exit 1
}

for ((run = 1; run <= runs; run++)); do
    echo "run $run of $runs" >&2
    for program in "${programs[@]}"; do
        TIMEFORMAT='%U %S'
        { time $(command_of "$program" "$seconds") >"$scratch/$program.out" 2>"$scratch/errors"; } 2>"$scratch/times" ||
            { cat "$scratch/errors" >&2; exit 1; }
        check "$program" "$scratch/$program.out"
        awk '{ print $1 + $2 }' "$scratch/times" >>"$scratch/$program.runs"
    done
done

median() { sort -n "$scratch/$1.runs" | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

# Instructions of a run, without those of start and end: the difference of two lengths.
instructions() {
    local length count
    command -v valgrind >/dev/null || { echo -; return; }
    for length in 1 3; do
        valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$scratch/log" \
            $(command_of "$1" $length) >/dev/null
        count=$(grep -o 'refs: *[0-9,]*' "$scratch/log" | tr -dc 0-9)
        echo "$count"
    done | awk '{ count[NR] = $1 } END { printf "%.0f", (count[2] - count[1]) / (2 * 16 * 2 * 1440) }'
}

echo "| program | thousand packets per CPU s | CPU time, times the floor | instructions per packet |"
echo "|---|--:|--:|--:|"
floor=$(median floor)
for program in "${programs[@]}"; do
    awk -v name="$(name_of "$program")" -v cpu="$(median "$program")" -v floor="$floor" \
        -v packets="$packets" -v count="$(instructions "$program")" \
        'BEGIN { printf "| %s | %.0f | %.2f | %s |\n", name, packets / cpu / 1000, cpu / floor, count }'
done
awk -v cpu="$(median rtether)" -v floor="$floor" -v limit="$limit" 'BEGIN { exit cpu <= limit * floor ? 0 : 1 }' ||
    { echo "rtether takes more than $limit times the floor" >&2; exit 1; }
