#!/usr/bin/env bash
# Discovery among many participants that start at once, each in a network namespace of its own at one
# bridge: the usual one, on demand, and with static endpoints (root, iproute2).
#
# usage: benches/discovery.sh
#
#   HOSTS    participants (default 20)
#   RUNS     runs of each kind, taken in turn (default 5)
#   SECONDS_EACH  how long each runs (default 8)
#   CROWD    the example crowd of rtether-live (default target/dist/examples/crowd, built anew)
#
# Printed: medians over the runs of the time until the last one had all its matches, and of octets and
# frames that all have sent (headers included). The same in virtual time, up to 100 participants:
# `cargo run --release -p rtether-rtps --example discovery`.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
hosts=${HOSTS:-20}
runs=${RUNS:-5}
each=${SECONDS_EACH:-8}
crowd=${CROWD:-${CARGO_TARGET_DIR:-target}/dist/examples/crowd}
switch=rtether-ds$$
scratch=$(mktemp -d)
spaces=("$switch")
for ((i = 0; i < hosts; i++)); do spaces+=("$switch-$i"); done

source benches/lib.sh
trap 'leave "${spaces[@]}"' EXIT
if [[ -z ${CROWD:-} ]]; then cargo build --quiet --profile dist -p rtether-live --example crowd; fi
need ip "$crowd"

ip netns add "$switch"
ip -n "$switch" link add bridge type bridge mcast_snooping 0
ip -n "$switch" link set bridge up
for ((i = 0; i < hosts; i++)); do
    host=$switch-$i
    ip netns add "$host"
    ip link add wire netns "$host" type veth peer name "port$i" netns "$switch"
    ip -n "$host" address add "10.80.1.$((i + 1))/24" dev wire
    ip -n "$host" link set lo up
    ip -n "$host" link set wire up
    ip -n "$host" route add 239.255.0.0/16 dev wire
    ip -n "$switch" link set "port$i" master bridge up
done
sleep 2

# Prints what all hosts have sent so far: octets and frames.
sent() {
    local i
    for ((i = 0; i < hosts; i++)); do
        ip netns exec "$switch-$i" cat /sys/class/net/wire/statistics/tx_{bytes,packets} | xargs
    done | awk '{ octets += $1; frames += $2 } END { print octets, frames }'
}

for ((run = 1; run <= runs; run++)); do
    for kind in usual on-demand static; do
        echo "run $run of $runs: $kind" >&2
        before=$(sent)
        members=()
        for ((i = 0; i < hosts; i++)); do
            ip netns exec "$switch-$i" "$crowd" "$kind" $i "$hosts" "10.80.1.$((i + 1))" "$each" >"$scratch/$i" &
            members+=($!)
        done
        wait "${members[@]}"
        after=$(sent)
        last=$(for ((i = 0; i < hosts; i++)); do cat "$scratch/$i"; done | sort -n | awk '/-/ { lost = 1 } { last = $1 } END { print lost ? "-" : last }')
        echo "$kind $last $before $after" >>"$scratch/runs"
    done
done
echo "| discovery | participants | all matched after, ms | octets sent | frames sent |"
echo "|---|--:|--:|--:|--:|"
for kind in usual on-demand static; do
    middle() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
    of() { awk -v kind="$kind" "\$1 == kind { print $1 }" "$scratch/runs" | middle; }
    echo "| $kind | $hosts | $(of '$2') | $(of '$5 - $3') | $(of '$6 - $4') |"
done
