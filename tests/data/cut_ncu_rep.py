"""Makes a report of Nsight Compute small enough for test data: session, sources, host and program names are taken out.

    cut_ncu_rep.py IN.ncu-rep[.gz] OUT.ncu-rep.gz

The layout is in docs of NVIDIA (Customization Guide, "Report File Format"): blocks of a header and its messages.
"""
import gzip
import struct
import sys

SOURCES, RESULTS, SESSION, PAYLOAD, PROCESS, RANGES = 1, 2, 3, 5, 6, 7
PROCESS_ID = 1
VARINT, BYTES = 0, 2


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def put_varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def fields(data):
    """(number, wire type, value, all bytes) of each field."""
    at = 0
    while at < len(data):
        begin = at
        key, at = varint(data, at)
        wire = key & 7
        if wire == VARINT:
            value, at = varint(data, at)
        elif wire == BYTES:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            at += {1: 8, 5: 4}[wire]
            value = data[begin:at]
        yield key >> 3, wire, value, data[begin:at]


def number(n, value):
    return put_varint(n << 3 | VARINT) + put_varint(value)


def message(n, data):
    return put_varint(n << 3 | BYTES) + put_varint(len(data)) + data


def sized(data):
    return struct.pack("<I", len(data)) + data


def cut_block(header, payload):
    counts = {n: v for n, wire, v, _ in fields(header) if wire == VARINT}
    at, kept = 0, b""
    for i in range(counts.get(SOURCES, 0) + counts.get(RESULTS, 0) + counts.get(RANGES, 0)):
        size = struct.unpack_from("<I", payload, at)[0]
        if i >= counts.get(SOURCES, 0):
            kept += payload[at:at + 4 + size]
        at += 4 + size
    out = b""
    for n, _, value, raw in fields(header):
        if n == PROCESS:
            out += message(n, b"".join(number(PROCESS_ID, v) for m, _, v, _ in fields(value) if m == PROCESS_ID))
        elif n not in (SOURCES, SESSION, PAYLOAD):
            out += raw
    return sized(out + number(PAYLOAD, len(kept))) + kept


def main():
    source, target = sys.argv[1:]
    with (gzip.open if source.endswith(".gz") else open)(source, "rb") as f:
        data = f.read()
    at = 8 + struct.unpack_from("<I", data, 4)[0]
    out = data[:at]
    while at + 4 <= len(data):
        size = struct.unpack_from("<I", data, at)[0]
        header = data[at + 4:at + 4 + size]
        at += 4 + size
        length = next((v for n, _, v, _ in fields(header) if n == PAYLOAD), 0)
        out += cut_block(header, data[at:at + length])
        at += length
    with open(target, "wb") as f:
        f.write(gzip.compress(out, 9, mtime=0))


if __name__ == "__main__":
    main()
