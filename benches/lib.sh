# What several benchmarks share; sourced, from the root of the project.

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

# tree STATIONS EACH FLOWS FACTOR: prints a plant with EACH stations at a switch of a tree; one flow in
# ten is for any station, the others stay at their switch; FACTOR shortens the periods.
tree() {
    awk -v stations="$1" -v each="$2" -v flows="$3" -v factor="$4" 'BEGIN {
        switches = int((stations + each - 1) / each)
        print "rtether: 1\nname: tree\nnodes:"
        for (i = 0; i < stations; i++) printf "  s%d: { stack: zero }\n", i
        print "switches:"
        for (i = 0; i < switches; i++) printf "  w%d: { ports: %d, latency: 1 us }\n", i, each + 9
        print "links:"
        for (i = 1; i < switches; i++)
            printf "  - { ends: [\"w%d:%d\", \"w%d:%d\"], rate: 10 Gbit/s }\n", \
                int((i - 1) / 8), each + 1 + (i - 1) % 8, i, each + 9
        for (i = 0; i < stations; i++)
            printf "  - { ends: [s%d, \"w%d:%d\"], rate: 1 Gbit/s }\n", i, int(i / each), i % each + 1
        print "flows:"
        split("2 4 8 10 20", periods, " ")
        for (i = 0; i < flows; i++) {
            from = i % stations
            first = int(from / each) * each
            to = i % 10 ? first + random(each) : random(stations)
            if (to >= stations || to == from) to = (from + 1) % stations
            printf "  - { name: f%d, from: s%d, to: s%d, period: %d us, size: %d B, deadline: 100 ms }\n", \
                i, from, to, int(periods[1 + random(5)] * 1000 / factor), 60 + random(340)
        }
        print "run: { for: 100 ms, seeds: 1 }"
    }
    # Minimal standard generator; exact in the numbers of awk.
    function random(below) {
        if (!state) state = 1
        state = state * 16807 % 2147483647
        return state % below
    }'
}

# mesh FLOWS: prints a plant of eight switches, each linked with every other one, fourteen stations at
# each, and periodic flows between stations drawn by a linear congruence: the same file for ever.
mesh() {
    awk -v flows="$1" '
        function draw(n) { state = (state * 1103515245 + 12345) % 2147483648; return int(state / 65536) % n }
        BEGIN {
            state = 1
            print "rtether: 1\nname: avionics\nnodes:"
            for (i = 0; i < 112; i++) printf "  s%d: { stack: zero }\n", i
            print "switches:"
            for (i = 0; i < 8; i++) printf "  w%d: { ports: 21, latency: 1 us }\n", i
            print "links:"
            for (i = 0; i < 8; i++) for (j = i + 1; j < 8; j++)
                printf "  - { ends: [\"w%d:%d\", \"w%d:%d\"], rate: 100 Mbit/s }\n", i, ++used[i], j, ++used[j]
            for (i = 0; i < 112; i++)
                printf "  - { ends: [s%d, \"w%d:%d\"], rate: 100 Mbit/s }\n", i, i % 8, ++used[i % 8]
            print "flows:"
            for (i = 0; i < flows; i++) {
                from = draw(112); to = (from + 1 + draw(111)) % 112
                printf "  - { name: f%d, from: s%d, to: s%d, period: %d ms, size: %d B, deadline: 10 ms }\n",
                    i, from, to, 8 * 2 ^ draw(5), 18 + draw(500)
            }
            print "run: { for: 1 s, seeds: 1 }"
        }'
}
