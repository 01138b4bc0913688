"""Writes the self-test image: thousands of instructions with random operands, whose results it prints.

Every instruction is executed with registers, flags and floating-point registers from a random stream; afterwards r0 to
r3, the flags, s0 to s3 and the FPU's status are folded into a sum, which is printed after every block of 32.
"""

from __future__ import annotations

import random

BLOCK = 32
THREE = (
    "add", "adds", "adc", "adcs", "sub", "subs", "sbc", "sbcs", "rsb", "rsbs", "and", "ands", "orr", "orrs", "eor",
    "eors", "bic", "bics", "orn", "orns",
)  # fmt: skip
PLAIN = (
    "mul", "sdiv", "udiv", "smulbb", "smulbt", "smultb", "smultt", "smulwb", "smulwt", "qadd", "qsub", "qdadd",
    "qdsub", "sadd8", "sadd16", "ssub8", "ssub16", "uadd8", "uadd16", "usub8", "usub16", "uqadd8", "uqadd16", "uqsub8",
    "qadd8", "qadd16", "qsub8", "qsub16", "shadd8", "shadd16", "uhadd8", "uhadd16", "sel", "usad8", "smuad", "smuadx",
    "smusd", "smusdx", "smmul", "smmulr", "sasx", "ssax", "uasx", "usax", "qasx", "qsax",
)  # fmt: skip
FOUR = ("mla", "mls", "smlabb", "smlabt", "smlatb", "smlatt", "smlawb", "smlawt", "smlad", "smladx", "smlsd", "smmla",
        "smmls", "usada8")  # fmt: skip
LONG = ("umull", "smull", "umlal", "smlal", "umaal", "smlald", "smlsld", "smlalbb", "smlaltt")
ONE = ("clz", "rbit", "rev", "rev16", "revsh", "uxtb", "uxth", "sxtb", "sxth", "uxtb16", "sxtb16", "mvns", "mvn")
FLOAT3 = ("vadd", "vsub", "vmul", "vnmul", "vdiv", "vmla", "vmls", "vnmla", "vnmls", "vfma", "vfms", "vfnma", "vfnms")
FLOAT2 = ("vabs", "vneg", "vsqrt", "vmov")
CONVERT = ("vcvt.s32.f32", "vcvt.u32.f32", "vcvtr.s32.f32", "vcvtr.u32.f32", "vcvt.f32.s32", "vcvt.f32.u32",
           "vcvtb.f32.f16", "vcvtt.f32.f16", "vcvtb.f16.f32")  # fmt: skip
CONDITIONS = ("eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le")


def instruction(draw: random.Random) -> str:
    """One of them, on r0 to r3 and s0 to s3."""
    r = [f"r{draw.randrange(4)}" for _ in range(4)]
    s = [f"s{draw.randrange(4)}" for _ in range(4)]
    kind = draw.randrange(12)
    if kind == 0:
        if draw.random() < 0.4:
            return f"{draw.choice(THREE)} {r[0]}, {r[1]}, #{draw.randrange(256)}"
        return f"{draw.choice(THREE)}.w {r[0]}, {r[1]}, {r[2]}"
    if kind == 1:
        shift = f"{draw.choice(('lsl', 'lsr', 'asr', 'ror'))} #{draw.randrange(1, 32)}"
        return f"{draw.choice(THREE)}.w {r[0]}, {r[1]}, {r[2]}, {shift}"
    if kind == 2:
        return f"{draw.choice(PLAIN)} {r[0]}, {r[1]}, {r[2]}"
    if kind == 3:
        return f"{draw.choice(FOUR)} {r[0]}, {r[1]}, {r[2]}, {r[3]}"
    if kind == 4:
        low, high = draw.sample(range(4), 2)
        return f"{draw.choice(LONG)} r{low}, r{high}, {r[2]}, {r[3]}"
    if kind == 5:
        return f"{draw.choice(ONE)} {r[0]}, {r[1]}"
    if kind == 6:
        low = draw.randrange(32)
        width = draw.randrange(1, 33 - low)
        return draw.choice((
            f"ubfx {r[0]}, {r[1]}, #{low}, #{width}", f"sbfx {r[0]}, {r[1]}, #{low}, #{width}",
            f"bfi {r[0]}, {r[1]}, #{low}, #{width}", f"bfc {r[0]}, #{low}, #{width}",
            f"ssat {r[0]}, #{draw.randrange(1, 33)}, {r[1]}", f"usat {r[0]}, #{draw.randrange(32)}, {r[1]}",
            f"pkhbt {r[0]}, {r[1]}, {r[2]}, lsl #{draw.randrange(1, 32)}", f"movt {r[0]}, #{draw.randrange(65536)}",
            f"lsls.w {r[0]}, {r[1]}, {r[2]}", f"rors.w {r[0]}, {r[1]}, {r[2]}", f"asrs.w {r[0]}, {r[1]}, {r[2]}",
        ))  # fmt: skip
    if kind == 7:
        first, second = draw.choice(CONDITIONS), f"{draw.choice(('add', 'eor', 'orr'))}"
        return f"itt {first}\n {second}{first}.w {r[0]}, {r[1]}, {r[2]}\n mov{first} {r[3]}, #{draw.randrange(256)}"
    if kind == 8:
        return f"{draw.choice(FLOAT3)}.f32 {s[0]}, {s[1]}, {s[2]}"
    if kind == 9:
        return f"{draw.choice(FLOAT2)}.f32 {s[0]}, {s[1]}"
    if kind == 10:
        return f"{draw.choice(CONVERT)} {s[0]}, {s[1]}"
    return f"{draw.choice(('vcmp', 'vcmpe'))}.f32 {s[0]}, {s[1]}\n vmrs APSR_nzcv, fpscr"


def image_text(count: int, seed: int = 1, block: int = BLOCK) -> str:
    """C with assembler: `count` instructions in blocks, each with its own operands."""
    draw = random.Random(seed)
    blocks = []
    for first in range(0, count, block):
        lines = []
        for _ in range(block):
            lines += [
                "bl operands", instruction(draw), "bl fold",
            ]  # fmt: skip
        body = "\\n ".join(line.replace("\n", "\\n") for line in lines)
        blocks.append(
            f"__attribute__((naked, noinline)) static void block_{first // block}(void) {{\n"
            f'  __asm volatile("push {{r4-r11, lr}}\\n {body}\\n pop {{r4-r11, pc}}\\n");\n}}\n'
        )
    calls = "".join(f"  block_{i}(); put_hex(sum);\n" for i in range(len(blocks)))
    return (
        PRELUDE
        + "".join(blocks)
        + "int main(void) {\n  start_serial();\n  state = 0x12345678u;\n"
        + calls
        + ('  put_text("done\\n");\n  for (;;) __asm volatile("wfi");\n}\n' + VECTORS)
    )


PRELUDE = r"""
#include "common.h"
volatile uint32_t sum, state, taken[12];

/* r0-r3, flags, s0-s3 from the random stream; every fourth float is an everyday number, some are special. */
__attribute__((used)) void draw_operands(void) {
  static const uint32_t special[8] = {
      0, 0x80000000u, 0x7F800000u, 0xFF800000u, 0x7FC00000u, 1u, 0x3F800000u, 0x4F000000u};
  for (int i = 0; i < 9; i++) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    uint32_t value = state;
    if (i < 4 && (value & 0xF00) == 0) value = (value & 1) ? 0x80000000u : 0;
    if (i >= 4 && i < 8) {
      if ((value >> 28) == 0) value = special[value & 7];
      else if ((value >> 28) < 12) value = (value & 0x807FFFFFu) | (0x70u + (value >> 23 & 31)) << 23;
    }
    taken[i] = value;
  }
}
__attribute__((naked, used)) void operands(void) {
  __asm volatile(
      "push {lr}\n bl draw_operands\n ldr r4, =taken\n ldr r5, [r4, #32]\n and r5, r5, #0xF8000000\n"
      "msr APSR_nzcvq, r5\n mov r6, #0\n vmsr fpscr, r6\n vldr s0, [r4, #16]\n vldr s1, [r4, #20]\n"
      "vldr s2, [r4, #24]\n vldr s3, [r4, #28]\n ldr r0, [r4]\n ldr r1, [r4, #4]\n ldr r2, [r4, #8]\n"
      "ldr r3, [r4, #12]\n"
      "pop {pc}\n");
}
__attribute__((naked, used)) void fold(void) {
  __asm volatile(
      "mrs r5, apsr\n and r5, r5, #0xF8000000\n vmrs r6, fpscr\n ldr r4, =sum\n ldr r7, [r4]\n"
      "add r7, r7, r0\n ror r7, r7, #27\n eor r7, r7, r1\n ror r7, r7, #27\n add r7, r7, r2\n ror r7, r7, #27\n"
      "eor r7, r7, r3\n ror r7, r7, #27\n add r7, r7, r5\n ror r7, r7, #27\n eor r7, r7, r6\n"
      "vmov r0, s0\n add r7, r7, r0\n ror r7, r7, #27\n vmov r0, s1\n eor r7, r7, r0\n ror r7, r7, #27\n"
      "vmov r0, s2\n add r7, r7, r0\n ror r7, r7, #27\n vmov r0, s3\n eor r7, r7, r0\n str r7, [r4]\n bx lr\n");
}
"""

VECTORS = """
typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[16] = {
    (vector)stack_top, reset_handler, [2 ... 15] = unused_handler};
"""
