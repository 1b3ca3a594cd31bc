"""Records of arrays as kernels see them, whose references kernels do not count.

Numba counts a reference, with an atomic operation, each time a kernel takes an array out of a
record or hands the record on: a fifth to a quarter of a run. Here whoever calls a kernel holds the
record until it returns, and the record holds its arrays, which are put in once and never exchanged:
there is nothing to count. A kernel must therefore return no array of a record.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.datamodel import default_manager, models
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic, lower_setattr_generic
from numba.core.pythonapi import _unboxers, unbox
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.experimental import structref
from numba.extending import intrinsic


class _Model(models.StructRefModel):  # type: ignore[misc]  # Numba has no types
    """A record, in which nothing is found whose references are counted."""

    def traverse(self, builder: Any) -> list[Any]:  # noqa: ARG002  Numba's signature
        """Nothing: no reference is counted."""
        return []


class RecordType(types.StructRef):  # type: ignore[misc]  # Numba has no types
    def preprocess_fields(self, fields: Any) -> Any:
        """The fields without literal types."""
        return tuple((name, types.unliteral(kind)) for name, kind in fields)

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """The short name that compiled functions' names have for the type. By itself Numba spells
        out all fields there, wherever a function is called."""
        return type(self).__name__, ()


def register(kind: Any) -> Any:
    """Makes a class of types known to the compiler, as `structref.register` does."""
    default_manager.register(kind, _Model)

    @infer_getattr
    class Fields(AttributeTemplate):  # type: ignore[misc]  # Numba has no types
        key = kind

        def generic_resolve(self, record: Any, name: str) -> Any:
            return record.field_dict.get(name)

    @lower_getattr_generic(kind)  # type: ignore[untyped-decorator]  # Numba has no types
    def get(context: Any, builder: Any, record: Any, value: Any, name: str) -> Any:
        field = record.field_dict[name]
        found = getattr(_fields(context, builder, record, value), name)
        if not isinstance(field, types.Array):
            return impl_ret_borrowed(context, builder, field, found)
        array = context.make_helper(builder, field, value=found)
        # An array without an owner: the compiler sees that there is nothing to count.
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()  # noqa: SLF001  Numba has no other way

    @lower_setattr_generic(kind)  # type: ignore[untyped-decorator]  # Numba has no types
    def put(context: Any, builder: Any, signature: Any, args: Any, name: str) -> None:
        record, given = signature.args
        value = context.cast(builder, args[1], given, record.field_dict[name])
        context.nrt.incref(builder, record.field_dict[name], value)
        setattr(_fields(context, builder, record, args[0]), name, value)

    return kind


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def fill(typing: Any, record: Any, arrays: Any) -> Any:  # noqa: ARG001  Numba's signature
    """Puts a tuple of arrays into a new record, in the order of its fields."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind, given = signature.args
        fields = _fields(context, builder, kind, args[0])
        for i, (name, field) in enumerate(kind.field_dict.items()):
            value = builder.extract_value(args[1], i)
            value = context.cast(builder, value, given.types[i], field)
            context.nrt.incref(builder, field, value)
            setattr(fields, name, value)
        return context.get_dummy_value()

    return types.void(record, arrays), code


def define_boxing(kind: Any, proxy: Any) -> None:
    """Says how a record goes to a kernel and back, as `structref.define_boxing` does.

    There a kernel that is handed a record takes a reference, and gives it back when it returns by
    what `traverse` finds, which is nothing: each call kept its record for ever."""
    structref.define_boxing(kind, proxy)
    taking = _unboxers.functions.pop(kind)

    @unbox(kind)  # type: ignore[untyped-decorator]  # Numba has no types
    def borrow(kind: Any, held: Any, c: Any) -> Any:
        found = taking(kind, held, c)
        utils = structref._Utils(c.context, c.builder, kind)  # noqa: SLF001  Numba has no other way
        owner = utils.get_struct_ref(found.value).meminfo
        c.context.nrt.decref(c.builder, types.MemInfoPointer(types.voidptr), owner)
        return found


def _fields(context: Any, builder: Any, record: Any, value: Any) -> Any:
    """The fields of a record, where they are in memory."""
    return structref._Utils(context, builder, record).get_data_struct(value)  # noqa: SLF001  Numba has no other way
