#!/usr/bin/env python3
"""Pins an eBPF program (tc classifier) that marks packets as a switch with ECN does.

usage: mark.py PATH BITS_PER_SECOND OCTETS

The program keeps a virtual queue that drains at the rate of the port behind it, and sets CE (RFC
3168) on the packets that may carry it while more than OCTETS wait there: what a switch with one
threshold does (RFC 8257, 3.1). The kernels of small machines have neither RED nor CoDel.
"""
import ctypes
import os
import platform
import struct
import sys

MAP_CREATE, PROG_LOAD, OBJ_PIN = 0, 5, 6
MAP_TYPE_ARRAY, TYPE_CLASSIFIER = 2, 3
KTIME, ECN_SET_CE = 5, 97
# Packets that wait at most: the queue of the port is no longer.
FRAMES_MAX = 100
SYSCALL = {"x86_64": 321, "aarch64": 280}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = libc.syscall(SYSCALL, command, buffer, 128)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def op(code, to=0, source=0, offset=0, value=0):
    return struct.pack("<BBhi", code, source << 4 | to, offset, value)


def address(memory):
    return ctypes.addressof(memory)


def program(state, rate, octets):
    per_octet = 8 * 10**9 // rate
    wait, longest = octets * per_octet, FRAMES_MAX * 1538 * per_octet
    return [
        op(0xBF, 6, 1),                      # r6 = packet
        op(0x85, value=KTIME),               # r0 = time
        op(0xBF, 7, 0),                      # r7 = time
        op(0x18, 8, 2, 0, state), op(0),     # r8 = address of the time at which the queue is empty
        op(0x79, 9, 8),                      # r9 = that time
        op(0x3D, 9, 7, 1),                   # in the future: see below
        op(0xBF, 9, 7),                      # r9 = time
        op(0x61, 2, 6),                      # r2 = octets, without preamble, gap and check sequence
        op(0x07, 2, value=24),
        op(0x27, 2, value=per_octet),        # r2 = its time on the wire
        op(0x0F, 9, 2),
        op(0xBF, 3, 9),
        op(0x1F, 3, 7),                      # r3 = how long the queue is
        op(0x25, 3, 0, 6, longest),          # too long: the packet is dropped
        op(0x7B, 8, 9),
        op(0xA5, 3, 0, 4, wait),             # short: pass
        op(0xBF, 1, 6),
        op(0x85, value=ECN_SET_CE),
        op(0xB7, 0, value=-1),
        op(0x95),
        op(0xB7, 0, value=-1),               # go on with other filters
        op(0x95),
    ]


def main():
    path, rate, octets = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    state = bpf(MAP_CREATE, struct.pack("<IIIII", MAP_TYPE_ARRAY, 4, 8, 1, 0))
    code = b"".join(program(state, rate, octets))
    code = ctypes.create_string_buffer(code, len(code))
    license_name = ctypes.create_string_buffer(b"GPL")
    log = ctypes.create_string_buffer(1 << 16)
    attributes = struct.pack(
        "<IIQQIIQII", TYPE_CLASSIFIER, (len(code)) // 8, address(code), address(license_name),
        1, len(log), address(log), 0, 0,
    )
    try:
        loaded = bpf(PROG_LOAD, attributes)
    except OSError:
        sys.stderr.write(log.value.decode())
        raise
    name = ctypes.create_string_buffer(path.encode())
    bpf(OBJ_PIN, struct.pack("<QII", address(name), loaded, 0))


if __name__ == "__main__":
    main()
