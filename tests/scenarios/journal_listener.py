"""Listens on the journal's socket in a mount namespace of its own and runs a command as its client.

Prints each entry as a JSON object, and exits with the command's code once the command has ended. Run
under `unshare --map-root-user --mount`; the format: https://systemd.io/JOURNAL_NATIVE_PROTOCOL/.
"""
import array
import json
import os
import select
import socket
import subprocess
import sys

subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
os.makedirs("/run/systemd/journal")
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind("/run/systemd/journal/socket")
client = subprocess.Popen(sys.argv[1:])


def fields(data):
    entry = {}
    while data:
        name, newline, rest = data.partition(b"\n")
        if b"=" in name:
            key, _, value = name.partition(b"=")
            data = rest
        else:
            size = int.from_bytes(rest[:8], "little")
            key, value, data = name, rest[8 : 8 + size], rest[9 + size :]
        entry[key.decode()] = value.decode()
    return entry


while True:
    ended = client.poll() is not None
    while select.select([listener], [], [], 0 if ended else 0.05)[0]:
        data, ancillary, _, _ = listener.recvmsg(1 << 20, socket.CMSG_SPACE(16))
        for level, kind, content in ancillary:  # a long entry arrives as a file descriptor
            file = array.array("i", content)[0]
            data = os.pread(file, os.fstat(file).st_size, 0)
            os.close(file)
        print(json.dumps(fields(data)), flush=True)
    if ended:
        sys.exit(client.returncode)
