#!/usr/bin/env bash
# Measures what the shim costs and what it keeps away from real-time traffic, between network
# namespaces of this host (root, iproute2).
#
# usage: benches/shim.sh [overhead] [throughput] [isolation] (default: all three)
#
#   ROUNDS   rounds; in each, all variants run one after the other (default 3)
#   COUNT    round trips of a run (default 5000)
#   RATES    links of the isolation runs in Mbit/s (default "100 10")
#   BACKENDS (default "kernel user")
#   RTETHER  the program (default: target/dist/rtether)
#
# Overhead: near -- far, one pair of devices, the shim on near's; round trips over UDP, 64 octets.
# user-both: received frames pass the shim, too; no limit.
# Throughput: the same, greedy TCP from near.
# Isolation: near -- middle -- far; middle is a bridge whose ports send at the link's rate from one
# FIFO queue. near asks over UDP (DSCP 46) while a greedy TCP connection of near fills the link; the
# shim gives way to DSCP 46. Loaded and unloaded runs take turns. Cores are kept from deep sleep,
# from which they wake up sooner under load; round trips that stalls of the host hit are left out.
#
# Limits, beyond which the script fails: median + 3 us (kernel), + 15 us (user); 1 Gbit/s; p99.9 at
# most one full frame and 30 us above the unloaded one, and without the shim ten times worse.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
rounds=${ROUNDS:-3}
count=${COUNT:-5000}
read -ra rates <<<"${RATES:-100 10}"
read -ra backends <<<"${BACKENDS:-kernel user}"
passed=("${backends[@]}")
[[ " ${backends[*]} " != *" user "* ]] || passed+=(user-both)
rtether=${RTETHER:-${CARGO_TARGET_DIR:-target}/dist/rtether}
parts=("$@")
((${#parts[@]})) || parts=(overhead throughput isolation)
near=rtether-sh$$a middle=rtether-sh$$m far=rtether-sh$$b device=wire
near_address=10.78.0.1 address=10.78.0.2
scratch=$(mktemp -d)

source benches/lib.sh
trap "leave $near $middle $far" EXIT

need ip tc "$rtether"

hosts() {
    for host in "$@"; do
        ip netns add "$host"
        ip -n "$host" link set lo up
    done
}

address_of() {
    ip -n $near address add $near_address/24 dev $device
    ip -n $far address add $address/24 dev $device
    for host in $near $far; do
        ip netns exec $host sysctl -qw net.ipv6.conf.$device.disable_ipv6=1
        ip -n $host link set $device up
    done
}

direct() {
    hosts $near $far
    ip link add $device netns $near type veth peer name $device netns $far
    address_of
}

# A bridge that sends at a rate, from one queue of 200 frames.
slow() {
    hosts $near $middle $far
    ip -n $middle link add bridge type bridge
    local port
    for port in $near $far; do
        ip link add $device netns $port type veth peer name "to-${port: -1}" netns $middle
        ip netns exec $port ethtool -K $device tso off gso off gro off tx off >/dev/null 2>&1 || true
        ip netns exec $middle ethtool -K "to-${port: -1}" tso off gso off gro off tx off >/dev/null 2>&1 || true
        ip -n $middle link set "to-${port: -1}" master bridge up
        tc -n $middle qdisc add dev "to-${port: -1}" root handle 1: htb default 1
        tc -n $middle class add dev "to-${port: -1}" parent 1: classid 1:1 htb rate "$1mbit" \
            ceil "$1mbit" burst 1538 cburst 1538 overhead 24 mpu 84
        tc -n $middle qdisc add dev "to-${port: -1}" parent 1:1 pfifo limit 200
    done
    ip -n $middle link set bridge up
    address_of
}

gone() { for host in $near $middle $far; do ip netns delete $host 2>/dev/null || true; done; }

configuration() {
    cat >"$scratch/shim.yaml" <<END
rtether: 1
backend: ${1%-both}
rate: $2 Mbit/s
priority: 60
priorities: { queues: 2, rules: [{ dscp: 46, queue: 1 }] }
transmit_queues: { strategy: moderate, ring: 1 }
END
    [[ $1 != *-both ]] || echo 'receive_queues: { selection: highest-first }' >>"$scratch/shim.yaml"
}

shim=
shim_up() {
    configuration "$1" "$2"
    ip netns exec $near "$rtether" shim up $device --config "$scratch/shim.yaml" >"$scratch/up" 2>&1 &
    shim=$!
    await "$scratch/up" "up\|ready\|shim"
}
shim_down() {
    kill -INT $shim
    wait $shim || true
}

# Prints median and p99.9 in nanoseconds without what stalls of the host hit, and how many those are.
ping() {
    ip netns exec $near "$rtether" ping $address --same-host --awake --core 0 --priority 50 --dscp 46 \
        -n "$count" -i "$1" --csv |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
                 NR == 2 { all = $column["samples"] }
                 END { print $column["median_ns"], $column["p99_9_ns"], all - $column["samples"] }'
}

echo_up() {
    ip netns exec $far "$rtether" echo --core 1 --priority 50 >/dev/null 2>"$scratch/echo" &
    answering=$!
    await "$scratch/echo" answering
}

sink_up() {
    ip netns exec $far "$rtether" load --sink >/dev/null 2>"$scratch/sink" &
    sinking=$!
    sleep 0.5
}

stop() { kill -INT "$1"; wait "$1" || true; }

overhead() {
    direct
    echo_up
    for ((round = 1; round <= rounds; round++)); do
        for variant in none "${passed[@]}"; do
            [[ $variant == none ]] || shim_up "$variant" 10000
            echo "overhead $variant $(ping 0s)" | tee -a "$scratch/runs" >&2
            [[ $variant == none ]] || shim_down
        done
    done
    stop $answering
    gone
}

throughput() {
    direct
    sink_up
    for ((round = 1; round <= rounds; round++)); do
        for variant in none "${passed[@]}"; do
            [[ $variant == none ]] || shim_up "$variant" 10000
            bits=$(ip netns exec $near "$rtether" load $address --kind greedy --for '3 s' --priority normal --csv |
                awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i } END { print $7 }')
            echo "throughput $variant $bits 0" | tee -a "$scratch/runs" >&2
            [[ $variant == none ]] || shim_down
        done
    done
    stop $sinking
    gone
}

isolation() {
    for rate in "${rates[@]}"; do
        slow "$rate"
        echo_up
        sink_up
        for ((round = 1; round <= rounds; round++)); do
            for variant in none "${backends[@]}"; do
                [[ $variant == none ]] || shim_up "$variant" "$rate"
                echo "$rate-unloaded $variant $(ping '2 ms')" | tee -a "$scratch/runs" >&2
                ip netns exec $near "$rtether" load $address --kind greedy --for '10 min' >/dev/null 2>&1 &
                load=$!
                sleep 1
                echo "$rate-loaded $variant $(ping '2 ms')" | tee -a "$scratch/runs" >&2
                stop $load
                [[ $variant == none ]] || shim_down
                sleep 0.5
            done
        done
        stop $answering
        stop $sinking
        gone
    done
}

for part in "${parts[@]}"; do "$part"; done

awk '
    function middle(list, n,    i, j, swap) {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
                swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap
            }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    function over(what, key,    i, list) {
        for (i = 1; i <= runs[key]; i++) list[i] = value[what, key, i]
        return middle(list, runs[key])
    }
    {
        key = $1 " " $2
        if (!(key in runs)) keys[++total] = key
        n = ++runs[key]
        value["median", key, n] = $3
        value["p99.9", key, n] = $4
        hit[key] += $5
    }
    END {
        print "| run | shim | median us | p99.9 us | hit by stalls |"
        print "|---|---|---|---|---|"
        for (k = 1; k <= total; k++) {
            split(keys[k], part, " ")
            if (part[1] == "throughput") { printf "| throughput | %s | %.3f Gbit/s | | |\n", part[2], over("median", keys[k]) / 1e9; continue }
            printf "| %s | %s | %.2f | %.2f | %d |\n", part[1], part[2], over("median", keys[k]) / 1000, over("p99.9", keys[k]) / 1000, hit[keys[k]]
        }
        for (k = 1; k <= total; k++) {
            split(keys[k], part, " ")
            if (part[2] == "none") continue
            if (part[1] == "overhead") {
                added = (over("median", keys[k]) - over("median", "overhead none")) / 1000
                if (part[2] == "user-both") { printf "added by the user back end both ways: %.2f us\n", added; continue }
                limit = part[2] == "kernel" ? 3 : 15
                printf "added by the %s back end: %.2f us (limit %d)\n", part[2], added, limit
                if (added > limit) failed = 1
            }
            if (part[1] == "throughput" && part[2] == "user" && over("median", keys[k]) < 1e9) failed = 1
            if (part[1] ~ /-loaded$/) {
                rate = part[1] + 0
                frame = 1538 * 8 / rate
                quiet = rate "-unloaded " 
                above = (over("p99.9", keys[k]) - over("p99.9", quiet part[2])) / 1000
                without = (over("p99.9", part[1] " none") - over("p99.9", quiet "none")) / 1000
                printf "%d Mbit/s, %s: p99.9 %.1f us above unloaded (limit %.1f), without the shim %.1f: %s\n",
                    rate, part[2], above, frame + 30, without,
                    (above > 0 ? sprintf("%.1f times", without / above) : "no difference to compare with")
                if (above > frame + 30 || without < 10 * above) failed = 1
            }
        }
        exit failed
    }' "$scratch/runs"
