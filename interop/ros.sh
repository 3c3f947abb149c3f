#!/usr/bin/env bash
# `rtether spy --ros` and `rtether sub` beside real nodes of ROS 2 and a program on Cyclone DDS with
# names of ROS, in two network namespaces; as root.
#
#   interop/ros.sh RTETHER PYTHON
#
# RTETHER is the command, PYTHON an interpreter that has rclpy and cyclonedds:
#   python3 -m venv VENV && VENV/bin/pip install ros-rclpy ros-std-msgs ros-std-srvs \
#       ros-rmw-fastrtps-cpp ros-rmw-implementation cyclonedds
# Prints one line per case.
# Exit codes: 0 all cases hold, 1 some do not, 2 wrong usage, 4 a package is missing.
set -uo pipefail
if [[ $# -ne 2 ]]; then
    echo "usage: interop/ros.sh RTETHER PYTHON" >&2
    exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
own=$(realpath "$1")
python=$2
if ! "$python" -c "import rclpy, std_msgs, std_srvs, cyclonedds" 2>/dev/null; then
    echo "SKIP: $python lacks rclpy or cyclonedds; $0 says how to install them" >&2
    exit 4
fi
work=$(mktemp -d)
near=ros$$-near far=ros$$-far
clean() {
    for space in "$near" "$far"; do
        for pid in $(ip netns pids "$space" 2>/dev/null); do kill -9 "$pid"; done
        ip netns del "$space" 2>/dev/null
    done
    rm -rf "$work"
}
trap clean EXIT
ip netns add "$near"
ip netns add "$far"
ip link add wire netns "$near" type veth peer name wire netns "$far"
for host in "$near 1" "$far 2"; do
    read -r space number <<<"$host"
    ip -n "$space" address add "10.78.64.$number/24" dev wire
    ip -n "$space" link set wire up
    ip -n "$space" link set lo up
done
for peer in talker listener "cyclone-talker RIHS01_00ff"; do
    # shellcheck disable=SC2086
    ip netns exec "$near" "$python" "$here/ros.py" $peer >>"$work/peers" 2>&1 &
    disown
done
sleep 4
failed=0
# expect NAME FILE TEXT: the text is in the file.
expect() {
    if grep -qF -- "$3" "$2"; then
        echo "ok      $1"
    else
        echo "FAILED  $1: there is no $3"
        failed=1
    fi
}

# Oracle: what the peers were told to do, and the hash of std_msgs/msg/String in ROS 2 Kilted.
ip netns exec "$far" "$own" spy --ros --for 5s --json >"$work/spy" 2>"$work/events"
code=$?
flat=$work/flat
tr -d ' \n' <"$work/spy" >"$flat"
[[ $code == 1 ]] && echo "ok      exit code" || { echo "FAILED  exit code $code"; failed=1; }
expect nodes "$flat" '"name":"/plant/talker"'
expect topic "$flat" '"name":"/plant/level","types":["std_msgs/msg/String"],"from":["/plant/talker"],"to":["/plant/listener"],"hashes":["RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"]'
expect service "$flat" '"name":"/plant/stop","types":["std_srvs/srv/SetBool"],"from":["/plant/listener"],"to":["/plant/talker"]'
expect hashes "$flat" '"RIHS01_00ff":['
expect mismatch "$work/spy" 'best effort is offered, reliable is requested'

# Oracle: the values that ros.py writes, and what the node prints.
for package in std_msgs plant_msgs; do mkdir -p "$work/$package/msg"; done
echo "string data" >"$work/std_msgs/msg/String.msg"
printf 'float64 x\nfloat64 y\n' >"$work/plant_msgs/msg/Point.msg"
printf 'string<=16 frame\nPoint place\nPoint[<=4] path\nfloat64[3] covariance\nint32[] codes\n' \
    >"$work/plant_msgs/msg/Pose.msg"
ip netns exec "$far" "$own" sub /plant/pose --msg "$work/plant_msgs/msg/Pose.msg" -n 4 --for 20s --json \
    >"$work/pose" 2>>"$work/events"
expect "message of Cyclone DDS" "$work/pose" '"path":[{"x":0.0,"y":1.0},{"x":0.5,"y":1.0}],"covariance":[1.0,2.0,3.0],"codes":['
ip netns exec "$far" "$own" sub /plant/chatter --msg "$work/std_msgs/msg/String.msg" -n 40 --for 20s --json \
    >"$work/chatter" 2>>"$work/events"
expect "message of a node" "$work/chatter" '"value":{"data":"hello '
ip netns exec "$far" "$own" pub /plant/chatter --msg "$work/std_msgs/msg/String.msg" --reliable \
    --value 'data: from rtether' -n 5 >"$work/pub" 2>>"$work/events"
sleep 1
expect "message to a node" "$work/peers" 'heard from rtether'

# Types without a file: of both implementations, and ours asked by Cyclone DDS.
ip netns exec "$far" "$own" sub /plant/pose -n 4 --for 20s --json >"$work/found" 2>>"$work/events"
expect "type of Cyclone DDS" "$work/found" '"path":[{"x":0.0,"y":1.0},{"x":0.5,"y":1.0}],"covariance":[1.0,2.0,3.0],"codes":['
ip netns exec "$far" "$own" sub ros_discovery_info --type announced --durability transient-local \
    --reliable -n 1 --for 20s --json >"$work/info" 2>>"$work/events"
expect "type of Fast DDS" "$work/info" '"node_name":"'
ip netns exec "$far" "$own" pub /plant/place --msg "$work/plant_msgs/msg/Pose.msg" --describe-type \
    --for 15s >"$work/place" 2>>"$work/events" &
disown
sleep 1
ip netns exec "$near" timeout 12 "$python" "$here/ros.py" cyclone-ask rt/plant/place >"$work/asked" 2>>"$work/peers"
expect "Cyclone DDS asks for ours" "$work/asked" 'frame place path covariance codes'
exit $failed
