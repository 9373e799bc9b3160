"""Ask the processor for memory that a compiled loop is going to read.

The rows of a batch are scattered, so the processor cannot guess which one is next. It computes with
one row while the memory sends another one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["prefetch", "teach_prefetch"]


def prefetch(table: Any, row: int, byte: int) -> None:
    """Ask for the memory at a byte of a row; without a compiler, nothing happens."""


@cache
def teach_prefetch() -> None:
    """Tell numba what :func:`prefetch` is: an instruction that changes no result."""
    from numba import types
    from numba.core.cgutils import int32_t, ir, voidptr_t  # type: ignore[attr-defined]
    from numba.extending import intrinsic, overload

    @intrinsic
    def instruction(typing: Any, table: Any, row: Any, byte: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, values[0])
            offset = builder.mul(values[1], builder.extract_value(array.strides, 0))
            start = builder.bitcast(array.data, voidptr_t)
            address = builder.gep(start, [builder.add(offset, values[2])])
            kind = ir.FunctionType(ir.VoidType(), [voidptr_t, int32_t, int32_t, int32_t])
            ask = builder.module.declare_intrinsic("llvm.prefetch", [voidptr_t], kind)
            # To read, as data, for the nearest cache alone: the next batch has other rows, and the
            # other caches keep what every step reads.
            builder.call(ask, [address, int32_t(0), int32_t(0), int32_t(1)])
            return context.get_dummy_value()

        return types.void(table, row, byte), generate

    @overload(prefetch, strict=False)
    def compiled(table: Any, row: Any, byte: Any) -> Any:
        return lambda table, row, byte: instruction(table, row, byte)  # type: ignore[call-arg]
