"""A package that is missing, too old or broken is named with the version found and the version required."""

import re
import subprocess
import sys
from importlib import metadata

import pytest

from discriminant.dependencies import Requirement, requirements

BROKEN = 'raise ImportError("its compiled part failed to import")'
OTHER_BINARY = 'raise ValueError("numpy.dtype size changed, may indicate binary incompatibility")'
EMPTY = ""


def installed(folder, name, version, code):
    """Put a distribution before the true one."""
    module = {"scikit-learn": "sklearn"}.get(name, name.replace("-", "_"))
    (folder / module).mkdir()
    (folder / module / "__init__.py").write_text(code)
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "top_level.txt").write_text(f"{module}\n")


def run(folder, *arguments):
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); sys.argv[0] = 'discriminant'; "
    return subprocess.run(
        [sys.executable, "-c", code + arguments[0], *arguments[1:]], capture_output=True, text=True, check=False
    )


COMMAND = "from discriminant.__main__ import main; main()"
PYTHON = "import discriminant; discriminant.LinearDiscriminantAnalysis().fit([[0], [1], [2], [4]], [0, 0, 1, 1])"
EXTRA = "from discriminant.raster.files import extra; extra"
CASES = {
    "too old for the command line": ("typer", "0.0.1", EMPTY, COMMAND, "--version"),
    "broken for the command line": ("typer", "99.0", BROKEN, COMMAND, "--version"),
    "too old for a command": ("pyarrow", "1.2", EMPTY, COMMAND, "describe", "{table}", "-t", "y"),
    "broken for a command": ("pyarrow", "99.1", BROKEN, COMMAND, "describe", "{table}", "-t", "y"),
    "too old for the package": ("lazy-loader", "0.0.1", EMPTY, "import discriminant"),
    "broken for the package": ("lazy-loader", "99.0", BROKEN, "import discriminant"),
    "too old for a model": ("scikit-learn", "0.24", EMPTY, PYTHON),
    "broken for a model": ("scikit-learn", "99.0", BROKEN, PYTHON),
    "of another binary form": ("scipy", "99.0", OTHER_BINARY, PYTHON),
    "broken below others": ("numpy", "99.0", BROKEN, PYTHON),
    "half removed": ("narwhals", "99.0", EMPTY, PYTHON),
    "without what it needs itself": ("scikit-learn", "99.0", "import not_there_at_all", PYTHON),
    "too old for images": ("rasterio", "1.0", EMPTY, EXTRA + "('rasterio.windows')"),
    "broken for areas": ("shapely", "99.0", BROKEN, EXTRA + "('shapely')"),
}


@pytest.mark.parametrize(("name", "version", "code", "arguments"), [(*c[:3], c[3:]) for c in CASES.values()], ids=CASES)
def test_a_package_at_fault_is_named_with_both_versions(tmp_path, name, version, code, arguments):
    table = tmp_path / "table.csv"
    table.write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(30)))
    folder = tmp_path / "packages"
    folder.mkdir()
    installed(folder, name, version, code)
    found = run(folder, *(part.format(table=table) for part in arguments))
    error_line = found.stderr.strip().splitlines()[-1]
    required = next(one.specifier for one in requirements() if one.name == name)
    assert found.returncode == 1
    assert f"{name} {version} " in error_line
    assert required in error_line
    assert "pip install" in error_line
    assert "should not happen" not in found.stderr
    if arguments[0] == COMMAND:
        assert "Traceback" not in found.stderr


def test_requirements_are_those_of_the_metadata():
    listed = metadata.requires("discriminant")
    assert len(requirements()) == len(listed) > 10
    assert {one.extra for one in requirements()} >= {None, "onnx", "raster"}
    assert [one.problem for one in requirements()] == [None] * len(listed)


@pytest.mark.parametrize(
    ("minimum", "problem"),
    [("0.1", None), (metadata.version("numpy"), None), ("999", "too old"), ("", None)],
    ids=["newer", "the same", "older", "any"],
)
def test_versions_are_compared_by_their_numbers(minimum, problem):
    assert (Requirement("numpy", minimum).problem is None) == (problem is None)
    assert problem is None or re.search(problem, Requirement("numpy", minimum).problem)


def test_a_missing_package_is_reported():
    assert Requirement("no-such-package", "1.0").problem == "no-such-package>=1.0 is not installed"
