#!/usr/bin/env bash
# Fast DDS 3 asks `rtether pub --describe-type` for a type and reads its samples without having known
# it, in two network namespaces; as root.
#
#   interop/ask.sh RTETHER PREFIX
#
# RTETHER is the command, PREFIX the folder with `include/fastdds` and `lib/libfastdds.so` of Fast DDS
# 3, for instance an environment of Python:
#   python3 -m venv PREFIX && PREFIX/bin/pip install ros-fastdds
# Prints one line per case.
# Exit codes: 0 all cases hold, 1 some do not, 2 wrong usage, 4 a package is missing.
set -uo pipefail
if [[ $# -ne 2 ]]; then
    echo "usage: interop/ask.sh RTETHER PREFIX" >&2
    exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
own=$(realpath "$1")
prefix=$(realpath "$2")
if ! command -v g++ >/dev/null || [[ ! -e $prefix/include/fastdds/dds/xtypes/utils.hpp ]]; then
    echo "SKIP: needs g++, and Fast DDS 3 in $2; $0 says how to install it" >&2
    exit 4
fi
work=$(mktemp -d)
near=ask$$-near far=ask$$-far
clean() {
    for space in "$near" "$far"; do
        for pid in $(ip netns pids "$space" 2>/dev/null); do kill -9 "$pid"; done
        ip netns del "$space" 2>/dev/null
    done
    rm -rf "$work"
}
trap clean EXIT

# What the packages of Python bring along is found by the program alone, not by its libraries.
bundled=$(echo "$prefix"/lib/python3*/site-packages/ros_fastdds.libs)
g++ -std=c++17 -O1 -Wall -Wextra -rdynamic -isystem "$prefix/include" "$here/fastdds_ask.cpp" \
    -o "$work/ask" -L"$prefix/lib" -lfastdds -lfastcdr -ldl \
    -Wl,--disable-new-dtags,--allow-shlib-undefined -Wl,-rpath,"$prefix/lib" \
    -Wl,-rpath,"$bundled" 2>"$work/built" || { cat "$work/built" >&2; exit 4; }

ip netns add "$near"
ip netns add "$far"
ip link add wire netns "$near" type veth peer name wire netns "$far"
for host in "$near 1" "$far 2"; do
    read -r space number <<<"$host"
    ip -n "$space" address add "10.78.65.$number/24" dev wire
    ip -n "$space" link set wire up
    ip -n "$space" link set lo up
done
mkdir -p "$work/plant_msgs/msg"
printf 'float64 x\nfloat64 y\n' >"$work/plant_msgs/msg/Point.msg"
printf 'string<=16 frame\nPoint place\nPoint[<=4] path\nfloat64[3] covariance\nint32[] codes\n' \
    >"$work/plant_msgs/msg/Pose.msg"
ip netns exec "$far" "$own" pub /plant/place --msg "$work/plant_msgs/msg/Pose.msg" --describe-type \
    --value 'frame: map, place: {x: 1, y: 2.5}, path: [{x: 1, y: 2}], codes: [7, 8]' \
    >"$work/pub" 2>&1 &
disown
sleep 1

failed=0
# expect NAME TEXT: the text is in what Fast DDS said.
expect() {
    if grep -qF -- "$2" "$work/asked"; then
        echo "ok      $1"
    else
        echo "FAILED  $1: there is no $2"
        failed=1
    fi
}
ip netns exec "$near" timeout 20 "$work/ask" rt/plant/place 3 10 01fe >"$work/asked" 2>&1
code=$?
[[ $code == 0 ]] && echo "ok      exit code" || { echo "FAILED  exit code $code"; failed=1; }
# Oracle: the message and its values above.
expect "type" 'sequence<plant_msgs::msg::dds_::Point_, 4> path;'
expect "type of a member" 'struct Point_'
expect "sample" '{"codes":[7,8],"covariance":[0.0,0.0,0.0],"frame":"map","path":[{"x":1.0,"y":2.0}],"place":{"x":1.0,"y":2.5}}'

# As it comes, it asks no participant of another vendor; a newer version may.
ip netns exec "$near" timeout 20 "$work/ask" rt/plant/place 1 5 >"$work/asked" 2>&1
case $? in
    0) echo "ok      it asks other vendors, too" ;;
    3) echo "ok      it asks no other vendors" ;;
    *) echo "FAILED  without a vendor: $(<"$work/asked")"; failed=1 ;;
esac
exit $failed
