"""Takes paths, names and ids of a machine out of a trace of the collector, for test data.

    cut_lpot.py IN.lpot OUT.lpot[.gz] [OLD=NEW…]    each OLD inside a name becomes NEW, which is as long
"""
import gzip
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "collect"))
from lpot import Cursor, blocks, crc32c  # noqa: E402

FACTS = 1
INSTEAD = {"program": "/usr/bin/program", "command": "program", "host": "host", "cupti.path": "/usr/lib/libcupti.so",
           "device.0.uuid": "0" * 32}


def put_text(data):
    out, n = bytearray(), len(data)
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n]) + data


def cut_facts(payload):
    c, out = Cursor(payload), b""
    while c.more():
        key, value = c.text(), c.text()
        out += put_text(key) + put_text(INSTEAD.get(key.decode(), value.decode("utf-8", "replace")).encode())
    return out


def main():
    data = Path(sys.argv[1]).read_bytes()
    pairs = [pair.encode().split(b"=") for pair in sys.argv[3:]]
    if any(len(old) != len(new) for old, new in pairs):
        sys.exit("OLD and NEW differ in length")
    out, at = data[:16], 16
    for kind, *_, payload in blocks(data, True):
        head = bytearray(data[at:at + 40])
        at += 40 + len(payload)
        if kind == FACTS:
            payload = cut_facts(payload)
        for old, new in pairs:
            payload = payload.replace(old, new)
        struct.pack_into("<I", head, 8, len(payload))
        struct.pack_into("<I", head, 12, crc32c(bytes(head[:12] + head[16:]) + payload))
        out += bytes(head) + payload
    Path(sys.argv[2]).write_bytes(gzip.compress(out, 9, mtime=0) if sys.argv[2].endswith(".gz") else out)


if __name__ == "__main__":
    main()
