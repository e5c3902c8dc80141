"""Every error, warning and finding that a user can see: ``python tests/messages.py`` writes messages.md.

Templates come from the sources: text with the expressions that are put in. Examples come from the tests: ``make
messages`` runs them with ``--messages FILE``, which records the first text of every place that makes a message.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import discriminant
from discriminant import errors

SOURCE = Path(discriminant.__file__).parent
PAGE = Path(__file__).with_name("messages.md")
HEAD = """# Messages

Every error, warning and finding of the package, by module: class or kind, template, and an example where a test makes
one. `make messages` writes this page.
"""
#: Classes of errors and warnings, and what else makes a message: where its parts begin.
MAKERS = {name: 0 for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.Message)}
MAKERS |= {"warn": 0, "Finding": 3}
#: Folders of a path, which differ between machines.
FOLDERS = re.compile(r"(?<![\w.:/])(/[\w.+-]+)+/")
#: Signs around an expression, a setting (written differently on the command line) and alternatives in a template.
HOLE, HOLE_END, SETTING, SETTING_END, CHOICE, OR, CHOICE_END = map(chr, range(1, 8))
#: How the page shows them.
SHOWN = {1: "{", 2: "}", 3: "", 4: "", 5: "[", 6: " | ", 7: "]"}
HOLES = re.compile(f"{HOLE}[^{HOLE_END}]*{HOLE_END}")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Template:
    """A message of one place in the sources; ``name`` is the class of the error, or severity and kind of a finding.

    ``marked`` is its text with the signs of SHOWN around expressions, settings and alternatives.
    """

    module: str
    first_line: int
    last_line: int
    name: str
    marked: str

    @property
    def text(self) -> str:
        """The text with expressions in braces and alternatives in brackets."""
        return self.marked.translate(SHOWN)

    @property
    def key(self) -> tuple[str, str]:
        """Examples belong to a template of a module: others may have the same text, such as ``{words}``."""
        return self.module, one_line(self.text)

    def matches(self, example: str) -> bool:
        """Whether an example, in one line, can be a text of this template."""
        open_ended = re.sub(f"{SETTING}[^{SETTING_END}]*{SETTING_END}", HOLE, HOLES.sub(HOLE, self.marked))
        signs = {HOLE: ".*", CHOICE: "(?:", OR: "|", CHOICE_END: ")", "\\ ": " *"}
        form = re.sub("|".join(map(re.escape, signs)), lambda sign: signs[sign[0]], re.escape(one_line(open_ended)))
        return re.fullmatch(form, example) is not None


def templates() -> list[Template]:
    """Those of all modules, in the order of the sources."""
    return [one for path in sorted(SOURCE.rglob("*.py")) for one in _of_module(path)]


def _of_module(path: Path) -> Iterator[Template]:
    tree, module = ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(SOURCE))
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    if module == "errors.py":
        return
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) in MAKERS]
    inner = {id(part) for call in calls for part in ast.walk(call) if part is not call}
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        parts = call.args[MAKERS[_called(call)] :]
        if id(call) in inner or not parts:
            continue
        around = [one for one in functions if one.lineno <= call.lineno <= (one.end_lineno or 0)]
        known = _assigned(around[-1], call.lineno) if around else {}
        parts = parts[:1] if _called(call) in ("warn", "Finding") else parts
        text = "".join(_text(part, known) for part in parts)
        if any(letter.isalpha() for letter in text.replace("{", " ")):
            yield Template(module, call.lineno, call.end_lineno or call.lineno, _name(call), text)


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _name(call: ast.Call) -> str:
    if _called(call) == "Finding":
        return ", ".join(_text(part, {}).translate(SHOWN) for part in call.args[:2])
    return ast.unparse(call.args[1]) if _called(call) == "warn" and len(call.args) > 1 else _called(call)


def _assigned(function: ast.AST, line: int) -> dict[str, ast.expr]:
    """The text that names of a function have at a line: that of the last assignment before it, with what is added."""
    found: dict[str, ast.expr] = {}
    steps = [
        node for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.AugAssign)) and node.lineno < line
    ]
    for node in sorted(steps, key=lambda step: step.lineno):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not isinstance(target, ast.Name):
            continue
        if isinstance(node, ast.AugAssign):
            if target.id in found and _is_text(node.value):
                found[target.id] = ast.BinOp(found[target.id], ast.Add(), node.value)
        elif _is_text(node.value) and (target.id not in found or " " in _text(node.value, {})):
            found[target.id] = node.value
        else:
            found.pop(target.id, None)
    return found


def _is_text(node: ast.expr) -> bool:
    literal = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return literal or isinstance(node, (ast.JoinedStr, ast.IfExp))


def _text(node: ast.expr, known: dict[str, ast.expr]) -> str:
    """A part of a message as text, with expressions in braces."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, known) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, known)
    if isinstance(node, ast.Name) and node.id in known:
        return _text(known[node.id], {name: value for name, value in known.items() if name != node.id})
    if isinstance(node, ast.IfExp):
        return f"{CHOICE}{_text(node.body, known)}{OR}{_text(node.orelse, known)}{CHOICE_END}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, known) + _text(node.right, known)
    if isinstance(node, ast.Call) and _called(node) == "Message":
        return "".join(_text(part, known) for part in node.args)
    if isinstance(node, ast.Call) and _called(node) in ("Setting", "Model"):
        return f"{SETTING}{'='.join(_text(part, known) for part in node.args)}{SETTING_END}"
    return f"{HOLE}{ast.unparse(node)}{HOLE_END}"


def page(examples: dict[tuple[str, str], str]) -> str:
    """The page of all templates with these examples by module and template."""
    lines, module = [HEAD.rstrip()], ""
    for one in templates():
        lines += ["", f"## {one.module}"] if one.module != module else []
        module = one.module
        lines += ["", f"- **{one.name}**: `{one_line(one.text)}`"]
        example = examples.get(one.key, "")
        lines += [f"  - {example}"] if example and one.matches(example) else []
    return "\n".join(lines) + "\n"


def one_line(text: str) -> str:
    """A text as one line of Markdown code."""
    return " ".join(text.split()).replace("`", "'")


def recorded(path: Path) -> dict[tuple[str, str], str]:
    """Examples by module and template, from the lines of files that tests wrote: module, line, text."""
    places: dict[str, list[tuple[int, str]]] = {}
    for file in sorted(path.parent.glob(path.name + "*")):
        for module, line, text in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            places.setdefault(module, []).append((line, text))
    found: dict[tuple[str, str], str] = {}
    for one in templates():
        there = (text for line, text in places.get(one.module, ()) if one.first_line <= line <= one.last_line)
        texts = [text for text in map(one_line, there) if one.matches(text)]
        if texts:
            found.setdefault(one.key, FOLDERS.sub("", min(texts, key=lambda text: (len(text), text))))
    return found


def kept(text: str) -> dict[tuple[str, str], str]:
    """The examples of the page, by module and template."""
    found, module, template = {}, "", ""
    for line in text.splitlines():
        if line.startswith("## "):
            module = line[3:]
        elif line.startswith("- **"):
            template = line.partition("`")[2].rstrip("`")
        elif line.startswith("  - "):
            found[module, template] = line[4:]
    return found


def main(arguments: list[str]) -> None:
    examples = kept(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    PAGE.write_text(page(examples | (recorded(Path(arguments[0])) if arguments else {})), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
