"""Frames on the wire, from IEEE 802.3-2022, RFC 768, 791, 792 and 793, IEC 61850-8-1 and -9-2,
and IEC 61158-6-10. Octets; times in picoseconds."""

#: Destination, source and type; frame check sequence (802.3, 3.1.1).
HEADER, CHECK = 14, 4
#: Shortest untagged frame and longest payload (802.3, 3.2.7 and 4A.4.2).
FRAME_MIN, PAYLOAD_MAX = 64, 1500
#: Preamble with start delimiter, and the gap between packets (802.3, 3.1.1 and 4.4.2).
PREAMBLE, GAP = 8, 12
#: A tag (802.1Q, 9.3).
TAG = 4
#: Header of IPv4 without options; what a fragment carries behind it, a multiple of 8 (RFC 791, 3.2).
IP, FRAGMENT = 20, 1480
#: Headers between the payload of an application and the frame.
OVER = {
    "raw": 0,
    "udp": IP + 8,
    "tcp": IP + 20,
    "icmp": IP + 8,
    "goose": 8,
    "sv": 8,
    "profinet": 6,
}
#: Bits of an octet, for a second in picoseconds.
OCTET = 8 * 10**12


def frame(payload, over):
    """Returns the octets of the untagged frame with this payload."""
    return max(FRAME_MIN, HEADER + OVER[over] + payload + CHECK)


def payload_max(over):
    """Returns the largest payload of a packet: of a datagram in fragments, or of one frame."""
    return 65_535 - OVER["udp"] if over == "udp" else PAYLOAD_MAX - OVER[over]


def frames(payload, over):
    """Returns how many frames a packet takes, and the octets of the smallest and the largest."""
    inside = OVER[over] + payload
    if inside <= PAYLOAD_MAX:
        own = frame(payload, over)
        return 1, own, own
    inside -= IP
    count = -(-inside // FRAGMENT)
    around = HEADER + IP + CHECK
    last = max(FRAME_MIN, around + inside - FRAGMENT * (count - 1))
    return count, min(last, around + FRAGMENT), around + FRAGMENT


def occupied(size, octet):
    """Returns for how long a frame of this size, tag included, keeps a link from the next one."""
    return (PREAMBLE + size + GAP) * octet


def arrives(size, octet):
    """Returns the time from the first bit of its preamble to the last bit of the frame."""
    return (PREAMBLE + size) * octet
