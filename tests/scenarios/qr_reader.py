"""Reads the QR code in the output of a command, as a camera in front of the terminal would.

    python3 qr_reader.py {dark | light} < OUTPUT

The terminal is dark or light where the output sets no colours. The half blocks are painted into an
image, which libzbar reads. Prints the text of the code; exits 1 if there is none.
"""
import ctypes
import re
import sys

MODULE_PIXELS = 4
MARGIN_MODULES = 6
# Whether the upper and the lower half have the colour of letters.
BLOCKS = {" ": (False, False), "▀": (True, False), "▄": (False, True), "█": (True, True)}
LINE_CHARACTERS_MIN = 29  # of the smallest code with its quiet zone
LIGHT, DARK = 255, 0
# Of the 256 colours, those that no theme changes and that the command uses.
LIGHTS = {"16": DARK, "231": LIGHT}


def pixels_of(line, letters, ground):
    """Returns the lights of the two rows of modules that a line shows; none if it isn't one of a code."""
    upper, lower = [], []
    colours = (letters, ground)
    for escape, character in re.findall(r"\x1b\[([0-9;]*)m|(.)", line):
        if character == "":
            found = re.fullmatch(r"38;5;(\d+);48;5;(\d+)", escape)
            colours = (LIGHTS[found[1]], LIGHTS[found[2]]) if found else (letters, ground)
            continue
        if character not in BLOCKS:
            return []
        upper.append(colours[0 if BLOCKS[character][0] else 1])
        lower.append(colours[0 if BLOCKS[character][1] else 1])
    return [upper, lower] if len(upper) >= LINE_CHARACTERS_MIN else []


def painted(rows, ground):
    """Returns the bytes, the width and the height of the image."""
    width = max(len(row) for row in rows) + 2 * MARGIN_MODULES
    around = [[ground] * width] * MARGIN_MODULES
    inner = [[ground] * MARGIN_MODULES + row + [ground] * (width - MARGIN_MODULES - len(row)) for row in rows]
    lines = [bytes(each for each in row for _ in range(MODULE_PIXELS)) for row in around + inner + around]
    return b"".join(line for line in lines for _ in range(MODULE_PIXELS)), width * MODULE_PIXELS, len(lines) * MODULE_PIXELS


def read_image(content, width, height):
    zbar = ctypes.CDLL("libzbar.so.0")
    for name in ("zbar_image_scanner_create", "zbar_image_create", "zbar_image_first_symbol", "zbar_symbol_get_data"):
        getattr(zbar, name).restype = ctypes.c_void_p
    zbar.zbar_symbol_get_data.restype = ctypes.c_char_p
    scanner, image = (ctypes.c_void_p(make()) for make in (zbar.zbar_image_scanner_create, zbar.zbar_image_create))
    zbar.zbar_image_scanner_set_config(scanner, 0, 0, 1)  # ZBAR_CFG_ENABLE
    zbar.zbar_image_set_format(image, ctypes.c_ulong(int.from_bytes(b"Y800", "little")))
    zbar.zbar_image_set_size(image, width, height)
    zbar.zbar_image_set_data(image, content, ctypes.c_ulong(len(content)), None)
    if zbar.zbar_scan_image(scanner, image) < 1:
        return None
    return zbar.zbar_symbol_get_data(ctypes.c_void_p(zbar.zbar_image_first_symbol(image))).decode()


def main():
    letters, ground = (LIGHT, DARK) if sys.argv[1] == "dark" else (DARK, LIGHT)
    lines = sys.stdin.buffer.read().decode().replace("\r", "").split("\n")
    rows = [row for line in lines for row in pixels_of(line, letters, ground)]
    text = read_image(*painted(rows, ground)) if rows else None
    if text is None:
        sys.exit("there is no QR code")
    print(text)


if __name__ == "__main__":
    main()
