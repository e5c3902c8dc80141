"""Tests of kernels run with every build that this processor can run."""

from importlib import import_module
from types import ModuleType

import pytest

from discriminant import kernels

BUILDS = ["_baseline"] if kernels.baseline.build == kernels.BUILD else ["_baseline", "_x86_64_v3"]


@pytest.fixture(params=BUILDS, autouse=True)
def build(request, monkeypatch):
    """The kernels that a test module has imported, taken from one build."""
    module = import_module(f"discriminant.kernels.{request.param}")
    for name, value in list(vars(request.module).items()):
        if isinstance(value, ModuleType) and value is getattr(kernels, name, None):
            monkeypatch.setattr(request.module, name, getattr(module, name))
    return module
