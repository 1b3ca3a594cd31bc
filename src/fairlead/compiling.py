"""The one way in which a function is compiled."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numba
from numba import types
from numba.core import event
from numba.core.codegen import JITCodeLibrary, ll
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.core.environment import lookup_environment
from numba.np import linalg

from fairlead.compiler_cache import CompilerCache, NotKeptError, identity

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
        made: Any = _whole(function) if keep else numba.njit(error_model="numpy")(function)
        made.compile(signature)
        made.disable_compile()
        return made

    return compile_now


def inner(function: F) -> F:
    """As `kernel`, but only kernels can call it: what it becomes is a part of each of them, and is
    made and kept with them only (docs/decisions/0191-what-an-installation-holds.md)."""
    return _part(function)


def shared(function: F) -> F:
    """As `inner`, but made and kept once for all kernels that call it, which is for what is large
    and called by several of them."""
    return _whole(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def small(function: F) -> F:
    """As `inner`, and each caller has it within itself."""
    return _part(function, forceinline=True)


class _Called(NamedTuple):
    """A kernel that another one calls."""

    module: str
    name: str
    kinds: tuple[Any, ...]
    """Of its arguments."""


class _Caller(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """Code that calls kernels by their names, while parts are linked into it. Numba links all, so
    that a kernel was optimised and turned into machine code again within each one that calls it,
    which was half of what LLVM does and most of what a simulation needs beside the core
    (docs/decisions/0339-a-kernel-is-called.md)."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.calls: dict[_Called, None] = {}

    def add_linking_library(self, library: Any) -> None:
        """What this code calls, which is there before it."""
        if isinstance(library, _Whole | _Kept):
            library._ensure_finalized()  # noqa: SLF001  Numba does so
            self.calls[library.called] = None
            return
        super().add_linking_library(library)
        if isinstance(library, _Part):
            self.calls.update(library.calls)


class _Whole(_Caller):
    """The machine code of a kernel and of all that is linked into it."""

    called: _Called

    def serialize_using_object_code(self) -> tuple[str, str, Any]:
        """What is kept: also the names in it, for which Numba would read LLVM's code each time, and
        what must be there before it."""
        engine, module = self._codegen._engine, self._final_module  # noqa: SLF001  Numba does so
        names, foreign = [], []
        for each in (*module.functions, *module.global_variables):
            if not each.is_declaration:
                names.append(each.name)
            elif engine.is_symbol_defined(each.name):
                foreign.append(each.name)
        kept = (self._get_compiled_object(), names, self.called, list(self.calls), foreign)
        return self.name, KEPT, kept

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        # What Python knows of the parts, as Numba does it for a kernel that was kept.
        for each in self._final_module.global_variables:
            if each.name.startswith("_ZN08NumbaEnv"):
                environment = lookup_environment(each.name)
                if environment is not None:
                    self._codegen.set_env(each.name, environment)

    def _get_module_for_linking(self) -> Any:
        return _by_name(self._codegen)


class _Kept(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """A kernel that was kept, without LLVM's code of it: nothing is linked with it."""

    def take(
        self,
        machine_code: bytes,
        names: list[str],
        called: _Called,
        calls: list[_Called],
        foreign: list[str],
    ) -> None:
        """Loads the machine code once all that it calls is there; `names`: what is in it. Raises
        NotKeptError where one of what it names is nowhere, which LLVM would end the process for."""
        self.called = called
        for each in calls:
            found = getattr(importlib.import_module(each.module), each.name, None)
            if not isinstance(found, Dispatcher):
                raise NotKeptError
            found.compile(each.kinds)
        engine = self._codegen._engine  # noqa: SLF001  Numba has no other way
        if not all(map(engine.is_symbol_defined, foreign)):
            raise NotKeptError
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()
        engine._defined_symbols.update(names)  # noqa: SLF001  Numba has no other way

    def _get_module_for_linking(self) -> Any:
        return _by_name(self._codegen)


def _by_name(codegen: Any) -> Any:
    """What is linked into code that is not ours and calls a kernel: nothing but a sign for Numba
    not to keep it, since it holds names that another process may not have."""
    empty = codegen._create_empty_module("by_name")  # noqa: SLF001  Numba does so
    return ll.parse_assembly(f"{empty}\n@numba.dynamic.globals.called = global i8 0")


def _load_kept() -> None:
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


_load_kept()


class _Part(_Caller):
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
        names, function = state.func_id, state.func_id.func
        state.library = _Whole(state.targetctx.codegen(), names.func_qualname)
        state.library.called = _Called(function.__module__, function.__qualname__, state.args)
        # Numba counts what it compiles, and what calls a kernel would know it by this number, which
        # is another one in each process.
        names.unique_id = identity(function)
        names.unique_name = f"{names.func_qualname}${names.unique_id}"
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
