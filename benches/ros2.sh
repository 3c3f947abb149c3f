#!/usr/bin/env bash
# Discovery of `rtether new --template ros2`: as it is simulated, and by participants on this host that
# start at once, each in a network namespace of its own at one bridge (root, iproute2, python3).
#
# usage: benches/ros2.sh
#
#   NODES    participants (default 20)
#   RUNS     runs of each kind (default 3)
#   EACH     how many seconds each runs (default 6)
#   RTETHER  the command (default target/dist/rtether, built anew)
#   CROWD    the example crowd of rtether-live (default target/dist/examples/crowd, built anew)
#   PYTHON   an interpreter with the package cyclonedds: the same by participants of Cyclone DDS
#
# Printed: datagrams and octets of their payloads that all have sent (a multicast counts once), medians
# of all runs, and the time after which the last one had all its matches.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
hosts=${NODES:-20}
runs=${RUNS:-3}
each=${EACH:-6}
built=${CARGO_TARGET_DIR:-target}/dist
rtether=${RTETHER:-$built/rtether}
crowd=${CROWD:-$built/examples/crowd}
switch=rtether-r2$$
scratch=$(mktemp -d)
spaces=("$switch")
for ((i = 0; i < hosts; i++)); do spaces+=("$switch-$i"); done

source benches/lib.sh
trap 'leave "${spaces[@]}"' EXIT
if [[ -z ${RTETHER:-} ]]; then cargo build --quiet --profile dist -p rtether-cli; fi
if [[ -z ${CROWD:-} ]]; then cargo build --quiet --profile dist -p rtether-live --example crowd; fi
need ip python3 "$rtether" "$crowd"

ip netns add "$switch"
ip -n "$switch" link add bridge type bridge mcast_snooping 0
ip -n "$switch" link set bridge up
for ((i = 0; i < hosts; i++)); do
    host=$switch-$i
    ip netns add "$host"
    ip link add wire netns "$host" type veth peer name "port$i" netns "$switch"
    ip -n "$host" address add "10.80.2.$((i + 1))/24" dev wire
    ip -n "$host" link set lo up
    ip -n "$host" link set lo multicast on
    ip -n "$host" link set wire up
    ip -n "$host" route add 239.255.0.0/16 dev wire
    ip -n "$switch" link set "port$i" master bridge up
done
sleep 2

# Counts the datagrams that come from the hosts, and octets of their payloads, until it is told to end.
cat >"$scratch/count.py" <<'PROGRAM'
import select, signal, socket, struct, sys
ports = []
for number in range(int(sys.argv[1])):
    # Of all protocols: the bridge takes frames before sockets of one.
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    port.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE
    port.bind((f"port{number}", 3))
    ports.append(port)
done = []
signal.signal(signal.SIGTERM, lambda *_: done.append(1))
count = octets = lost = 0
print("ready", flush=True)
while not done:
    for port in select.select(ports, [], [], 0.1)[0]:
        frame, (_, _, kind, *_) = port.recvfrom(65535)
        # What the bridge sends to the host is seen, too; UDP in IPv4 alone counts.
        is_udp = frame[12:14] == b"\x08\x00" and frame[23] == 17
        if kind == socket.PACKET_OUTGOING or not is_udp:
            continue
        # All but the first fragment of a datagram have no header of UDP.
        is_first = not (frame[20] & 0x1F or frame[21])
        count += is_first
        octets += struct.unpack("!H", frame[16:18])[0] - (28 if is_first else 20)
for port in ports:
    lost += struct.unpack("II", port.getsockopt(263, 6, 8))[1]  # SOL_PACKET, PACKET_STATISTICS
print(count, octets, lost, flush=True)
PROGRAM
# A participant of Cyclone DDS with the endpoints of a node; prints when it had all its matches.
cat >"$scratch/cyclone.py" <<'PROGRAM'
import sys, time
from dataclasses import dataclass
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import sequence, uint8
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

@dataclass
class Octets(IdlStruct, typename="rtether::Octets"):
    octets: sequence[uint8]

host, hosts, until = int(sys.argv[1]), int(sys.argv[2]), time.time() + float(sys.argv[3])
while time.time() < float(sys.argv[4]):
    time.sleep(0.001)
begun = time.time()
qos = Qos(Policy.Reliability.Reliable(100_000_000))
participant = DomainParticipant(0)
ends = []
for kind, node in ((DataWriter, host + 1), (DataReader, (host + hosts - 1) % hosts + 1)):
    names = [f"state {node}"] + [f"silent {node}.{part}" for part in range(1, 9)]
    ends += [kind(participant, Topic(participant, name.replace(" ", "_").replace(".", "_"), Octets), qos=qos) for name in names]
matched = "-"
while time.time() < until:
    time.sleep(0.002)
    if matched == "-" and all(len(one.get_matched_subscriptions() if isinstance(one, DataWriter) else one.get_matched_publications()) == 1 for one in ends):
        matched = round((time.time() - begun) * 1000)
print(matched)
PROGRAM

# run KIND: adds a line to the runs: kind, time of the last one, datagrams, octets.
run() {
    local i counter members=() start
    ip netns exec "$switch" python3 "$scratch/count.py" "$hosts" >"$scratch/counted" &
    counter=$!
    await "$scratch/counted" ready
    # Interpreters take long to start: they wait for each other.
    start=$(($(date +%s) + 5 + hosts / 2))
    for ((i = 0; i < hosts; i++)); do
        if [[ $1 == cyclone ]]; then
            ip netns exec "$switch-$i" "$PYTHON" "$scratch/cyclone.py" $i "$hosts" \
                "$((5 + hosts / 2 + each))" "$start" >"$scratch/$i" &
        else
            ip netns exec "$switch-$i" "$crowd" ros2 $i "$hosts" "10.80.2.$((i + 1))" "$each" >"$scratch/$i" &
        fi
        members+=($!)
    done
    if [[ $1 == cyclone ]]; then sleep "$((5 + hosts / 2 + each - 1))"; else sleep "$((each - 1))"; fi
    # Before they leave, which is no discovery.
    kill "$counter"
    wait "$counter" || true
    wait "${members[@]}"
    for ((i = 0; i < hosts; i++)); do cat "$scratch/$i"; done | sort -n |
        awk -v kind="$1" -v counted="$(tail -1 "$scratch/counted")" \
            '/-/ { lost = 1 } { last = $1 } END { print kind, lost ? "-" : last, counted }' >>"$scratch/runs"
}

"$rtether" new "$scratch/plant" --template ros2 --nodes "$hosts" >&2
"$rtether" sim "$scratch/plant.yaml" --discovery --json >"$scratch/simulated"
kinds=(ours)
if [[ -n ${PYTHON:-} ]]; then kinds+=(cyclone); fi
for ((n = 1; n <= runs; n++)); do
    for kind in "${kinds[@]}"; do
        echo "run $n of $runs: $kind" >&2
        run "$kind"
    done
done
cat "$scratch/runs" >&2
python3 - "$scratch" <<'PROGRAM'
import json, statistics, sys
folder = sys.argv[1]
with open(f"{folder}/simulated") as file:
    found = json.load(file)
print("| participants | datagrams | octets | of a pair | all matched after, ms |")
print("|---|--:|--:|--:|--:|")
nodes = found["participants"]
pairs = nodes * (nodes - 1)
print(f"| simulated | {found['datagrams']} | {found['payload_bytes']} | {found['payload_bytes'] // pairs} | - |")
rows = {}
for line in open(f"{folder}/runs"):
    kind, *values = line.split()
    rows.setdefault(kind, []).append([float("nan") if one == "-" else int(one) for one in values])
for kind, runs in rows.items():
    matched, count, octets, _ = (int(statistics.median(column)) for column in zip(*runs))
    print(f"| {kind} | {count} | {octets} | {octets // pairs} | {matched} |")
PROGRAM
