"""The packages that this one needs: which of them are missing, too old or broken, told in words.

What is needed stands in the metadata of this package alone. It is looked up after something has failed, and for the
packages that only some purposes need when they are first used: nobody waits for it otherwise.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from .errors import DependencyError

_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class Need:
    """A distribution that is needed, from which version on, and for which extra, if not for everything."""

    name: str
    least: str = ""
    extra: str | None = None

    @property
    def wanted(self) -> str:
        """What pip is asked for."""
        return f"{self.name}>={self.least}" if self.least else self.name

    @property
    def found(self) -> str | None:
        """The version that is installed, if one is."""
        from importlib import metadata  # slow to load

        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return None

    @property
    def fault(self) -> str | None:
        """What is wrong with it, as far as versions tell."""
        if self.found is None:
            return f"{self.wanted} is not installed"
        if _release(self.found) < _release(self.least):
            return f"{self.name} {self.found} is too old, {self.wanted} is needed"
        return None

    @property
    def modules(self) -> set[str]:
        """The names under which it is imported."""
        return {_imported(self.name)} | {module for module, names in _distributions().items() if self.name in names}


def _imported(name: str) -> str:
    return name.partition(".")[0].lower().replace("-", "_")


@cache
def _distributions() -> Any:
    from importlib import metadata

    return metadata.packages_distributions()


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at the end.

    >>> _release("2.9.0rc1") < _release("2.10")
    True
    """
    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[a-zA-Z+-]", version)[0])]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def needs() -> list[Need]:
    """What the metadata of this package ask for; nothing where it is not installed."""
    from importlib import metadata

    try:
        listed = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        return []
    found = []
    for requirement, _, marker in (text.partition(";") for text in listed):
        name, least = re.match(r"[\w.-]+", requirement), re.search(r">=\s*([\w.]+)", requirement)
        extra = re.search(r"extra\s*==\s*[\"']([\w-]+)", marker)
        if name:
            normalised = re.sub(r"[-_.]+", "-", name[0]).lower()
            found.append(Need(normalised, least[1] if least else "", extra[1] if extra else None))
    return found


def explained(error: BaseException) -> DependencyError | None:
    """The error that names the packages at fault for another error, None where none is."""
    if isinstance(error, DependencyError):
        return error
    involved, loading = _involved(error)
    asked = [need for need in needs() if need.extra is None or need.modules & set(involved)]
    faulty = [need for need in asked if need.fault]
    if faulty:
        return _told("; ".join(str(need.fault) for need in faulty), faulty)
    broken = [need for module in involved for need in asked if loading and module in need.modules][:1]
    for need in broken:
        reason = f"{need.name} {need.found} cannot be loaded ({type(error).__name__}: {error})"
        return _told(f"{reason}, {need.wanted} is needed", broken, "--force-reinstall ")
    return None


def _told(reason: str, faulty: list[Need], how: str = "") -> DependencyError:
    wanted = " ".join(f'"{need.wanted}"' for need in faulty)
    return DependencyError(f"A package that discriminant needs does not work: {reason}. pip install {how}{wanted}")


def _involved(error: BaseException) -> tuple[list[str], bool]:
    """The modules in which an error came up, the innermost first, and whether that was while a module was loaded."""
    named = error.name if isinstance(error, ImportError) else None
    if isinstance(error, AttributeError):  # a name that another version of a module has
        named = getattr(error.obj, "__name__", None)
    modules, loading = [], isinstance(error, ImportError)
    trace = error.__traceback__
    while trace is not None:
        modules.append(str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        loading |= trace.tb_frame.f_code.co_name == "<module>" and modules[-1] != "__main__"
        trace = trace.tb_next
    return ([_imported(named)] if isinstance(named, str) else []) + modules[::-1], loading


@contextmanager
def told_if_broken() -> Iterator[None]:
    """Name the package that is at fault, if one is, for what fails inside."""
    try:
        yield
    except Exception as error:
        told = explained(error)
        if told is None:
            raise
        raise told from error


def attach_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The public names of a package, each loaded when it is first used; see lazy_loader."""
    with told_if_broken():
        import lazy_loader

        load, listed, names = lazy_loader.attach_stub(package, file)

    def attribute(name: str) -> Any:
        if name not in names:
            return load(name)
        with told_if_broken():
            return load(name)

    return attribute, listed, names


class Deferred:
    """A module that is loaded when something of it is first asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        with told_if_broken():
            return getattr(importlib.import_module(self._module), name)


@cache
def _need_of(module: str) -> tuple[Need, str | None]:
    """The distribution that a module belongs to, and what is wrong with it as far as versions tell."""
    need = next((need for need in needs() if _imported(need.name) == module), Need(module))
    return need, need.fault


def optional_module(name: str, purpose: str) -> Any:
    """The module of that name, which only some purposes need; or an error that says how to install it.

    >>> optional_module("rasterio.windows", "Images").Window(0, 0, 4, 3).height
    3
    """
    need, fault = _need_of(_imported(name))
    try:
        module = importlib.import_module(name)
    except Exception as error:
        reason = fault or f"{need.name} {need.found} cannot be loaded ({type(error).__name__}: {error})"
        raise _needed(need, purpose, reason) from error
    if need.found is not None and fault:
        raise _needed(need, purpose, fault)
    return module


def check_installed(name: str, purpose: str) -> None:
    """Raise what `optional_module` would of a module that is missing or too old, without loading it."""
    need, fault = _need_of(_imported(name))
    if fault:
        raise _needed(need, purpose, fault)


def _needed(need: Need, purpose: str, reason: str) -> DependencyError:
    remedy = f"pip install '{_PACKAGE}[{need.extra}]'" if need.extra else f"pip install '{need.wanted}'"
    return DependencyError(f"{purpose} need the package {need.wanted}: {reason}. {remedy}")


class Absent:
    """Keeps packages from being found, once it stands in ``sys.meta_path``: to others they are not installed."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002
        """Refuse the packages; others are left to the finders that follow."""
        if name in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Load what uses packages only if they are there, without them."""
    finder: Any = Absent(*names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
