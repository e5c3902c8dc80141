"""Required and optional packages: error messages if one is missing, too old or broken, and lazy imports.

Requirements are read from the metadata of this package, and only after an import has failed or when an optional package
is first used: reading them takes longer than starting a command.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from .errors import DependencyError

_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class Requirement:
    """A required distribution, its minimum version, and the extra that requires it (None: always required)."""

    name: str
    min_version: str = ""
    extra: str | None = None

    @property
    def specifier(self) -> str:
        """The requirement as an argument of pip."""
        return f"{self.name}>={self.min_version}" if self.min_version else self.name

    @property
    def version(self) -> str | None:
        """The installed version, if any."""
        from importlib import metadata  # slow to load

        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return None

    @property
    def problem(self) -> str | None:
        """Why the installed version does not meet the requirement, None if it does."""
        if self.version is None:
            return f"{self.specifier} is not installed"
        if _release(self.version) < _release(self.min_version):
            return f"{self.name} {self.version} is too old, {self.specifier} is required"
        return None

    @property
    def modules(self) -> set[str]:
        """The names of its top-level modules."""
        return {_imported(self.name)} | {module for module, names in _distributions().items() if self.name in names}


def _imported(name: str) -> str:
    return name.partition(".")[0].lower().replace("-", "_")


@cache
def _distributions() -> Any:
    from importlib import metadata

    return metadata.packages_distributions()


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version without trailing zeros.

    >>> _release("2.9.0rc1") < _release("2.10")
    True
    """
    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[a-zA-Z+-]", version)[0])]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def requirements() -> list[Requirement]:
    """The requirements in the metadata of this package; empty if it is not installed."""
    from importlib import metadata

    try:
        listed = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        return []
    found = []
    for requirement, _, marker in (text.partition(";") for text in listed):
        name, minimum = re.match(r"[\w.-]+", requirement), re.search(r">=\s*([\w.]+)", requirement)
        extra = re.search(r"extra\s*==\s*[\"']([\w-]+)", marker)
        if name:
            normalised = re.sub(r"[-_.]+", "-", name[0]).lower()
            found.append(Requirement(normalised, minimum[1] if minimum else "", extra[1] if extra else None))
    return found


def dependency_error(error: BaseException) -> DependencyError | None:
    """The missing, outdated or broken packages that caused an error, as an error; None if there are none."""
    if isinstance(error, DependencyError):
        return error
    involved, loading = _involved(error)
    candidates = [one for one in requirements() if one.extra is None or one.modules & set(involved)]
    if outdated := [one for one in candidates if one.problem]:
        return _unusable("; ".join(str(one.problem) for one in outdated), outdated)
    if loading:
        for broken in (one for module in involved for one in candidates if module in one.modules):
            reason = f"{_not_importable(broken, error)}, {broken.specifier} is required"
            return _unusable(reason, [broken], "--force-reinstall ")
    return None


def _unusable(reason: str, packages: list[Requirement], options: str = "") -> DependencyError:
    specifiers = " ".join(f'"{one.specifier}"' for one in packages)
    return DependencyError(f"A required package is not usable: {reason}. Run pip install {options}{specifiers}")


def _not_importable(package: Requirement, error: BaseException) -> str:
    return f"{package.name} {package.version} cannot be imported ({type(error).__name__}: {error})"


def _involved(error: BaseException) -> tuple[list[str], bool]:
    """The modules in the traceback of an error, innermost first, and whether one of them was being imported."""
    named = error.name if isinstance(error, ImportError) else None
    if isinstance(error, AttributeError):  # another version of the module has the name
        named = getattr(error.obj, "__name__", None)
    modules, loading = [], isinstance(error, ImportError)
    trace = error.__traceback__
    while trace is not None:
        modules.append(str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        loading |= trace.tb_frame.f_code.co_name == "<module>" and modules[-1] != "__main__"
        trace = trace.tb_next
    return ([_imported(named)] if isinstance(named, str) else []) + modules[::-1], loading


@contextmanager
def reported_dependencies() -> Iterator[None]:
    """Replace errors inside by a `DependencyError` if a package is missing, too old or broken."""
    try:
        yield
    except Exception as error:
        cause = dependency_error(error)
        if cause is None:
            raise
        raise cause from error


def attach_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The public names of a package, each imported when it is first used; see lazy_loader."""
    with reported_dependencies():
        import lazy_loader

        load, listed, names = lazy_loader.attach_stub(package, file)

    def attribute(name: str) -> Any:
        if name not in names:
            return load(name)
        with reported_dependencies():
            return load(name)

    return attribute, listed, names


class Deferred:
    """A module that is imported when one of its attributes is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        with reported_dependencies():
            return getattr(importlib.import_module(self._module), name)


@cache
def _requirement_of(module: str) -> tuple[Requirement, str | None]:
    """The distribution of a module, and its problem, if any."""
    package = next((one for one in requirements() if _imported(one.name) == module), Requirement(module))
    return package, package.problem


def optional_module(name: str, purpose: str) -> Any:
    """An optional module; raises an error with installation instructions if it is not available.

    >>> optional_module("rasterio.windows", "Images").Window(0, 0, 4, 3).height
    3
    """
    package, problem = _requirement_of(_imported(name))
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise _required(package, purpose, problem or _not_importable(package, error)) from error
    if package.version is not None and problem:
        raise _required(package, purpose, problem)
    return module


def check_installed(name: str, purpose: str) -> None:
    """Raise the error of `optional_module` if a module is missing or too old, without importing it."""
    package, problem = _requirement_of(_imported(name))
    if problem:
        raise _required(package, purpose, problem)


def _required(package: Requirement, purpose: str, reason: str) -> DependencyError:
    target = f"{_PACKAGE}[{package.extra}]" if package.extra else package.specifier
    return DependencyError(f"{purpose} require the package {package.specifier}: {reason}. Run pip install '{target}'")
