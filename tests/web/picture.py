# SPDX-License-Identifier: Apache-2.0
"""Pictures for tests: a PNG as a coarse grid of greys, without any library."""
from __future__ import annotations

import struct
import zlib


def _chunks(png: bytes):
    at = 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        yield kind, png[at + 8:at + 8 + length]
        at += 12 + length


def _unfilter(data: bytes, stride: int, step: int):
    """The rows of a PNG: each byte is told by its neighbours, in one of five ways."""
    before = bytearray(stride)
    for at in range(0, len(data), stride + 1):
        kind, row = data[at], bytearray(data[at + 1:at + 1 + stride])
        for i in range(stride):
            left, up, corner = row[i - step] if i >= step else 0, before[i], before[i - step] if i >= step else 0
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + up) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            elif kind == 4:
                p = left + up - corner
                near = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
                row[i] = (row[i] + near) & 255
        yield row
        before = row


def greys(png: bytes, columns: int, rows: int) -> list[float]:
    """The mean grey (0 to 255) of each cell of a grid over the picture, row by row."""
    width, height, depth, kind = struct.unpack(">IIBB", next(d for k, d in _chunks(png) if k == b"IHDR")[:10])
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    stride, step = (width * depth * channels + 7) // 8, max(1, depth * channels // 8)
    colours = next((d for k, d in _chunks(png) if k == b"PLTE"), b"")
    grey = [(299 * colours[i] + 587 * colours[i + 1] + 114 * colours[i + 2]) / 1000 for i in range(0, len(colours), 3)]
    sums, counts = [0.0] * (columns * rows), [0] * (columns * rows)
    data = zlib.decompress(b"".join(d for k, d in _chunks(png) if k == b"IDAT"))
    column = [x * columns // width for x in range(width)]
    for y, row in enumerate(_unfilter(data, stride, step)):
        base = y * rows // height * columns
        for x in range(0, width, 2):  # every second pixel is enough for a mean
            if kind == 3:
                v = grey[row[x * depth // 8] >> (8 - depth - x * depth % 8) & (1 << depth) - 1]
            elif channels >= 3:
                v = (299 * row[x * channels] + 587 * row[x * channels + 1] + 114 * row[x * channels + 2]) / 1000
            else:
                v = row[x * channels]
            sums[base + column[x]] += v
            counts[base + column[x]] += 1
    return [s / max(1, n) for s, n in zip(sums, counts)]
