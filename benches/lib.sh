# What the benchmarks between network namespaces share; sourced, from the root of the project.

# Leaves with what is missing.
need() {
    local needed
    for needed in "$@"; do
        command -v "$needed" >/dev/null || { echo "no $needed" >&2; exit 2; }
    done
}

# Waits until a program has written a word to a file.
await() {
    local i
    for ((i = 0; i < 500; i++)); do
        grep -q "$2" "$1" 2>/dev/null && return
        sleep 0.02
    done
    echo "not ready: $(cat "$1")" >&2
    exit 1
}

# Ends what runs in the background, removes namespaces, and the folder of the run.
leave() {
    local job host
    for job in $(jobs -p); do kill -INT "$job" 2>/dev/null || true; done
    sleep 0.3
    for job in $(jobs -p); do kill "$job" 2>/dev/null || true; done
    wait 2>/dev/null || true
    for host in "$@"; do ip netns delete "$host" 2>/dev/null || true; done
    umount "$scratch/bpf" 2>/dev/null || true
    rm -rf "$scratch"
}
