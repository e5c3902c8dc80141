"""What a reader has to go through: how long functions are, and how many files one command leads through."""

import ast
import io
import json
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

import discriminant

SOURCE = Path(discriminant.__file__).parent
#: Tokens that are no code.
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of_code(text, tree):
    """The numbers of lines with code: no blank lines, comments and docstrings."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node, clean=False):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def is_command(function):
    return any(isinstance(name, ast.Name) and name.id == "command" for name in function.decorator_list)


@pytest.mark.tools
@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_functions_are_short(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = lines_of_code(text, tree)
    for function in (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)):
        # A command declares its options in its signature.
        first = function.body[0].lineno if is_command(function) else function.lineno
        assert len(lines & set(range(first, function.end_lineno + 1))) < 50, function.name


@pytest.mark.tools
def test_a_comparison_with_its_report_leads_through_few_files(tmp_path):
    table, report = tmp_path / "table.csv", tmp_path / "page.html"
    from sklearn.datasets import load_breast_cancer

    load_breast_cancer(as_frame=True).frame.to_csv(table, index=False)
    command = ["compare", table, "--target", "target", "--report", report]
    run = subprocess.run(
        [sys.executable, Path(__file__).with_name("reading_path.py"), *command],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert report.exists(), run.stderr
    found = json.loads(run.stderr.splitlines()[-1])
    assert len(found["called"]) <= 138, found["called"]
    assert len(found["modules"]) <= 224, found["modules"]
