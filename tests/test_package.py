"""The package as a whole: what the tools check, what it shows, and what it must not load or tell."""

import ast
import inspect
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import discriminant
import public_names
from discriminant import errors

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(sys.executable).parent


@pytest.mark.tools
@pytest.mark.parametrize("command", ["ruff check", "ruff format --check", "mypy", "codespell", "lint-imports"])
def test_tool_is_content(command):
    tool, *arguments = command.split()
    run = subprocess.run([TOOLS / tool, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_everything_public_is_shown_and_can_be_imported():
    assert dir(discriminant) == sorted(discriminant.__all__)
    for name in discriminant.__all__:
        assert getattr(discriminant, name) is not None


def test_no_public_name_is_that_of_a_module_beside_it():
    """Loading the module would put it in the place of what is public."""
    stubs = list(Path(discriminant.__file__).parent.rglob("__init__.pyi"))
    assert len(stubs) > 5
    for stub in stubs:
        imports = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)]
        names = {alias.name for node in imports if node.module for alias in node.names}
        assert not names & {path.stem for path in stub.parent.glob("*.py")}, stub


def test_every_public_name_has_a_docstring():
    for name in set(discriminant.__all__) - {"__version__"}:
        assert inspect.getdoc(getattr(discriminant, name))


def test_names_parameters_and_options_are_those_of_the_list():
    """A difference belongs into CHANGELOG.md; ``python tests/public_names.py`` writes the list."""
    assert public_names.listed().splitlines() == public_names.LIST.read_text(encoding="utf-8").splitlines()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="LogisticRegresion"):
        _ = discriminant.LogisticRegresion


def test_importing_loads_nothing_heavy():
    heavy = {"sklearn", "scipy", "pandas", "polars", "plotly", "pyarrow"}
    code = f"import sys, discriminant; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def text_files():
    """Files that are written by hand: hidden folders hold caches and the environment."""
    for folder, inner, names in os.walk(ROOT):
        made = {"__pycache__", "build", "dist", "_build", "gallery", "api"}
        inner[:] = [name for name in inner if name == ".ci" or not (name.startswith(".") or name in made)]
        yield from (Path(folder, name) for name in names if not name.endswith((".png", ".npz", ".gz")))


def test_no_file_names_a_place_on_somebodys_machine():
    homes = re.compile(r"(?<![\w.])/(?:home|Users|root|work)/\w+|\b[A-Z]:\\{1,2}\w+")
    found = {}
    for path in text_files():
        places = homes.findall(path.read_text(encoding="utf-8", errors="ignore"))
        if places:
            found[str(path.relative_to(ROOT))] = places
    assert not found


def declared(kind):
    return [member for member in vars(errors).values() if isinstance(member, type) and issubclass(member, kind)]


def test_every_error_and_warning_has_the_package_base():
    for member in declared(Exception):
        base = errors.DiscriminantWarning if issubclass(member, Warning) else errors.DiscriminantError
        assert issubclass(member, base), member


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.InputError, ValueError),
        (errors.DtypeError, TypeError),
        (errors.ParameterError, ValueError),
        (errors.DegenerateDataError, ValueError),
        (errors.NotReadyError, RuntimeError),
        (errors.DiscriminantWarning, UserWarning),
    ],
)
def test_errors_are_caught_as_the_builtin_they_stand_for(error, builtin):
    assert issubclass(error, builtin)


def test_every_error_is_described_where_errors_are_listed():
    for member in declared(Exception):
        assert member.__name__ in errors.__doc__
        assert member.__doc__


#: What somebody needs who builds the package and tests it, and nothing else.
SDIST = {
    "CMakeLists.txt",
    "src",
    "benchmarks",
    "tests",
    "docs",
    "examples",
    "scripts",
    "Makefile",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
}
SDIST |= {"CONTRIBUTING.md", "DESIGN.md", "pyproject.toml", "PKG-INFO", ".gitignore"}


@pytest.mark.slow
def test_the_source_distribution_can_be_tested_and_has_nothing_else(tmp_path):
    build = "import sys, scikit_build_core.build as backend; backend.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, tmp_path], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    unpacked = archive.with_name(archive.name.removesuffix(".tar.gz"))
    assert {path.name for path in unpacked.iterdir()} == SDIST
    assert not [path for path in unpacked.rglob("*") if path.name in ("__pycache__", ".hypothesis", ".pytest_cache")]
    kept = "tests/test_reference.py", "tests/storage/test_stored_files.py", "tests/raster/test_image.py"
    for arguments in (["--collect-only", "tests"], kept):
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "0", *arguments],
            cwd=unpacked,
            env={**os.environ, "PYTHONPATH": "src"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout[-3000:]


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, "."]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert "cp311-cp311" in wheel.name or "cp312-abi3" in wheel.name
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    python = tmp_path / "empty" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True, capture_output=True)
    table = tmp_path / "gate.csv"
    table.write_text("a,b,y\n" + "0,0,no\n0,1,yes\n1,0,yes\n1,1,yes\n" * 10)
    # No compiler is to be found on this path.
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PATH": str(python.parent)}
    for arguments in (
        ["--version"],
        ["fit", table, "-t", "y", "--model", "lda", "-o", tmp_path / "model.dsc"],
        ["demo"],
    ):
        ran = subprocess.run(
            [python, "-m", "discriminant", *arguments],
            cwd=tmp_path,
            env=clean,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr[-3000:]
    marker = "import discriminant, pathlib; print(pathlib.Path(discriminant.__file__).with_name('py.typed').exists())"
    assert (
        subprocess.run([python, "-c", marker], env=clean, capture_output=True, text=True, check=True).stdout == "True\n"
    )
