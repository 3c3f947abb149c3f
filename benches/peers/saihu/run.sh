#!/usr/bin/env bash
# Bounds of growing plants by the tools of Saihu, xTFA, linear TFA and panco, beside ours: CPU time, memory,
# how their bounds compare with ours, and a picture with the exponents.
#
# usage: benches/peers/saihu/run.sh FOLDER
#
# FOLDER is `src` of a checkout of https://github.com/adfeel220/Saihu-TSN-Analysis-Tool-Integration.
#
#   PYTHON   a Python with numpy, scipy, networkx, matplotlib, pulp and mdutils (default python3)
#   LIMIT    seconds after which a tool is not asked for larger plants (default 120)
#   OUT      folder of the picture (default docs/images)
#   CSV      file of the points (default benches/peers/saihu/bounds.csv)
#   RTETHER  the program (default target/dist/rtether)
#
# The plants are those of `benches/curves.sh flows`: a tree of switches with ten flows for each station.
# xTFA and the linear TFA read packets.json, panco fluid.json. All is measured whole, from the start of
# the program. Needs lp_solve and /usr/bin/time.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
folder=${1:?name the folder src of a checkout of Saihu}
python=${PYTHON:-python3}
limit=${LIMIT:-120}
out=${OUT:-docs/images}
csv=${CSV:-benches/peers/saihu/bounds.csv}
rtether=${RTETHER:-${CARGO_TARGET_DIR:-target}/dist/rtether}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

source benches/lib.sh
need awk lp_solve /usr/bin/time "$python" "$rtether"

# Runs a verb of ours on the plant; requirements that are not met (exit code 1) do not matter here.
ours() {
    local status=0
    /usr/bin/time -f '%U %S %M' -o "$scratch/one" "$rtether" bound "$scratch/plant.yaml" --json \
        >"$scratch/ours.json" || status=$?
    [[ $status -le 1 ]]
    tail -n 1 "$scratch/one" | awk '{ printf "%.2f,%.0f,1,1\n", $1 + $2, $3 / 1024 }'
}

declare -A network=([xtfa]=packets [linear]=packets [panco-TFA]=fluid [panco-SFA]=fluid [panco-PLP]=fluid)
declare -A gave_up=()
echo "tool,flows,cpu_s,mib,least_part_of_ours,median_part_of_ours" >"$csv"
for flows in 100 300 1000 3000 10000 30000 100000; do
    tree $((flows / 10)) 11 "$flows" 1 >"$scratch/plant.yaml"
    echo "rtether,$flows,$(ours)" | tee -a "$csv"
    if [[ ${#gave_up[@]} -eq ${#network[@]} ]]; then continue; fi
    "$rtether" export "$scratch/plant.yaml" --to saihu --force --out "$scratch/network" 2>/dev/null
    for tool in "${!network[@]}"; do
        if [[ -n ${gave_up[$tool]:-} ]]; then continue; fi
        if found=$("$python" benches/peers/saihu/analyze.py "$folder" "$tool" \
            "$scratch/network/${network[$tool]}.json" "$scratch/ours.json" "$limit" 2>"$scratch/errors"); then
            echo "$tool,$flows,$found" | tee -a "$csv"
        else
            echo "# $tool does not end $flows flows in $limit s: $(tail -n 1 "$scratch/errors")" | tee -a "$csv"
            gave_up[$tool]=1
        fi
    done
done

awk -F, 'NR > 1 && !/^#/ { print $1 "," $2 "," $3 }' "$csv" | sort -s -t, -k1,1 |
    awk -v title="Bounds against flows" -v across="flows" -v up="CPU seconds" \
        -v fits="$scratch/fits" -f benches/plot.awk >"$out/curve-bounds-of-peers.svg"
echo "| tool | exponent |"
echo "|---|--:|"
awk -F, '{ printf "| %s | %s |\n", $2, $3 }' "$scratch/fits"
