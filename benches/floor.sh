#!/usr/bin/env bash
# Compares round trips of `rtether ping` with those of a minimal C program that does the same system
# calls, and with sockperf, between two network namespaces of this host (root, iproute2, gcc).
#
# usage: benches/floor.sh
#
#   ROUNDS   rounds; in each, all programs run one after the other (default 5)
#   COUNT    requests of a run (default 20000)
#   SIZES    octets of payload (default "64 256 1024")
#   VIAS     ways (default "udp raw xdp")
#   WAITS    "spin", "block" or both (default "spin block")
#   RTETHER  the program (default: target/dist/rtether)
#   LIMIT    largest ratio of rtether's median to that of C when spinning (default 1.10); beyond it,
#            or not below sockperf's median, the script fails
#
# Every program runs under SCHED_FIFO, priority 50, asking side on core 0, answering side on core 1.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
rounds=${ROUNDS:-5}
count=${COUNT:-20000}
read -ra sizes <<<"${SIZES:-64 256 1024}"
read -ra vias <<<"${VIAS:-udp raw xdp}"
read -ra waits <<<"${WAITS:-spin block}"
rtether=${RTETHER:-${CARGO_TARGET_DIR:-target}/dist/rtether}
limit=${LIMIT:-1.10}
near=rtether-fl$$a far=rtether-fl$$b device=wire address=10.79.0.2
scratch=$(mktemp -d)

source benches/lib.sh
trap "leave $near $far" EXIT

need ip gcc "$rtether"
sockperf=$(command -v sockperf || true)
gcc -O2 -o "$scratch/floor" benches/floor/floor.c benches/floor/xdp.c

ip netns add $near
ip netns add $far
ip link add $device netns $near type veth peer name $device netns $far
ip -n $near address add 10.79.0.1/24 dev $device
ip -n $far address add $address/24 dev $device
for host in $near $far; do
    ip -n $host link set lo up
    ip -n $host link set $device up
done
ethernet=$(ip netns exec $far cat /sys/class/net/$device/address)

target() { if [[ $1 == udp ]]; then echo $address; else echo "$ethernet"; fi; }

# Each of these prints median and 99th percentile in nanoseconds: via, wait, size.
c() {
    ip netns exec $far "$scratch/floor" serve "$1" "$2" "$3" "$count" 1 "$(target "$1")" $device >"$scratch/ready" &
    await "$scratch/ready" ready
    ip netns exec $near "$scratch/floor" ping "$1" "$2" "$3" "$count" 0 "$(target "$1")" $device
    wait $!
}

rtether() {
    local options=(--via "$1" --priority 50) device_option=()
    if [[ $2 == spin ]]; then options+=(--spin); fi
    if [[ $1 != udp ]]; then device_option=(--device $device); fi
    ip netns exec $far "$rtether" echo "${options[@]}" "${device_option[@]}" --core 1 >/dev/null 2>"$scratch/ready" &
    await "$scratch/ready" answering
    ip netns exec $near "$rtether" ping "$(target "$1")" "${options[@]}" "${device_option[@]}" --core 0 \
        -n "$count" -i 0s -s "$3" --csv |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
                 END { print $column["median_ns"], $column["p99_ns"] }'
    kill -INT $!
    wait $! || true
}

# Whole round trips: sockperf reports halves unless told otherwise.
sockperf() {
    local options=()
    if [[ $2 == spin ]]; then options=(--nonblocked); fi
    ip netns exec $far chrt -f 50 taskset -c 1 "$sockperf" server -i $address "${options[@]}" >"$scratch/ready" 2>&1 &
    await "$scratch/ready" 'to terminate\|Test mode\|listen'
    sleep 0.3
    ip netns exec $near chrt -f 50 taskset -c 0 "$sockperf" ping-pong -i $address -m "$3" -t 1 \
        --full-rtt "${options[@]}" 2>&1 | tr -d '\033' |
        awk '/percentile 50.000/ { median = $NF } /percentile 99.000/ { p99 = $NF }
             END { printf "%.0f %.0f\n", median * 1000, p99 * 1000 }'
    kill -INT $! 2>/dev/null || true
    wait $! 2>/dev/null || true
}

for ((round = 1; round <= rounds; round++)); do
    for wait in "${waits[@]}"; do
        for via in "${vias[@]}"; do
            for size in "${sizes[@]}"; do
                echo "round $round of $rounds: $via $wait $size" >&2
                for program in c rtether sockperf; do
                    if [[ $program == sockperf && ($via != udp || -z $sockperf) ]]; then continue; fi
                    echo "$wait $via $size $program $($program "$via" "$wait" "$size")" >>"$scratch/runs"
                done
            done
        done
    done
done

# Medians over the rounds; the ratio is the median of the ratios within a round.
awk -v limit="$limit" '
    function middle(list, n,    i, j, swap) {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
                swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap
            }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    function over(what, key, program,    n, i, list) {
        n = runs[key, program]
        for (i = 1; i <= n; i++) list[i] = value[what, key, program, i]
        return middle(list, n)
    }
    function ratio(key, program,    n, i, list) {
        n = runs[key, program]
        for (i = 1; i <= n; i++)
            list[i] = value["median", key, "rtether", i] / value["median", key, program, i]
        return middle(list, n)
    }
    {
        key = $1 " " $2 " " $3
        if (!(key in seen)) { seen[key] = 1; keys[++total] = key }
        if ($5 + 0 <= 0) { print "no figure: " $0 > "/dev/stderr"; failed = 1 }
        n = ++runs[key, $4]
        value["median", key, $4, n] = $5 / 1000
        value["p99", key, $4, n] = $6 / 1000
    }
    END {
        print "| wait | via | B | C median | C p99 | rtether median | rtether p99 | sockperf median | sockperf p99 | to C | to sockperf |"
        print "|---|---|---|---|---|---|---|---|---|---|---|"
        for (k = 1; k <= total; k++) {
            key = keys[k]
            split(key, part, " ")
            to_c = ratio(key, "c")
            line = sprintf("| %s | %s | %s | %.2f | %.2f | %.2f | %.2f |", part[1], part[2], part[3],
                over("median", key, "c"), over("p99", key, "c"),
                over("median", key, "rtether"), over("p99", key, "rtether"))
            if ((key, "sockperf") in runs) {
                to_sockperf = ratio(key, "sockperf")
                line = line sprintf(" %.2f | %.2f | %.3f | %.3f |", over("median", key, "sockperf"),
                    over("p99", key, "sockperf"), to_c, to_sockperf)
                if (part[1] == "spin" && to_sockperf >= 1) { print key ": above sockperf" > "/dev/stderr"; failed = 1 }
            } else line = line sprintf(" - | - | %.3f | - |", to_c)
            print line
            if (part[1] == "spin" && to_c > limit) { print key ": too far from C" > "/dev/stderr"; failed = 1 }
        }
        exit failed
    }' "$scratch/runs"
