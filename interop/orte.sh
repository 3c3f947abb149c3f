#!/usr/bin/env bash
# RTPS 1.0 against ORTE, in both directions, in two network namespaces; as root.
#
#   interop/orte.sh PROGRAM ORTE [MANAGERS...]
#
#   C_LIBRARY   folder of the C library, by `cargo xtask c-library`: its programs run the cases, too
#   WRITERS     writers and readers that run the cases, such as "c:orte orte:c"
#               (default "ours:orte orte:ours", and these two with C_LIBRARY)
#
# PROGRAM is the example `rtps1` of rtether-live; ORTE the folder of ORTE's sources, built with meson
# in its folder `build`: no package of a distribution has it. MANAGERS are orte, ours or mixed.
# Prints one line per case.
# Exit codes: 0 all cases hold, 1 some do not, 2 wrong usage, 4 ORTE is missing.
set -uo pipefail
if [[ $# -lt 2 ]]; then
    echo "usage: interop/orte.sh PROGRAM ORTE [orte|ours|mixed]..." >&2
    exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
own=$(realpath "$1")
orte=$2
manager=$orte/build/orte/manager/ortemanager
if [[ ! -x $manager ]]; then
    echo "SKIP: RTPS 1.0 against ORTE: $manager is missing; build ORTE with meson, without idl-compiler and contrib" >&2
    exit 4
fi
work=$(mktemp -d)
library=$orte/build/orte/liborte
cc -O2 -o "$work/peer" "$here/orte.c" -DHAVE_CONFIG_H -I"$orte/orte/include" \
    -I"$orte/build/orte/include" -L"$library" -lorte -lpthread -Wl,-rpath,"$library" || exit 4
pairs=${WRITERS:-ours:orte orte:ours}
if [[ -n ${C_LIBRARY:-} ]]; then
    live=$here/../crates/rtether-live
    cc -std=c11 -O2 -o "$work/numbered" "$live/tests/c/numbered.c" -I"$live/include" \
        -L"$C_LIBRARY" -lrtether -Wl,-rpath,"$(realpath "$C_LIBRARY")" || exit 4
    pairs=${WRITERS:-$pairs c:orte orte:c}
fi
tag=ro$$
near=$tag-near far=$tag-far between=$tag-mid
clean() {
    for space in "$near" "$far" "$between"; do
        for pid in $(ip netns pids "$space" 2>/dev/null); do kill -9 "$pid"; done
        ip netns del "$space" 2>/dev/null
    done
    rm -rf "$work"
}
trap clean EXIT

# A relay between both hosts, which may lose frames.
cat > "$work/relay.py" <<'PY'
import random, select, socket, sys
ends = []
for name in ("near", "far"):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    end.bind((name, 0))
    end.setblocking(False)
    ends.append(end)
random.seed(7)
while True:
    for end in select.select(ends, [], [])[0]:
        try:
            frame, origin = end.recvfrom(65536)
        except OSError:
            continue
        if origin[2] == socket.PACKET_OUTGOING:
            continue
        loss = float(open(sys.argv[1]).read() or 0)
        is_udp = frame[12:14] == b"\x08\x00" and frame[23:24] == b"\x11"
        if is_udp and random.random() < loss:
            continue
        if is_udp and not (frame[20] & 0x1f or frame[21]):
            # The sender leaves the checksum to its device, which is none: zero means that there is none.
            frame = frame[:40] + bytes(2) + frame[42:]
        try:
            ends[end is ends[0]].send(frame)
        except OSError:
            pass
PY
for space in "$near" "$far" "$between"; do
    ip netns add "$space"
    ip -n "$space" link set lo up
done
number=1
for side in near far; do
    space=$near
    [[ $side == far ]] && space=$far
    ip -n "$between" link add "$side" type veth peer name eth0 netns "$space"
    ip -n "$between" link set "$side" up
    ip -n "$space" link set eth0 up
    ip -n "$space" addr add 10.78.0.$number/24 dev eth0
    number=$((number + 1))
done
echo 0 > "$work/loss"
ip netns exec "$between" python3 "$work/relay.py" "$work/loss" &

on() { local space=$1; shift; ip netns exec "$space" "$@"; }
# begin SPACE NAME COMMAND...: starts it in the background, with its output in a file of that name.
begin() {
    local space=$1 name=$2
    shift 2
    ip netns exec "$space" stdbuf -oL "$@" > "$work/$name" 2> "$work/$name.err" &
    echo $! > "$work/$name.pid"
}
finish() {
    local name pid
    for name in "$@"; do
        pid=$(cat "$work/$name.pid")
        kill -9 "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
}
failed=0
result() { # NAME CONDITION FIGURES
    local verdict=holds
    if ! (( $2 )); then verdict=FAILS failed=1; fi
    printf '%-50s %-6s %s\n' "$kind: $1" "$verdict" "$3"
}
ours_at() { # SPACE: whether its manager is ours
    [[ $kind == ours || $kind == mixed && $1 == "$near" ]]
}
manage() { # SPACE NAME PEER
    if ours_at "$1"; then begin "$1" "$2" "$own" manager "$3"; else begin "$1" "$2" "$manager" -p "$3" -R 2 -E 20; fi
}
samples() { grep -c "^sample" "$work/$1"; }
gaps() { awk '/^sample/ { if (last && $2 != last + 1) gaps++; last = $2 } END { print gaps + 0 }' "$work/$1"; }
broken() { grep -c "^broken" "$work/$1"; }
# writer SPACE NAME TOPIC SIZE MODE COUNT PERIOD STRENGTH PERSISTENCE: ours, or with `orte` or `c` in
# front.
ours_pub() { begin "$1" "$2" "$own" pub "$3" "$4" "$5" "$6" "$7" "$8" "$9"; }
octets() { if [[ $1 == large ]]; then echo 10000; else echo 64; fi; }
orte_pub() { begin "$1" "$2" "$work/peer" pub "$3" "$(octets "$4")" "$7" "$6" "$8" "$9"; }
c_pub() { begin "$1" "$2" "$work/numbered" pub "$3" "$4" "$5" "$6" "$7" "$8" "$9" 0 0; }
# reader SPACE NAME TOPIC SIZE MODE SEPARATION DEADLINE
ours_sub() { begin "$1" "$2" "$own" sub "$3" "$4" "$5" 0 0 1 0 "$6" "$7"; }
c_sub() { begin "$1" "$2" "$work/numbered" sub "$3" "$4" "$5" 0 0 1 0 "$6" "$7"; }
orte_sub() { begin "$1" "$2" "$work/peer" sub "$3" "$(octets "$4")" "$5" "$7" "$6"; }

transfer() { # WRITER READER SIZE MODE COUNT PERIOD LEAST
    local topic=T$RANDOM
    "$2"_sub "$far" in "$topic" "$3" "$4" 0 3600000
    "$1"_pub "$near" out "$topic" "$3" "$4" "$5" "$6" 1 3000
    sleep $(( $5 * $6 / 1000 + 7 ))
    finish in out
    result "$4, $3, $1 to $2" "$(( $(samples in) >= $7 && $(gaps in) == 0 && $(broken in) == 0 ))" \
        "$(samples in) of $5 samples, $(gaps in) gaps"
}
fail_over() { # WRITER READER
    local topic=F$RANDOM
    "$2"_sub "$far" in "$topic" small best 0 3600000
    "$1"_pub "$near" strong "$topic" small best 400 50 5 1000
    "$1"_pub "$near" weak "$topic" small best 400 50 2 1000
    sleep 7
    finish strong
    sleep 4
    finish in weak
    # Writers are the third word: the strong one until it ends, the weak one after its persistence.
    local found
    found=$(awk '/^sample/ { if ($3 != who) { changes++; gap = $4 - at } who = $3; at = $4 } END { print changes + 0, gap + 0 }' "$work/in")
    local changes=${found% *} gap=${found#* }
    result "fail-over after 1 s, $1 to $2" "$(( changes >= 2 && gap >= 900 && gap <= 1300 ))" "$gap ms between the last and the first"
}
separation() { # WRITER READER
    local topic=S$RANDOM
    "$2"_sub "$far" in "$topic" small best 500 3600000
    "$1"_pub "$near" out "$topic" small best 100 50 1 3000
    sleep 11
    finish in out
    local least
    least=$(awk '/^sample/ { if (at && (!least || $4 - at < least)) least = $4 - at; at = $4 } END { print least + 0 }' "$work/in")
    result "separation of 500 ms, $1 to $2" "$(( least >= 480 && $(samples in) >= 7 && $(samples in) <= 20 ))" "$(samples in) of 100 samples, at least $least ms apart"
}
deadline() { # WRITER READER
    local topic=D$RANDOM
    "$2"_sub "$far" in "$topic" small best 0 1000
    "$1"_pub "$near" out "$topic" small best 60 50 1 3000
    sleep 13
    finish in out
    local during
    during=$(awk '/^sample/ { seen = 1 } /^deadline/ && seen { all++ } END { print all + 0 }' "$work/in")
    result "deadline of 1 s, $1 to $2" "$(( $(samples in) >= 55 && during >= 2 ))" "$(samples in) samples, then $during notices"
}
late() { # WRITER READER
    local topic=L$RANDOM
    "$2"_sub "$far" first "$topic" small strict 0 3600000
    "$1"_pub "$near" out "$topic" small strict 150 50 1 3000
    sleep 7
    "$2"_sub "$far" in "$topic" small strict 0 3600000
    sleep 12
    finish first in out
    local last
    last=$(awk '/^sample/ { last = $2 } END { print last + 0 }' "$work/in")
    result "late joiner, strict, $1 to $2" "$(( $(samples first) == 150 && $(gaps first) == 0 && $(samples in) > 5 && $(samples in) < 150 && $(gaps in) == 0 && last == 150 ))" "$(samples in) samples, $(gaps in) gaps"
}
restart() { # WRITER READER
    local topic=M$RANDOM
    "$2"_sub "$far" in "$topic" small strict 0 3600000
    "$1"_pub "$near" out "$topic" small strict 300 50 1 3000
    sleep 6
    finish m1
    sleep 3
    manage "$near" m1 10.78.0.2
    sleep 4
    # A newcomer finds the writer by the new manager.
    "$2"_sub "$far" new "$topic" small best 0 3600000
    sleep 8
    finish in out new
    result "manager killed and restarted, $1 to $2" "$(( $(samples in) == 300 && $(gaps in) == 0 && $(samples new) > 20 ))" "$(samples in) of 300 samples, $(gaps in) gaps; a newcomer has $(samples new)"
}
lossy() { # WRITER READER
    local topic=V$RANDOM
    echo 0.2 > "$work/loss"
    "$2"_sub "$far" in "$topic" small strict 0 3600000
    "$1"_pub "$near" out "$topic" small strict 100 50 1 3000
    sleep 20
    echo 0 > "$work/loss"
    sleep 5
    finish in out
    local last
    last=$(awk '/^sample/ { last = $2 } END { print last + 0 }' "$work/in")
    result "20 % loss, strict, $1 to $2" "$(( $(samples in) > 0 && $(gaps in) == 0 && last == 100 ))" "$(samples in) of 100 samples, $(gaps in) gaps"
}
latency() { # WHO: ping and echo of one implementation
    # One topic for each: a strict publication would wait for an echo that was killed.
    local topic=Q-$1
    if [[ $1 == ours ]]; then
        begin "$far" in "$own" echo "$topic" small strict
        sleep 2
        on "$near" timeout 60 "$own" ping "$topic" small strict 500 20 > "$work/rtt"
    else
        begin "$far" in "$work/peer" echo "$topic" 64
        sleep 2
        on "$near" timeout 60 "$work/peer" ping "$topic" 64 20 500 > "$work/rtt"
    fi
    finish in
    result "round trips of $1" "$(( $(awk '{ answered = $2 } END { print answered + 0 }' "$work/rtt") >= 490 ))" "$(cat "$work/rtt")"
}

shift 2
kinds=("$@")
(( ${#kinds[@]} )) || kinds=(orte ours mixed)
for kind in "${kinds[@]}"; do
    manage "$near" m1 10.78.0.2
    manage "$far" m2 10.78.0.1
    sleep 2
    for pair in $pairs; do
        set -- ${pair/:/ }
        transfer "$1" "$2" small best 60 50 55
        transfer "$1" "$2" small strict 60 50 60
        transfer "$1" "$2" large strict 30 50 30
        fail_over "$1" "$2"
        separation "$1" "$2"
        deadline "$1" "$2"
        late "$1" "$2"
        lossy "$1" "$2"
        restart "$1" "$2"
    done
    latency ours
    latency orte
    finish m1 m2
done
exit $failed
