"""The emitted C of the packed product, word for word: FORMWRIGHT_UPDATE=1 writes it anew."""

import os
from pathlib import Path

from codegen_library import SMALL

from formwright.codegen import emit_c, target_named
from formwright.lang import load

GOLDEN = Path(__file__).parents[1] / "golden" / "packed_gemm_avx2.c"


def test_the_packed_product_is_emitted_as_before() -> None:
    emitted = emit_c(load("packed_gemm")[1], SMALL, target_named("avx2"))
    assert emitted.kernel in emitted.source
    if "FORMWRIGHT_UPDATE" in os.environ:
        GOLDEN.write_text(emitted.kernel)
    assert emitted.kernel == GOLDEN.read_text()
