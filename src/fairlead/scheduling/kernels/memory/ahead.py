"""Reading ahead: the processor is told what will be read soon, so that it need not wait then."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def fetch(typing: Any, array: Any, row: Any) -> Any:  # noqa: ARG001  Numba's signature
    """The line of the cache in which a row of an array begins. The row need not be there: nothing
    is read where it is not."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0]
        found = context.make_array(kind)(context, builder, args[0])
        stride = cgutils.unpack_tuple(builder, found.strides, kind.ndim)[0]
        at = cgutils.pointer_add(builder, found.data, builder.mul(args[1], stride))
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        declared = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, declared, "llvm.prefetch.p0")
        builder.call(function, [builder.bitcast(at, pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), code
