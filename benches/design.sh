#!/usr/bin/env bash
# Measures how long `rtether design` takes on plants of many flows, and what it proves.
#
# usage: benches/design.sh [FLOWS...]       (default: 500 2000 6000)
#
#   SHARE    percent of the deadlines below that flows get (default 500)
#   RTETHER  the program (default: target/dist/rtether)
#
# Eight switches in a mesh with 112 stations; each flow has one of seven deadlines. Needs jq.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
share=${SHARE:-500}
rtether=${RTETHER:-${CARGO_TARGET_DIR:-target}/dist/rtether}
if [[ $# -eq 0 ]]; then set -- 500 2000 6000; fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

source benches/lib.sh
need awk jq "$rtether"

# Gives the flows of a plant deadlines in proportion to their number, which is what bounds are.
deadlines() {
    awk -v flows="$1" -v share="$share" '
        BEGIN { split("40 60 90 130 200 300 450", parts, " ") }
        { sub(/deadline: 10 ms/, "deadline: " int(parts[NR % 7 + 1] * flows * share / 100000) + 100 " us") }
        1'
}

TIMEFORMAT='%R %U'
echo "| flows | deadlines | proved as written | proved | edits | designs tried | s | CPU s |"
echo "|--:|--:|--:|--:|--:|--:|--:|--:|"
for flows in "$@"; do
    mesh "$flows" | deadlines "$flows" >"$scratch/plant.yaml"
    status=0
    { time "$rtether" design "$scratch/plant.yaml" \
        --set 'design.allow=[pcp, queues]' -o "$scratch/designed.yaml" --json \
        >"$scratch/design.json" 2>"$scratch/errors"; } 2>"$scratch/times" || status=$?
    # Not all may be provable.
    if [[ $status != [013] ]]; then
        cat "$scratch/errors" >&2
        exit 1
    fi
    read -r seconds user <"$scratch/times"
    jq -r --arg flows "$flows" --arg seconds "$seconds" --arg user "$user" \
        '"| \($flows) | \(.deadlines) | \(.proved_before) | \(.proved_after) | \(.edits | length) | \(.designs_tried) | \($seconds) | \($user) |"' \
        "$scratch/design.json"
done
