"""A disk that can really be full: a small tmpfs in a mount namespace of this process and its children."""
import ctypes
import errno
import os

MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 0x4000, 1 << 18


class NotPossible(Exception):
    """This system permits no disk of one's own."""


class SmallDisk:
    """Mounts the disk over `directory`. Call it before the process has a second thread."""

    def __init__(self, directory, disk_bytes):
        self.directory = directory
        self.ballast = directory / "ballast"
        self.libc = ctypes.CDLL(None, use_errno=True)
        user, group = os.geteuid(), os.getegid()
        self.require(self.libc.unshare(CLONE_NEWNS | (CLONE_NEWUSER if user else 0)), "unshare")
        if user:
            for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
                with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                    file.write(text)
        self.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        self.mount(b"tmpfs", os.fsencode(directory), b"tmpfs", MS_NOSUID | MS_NODEV,
                   f"mode=0700,size={disk_bytes}".encode())

    @staticmethod
    def require(result, what):
        if result != 0:
            raise NotPossible(f"{what}: {os.strerror(ctypes.get_errno())}")

    def mount(self, source, target, kind, flags, options):
        self.require(self.libc.mount(source, target, kind, ctypes.c_ulong(flags), options), "mount")

    def fill(self):
        """Takes all space that is left, to the last page."""
        file = os.open(self.ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            for size in (1 << 20, 4096):
                while True:
                    try:
                        os.write(file, bytes(size))
                    except OSError as error:
                        if error.errno != errno.ENOSPC:
                            raise
                        break
        finally:
            os.close(file)

    def make_space(self):
        self.ballast.unlink(missing_ok=True)

    def unmount(self):
        self.libc.umount2(os.fsencode(self.directory), MNT_DETACH)
