#!/usr/bin/env bash
# Round trips with both ends on one core and ordinary scheduling, over loopback: what the ends take from
# each other shows here. `rtether ping` and `echo` over UDP and over topics, the least C that does the
# same, and sockperf, netperf, qperf, zenoh-pico and Cyclone DDS as far as they are there; the programs in
# turn. (gcc; perf for the counts.)
#
# usage: benches/one-core.sh
#
#   RUNS     runs of each program, taken in turn (default 9)
#   COUNT    round trips of a run; programs that know only times run for a second (default 20000)
#   SIZE     octets of payload (default 64)
#   CORE     the core (default 0)
#   PRIORITY of SCHED_FIFO for both ends, which other programs then do not interrupt (default: ordinary)
#   PROGRAMS of c, rtether, base, sockperf, netperf, qperf, rtps, base-rtps, zenoh-pico, cyclone
#            (default: those that are there)
#   RTETHER  the program (default target/dist/rtether)
#   BASE     an older one to compare with (default: none)
#   NETPERF  folder with netperf and netserver (default: where they are found)
#   ZENOH    folder of zenoh-pico, built in its folder build (default: none)
#   CYCLONE  interop's program for Cyclone DDS (default target/interop/peer-cyclone, if it is there)
#
# Printed: medians over the runs of median, p99 and p99.9 in microseconds, then for one more run system
# calls and context switches for each round trip, both ends together. Those do not depend on what else
# the machine does. qperf tells a mean only, and neither it nor netperf a p99.9.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
runs=${RUNS:-9}
count=${COUNT:-20000}
size=${SIZE:-64}
core=${CORE:-0}
place=(taskset -c "$core")
[[ -z ${PRIORITY:-} ]] || place+=(chrt --fifo "$PRIORITY")
rtether=${RTETHER:-${CARGO_TARGET_DIR:-target}/dist/rtether}
base=${BASE:-}
netperf=${NETPERF:-$(dirname "$(command -v netperf || echo none/netperf)")}
zenoh=${ZENOH:-}
cyclone=${CYCLONE:-target/interop/peer-cyclone}
scratch=$(mktemp -d)
port=$((20000 + $$ % 20000))
watch=()

source benches/lib.sh
trap leave EXIT
need gcc taskset "$rtether"
gcc -O2 -o "$scratch/c" benches/floor/one_core.c
if [[ -n $zenoh ]]; then
    gcc -O2 -w -DZENOH_LINUX -D_GNU_SOURCE -I"$zenoh/include" -I"$zenoh/build/include" \
        -o "$scratch/zenoh" benches/peers/zenoh-pico/round_trip.c "$zenoh/build/lib/libzenohpico.a" -lpthread -lrt
fi

present() {
    case $1 in
    base | base-rtps) [[ -n $base ]] ;;
    sockperf | qperf) command -v "$1" >/dev/null ;;
    netperf) [[ -x $netperf/netserver ]] ;;
    zenoh-pico) [[ -n $zenoh ]] ;;
    cyclone) [[ -x $cyclone ]] ;;
    *) true ;;
    esac
}
programs=()
for program in ${PROGRAMS:-c rtether base sockperf netperf qperf rtps base-rtps zenoh-pico cyclone}; do
    if present "$program"; then programs+=("$program"); fi
done

# serve COMMAND...: starts the answering end in the background, on the core.
serve() {
    local of=()
    if ((${#watch[@]})); then of=("${watch[@]}" -o "$scratch/perf.serve"); fi
    "${place[@]}" "${of[@]}" "$@" >"$scratch/ready" 2>&1 &
    server=$!
}

# ask COMMAND...: runs the asking end.
ask() {
    local of=()
    if ((${#watch[@]})); then of=("${watch[@]}" -o "$scratch/perf.ask"); fi
    "${place[@]}" "${of[@]}" "$@" 2>/dev/null
}

# Ends the answering end, which perf starts as its child.
dismiss() {
    local child=$server
    if ((${#watch[@]})); then child=$(pgrep -P "$server" || echo "$server"); fi
    kill -INT $child 2>/dev/null || true
    sleep 0.1
    kill $child 2>/dev/null || true
    wait "$server" 2>/dev/null || true
}

# ours PROGRAM udp|rtps: `rtether ping` and `echo`.
ours() {
    local program=$1 way=$2 target=(127.0.0.1:$port) at=(127.0.0.1:$port)
    if [[ $way == rtps ]]; then
        at=(--interface 127.0.0.1 --domain 77)
        target=("${at[@]}")
    fi
    serve "$program" echo --via "$way" "${at[@]}"
    await "$scratch/ready" answering
    ask "$program" ping --via "$way" "${target[@]}" -n "$count" -i 0s -s "$size" --csv |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
                 NR == 2 { print $column["median_ns"], $column["p99_ns"], $column["p99_9_ns"], $column["samples"] }'
    dismiss
}

# Each prints median, p99 and p99.9 in nanoseconds, - for what is not told, and the round trips.
run() {
    case $1 in
    c)
        serve "$scratch/c" serve "$size" 0 $port
        await "$scratch/ready" ready
        echo "$(ask "$scratch/c" ping "$size" "$count" $port) $count"
        dismiss
        ;;
    rtether) ours "$rtether" udp ;;
    base) ours "$base" udp ;;
    rtps) ours "$rtether" rtps ;;
    base-rtps) ours "$base" rtps ;;
    sockperf)
        serve sockperf server -i 127.0.0.1 -p $port
        sleep 0.5
        ask sockperf ping-pong -i 127.0.0.1 -p $port -m "$size" -t 1 --full-rtt | tr -d '\033' |
            awk '/percentile 50.000/ { median = $NF } /percentile 99.000/ { p99 = $NF }
                 /percentile 99.900/ { p999 = $NF } /Total Run/ { split($0, part, /SentMessages=|;/); sent = $0
                     sub(/.*SentMessages=/, "", sent); sub(/;.*/, "", sent) }
                 END { printf "%.0f %.0f %.0f %d\n", median * 1000, p99 * 1000, p999 * 1000, sent }'
        dismiss
        ;;
    netperf)
        serve "$netperf/netserver" -D -p $port
        sleep 0.3
        ask "$netperf/netperf" -H 127.0.0.1 -p $port -t UDP_RR -l 1 -P 0 -- -r "$size,$size" \
            -O P50_LATENCY,P99_LATENCY,LOCAL_SEND_CALLS |
            awk 'NF == 3 { print $1 * 1000, $2 * 1000, "-", $3 }'
        dismiss
        ;;
    qperf)
        serve qperf -lp $port
        sleep 0.3
        ask qperf 127.0.0.1 -lp $port -t 1 -m "$size" -vv udp_lat |
            awk '/ latency / { mean = $3 * ($4 == "us" ? 1000 : $4 == "ns" ? 1 : 1000000) }
                 /loc_send_msgs/ { gsub(/,/, ""); sent = $3 }
                 END { printf "%.0f(mean) - - %d\n", 2 * mean, sent }'
        dismiss
        ;;
    zenoh-pico)
        serve "$scratch/zenoh" echo tcp/127.0.0.1:$port "$size" 0
        await "$scratch/ready" ready
        echo "$(ask "$scratch/zenoh" ping tcp/127.0.0.1:$port "$size" "$count") $count"
        dismiss
        ;;
    cyclone)
        serve "$cyclone" echo --interface 127.0.0.1 --for 60
        sleep 0.3
        ask "$cyclone" ping --interface 127.0.0.1 --count "$count" --size "$size" |
            awk -v count="$count" '$1 == "rtt_us" { print $2 * 1000, $3 * 1000, $4 * 1000, count }'
        dismiss
        ;;
    esac
    port=$((port + 1))
}

for ((round = 1; round <= runs; round++)); do
    for program in "${programs[@]}"; do
        echo "run $round of $runs: $program" >&2
        echo "$program $(run "$program")" >>"$scratch/runs"
        port=$((port + 1))
    done
done
if command -v perf >/dev/null; then
    watch=(perf stat -x, -e "raw_syscalls:sys_enter,context-switches")
    for program in "${programs[@]}"; do
        echo "counting: $program" >&2
        total=$(run "$program" | awk '{ print $4 }')
        port=$((port + 1))
        awk -F, -v program="$program" -v total="$total" \
            '/raw_syscalls/ { calls += $1 } /context-switches/ { switches += $1 }
             END { if (total > 0) print program, calls / total, switches / total }' \
            "$scratch/perf.serve" "$scratch/perf.ask" >>"$scratch/counts"
    done
fi

touch "$scratch/counts"
awk '
    function middle(list, n,    i, j, swap) {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
                swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap
            }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    function over(column, key,    i, list) {
        if (value[column, key, 1] == "-") return "-"
        for (i = 1; i <= runs[key]; i++) list[i] = value[column, key, i] / 1000
        return sprintf("%.1f", middle(list, runs[key])) (value[column, key, 1] ~ /mean/ ? " (mean)" : "")
    }
    FNR == NR { calls[$1] = sprintf("%.2f", $2); switches[$1] = sprintf("%.2f", $3); next }
    {
        if (!($1 in runs)) keys[++total] = $1
        if (NF < 5 || $2 + 0 <= 0) { print "no figure: " $0 > "/dev/stderr"; failed = 1; next }
        n = ++runs[$1]
        for (column = 2; column <= 4; column++) value[column, $1, n] = $column
    }
    END {
        print "| program | median us | p99 us | p99.9 us | system calls | switches |"
        print "|---|--:|--:|--:|--:|--:|"
        for (k = 1; k <= total; k++) {
            key = keys[k]
            if (runs[key])
                printf "| %s | %s | %s | %s | %s | %s |\n", key, over(2, key), over(3, key), over(4, key),
                    key in calls ? calls[key] : "-", key in switches ? switches[key] : "-"
        }
        exit failed
    }' "$scratch/counts" "$scratch/runs"
