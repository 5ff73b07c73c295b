# SPDX-License-Identifier: Apache-2.0
"""The processors that emitted C is checked on: compiler, flags, board and emulator of each."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

BOARDS = Path(__file__).resolve().parent / "board"
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
BARE = ("-ffreestanding", "-nostdlib", "-static")
MEGA = 1 << 20
CLANG = next((name for name in ("clang", "clang-14") if shutil.which(name)), "clang")


@dataclass(frozen=True)
class Machine:
    """A board of qemu-system-arm: where its memories begin, and their bytes."""

    name: str
    vectors: int = 0
    flash: int = 64  # behind the vectors
    flash_bytes: int = 4 * MEGA - 64
    ram: int = 0x20000000
    ram_bytes: int = 4 * MEGA

    def link_flags(self):
        return tuple(f"-Wl,--defsym=board_{name}={value:#x}" for name, value in vars(self).items() if name != "name")


@dataclass(frozen=True)
class Target:
    compiler: str
    flags: tuple
    board: str = "hosted"  # board/NAME.c; "" compiles and no more
    emulator: tuple = ()  # its command, without the program; () runs the program itself
    machines: tuple = ()  # of a Cortex-M: the first one whose memory is enough
    libraries: tuple = ()  # what the linker gets behind the sources
    environment: dict = field(default_factory=dict)


def native(compiler, *flags, **environment):
    return Target(compiler, (*WARNINGS, *flags), environment=environment)


def cortex(cpu, *machines, flags=("-Os",)):
    return Target("arm-none-eabi-gcc", (*WARNINGS, *BARE, "-mthumb", f"-mcpu={cpu}", *flags), "cortex_m",
                  ("qemu-system-arm", "-display", "none", "-monitor", "none", "-serial", "none",
                   "-semihosting-config", "enable=on,target=native"),
                  machines, ("-lgcc",))


def riscv(bits, architecture, abi, cpu):
    return Target("riscv64-unknown-elf-gcc",
                  (*WARNINGS, *BARE, "-O2", f"-march={architecture}", f"-mabi={abi}", "-Wl,--no-relax"), "linux",
                  (f"qemu-riscv{bits}", "-cpu", cpu), libraries=("-lgcc",))


MICROBIT = Machine("microbit", flash_bytes=(256 << 10) - 64, ram_bytes=16 << 10)
AN385, AN386, AN500 = Machine("mps2-an385"), Machine("mps2-an386"), Machine("mps2-an500")
AN505 = Machine("mps2-an505", vectors=0x10000000, flash=0x10000040, ram=0x38000000)
AN547 = Machine("mps3-an547", vectors=0x10000000, flash=0x11000000, flash_bytes=2 * MEGA, ram=0x31000000)
SANITIZE = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

TARGETS = {
    **{f"x86-64-gcc-O{level}": native("gcc", f"-O{level}") for level in range(4)},
    **{f"x86-64-clang-O{level}": native(CLANG, f"-O{level}") for level in range(4)},
    "x86-64-gcc-sanitized": native("gcc", *SANITIZE, ASAN_OPTIONS="detect_leaks=0"),
    "x86-64-clang-sanitized": native(CLANG, *SANITIZE, ASAN_OPTIONS="detect_leaks=0"),
    "cortex-m0": cortex("cortex-m0", MICROBIT, AN385),  # what is too large for 16 KiB runs on a Cortex-M3
    "cortex-m3": cortex("cortex-m3", AN385),
    "cortex-m4": cortex("cortex-m4", AN386),
    "cortex-m4-O3": cortex("cortex-m4", AN386, flags=("-O3",)),
    "cortex-m7": cortex("cortex-m7", AN500, flags=("-O2",)),
    "cortex-m33": cortex("cortex-m33", AN505),
    "cortex-m55": cortex("cortex-m55", AN547, flags=("-O3", "-mfloat-abi=hard")),
    "rv32imac": riscv(32, "rv32imac", "ilp32", "rv32"),
    "rv32i": riscv(32, "rv32i", "ilp32", "rv32,m=false,a=false,c=false,f=false,d=false"),
    "rv64imac": riscv(64, "rv64imac", "lp64", "rv64"),
    "aarch64": Target("aarch64-linux-gnu-gcc", (*WARNINGS, *BARE, "-O3"), "linux", ("qemu-aarch64",)),
    "armv7-big-endian": Target("arm-none-eabi-gcc",
                               (*WARNINGS, *BARE, "-O2", "-march=armv7ve", "-marm", "-mbig-endian", "-Wl,--be8"),
                               "linux", ("qemu-armeb",), libraries=(BOARDS / "arm_division.c",)),
    # Of 8 KiB of RAM 1 KiB is left to the stack.
    "avr-atmega2560": Target("avr-gcc", (*WARNINGS, "-Os", "-mmcu=atmega2560",
                                         "-Wl,--defsym=__DATA_REGION_LENGTH__=0x1c00"), "avr",
                             ("simavr", "-m", "atmega2560", "-f", "16000000")),
    "bpf": Target(CLANG, (*WARNINGS, "-target", "bpf", "-ffreestanding", "-O2", "-c"), ""),
}

QUICK = ("x86-64-gcc-sanitized", "cortex-m4", "rv32imac", "armv7-big-endian")
