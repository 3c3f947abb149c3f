#!/usr/bin/env bash
# Judges each of the given scenarios and ends with the worst exit code. Words before `--`, if there
# is one, go to `rtether check`.
set -uo pipefail

options=()
for word in "$@"; do
    [[ $word == -- ]] && break
    options+=("$word")
done
if ((${#options[@]} == $#)); then
    options=()
else
    shift $((${#options[@]} + 1))
fi
if ! command -v rtether >/dev/null; then
    echo "rtether is missing: see docs/guides/install.md of rtether" >&2
    exit 4
fi
worst=0
for scenario in "$@"; do
    echo "$scenario:"
    rtether check --quiet ${options[@]+"${options[@]}"} "$scenario"
    code=$?
    ((code > worst)) && worst=$code
done
exit "$worst"
