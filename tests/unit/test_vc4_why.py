"""Purposes of instructions, from Mesa's disassembly."""

from __future__ import annotations

import pytest

from glsl_infer.tools.videocore.why import purposes

NOP = "nop nop, r0, r0"
COORDINATE = [f"0x1 {NOP} ; fmul r0, vary, ra15", f"0x1 fadd ra0, r0, r5 ; {NOP}", f"0x1 {NOP} ; mov tmu0_s, ra0"]
LOAD = f"0xa load_tmu0 {NOP} ; {NOP}"
STORE = [f"0x1 mov tlb_color_all, r2 ; {NOP}", f"0x3 sig_end {NOP} ; {NOP}"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([*COORDINATE, LOAD], ["fetches"] * 4),
        ([f"0x1 {NOP} ; fmul r1, uni, r4.8a"], ["store"]),  # no texel was loaded
        ([LOAD, "0x1 fadd ra1, ra1, r1 ; fmul r1, uni, r4.8a", *STORE], ["fetches", "products", "store", "store"]),
        ([LOAD, f"0x1 mov ra3, r4 ; {NOP}", f"0x1 {NOP} ; fmul r1, uni, ra3"], ["fetches", "products", "products"]),
        # A copy that is overwritten is not a texel.
        ([LOAD, f"0x1 mov r3, r4 ; {NOP}", f"0x1 mov r3, uni ; {NOP}", f"0x1 {NOP} ; fmul r1, uni, r3", LOAD],
         ["fetches", "products", "waits", "waits", "fetches"]),
        # The result of a special function is in the same register.
        ([LOAD, f"0x1 mov sfu_exp, r4 ; {NOP}", f"0x1 {NOP} ; fmul r1, uni, r4"], ["fetches", "products", "store"]),
        # A sum that a coordinate waits for is read by other operations, too.
        ([f"0x1 fadd rb8, rb7, r1 ; {NOP}", f"0x1 fmax tmu0_t, ra0, rb8 ; {NOP}",
          f"0x1 fadd r1, rb8, r2 ; {NOP}", LOAD],
         ["waits", "fetches", "waits", "fetches"]),
        # An operation reads before the other one of its instruction writes.
        ([f"0x1 mov ra1, uni ; {NOP}", "0x1 mov ra1, uni ; mov tmu0_t, ra1", LOAD], ["fetches", "fetches", "fetches"]),
    ],
)  # fmt: skip
def test_an_instruction_has_a_purpose(lines: list[str], expected: list[str]) -> None:
    assert purposes(lines) == expected
