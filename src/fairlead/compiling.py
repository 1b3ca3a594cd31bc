"""The one way in which a function is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numba
from numba import types
from numba.core import event
from numba.core.codegen import JITCodeLibrary, ll
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment
from numba.np import linalg

from fairlead.compiler_cache import CompilerCache

# Numba reads options from a file in the folder where one is, at each compilation anew.
vars(numba.config)["_config_fname"] = ""
numba.config.reload_config()

F = TypeVar("F", bound=Callable[..., object])


def _load_without_blas() -> None:
    """Loads what Numba knows of arrays. It looks whether there is BLAS by importing SciPy's linear
    algebra, which takes 0.15 s of a processor and 17 MB of each process, and nothing here
    multiplies by it; what does, in somebody's own rule, asks for it when it is compiled."""

    def missing() -> None:
        raise ImportError

    look, linalg.ensure_blas = linalg.ensure_blas, missing
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = look


_load_without_blas()

KEPT = "fairlead"
"""The kind of what is kept of a kernel, beside Numba's own."""

_decorated: list[Any] = []
"""Every function that can be compiled, as Numba holds it."""


def kernel(function: F) -> F:
    """The function, compiled when it is first called, and kept for other runs.

    Division by zero gives infinity, as in NumPy; no operation is reordered, so that the same
    input gives the same bits everywhere.
    """
    return _whole(function)


def long_kernel(function: F) -> F:
    """As `kernel`, and other threads have the interpreter while it runs: it takes milliseconds.
    Nobody else may touch meanwhile what it is handed."""
    return _whole(function, nogil=True)


def kernel_of(signature: Any, *, keep: bool = True) -> Callable[[Callable[..., object]], Any]:
    """As `kernel`, for arguments of these kinds alone, and compiled at once. `keep`: for other
    runs, too."""

    def compile_now(function: Callable[..., object]) -> Any:
        made = numba.njit(error_model="numpy")(function)
        if keep:
            made._cache = CompilerCache(function)  # noqa: SLF001  Numba has no other way
        made.compile(signature)
        made.disable_compile()
        return made

    return compile_now


def inner(function: F) -> F:
    """As `kernel`, but only kernels can call it: what it becomes is a part of each of them, and is
    made and kept with them only (docs/decisions/0191-what-an-installation-holds.md)."""
    return _part(function)


def small(function: F) -> F:
    """As `inner`, and each caller has it within itself."""
    return _part(function, forceinline=True)


class _Whole(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """The machine code of a kernel and of all that is linked into it."""

    def serialize_using_object_code(self) -> tuple[str, str, Any]:
        """What is kept: also the names in it, for which Numba would read LLVM's code each time."""
        name, _, (machine_code, llvm) = super().serialize_using_object_code()
        module = self._get_module_for_linking()
        parts = (*module.functions, *module.global_variables)
        names = tuple(each.name for each in parts if not each.is_declaration)
        return name, KEPT, (machine_code, llvm, names)

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        # What Python knows of the parts, as Numba does it for a kernel that was kept.
        for each in self._final_module.global_variables:
            if each.name.startswith("_ZN08NumbaEnv"):
                environment = lookup_environment(each.name)
                if environment is not None:
                    self._codegen.set_env(each.name, environment)


class _Kept(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """A kernel that was kept. LLVM's code of it is read when another kernel that calls it is
    compiled, and not before: that is two thirds of what it takes to load one."""

    _shared_module: Any

    def take(self, machine_code: bytes, code: bytes, names: tuple[str, ...]) -> None:
        """Loads the machine code; `code`: LLVM's; `names`: what is in it."""
        self._code = code
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()
        self._codegen._engine._defined_symbols.update(names)  # noqa: SLF001  Numba has no other way

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = ll.parse_bitcode(self._code)
        return self._shared_module


def _load_lazily() -> None:
    """Lets Numba load as `_Kept` what `_Whole` kept."""
    load = JITCodeLibrary._unserialize  # noqa: SLF001  Numba has no other way

    def unserialize(codegen: Any, state: tuple[str, str, Any]) -> Any:
        name, kind, data = state
        if kind != KEPT:
            return load(codegen, state)
        library = _Kept(codegen, name)
        library.take(*data)
        return library

    # Who loads asks the class of all libraries, which does not know of ours.
    JITCodeLibrary._unserialize = staticmethod(unserialize)  # noqa: SLF001


_load_lazily()


class _Part(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """The code of an inner function: LLVM's, for its callers to link, neither optimised nor turned
    into machine code. Numba would do both for it and all that it calls, again and again on the way
    up to the kernel, which does both for the whole: more than a third of all compiling."""

    @property
    def codegen(self) -> _NoEnvironments:
        """An object that keeps nothing of the function's environment."""
        return _NoEnvironments()

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002  Numba's signature
        """0: it has no address."""
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _NoEnvironments:
    """A place for what Python knows of a function beside its machine code, which Numba fills and a
    part needs not."""

    def set_env(self, name: str, environment: object) -> None:
        """Does nothing."""


class _WholeCompiler(Compiler):  # type: ignore[misc]  # Numba has no types
    """Numba's compiler, of which each kernel is a `_Whole`."""

    def define_pipelines(self) -> Any:
        """Numba's own passes."""
        state = self.state
        state.library = _Whole(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().define_pipelines()


class _PartCompiler(Compiler):  # type: ignore[misc]  # Numba has no types
    """Numba's compiler, of which each inner function is a `_Part`."""

    def define_pipelines(self) -> Any:
        """Numba's own passes."""
        state = self.state
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


def _whole(function: F, **options: bool) -> F:
    made = numba.njit(pipeline_class=_WholeCompiler, error_model="numpy", **options)(function)
    made._cache = CompilerCache(function)  # noqa: SLF001  Numba has no other way
    return _once(made)


def _part(function: F, **options: bool) -> F:
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made = numba.njit(pipeline_class=_PartCompiler, error_model="numpy", **options)
    return _once(made(function))


def _once(compiled: Any) -> Any:
    """The function, compiled once for all integers that kernels hand it.

    Numba would compile it for 32 bits, for 64, and for every constant: a third of all compiling.
    """
    find = compiled.get_call_template

    def get_call_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return find(tuple(_wide(kind) for kind in args), kws)

    compiled.get_call_template = get_call_template
    _decorated.append(compiled)
    return compiled


def _wide(kind: Any) -> Any:
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.signed else kind


class _Listener(event.Listener):  # type: ignore[misc]  # Numba has no types
    """Tells before and after each function how many of how many are there."""

    def __init__(self, report: Callable[[int, int], None]) -> None:
        self._report = report

    def on_start(self, event: object) -> None:  # noqa: ARG002  Numba's signature
        """A function begins to be compiled: it was not kept."""
        self._tell()

    def on_end(self, event: object) -> None:  # noqa: ARG002  Numba's signature
        self._tell()

    def _tell(self) -> None:
        self._report(sum(bool(each.overloads) for each in _decorated), len(_decorated))


@contextmanager
def report_compiling(report: Callable[[int, int], None]) -> Iterator[None]:
    """Within, `report` hears before and after each compilation how many of how many functions are
    there; nothing where all that is met was kept."""
    with event.install_listener("numba:compile", _Listener(report)):
        yield


@contextmanager
def time_compiling() -> Iterator[Callable[[], float]]:
    """Yields a function that gives the seconds in which functions were compiled within."""
    with event.install_listener("numba:compile", event.TimingListener()) as timer:
        yield lambda: timer.duration if timer.done else 0.0
