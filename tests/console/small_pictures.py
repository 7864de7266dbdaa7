"""Makes the browser's pictures small enough for a repository: 256 colours, and the best compression."""
import collections
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS_MAX = 256
BYTES_OF_COLOUR_TYPE = {2: 3, 6: 4}  # RGB and RGBA


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def chunks_of(picture):
    """Yields each chunk's kind and data."""
    at = len(SIGNATURE)
    while at < len(picture):
        (size,) = struct.unpack_from(">I", picture, at)
        yield picture[at + 4 : at + 8], picture[at + 8 : at + 8 + size]
        at += size + 12


def predicted(kind, left, up, corner):
    """Returns what the filter `kind` of a line predicts a byte from."""
    if kind == 0:
        return 0
    if kind == 1:
        return left
    if kind == 2:
        return up
    if kind == 3:
        return (left + up) >> 1
    base = left + up - corner
    return min((left, up, corner), key=lambda each: abs(base - each))  # Paeth; min keeps the order of ties


def lines_of(packed, width, height, pixel):
    """Returns the lines of pixels, without their filters."""
    data = zlib.decompress(packed)
    size = width * pixel
    above = bytearray(size)
    lines = []
    for number in range(height):
        begin = number * (size + 1)
        kind, line = data[begin], bytearray(data[begin + 1 : begin + 1 + size])
        if kind != 0:
            for i in range(size):
                left, corner = (line[i - pixel], above[i - pixel]) if i >= pixel else (0, 0)
                line[i] = (line[i] + predicted(kind, left, above[i], corner)) & 0xFF
        lines.append([bytes(line[i : i + 3]) for i in range(0, size, pixel)])
        above = line
    return lines


def palette_of(lines):
    """Returns the most frequent colours, and each colour's place among them or that of the nearest."""
    counts = collections.Counter(colour for line in lines for colour in line)
    palette = [colour for colour, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:COLOURS_MAX]]
    places = {colour: place for place, colour in enumerate(palette)}
    for colour in counts:
        if colour not in places:
            places[colour] = min(range(len(palette)),
                                 key=lambda place: sum((a - b) ** 2 for a, b in zip(colour, palette[place])))
    return palette, places


def shrink(path):
    """Writes a picture of Chromium anew."""
    picture = path.read_bytes()
    chunks = list(chunks_of(picture))
    width, height, depth, colour_type = struct.unpack_from(">IIBB", chunks[0][1])
    if depth != 8 or colour_type not in BYTES_OF_COLOUR_TYPE:
        return
    packed = b"".join(data for kind, data in chunks if kind == b"IDAT")
    lines = lines_of(packed, width, height, BYTES_OF_COLOUR_TYPE[colour_type])
    palette, places = palette_of(lines)
    data = b"".join(b"\0" + bytes(places[colour] for colour in line) for line in lines)
    path.write_bytes(SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
                     + chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b""))
