/* AF_XDP with nothing but system calls, copy mode, one queue. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "floor.h"

enum { FRAMES = 128, RING = 64, FRAME = 2048 };

struct ring {
    _Atomic uint32_t *producer, *consumer;
    void *entries;
};

static int fd;
static unsigned char *memory;
static struct ring fill, done, received, sent;
static uint64_t next_frame;

static long bpf(int command, union bpf_attr *attributes) {
    long result = syscall(SYS_bpf, command, attributes, sizeof *attributes);
    if (result < 0) fail("bpf");
    return result;
}

/* Frames of ETHERTYPE go to the socket of their queue, all others to the kernel. */
static void attach(const char *device) {
    union bpf_attr map = {.map_type = BPF_MAP_TYPE_XSKMAP, .key_size = 4, .value_size = 4, .max_entries = 1};
    int map_fd = bpf(BPF_MAP_CREATE, &map);
    struct bpf_insn code[] = {
        {BPF_LDX | BPF_MEM | BPF_W, 2, 1, 0, 0},              /* r2 = data */
        {BPF_LDX | BPF_MEM | BPF_W, 3, 1, 4, 0},              /* r3 = data_end */
        {BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0},            /* r4 = r2 + 14 */
        {BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, 14},
        {BPF_JMP | BPF_JGT | BPF_X, 4, 3, 8, 0},              /* too short: pass */
        {BPF_LDX | BPF_MEM | BPF_H, 5, 2, 12, 0},             /* r5 = ethertype */
        {BPF_JMP | BPF_JNE | BPF_K, 5, 0, 6, 0xB588},         /* another one: pass */
        {BPF_LDX | BPF_MEM | BPF_W, 2, 1, 16, 0},             /* r2 = queue */
        {BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map_fd}, {0, 0, 0, 0, 0},
        {BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS},
        {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map},
        {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
        {BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS},
        {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
    };
    union bpf_attr load = {.prog_type = BPF_PROG_TYPE_XDP, .license = (uintptr_t) "Dual MIT/GPL"};
    load.insns = (uintptr_t)code;
    load.insn_cnt = sizeof code / sizeof *code;
    int program = bpf(BPF_PROG_LOAD, &load);
    uint32_t zero = 0;
    union bpf_attr element = {.map_fd = map_fd, .key = (uintptr_t)&zero, .value = (uintptr_t)&fd};
    bpf(BPF_MAP_UPDATE_ELEM, &element);
    union bpf_attr link = {0};
    link.link_create.prog_fd = program;
    link.link_create.target_ifindex = if_nametoindex(device);
    link.link_create.attach_type = BPF_XDP;
    link.link_create.flags = 1U << 2; /* XDP_FLAGS_DRV_MODE */
    bpf(BPF_LINK_CREATE, &link); /* held until the process ends */
}

static struct ring map_ring(struct xdp_ring_offset offset, size_t entry, uint64_t page) {
    unsigned char *at = mmap(NULL, offset.desc + RING * entry, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_POPULATE, fd, (off_t)page);
    if (at == MAP_FAILED) fail("mmap");
    return (struct ring){(void *)(at + offset.producer), (void *)(at + offset.consumer), at + offset.desc};
}

int xdp_open(const char *device) {
    fd = socket(AF_XDP, SOCK_RAW, 0);
    memory = mmap(NULL, FRAMES * FRAME, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (fd < 0 || memory == MAP_FAILED) fail("socket");
    struct xdp_umem_reg region = {.addr = (uintptr_t)memory, .len = FRAMES * FRAME, .chunk_size = FRAME};
    int count = RING;
    struct xdp_mmap_offsets offsets;
    socklen_t length = sizeof offsets;
    if (setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &region, sizeof region) ||
        setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &count, sizeof count) ||
        setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &count, sizeof count) ||
        setsockopt(fd, SOL_XDP, XDP_RX_RING, &count, sizeof count) ||
        setsockopt(fd, SOL_XDP, XDP_TX_RING, &count, sizeof count) ||
        getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length))
        fail("rings");
    fill = map_ring(offsets.fr, 8, XDP_UMEM_PGOFF_FILL_RING);
    done = map_ring(offsets.cr, 8, XDP_UMEM_PGOFF_COMPLETION_RING);
    received = map_ring(offsets.rx, sizeof(struct xdp_desc), XDP_PGOFF_RX_RING);
    sent = map_ring(offsets.tx, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
    /* The second half of the memory is for frames that arrive. */
    for (uint64_t i = 0; i < RING; i++) ((uint64_t *)fill.entries)[i] = (RING + i) * FRAME;
    atomic_store(fill.producer, RING);
    struct sockaddr_xdp address = {.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY, .sxdp_ifindex = if_nametoindex(device)};
    /* The queue of a socket that was closed becomes free a little later. */
    for (int tries = 0; bind(fd, (void *)&address, sizeof address); tries++) {
        if (errno != EBUSY || tries == 100) fail("bind");
        usleep(2000);
    }
    attach(device);
    return fd;
}

void xdp_send(const unsigned char *frame, size_t length) {
    uint32_t at = atomic_load_explicit(sent.producer, memory_order_relaxed);
    /* One frame is under way at a time, so those of sixty-four sends ago are free again. */
    uint64_t address = (next_frame++ % RING) * FRAME;
    memcpy(memory + address, frame, length);
    ((struct xdp_desc *)sent.entries)[at % RING] = (struct xdp_desc){address, (uint32_t)length, 0};
    atomic_store_explicit(sent.producer, at + 1, memory_order_release);
    if (sendto(fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN && errno != EBUSY) fail("sendto");
    atomic_store_explicit(done.consumer, atomic_load_explicit(done.producer, memory_order_acquire), memory_order_release);
}

ssize_t xdp_next(unsigned char *frame, int wait) {
    uint32_t at = atomic_load_explicit(received.consumer, memory_order_relaxed);
    while (atomic_load_explicit(received.producer, memory_order_acquire) == at) {
        if (wait) {
            struct pollfd one = {.fd = fd, .events = POLLIN};
            poll(&one, 1, 50);
        }
    }
    struct xdp_desc descriptor = ((struct xdp_desc *)received.entries)[at % RING];
    memcpy(frame, memory + descriptor.addr, descriptor.len);
    atomic_store_explicit(received.consumer, at + 1, memory_order_release);
    uint32_t back = atomic_load_explicit(fill.producer, memory_order_relaxed);
    ((uint64_t *)fill.entries)[back % RING] = descriptor.addr & ~(uint64_t)(FRAME - 1);
    atomic_store_explicit(fill.producer, back + 1, memory_order_release);
    return descriptor.len;
}
