#!/usr/bin/env bash
# Round trips of publish-subscribe in RTPS 1.0, of ORTE and of rtether side by side in one run, and of
# rtether in RTPS 2.5 (root, iproute2, a C compiler; ORTE built with meson, see interop/README.md).
#
# usage: benches/orte.sh ORTE
#
#   ORTE      folder of its sources, built in its folder `build`
#   ROUNDS    rounds; in each, all programs run one after the other (default 9)
#   COUNT     round trips of a run (default 300)
#   INTERVAL  milliseconds between requests; a later answer counts as lost (default 10)
#   SIZES     octets of a sample (default "84 1044")
#   PROGRAMS  of orte, rtether-1.0 and rtether-2.5 (default all)
#   RTETHER   the command (default target/dist/rtether)
#
# Two topics, reliable both ways, between two network namespaces with a veth pair and `rtether manager`
# on both; the driver of ORTE is interop/orte.c. SCHED_FIFO 60 and all cores for both ends of each, and
# all sleep between samples.
# Printed: each run, then for each program and size the medians over the rounds, and the median of the
# ratios to rtether-1.0 in the same round.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
if (($# != 1)); then
    sed -n '5,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
rounds=${ROUNDS:-9}
count=${COUNT:-300}
interval=${INTERVAL:-10}
read -ra sizes <<<"${SIZES:-84 1044}"
read -ra programs <<<"${PROGRAMS:-orte rtether-1.0 rtether-2.5}"
rtether=${RTETHER:-target/dist/rtether}
orte=$1
library=$orte/build/orte/liborte
near=rtether-or$$a far=rtether-or$$b device=wire
# What a sample of `rtether ping` has before its payload.
head=20
scratch=$(mktemp -d)

source benches/lib.sh
trap "leave $near $far" EXIT

need ip cc chrt "$rtether"
cc -O2 -o "$scratch/orte" interop/orte.c -DHAVE_CONFIG_H -I"$orte/orte/include" \
    -I"$orte/build/orte/include" -L"$library" -lorte -lpthread -Wl,-rpath,"$(realpath "$library")"

for host in $near $far; do
    ip netns add $host
    ip -n $host link set lo up
done
ip link add $device netns $near type veth peer name $device netns $far
ip -n $near address add 10.79.2.1/24 dev $device
ip -n $far address add 10.79.2.2/24 dev $device
for host in $near $far; do ip -n $host link set $device up; done
ip netns exec $near "$rtether" manager --peer 10.79.2.2 2>"$scratch/manager" >/dev/null &
ip netns exec $far "$rtether" manager --peer 10.79.2.1 2>"$scratch/manager" >/dev/null &
await "$scratch/manager" 7400

# both ECHO PING: runs both ends, prints what PING prints.
both() {
    local ended=0 echo
    ip netns exec $far chrt -f 60 $1 >"$scratch/echo" 2>&1 &
    echo=$!
    ip netns exec $near chrt -f 60 timeout 90 $2 2>"$scratch/errors" || ended=$?
    # Exit code 1 of ping: some were not answered in time, which the count shows.
    if ((ended > 1)); then cat "$scratch/errors" >&2; fi
    kill -INT $echo 2>/dev/null || true
    sleep 0.2
    kill $echo 2>/dev/null || true
    wait $echo 2>/dev/null || true
}

# run PROGRAM SIZE TOPIC: prints samples, median, p99 and maximum in microseconds.
run() {
    local rtps ping
    case $1 in
    orte)
        both "$scratch/orte echo $3 $2" "$scratch/orte ping $3 $2 $interval $count" |
            awk '$1 == "rtt" { printf "%d %.1f %.1f %.1f\n", $2, $6 / 1000, $8 / 1000, $10 / 1000 }'
        ;;
    rtether-*)
        rtps="--via rtps --rtps ${1#rtether-}"
        ping="ping $rtps -n $count -i ${interval}ms --timeout ${interval}ms -s $(($2 - head)) --csv"
        both "$rtether echo $rtps" "$rtether $ping" |
            awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
                NR == 2 { printf "%d %.1f %.1f %.1f\n", $at["samples"], $at["median_ns"] / 1000,
                    $at["p99_ns"] / 1000, $at["max_ns"] / 1000 }'
        ;;
    esac
}

echo "| round | octets | program | answered | median us | p99 us | max us |"
echo "|--:|--:|---|--:|--:|--:|--:|"
for ((round = 1; round <= rounds; round++)); do
    for size in "${sizes[@]}"; do
        for program in "${programs[@]}"; do
            figures=$(run "$program" "$size" "T$round-$size")
            if [[ -z $figures ]]; then
                echo "no figure: round $round, $size octets, $program: $(cat "$scratch/errors")" >&2
                exit 1
            fi
            echo "$round $size $program $figures" >>"$scratch/runs"
            echo "| $round | $size | $program | ${figures// / | } |"
        done
    done
done

echo
awk -v count="$count" '
    function middle(list, n,    i, j, swap) {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
                swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap
            }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    function over(column, key,    r, n, list) {
        for (r = 1; r <= rounds; r++) list[++n] = value[column, key, r]
        return middle(list, n)
    }
    function ratio(column, key, base,    r, n, list) {
        if (!((column, base, 1) in value)) return "-"
        for (r = 1; r <= rounds; r++) list[++n] = value[column, key, r] / value[column, base, r]
        return sprintf("%.2f", middle(list, n))
    }
    {
        key = $2 " | " $3
        if (!(key in answered)) { keys[++total] = key; size[key] = $2 }
        answered[key] += $4
        for (column = 5; column <= 7; column++) value[column, key, $1] = $column
        rounds = $1
    }
    END {
        print "| octets | program | answered | median us | p99 us | max us | median, ratio | p99, ratio |"
        print "|--:|---|--:|--:|--:|--:|--:|--:|"
        for (k = 1; k <= total; k++) {
            key = keys[k]
            base = size[key] " | rtether-1.0"
            printf "| %s | %d of %d | %.1f | %.1f | %.1f | %s | %s |\n", key, answered[key],
                rounds * count, over(5, key), over(6, key), over(7, key), ratio(5, key, base),
                ratio(6, key, base)
        }
    }' "$scratch/runs"
