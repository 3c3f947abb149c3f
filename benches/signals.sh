#!/usr/bin/env bash
# Compares what tells a smoother of congestion on a switched network, between network namespaces of
# this host (root, iproute2, python3).
#
# usage: benches/signals.sh [VARIANT...] (default: all)
#        benches/signals.sh simulate       the same by the simulator, for what it can be asked
#
#   RATES    bottleneck in Mbit/s (default "100 10")
#   ROUNDS   rounds; in each, all variants run one after the other (default 5)
#   BACKEND  of the shims of the senders (default user); kernel knows no clearing rate and no probes
#   CONGESTION  congestion control of TCP (default: that of this host)
#   COUNT    round trips of a run (default 2000), one each 2 ms
#   RTETHER  the program (default: target/dist/rtether)
#   RUNS     a file that keeps the row of each run (default: none)
#
#   one --\
#          switch --(bottleneck)-- sink        one FIFO queue of 100 frames, as in a switch without
#   two --/                                    priorities
#
# one and two each send one greedy TCP connection to the sink. one also asks it over UDP (DSCP 46)
# all the while, and the round trips are what is measured: they wait in the queue of the switch
# behind the bulk frames of both. All stations but for the first two variants have a shim (back end
# user) with priorities and a smoother in mode himd, with the same parameters; only the detector
# differs.
#
#   bare         no shim
#   bare-ecn     no shim; TCP with ECN, and the switch marks from five waiting frames on
#   unsmoothed   a shim with priorities, no smoother
#   share        a shim with a fixed rate of 45 % of the bottleneck each: what a plan would give
#   backlog, clearing, utilization, probes
#                mode himd with this detector
#   marks        mode himd with this detector; TCP with ECN and the switch marks, as in bare-ecn
#
# Printed: medians over the rounds of p99 and p99.9, of the share of round trips beyond the deadline
# (eight full frames at the bottleneck, lost ones included), of the bulk octets that the sink got, and
# of the part of them that the sender with less had. Round trips that stalls of the host hit are left
# out and counted. A long round trip is hit more often than a short one, so that is in favor of what
# makes long ones; the median and another p99 are of all, and so is everything of a run in which stalls
# hit more than three quarters.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
rounds=${ROUNDS:-5}
count=${COUNT:-2000}
read -ra rates <<<"${RATES:-100 10}"
rtether=${RTETHER:-${CARGO_TARGET_DIR:-target}/dist/rtether}
backend=${BACKEND:-user}
congestion=${CONGESTION:-$(cat /proc/sys/net/ipv4/tcp_congestion_control)}
variants=("$@")
((${#variants[@]})) || variants=(bare bare-ecn unsmoothed share backlog clearing utilization probes marks)
one=rtether-sg$$a two=rtether-sg$$b middle=rtether-sg$$m sink=rtether-sg$$c device=wire
address=10.79.0.3
scratch=$(mktemp -d)
runs=${RUNS:-$scratch/runs}

source benches/lib.sh
trap "leave $one $two $middle $sink" EXIT

need ip tc python3 "$rtether"

build() { # rate in Mbit/s
    local host number=0
    for host in $one $two $sink $middle; do
        ip netns add "$host"
        ip -n "$host" link set lo up
    done
    ip -n $middle link add bridge type bridge
    for host in $one $two $sink; do
        number=$((number + 1))
        ip -n $middle link add "to$number" type veth peer name $device netns $host
        # No frame is larger than on a wire.
        ip -n $host link set $device gso_max_segs 1 address 02:00:00:00:79:0$number
        ip -n $middle link set "to$number" gso_max_segs 1
        ip -n $middle link set "to$number" master bridge up
        ip netns exec $host sysctl -qw net.ipv6.conf.$device.disable_ipv6=1
        ip netns exec $host sysctl -qw net.ipv4.tcp_congestion_control="$congestion"
        ip -n $host address add 10.79.0.$number/24 dev $device
        ip -n $host link set $device up
    done
    ip -n $middle link set bridge up
    tc -n $middle qdisc add dev to3 root handle 1: htb default 1
    tc -n $middle class add dev to3 parent 1: classid 1:1 htb rate "$1mbit" ceil "$1mbit" \
        burst 1538 cburst 1538 overhead 24 mpu 84
    tc -n $middle qdisc add dev to3 parent 1:1 pfifo limit 100
    mkdir -p "$scratch/bpf"
    mount -t bpf none "$scratch/bpf"
    rm -f "$scratch/bpf/mark"
    python3 benches/signals/mark.py "$scratch/bpf/mark" "${1}000000" 7690
    tc -n $middle qdisc add dev to3 clsact
}

gone() {
    for host in $one $two $middle $sink; do ip netns delete $host 2>/dev/null || true; done
    umount "$scratch/bpf"
}

marking() { # 0 or 1
    local host
    for host in $one $two $sink; do ip netns exec $host sysctl -qw net.ipv4.tcp_ecn="$1"; done
    tc -n $middle filter delete dev to3 egress 2>/dev/null || true
    (($1 == 0)) ||
        tc -n $middle filter add dev to3 egress bpf direct-action object-pinned "$scratch/bpf/mark"
}

# Prints the smoother of a variant at a rate; times scale with the rate of the link.
smoother() {
    local frame=$((1538 * 8000 / $2)) # of a full frame in ns
    local period=$((frame * 11 / 10)) depth=1500
    # From the longest period to the shortest in 1.2 s.
    local delta=$((period * 99 / 1000 * frame / 1200000))
    local himd="mode: himd, depth: $depth B, period: $period ns .. $((period * 100)) ns, tick: $frame ns, hold: $((frame * 2)) ns, delta: $delta ns, ring: 4"
    case $1 in
    share) echo "smoother: { mode: fixed, depth: $depth B, period: $((frame * 100 / 45)) ns, ring: 4 }" ;;
    backlog) echo "smoother: { $himd, detector: { kind: backlog, low: 1600 B, high: 4500 B } }" ;;
    clearing) echo "smoother: { $himd, detector: { kind: clearing-rate, floor: $(($2 / 2)) Mbit/s } }" ;;
    utilization) echo "smoother: { $himd, detector: { kind: utilization, threshold: 60 %, window: 10 ms } }" ;;
    probes) echo "smoother: { $himd, detector: { kind: probe-delay, excess: $((frame * 4)) ns } }" ;;
    marks) echo "smoother: { $himd, detector: { kind: marks, threshold: 0 %, window: 10 ms } }" ;;
    esac
}

# Prints the configuration of a variant's shims at a rate.
configuration() {
    cat <<END
rtether: 1
backend: $backend
rate: $2 Mbit/s
priority: 60
priorities: { queues: 2, rules: [{ dscp: 46, queue: 1 }] }
transmit_queues: { strategy: moderate, ring: 1 }
END
    smoother "$1" "$2"
    case $1 in
    sink) echo "probes: {}" ;;
    probes) echo "probes: { to: [\"02:00:00:00:79:03\"], every: 10 ms }" ;;
    esac
}

# Prints the scenario of a variant at a rate, for the simulator.
scenario() {
    local priorities="priorities: { queues: 2, rules: [{ dscp: 46, queue: 1 }] }, transmit_queues: { strategy: moderate, ring: 1 }"
    local smoother
    smoother=$(smoother "$1" "$2")
    [[ $1 == bare ]] && priorities="rate: 100000 packets/s" || priorities="rate: 100000 packets/s, $priorities"
    cat <<END
rtether: 1
stacks:
  station: { $priorities${smoother:+, $smoother} }
nodes: { one: { stack: station }, two: { stack: station }, sink: { stack: { rate: 100000 packets/s } } }
switches: { sw: { ports: 3, latency: 5 us, buffer: 150 kB } }
links:
  - { ends: [one, "sw:1"], rate: $2 Mbit/s }
  - { ends: [two, "sw:2"], rate: $2 Mbit/s }
  - { ends: [sink, "sw:3"], rate: $2 Mbit/s }
flows:
  - { name: ask, from: one, to: sink, period: 2 ms, size: 64 B, dscp: 46, reply: { size: 64 B }, deadline: $((1538 * 8000 / $2 * 8)) ns }
  - { name: bulk one, from: one, to: sink, kind: bulk, over: tcp, tcp: { window: 256 KiB } }
  - { name: bulk two, from: two, to: sink, kind: bulk, over: tcp, tcp: { window: 256 KiB } }
run: { for: 10 s, warmup: 2 s, seeds: 5 }
accept: [{ flow: ask, missed: 100 % }]
END
}

# Simulates the variants whose detectors simulated nodes can feed, and prints a table.
simulate() {
    echo "| Mbit/s | signal | median us | p99 us | p99.9 us | late or lost | bulk Mbit/s |"
    echo "|--:|---|--:|--:|--:|--:|--:|"
    local rate variant
    for rate in "${rates[@]}"; do
        for variant in bare unsmoothed share backlog clearing utilization; do
            scenario $variant "$rate" >"$scratch/scenario.yaml"
            "$rtether" sim "$scratch/scenario.yaml" --json >"$scratch/result.json"
            python3 - "$scratch/result.json" "$rate" $variant <<'END'
import json, sys
ask, *bulk = [flow["sim"] for flow in json.load(open(sys.argv[1]))["flows"]]
# Frames without check sequence, as the devices of the live runs count them.
octets = sum(flow["throughput_bps"] for flow in bulk) * 1514 / 1460
print("| %s | %s | %.0f | %.0f | %.0f | %.2f %% | %.1f |" % (sys.argv[2], sys.argv[3],
      ask["p50_ns"] / 1e3, ask["p99_ns"] / 1e3, ask["p999_ns"] / 1e3,
      ask["miss_ratio"] * 100, octets / 1e6))
END
        done
    done
}

if [[ ${variants[0]} == simulate ]]; then
    simulate
    exit
fi

shims=()
shim_up() { # host, variant, rate
    local backend=$backend
    [[ $2 != sink ]] || backend=user
    configuration "$2" "$3" >"$scratch/$1.yaml"
    ip netns exec "$1" "$rtether" shim up $device --config "$scratch/$1.yaml" >"$scratch/$1.up" 2>&1 &
    shims+=($!)
    await "$scratch/$1.up" "up\|ready\|shim"
}
shims_down() {
    local pid
    for pid in "${shims[@]}"; do kill -INT "$pid"; done
    for pid in "${shims[@]}"; do wait "$pid" || true; done
    shims=()
}

octets() { # host, column of /proc/net/dev
    ip netns exec "$1" awk -v column="$2" '$1 == "'$device':" { print $column }' /proc/net/dev
}

stop() { kill -INT "$1"; wait "$1" || true; }

run() { # variant, rate
    local host loads=() before after started deadline=$((1538 * 8000 / $2 * 8))
    case $1 in *ecn | marks) marking 1 ;; *) marking 0 ;; esac
    if [[ $1 != bare* ]]; then
        for host in $one $two; do shim_up $host "$1" "$2"; done
        shim_up $sink sink "$2"
    fi
    for host in $one $two; do
        ip netns exec $host "$rtether" load $address --kind greedy --for '10 min' >/dev/null 2>&1 &
        loads+=($!)
    done
    sleep 1.5
    started=$(date +%s%N)
    before=($(octets $sink 2) $(octets $one 10) $(octets $two 10))
    ip netns exec $one "$rtether" ping $address --same-host --awake --priority 50 --dscp 46 \
        -n "$count" -i '2 ms' --timeout '500 ms' --samples "$scratch/samples" >"$scratch/ping" 2>&1 || true
    after=($(octets $sink 2) $(octets $one 10) $(octets $two 10))
    started=$(($(date +%s%N) - started))
    [[ $1 != probes ]] || ip netns exec $one "$rtether" shim status $device --json >"$scratch/status"
    for host in "${loads[@]}"; do stop "$host"; done
    ((${#shims[@]} == 0)) || shims_down
    tail -n +2 "$scratch/samples" | sort -t, -k4,4n |
        awk -F, -v all="$count" -v deadline=$deadline -v ns=$started -v sink=$((after[0] - before[0])) \
            -v one=$((after[1] - before[1])) -v two=$((after[2] - before[2])) -v name="$2 $1" '
        { whole[++m] = $4 }
        $6 { hit++; next }
        { trip[++n] = $4; if ($4 > deadline) late++ }
        END {
            lost = all - m
            # Nearly every round trip touches a stall if it is long: then all count.
            if (n < all / 4) {
                n = m; late = 0
                for (i = 1; i <= m; i++) { trip[i] = whole[i]; if (whole[i] > deadline) late++ }
            }
            half = int(0.5 * m + 0.999999); most = int(0.99 * m + 0.999999)
            at = int(0.99 * n + 0.999999); top = int(0.999 * n + 0.999999)
            # What asks is 106 octets on the device; what is left is bulk.
            if (n == 0) exit
            bulk = sink - 106 * m; one -= 106 * all
            share = one + two ? (one < two ? one : two) / (one + two) : 0
            print name, trip[at], trip[top], (late + lost) / (n + lost), bulk * 8000 / ns, share, \
                whole[half], whole[most], hit + 0, lost
        }' | tee -a "$runs" >&2
    sleep 0.3
}

for rate in "${rates[@]}"; do
    build "$rate"
    ip netns exec $sink "$rtether" echo --priority 50 >/dev/null 2>"$scratch/echo" &
    answering=$!
    await "$scratch/echo" answering
    ip netns exec $sink "$rtether" load --sink >/dev/null 2>"$scratch/sink" &
    sinking=$!
    sleep 0.5
    for ((round = 1; round <= rounds; round++)); do
        for variant in "${variants[@]}"; do run "$variant" "$rate"; done
    done
    stop $answering
    stop $sinking
    gone
done

awk '
    function middle(what, key,    i, j, swap, list, n) {
        n = rounds[key]
        for (i = 1; i <= n; i++) list[i] = value[what, key, i]
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
                swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap
            }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    {
        key = $1 " " $2
        if (!(key in rounds)) keys[++total] = key
        n = ++rounds[key]
        for (i = 3; i <= 9; i++) value[i, key, n] = $i
        hit[key] += $10; lost[key] += $11
    }
    END {
        print "| Mbit/s | signal | median us | p99 us | p99.9 us | late or lost | bulk Mbit/s | smaller share | p99 us with stalls | hit by stalls | lost | rounds |"
        print "|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
        for (k = 1; k <= total; k++) {
            split(keys[k], part, " ")
            printf "| %s | %s | %.0f | %.0f | %.0f | %.2f %% | %.1f | %.0f %% | %.0f | %d | %d | %d |\n",
                part[1], part[2], middle(8, keys[k]) / 1000, middle(3, keys[k]) / 1000,
                middle(4, keys[k]) / 1000, middle(5, keys[k]) * 100, middle(6, keys[k]),
                middle(7, keys[k]) * 100, middle(9, keys[k]) / 1000, hit[keys[k]], lost[keys[k]],
                rounds[keys[k]]
        }
    }' "$runs"
