"""A signal and an address, read as what the kernel did wrong."""

import signal

from formwright.measure.layout import Layout
from formwright.measure.outcome import Access, Crashed, Failure, Forbidden, Mutated, OutOfBounds

# Numbers of the calls that the filter traps, by what they are for (x86-64; elsewhere the number
# itself is shown).
_PURPOSES = {
    "open a network connection": {41: "socket", 53: "socketpair", 42: "connect", 49: "bind"},
    "start a process": {56: "clone", 57: "fork", 58: "vfork", 59: "execve", 322: "execveat"},
    "write to a file": {2: "open", 85: "creat", 257: "openat", 18: "pwrite64", 76: "truncate"}
    | {77: "ftruncate", 319: "memfd_create"},
    "change the file system": {87: "unlink", 263: "unlinkat", 82: "rename", 264: "renameat"}
    | {316: "renameat2", 83: "mkdir", 258: "mkdirat", 84: "rmdir", 86: "link", 265: "linkat"}
    | {88: "symlink", 266: "symlinkat", 90: "chmod", 91: "fchmod", 268: "fchmodat", 165: "mount"},
    "look into another process": {101: "ptrace", 310: "process_vm_readv"}
    | {311: "process_vm_writev"},
    "send a signal to a process": {62: "kill", 200: "tkill", 234: "tgkill"},
    "handle a signal": {13: "sigaction"},
    "set the clock": {227: "clock_settime", 164: "settimeofday", 159: "adjtimex"}
    | {305: "clock_adjtime"},
    "leave its process group": {112: "setsid", 109: "setpgid"},
}


def read_fault(layout: Layout, address: int, number: int, detail: int) -> Failure:
    """The outcome of signal ``number`` at ``address`` (relative to the base of the slots).

    ``detail`` is the number of the system call for SIGSYS, else 1 when the access was a write,
    and 2 more when it was just behind a block of the heap.
    """
    if number == signal.SIGSYS:
        return _forbidden(detail)
    if number == signal.SIGXFSZ:
        return Forbidden("write to a file", "write")
    if number not in (signal.SIGSEGV, signal.SIGBUS):
        return Crashed(number)
    found = layout.locate(address)
    if found is None:
        access_word = "write" if detail & 1 else "read"
        where = "beyond a block that it allocated" if detail & 2 else "of memory that is not mapped"
        return Crashed(number, f"{access_word} {where}")
    block, offset = found
    access: Access = "write" if detail & 1 else "read"
    name = block.tensor.name
    if 0 <= offset < block.span:
        return Mutated(name) if not block.tensor.output else Crashed(number)
    if offset < 0 or (block.span == 0 and offset < block.data):
        return OutOfBounds(name, access, "before", block.data - offset)
    return OutOfBounds(name, access, "after", offset - block.data - block.tensor.bytes + 1)


def _forbidden(call: int) -> Forbidden:
    for purpose, calls in _PURPOSES.items():
        if call in calls:
            return Forbidden(purpose, calls[call])
    return Forbidden("use a system call", f"number {call}")
