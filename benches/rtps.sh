#!/usr/bin/env bash
# Round trips of publish-subscribe, side by side in one run: rtether over UDP and in Ethernet frames,
# Cyclone DDS and Fast DDS, and plain datagrams and frames for the floor (root, iproute2, a C compiler;
# the peers of interop/).
#
# usage: benches/rtps.sh
#
#   ROUNDS   rounds; in each, all programs run one after the other (default 3)
#   COUNT    round trips of a run (default 5000); a thousand more come before
#   SIZES    octets of payload (default "64 128 1024")
#   PATHS    of loopback, veth (default both)
#   PROGRAMS of udp, cyclone, fastdds, rtether, frames and ethernet; all but the peers also with -spin
#            behind the name (default all)
#   PEERS    folder of the peers, built by interop/build.sh (default target/interop)
#   OWN      the example rtps_peer (default target/dist/examples/rtps_peer, built anew)
#
# Two topics, reliable, keep last 1, XCDR1; the next sample goes out when the answer is there
# (P1-S2-P2-S1). SCHED_FIFO 60 everywhere, both ends free on all cores but for the spinning ones, which
# have one each. udp and frames are the programs of benches/floor.sh with the same payload. ethernet is
# rtether in frames; on loopback there are no plain ones.
# Printed: medians over the rounds of median, p99 and p99.9 in microseconds.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
rounds=${ROUNDS:-3}
count=${COUNT:-5000}
read -ra sizes <<<"${SIZES:-64 128 1024}"
read -ra paths <<<"${PATHS:-loopback veth}"
programs=(udp cyclone fastdds rtether frames ethernet udp-spin rtether-spin frames-spin ethernet-spin)
if [[ -n ${PROGRAMS:-} ]]; then read -ra programs <<<"$PROGRAMS"; fi
peers=${PEERS:-target/interop}
own=${OWN:-${CARGO_TARGET_DIR:-target}/dist/examples/rtps_peer}
near=rtether-rp$$a far=rtether-rp$$b device=wire
scratch=$(mktemp -d)

source benches/lib.sh
trap "leave $near $far" EXIT

if [[ -z ${OWN:-} ]]; then cargo build --quiet --profile dist -p rtether-live --example rtps_peer; fi
need ip gcc chrt taskset "$own"
for peer in cyclone fastdds; do
    if [[ " ${programs[*]} " == *" $peer "* ]]; then need "$peers/peer-$peer"; fi
done
gcc -O2 -o "$scratch/floor" benches/floor/floor.c benches/floor/xdp.c

for host in $near $far; do
    ip netns add $host
    ip -n $host link set lo up
    ip -n $host link set lo multicast on
done
ip link add $device netns $near type veth peer name $device netns $far
ip -n $near address add 10.79.1.1/24 dev $device
ip -n $far address add 10.79.1.2/24 dev $device
for host in $near $far; do ip -n $host link set $device up; done

# route PATH: multicast goes where the path is; prints where the far end is.
route() {
    local host out=$device
    [[ $1 == veth ]] || out=lo
    for host in $near $far; do
        ip -n $host route replace 239.255.0.0/16 dev $out
    done
}

# dds PROGRAM PATH SIZE [OPTION...]: prints median, p99 and p99.9 in microseconds.
dds() {
    local program=$1 path=$2 size=$3 host=$far cores=(0-1 0-1) here there
    shift 3
    if [[ " $* " == *" --spin "* ]]; then cores=(0 1); fi
    if [[ " $* " == *" --device "* ]]; then
        here=() there=()
    else
        here=(--interface 10.79.1.1) there=(--interface 10.79.1.2)
    fi
    if [[ $path == loopback ]]; then
        host=$near
        if ((${#here[@]})); then here=(--interface 127.0.0.1) there=("${here[@]}"); fi
    fi
    ip netns exec $host chrt -f 60 taskset -c "${cores[1]}" "$program" echo "${there[@]}" --for 60 "$@" \
        >"$scratch/echo" 2>&1 &
    ip netns exec $near chrt -f 60 taskset -c "${cores[0]}" timeout 60 "$program" ping "${here[@]}" \
        --count "$count" --size "$size" "$@" 2>/dev/null |
        awk '$1 == "rtt_us" { print $2, $3, $4 }'
    kill %% 2>/dev/null || true
    wait 2>/dev/null || true
}

# udp PATH SIZE block|spin: the same for plain datagrams; the floor prints no p99.9.
udp() {
    local host=$far address=10.79.1.2
    if [[ $1 == loopback ]]; then host=$near address=127.0.0.1; fi
    ip netns exec $host "$scratch/floor" serve udp "$3" "$2" "$count" 1 $address >"$scratch/ready" &
    await "$scratch/ready" ready
    ip netns exec $near "$scratch/floor" ping udp "$3" "$2" "$count" 0 $address |
        awk '{ printf "%.3f %.3f -\n", $1 / 1000, $2 / 1000 }'
    wait 2>/dev/null || true
}

# frames SIZE block|spin: the same for plain frames.
frames() {
    local station
    station=$(ip netns exec $far cat /sys/class/net/$device/address)
    ip netns exec $far "$scratch/floor" serve raw "$2" "$1" "$count" 1 "$station" $device >"$scratch/ready" &
    await "$scratch/ready" ready
    ip netns exec $near "$scratch/floor" ping raw "$2" "$1" "$count" 0 "$station" $device |
        awk '{ printf "%.3f %.3f -\n", $1 / 1000, $2 / 1000 }'
    wait 2>/dev/null || true
}

run() { # NAME PATH SIZE
    local line=$device
    if [[ $2 == loopback ]]; then line=lo; fi
    case $1 in
    frames) frames "$3" block ;;
    frames-spin) frames "$3" spin ;;
    ethernet) dds "$own" "$2" "$3" --device $line ;;
    ethernet-spin) dds "$own" "$2" "$3" --device $line --spin ;;
    udp) udp "$2" "$3" block ;;
    udp-spin) udp "$2" "$3" spin ;;
    cyclone | fastdds) dds "$peers/peer-$1" "$2" "$3" ;;
    rtether) dds "$own" "$2" "$3" ;;
    rtether-spin) dds "$own" "$2" "$3" --spin ;;
    esac
}

for ((round = 1; round <= rounds; round++)); do
    for path in "${paths[@]}"; do
        route "$path"
        for size in "${sizes[@]}"; do
            for program in "${programs[@]}"; do
                if [[ $path == loopback && $program == frames* ]]; then continue; fi
                echo "round $round of $rounds: $path $size $program" >&2
                echo "$path $size $program $(run "$program" "$path" "$size")" >>"$scratch/runs"
            done
        done
    done
done

awk '
    function middle(list, n,    i, j, swap) {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
                swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap
            }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    function over(column, key,    i, list) {
        for (i = 1; i <= runs[key]; i++) list[i] = value[column, key, i]
        return middle(list, runs[key])
    }
    {
        key = $1 " | " $2 " | " $3
        if (!(key in runs)) keys[++total] = key
        if (NF < 5) { print "no figure: " $0 > "/dev/stderr"; failed = 1; next }
        n = ++runs[key]
        for (column = 4; column <= 6; column++) value[column, key, n] = $column
    }
    END {
        print "| path | B | program | median us | p99 us | p99.9 us |"
        print "|---|---|---|---|---|---|"
        for (k = 1; k <= total; k++) {
            key = keys[k]
            last = value[6, key, 1] == "-" ? "-" : sprintf("%.1f", over(6, key))
            if (runs[key]) printf "| %s | %.1f | %.1f | %s |\n", key, over(4, key), over(5, key), last
        }
        exit failed
    }' "$scratch/runs"
