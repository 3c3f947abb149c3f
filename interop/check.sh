#!/usr/bin/env bash
# Lets two programs with the command line of the peers talk to each other: the first publishes,
# the second subscribes. Needs root, since each run has network namespaces of its own.
# PUB_EXTRA and SUB_EXTRA are further options of either (`--loss 200` of rtether's).
# Exit codes: 0 every case as expected, 1 not, 2 wrong usage.
set -uo pipefail

if [[ $# -lt 2 || $# -gt 4 || ! -x $1 || ! -x $2 || ! ${3:-veth} =~ ^(veth|loopback)$ ]]; then
    echo "usage: interop/check.sh PUBLISHER SUBSCRIBER [veth|loopback] [CASE]" >&2
    exit 2
fi
pub=$1 sub=$2 path=${3:-veth} only=${4:-}
near=rtether-peers-$$-a far=rtether-peers-$$-b
near_address=10.77.0.1 far_address=10.77.0.2
work=$(mktemp -d)
bad=0

leave() {
    local ns
    for ns in "$near" "$far"; do
        ip netns pids "$ns" 2>/dev/null | xargs -r kill 2>/dev/null
        ip netns delete "$ns" 2>/dev/null
    done
    rm -rf "$work"
}
trap leave EXIT

ip netns add "$near" || exit 1
ip -n "$near" link set lo up
if [[ $path == veth ]]; then
    ip netns add "$far"
    ip -n "$far" link set lo up
    ip link add veth0 netns "$near" type veth peer name veth0 netns "$far"
    ip -n "$near" address add $near_address/24 dev veth0
    ip -n "$far" address add $far_address/24 dev veth0
    ip -n "$near" link set veth0 up
    ip -n "$far" link set veth0 up
    # Multicast needs a route even if there is one link only.
    ip -n "$near" route add 239.255.0.0/16 dev veth0
    ip -n "$far" route add 239.255.0.0/16 dev veth0
else
    far=$near near_address=127.0.0.1 far_address=127.0.0.1
    # The loopback device carries no multicast unless told to; discovery counts on it.
    ip -n "$near" link set lo multicast on
    ip -n "$near" route add 239.255.0.0/16 dev lo
fi
if [[ -n ${PEERS_CAPTURE:-} ]]; then
    device=$([[ $path == veth ]] && echo veth0 || echo lo)
    ip netns exec "$near" tcpdump -q -i "$device" -w "$PEERS_CAPTURE" udp 2>/dev/null &
    sleep 1
fi

# Both run in the background; what they print goes to `pub` and `sub` in the work folder.
publish() { ip netns exec "$near" timeout 40 "$pub" pub "$@" ${PUB_EXTRA:-} >>"$work/pub" 2>>"$work/errors" & }
subscribe() { ip netns exec "$far" timeout 40 "$sub" sub "$@" ${SUB_EXTRA:-} >>"$work/sub" 2>>"$work/errors" & }
ended() { wait $(jobs -p -r | grep -vxF "${capture:-none}"); }
capture=$(jobs -p)

samples() { grep -c '^sample' "$work/sub"; }
# xs: the x of each sample received, in order, separated by blanks.
xs() { awk '$1 == "sample" { print $3 }' "$work/sub" | words; }
words() { tr -s ' \n' ' ' | sed 's/^ //;s/ $//'; }
said() { grep -qx "$2" "$work/$1"; }

# check NAME CONDITION...: runs the case of that name and then its condition.
check() {
    local name=$1
    shift
    [[ -z $only || $only == "$name" ]] || return 0
    : >"$work/pub"
    : >"$work/sub"
    : >"$work/errors"
    "case_$name"
    ended
    if "$@"; then
        echo "ok      $name"
        return 0
    fi
    bad=1
    echo "failed  $name: published: $(sort "$work/pub" | uniq -c | head -5 | words);" \
        "received $(samples): $(grep -v ^sample "$work/sub" | sort | uniq -c | words);" \
        "x: $(xs | cut -c1-80); $(sort "$work/errors" | uniq | head -3 | words)"
}

case_best_effort() {
    subscribe --count 20 --for 8
    publish --wait-match --count 25 --period 20
}
got_twenty() { [[ $(samples) -ge 20 ]]; }

case_reliable() {
    subscribe --reliable --depth 0 --count 300 --for 12
    publish --reliable --depth 0 --wait-match --count 300 --period 2 --for 6
}
case_xcdr2() {
    subscribe --reliable --depth 0 --count 300 --for 12 --xcdr 2
    publish --reliable --depth 0 --wait-match --count 300 --period 2 --for 6 --xcdr 2
}
case_burst() {
    subscribe --reliable --depth 0 --count 300 --for 12
    publish --reliable --depth 0 --wait-match --count 300 --period 0 --for 6
}
got_300() { [[ $(xs) == "$(seq 300 | words)" ]]; }

case_unicast() {
    subscribe --reliable --depth 0 --count 5 --for 8 --multicast no --peer $near_address
    publish --reliable --depth 0 --wait-match --count 5 --for 8 --multicast no --peer $far_address
}
case_partition() {
    subscribe --reliable --depth 0 --count 5 --for 8 --partition 'p*'
    publish --reliable --depth 0 --wait-match --count 5 --for 8 --partition p1
}
case_transient_local() {
    publish --reliable --durability transient-local --depth 0 --count 5 --period 1 --for 7
    sleep 2
    subscribe --reliable --durability transient-local --depth 0 --count 5 --for 5
}
got_five() { [[ $(xs) == "1 2 3 4 5" ]]; }

case_transient_local_last() {
    publish --reliable --durability transient-local --depth 3 --count 9 --period 1 --for 7
    sleep 2
    subscribe --reliable --durability transient-local --depth 0 --for 4
}
got_last_three() { [[ $(xs) == "7 8 9" ]]; }

case_other_partition() {
    subscribe --for 4 --partition p1
    publish --count 20 --partition q1
}
case_other_topic() {
    subscribe --for 4 --topic Circle
    publish --count 20
}
case_lifespan() {
    publish --reliable --durability transient-local --depth 0 --count 5 --period 1 --for 7 \
        --lifespan 500
    sleep 2
    subscribe --reliable --durability transient-local --depth 0 --count 5 --for 4
}
got_none() { [[ $(samples) -eq 0 ]] && said pub "sent .*"; }

case_dispose() {
    subscribe --reliable --depth 0 --for 9
    publish --reliable --depth 0 --wait-match --count 5 --final dispose --for 5
}
case_dispose_xcdr2() {
    subscribe --reliable --depth 0 --for 5 --xcdr 2
    publish --reliable --depth 0 --wait-match --count 5 --final dispose --for 5 --xcdr 2
}
was_disposed() { [[ $(samples) -eq 5 ]] && said sub "disposed BLUE"; }
case_unregister() {
    subscribe --reliable --depth 0 --for 9
    publish --reliable --depth 0 --wait-match --count 5 --final unregister --for 6
}
was_unregistered() { [[ $(samples) -eq 5 ]] && said sub "unregistered BLUE"; }
case_leave() {
    subscribe --reliable --depth 0 --for 6
    publish --reliable --depth 0 --wait-match --count 5 --for 3
}
was_left() { said sub unmatched && said sub "unregistered BLUE"; }

case_deadline() {
    subscribe --deadline 200 --for 7
    publish --deadline 200 --wait-match --count 5 --period 600 --for 7
}
missed_deadline() { said pub "deadline missed" && said sub "deadline missed"; }

# The weak writer is heard until the strong one comes, and again when that has gone.
case_strength() {
    subscribe --reliable --depth 0 --strength 0 --for 11
    publish --reliable --depth 0 --strength 1 --size 1 --count 0 --period 50 --for 9
    sleep 3
    publish --reliable --depth 0 --strength 2 --size 2 --count 0 --period 50 --for 3
}
strong_prevailed() {
    [[ $(awk '$1 == "sample" { print $6 }' "$work/sub" | uniq | words) == "1 2 1" ]]
}

case_large() {
    subscribe --reliable --depth 0 --count 5 --for 20
    publish --reliable --depth 0 --wait-match --count 5 --size 1000000 --for 12
}
got_large() { [[ $(xs) == "1 2 3 4 5" ]] && ! grep -q octet "$work/errors"; }

case_filter() {
    subscribe --filter 500 --for 6
    publish --wait-match --count 60 --period 50
}
was_filtered() { [[ $(samples) -ge 4 && $(samples) -le 8 ]]; }

case_content() {
    subscribe --reliable --depth 0 --count 3 --for 8 --content 'x > 2 AND x <> 4'
    publish --reliable --depth 0 --wait-match --count 6 --for 6
}
got_content() { [[ $(xs) == "3 5 6" ]]; }

case_ping() {
    ip netns exec "$far" timeout 40 "$sub" echo --for 20 >>"$work/sub" 2>>"$work/errors" &
    local echo=$!
    ip netns exec "$near" timeout 40 "$pub" ping --count 2000 --size 64 --for 20 \
        >>"$work/pub" 2>>"$work/errors"
    kill "$echo" 2>/dev/null
}
got_answers() { said pub "rtt_us [0-9. ]*"; }

# incompatible NAME "options of pub" "options of sub": a case in which both name that policy.
incompatible() {
    local policy=$1 offered=$2 requested=$3
    eval "case_${policy}() { subscribe --for 4 $requested; publish --count 20 $offered; }"
    check "$policy" both_named "$policy"
}
both_named() {
    said pub "incompatible $1" && said sub "incompatible $1" && [[ $(samples) -eq 0 ]]
}

check best_effort got_twenty
check reliable got_300
check burst got_300
check xcdr2 got_300
check unicast got_five
check transient_local got_five
check transient_local_last got_last_three
check lifespan got_none
check partition got_five
check other_partition got_none
check other_topic got_none
check dispose was_disposed
check dispose_xcdr2 was_disposed
check unregister was_unregistered
check leave was_left
check deadline missed_deadline
check strength strong_prevailed
check large got_large
check filter was_filtered
check content got_content
check ping got_answers
incompatible RELIABILITY "" --reliable
incompatible DURABILITY --reliable "--reliable --durability transient-local"
incompatible DEADLINE "--deadline 900" "--deadline 500"
incompatible OWNERSHIP "--strength 1" ""
incompatible DATA_REPRESENTATION "--xcdr 1" "--xcdr 2"
exit $bad
