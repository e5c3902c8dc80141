"""Whatever is wrong is told in one plain paragraph on standard error, with an exit code, and never by a traceback."""

import random

import pytest
from commands import passengers, run_command, write_rows

from discriminant import load
from discriminant.cli import app


def text(path, content, encoding="utf-8"):
    path.write_bytes(content.encode(encoding) if isinstance(content, str) else content)
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory, titanic_model, iris_model):
    """A folder with everything that can go wrong in it."""
    folder = tmp_path_factory.mktemp("wrong")
    random.seed(0)
    text(folder / "header.csv", "a,b,y\n")
    text(folder / "empty.csv", "")
    text(folder / "one-class.csv", "a,b,y\n1,2,x\n3,4,x\n5,7,x\n")
    text(folder / "two.csv", "a,b,y\n1,2,x\n3,4,z\n")
    text(folder / "ragged.csv", "a,b,y\n1,2,x\n3,4,z,9\n5,6,x\n")
    text(folder / "binary.csv", bytes(random.randrange(256) for _ in range(4000)))
    text(folder / "continuous.csv", "a,y\n" + "".join(f"{i},{random.random()}\n" for i in range(80)))
    text(folder / "not-costs.csv", "truth,0,1\n0,free,1\n1,5,0\n")
    text(folder / "other-costs.csv", "truth,a,b\na,0,1\nb,5,0\n")
    text(folder / "twice.csv", "truth,0,1\n0,0,1\n0,5,0\n")
    text(folder / "damaged.dsc", titanic_model.read_bytes()[:-40])
    text(folder / "text.csv", "age,class,sex,fare,deck,port\nold,1,male,3,A,S\n")
    write_rows(folder / "good.csv", passengers(80))
    (folder / "model.dsc").write_bytes(titanic_model.read_bytes())
    (folder / "iris.dsc").write_bytes(iris_model.read_bytes())
    (folder / "sub").mkdir()
    svm = run_command("fit", folder / "good.csv", "-t", "survived", "--model", "svm", "-o", folder / "svm.dsc")
    assert svm.code == 0
    return folder


COLUMNS = ("id", "class", "name", "sex", "age", "fare", "deck", "port")
FIT = ("fit", "good.csv", "-t", "survived", "--model", "logistic")
PREDICT = ("predict", "model.dsc", "good.csv")
REFUSED = [
    (("describe", "header.csv", "-t", "y"), "has a header but no rows"),
    (("describe", "header.csv", "-t", "y"), "--no-header"),
    (("describe", "empty.csv", "-t", "y"), "is empty"),
    (("describe", "binary.csv", "-t", "y"), "binary.csv"),
    (("describe", "nosuch.csv", "-t", "y"), "does not exist"),
    (("describe", "goood.csv", "-t", "y"), "Did you mean 'good.csv'"),
    (("describe", "sub", "-t", "y"), "'sub' is a folder"),
    (("describe", "good.csv"), "--target"),
    (("describe", "good.csv", "-t", "survivd"), "Did you mean 'survived'?"),
    (("describe", "good.csv", "-t", "survived", "--types", "class"), "--types takes NAME=VALUE"),
    (("describe", "good.csv", "-t", "survived", "--types", "class=colour"), "column 'class'"),
    (("describe", "good.csv", "-t", "survived", "--rare", "0"), "--rare must be an integer of at least 1"),
    (("describe", "good.csv", "-t", "survived", "--max-levels", "1"), "--max-levels must be an integer of at least 2"),
    (("fit", "one-class.csv", "-t", "y"), "only one class, 'x'"),
    (("fit", "ragged.csv", "-t", "y"), "has 4 values, expected 3"),
    (("fit", "continuous.csv", "-t", "y"), "looks continuous"),
    (("compare", "two.csv", "-t", "y"), "--drop-classes-below 2"),
    ((*FIT, "--missing", "perhaps"), "missing must be one of"),
    (
        (*FIT, *(w for n in ("id", "class", "name", "sex", "age", "fare", "deck", "port") for w in ("--drop", n))),
        "left",
    ),
    ((*FIT, "--model", "ldaa"), "Did you mean 'lda'?"),
    ((*FIT, "--set", "alphaa=1"), "Did you mean 'alpha'?"),
    ((*FIT, "--set", "alpha"), "--set takes NAME=VALUE"),
    ((*FIT, "--set", "alpha=much"), "expected a number"),
    ((*FIT, "--set", "alpha=-1"), "alpha must be"),
    ((*FIT, "--set", "firth=perhaps"), "expected true or false"),
    ((*FIT, "--model", "lda", "--set", "shrinkage=strong"), "'oas'"),
    ((*FIT, "--weights", "name"), "Column 'name'"),
    ((*FIT, "-o", "nowhere/model.dsc"), "the folder 'nowhere'"),
    ((*FIT, "-o", "sub"), "is a folder"),
    ((*FIT, "-o", "model.dsc"), "--overwrite"),
    (("compare", "good.csv", "-t", "survived", "--metric", "beauty"), "--metric must be one of"),
    (
        ("compare", "good.csv", "-t", "survived", "--models", "svm,lda", "--metric", "brier"),
        "The Brier score of model 'svm' is not available",
    ),
    (("compare", "good.csv", "-t", "survived", "--metric", "cost"), "needs costs"),
    (("compare", "good.csv", "-t", "survived", "--folds", "1"), "folds must be"),
    (("compare", "good.csv", "-t", "survived", "--groups", "grp"), "no column 'grp'"),
    (("compare", "good.csv", "-t", "survived", "--costs", "other-costs.csv"), "costs has the rows"),
    (("compare", "good.csv", "-t", "survived", "--report", "nowhere/report.html"), "the folder 'nowhere'"),
    (("predict", "good.csv", "good.csv"), "'good.csv' cannot be loaded"),
    (("predict", "nosuch.dsc", "good.csv"), "nosuch.dsc"),
    (("predict", "damaged.dsc", "good.csv"), "cannot be loaded"),
    (("predict", "iris.dsc", "good.csv"), "no column 'sepal length'"),
    (("predict", "svm.dsc", "good.csv", "--proba"), "Use a model with probabilities"),
    (("predict", "svm.dsc", "good.csv", "--reject-cost", "0.1"), "SupportVectorClassifier predicts margins"),
    ((*PREDICT, "-o", "out.xls"), "out.xls"),
    ((*PREDICT, "--json"), "-o FILE"),
    ((*PREDICT, "--keep", "naem"), "Did you mean 'name'?"),
    ((*PREDICT, "--priors", "0=0.5"), "no value for class 1"),
    ((*PREDICT, "--priors", "0=a,1=b"), "must be a number"),
    ((*PREDICT, "--priors", "0=0.5,1=0.9"), "must sum to 1"),
    ((*PREDICT, "--reject-cost", "-1"), "--reject-cost must be"),
    ((*PREDICT, "--costs", "not-costs.csv"), "must be a number, got 'free'"),
    ((*PREDICT, "--costs", "twice.csv"), "two rows for the true class 0"),
    ((*PREDICT, "--missing-columns", "perhaps"), "missing-columns must be"),
    (("evaluate", "model.dsc", "text.csv"), "survived"),
    (("explain", "model.dsc", "--row", "3"), "--row 3"),
    (("explain", "model.dsc", "good.csv", "--row", "80"), "has no row 80"),
    (("explain", "model.dsc", "good.csv", "--row", "-1"), "has no row -1"),
    (("explain", "model.dsc", "--row", "aeg=3"), "Did you mean 'age'"),
    (("explain", "model.dsc", "--row", "whatever"), "a row number or values"),
    (("explain", "model.dsc", "good.csv", "--row", "age=3"), "is not needed"),
    (("export", "model.dsc", "--to", "cobol"), "to must be one of"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=[" ".join(a) for a, _ in REFUSED])
def test_what_cannot_be_done_is_refused_in_a_paragraph(place, monkeypatch, arguments, words):
    monkeypatch.chdir(place)
    before = sorted(place.iterdir())
    ran = run_command(*arguments)
    assert ran.code == 1
    assert ran.out == ""
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert ran.err.splitlines()[-1].startswith("Error: ")
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("fit",), ("fit", "good.csv", "--unknown"), ("predict", "model.dsc"), ("export", "model.dsc")],
)
def test_commands_written_wrongly_have_an_exit_code_of_their_own(place, monkeypatch, arguments):
    monkeypatch.chdir(place)
    ran = run_command(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert "help" in ran.err


def test_debugging_shows_where_an_error_comes_from(place, monkeypatch):
    monkeypatch.chdir(place)
    ran = run_command(*FIT, "--set", "alpha=much", "--debug")
    assert ran.code == 1
    assert "Traceback" in ran.err


def test_an_error_of_the_package_itself_is_owned_up_to(place, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("division by zero")

    monkeypatch.chdir(place)
    monkeypatch.setattr("discriminant.tables.read_training", broken)
    ran = run_command(*FIT)
    assert ran.code == 3
    assert "ZeroDivisionError" in ran.err
    assert "--debug" in ran.err
    assert "Traceback" not in ran.err


def test_files_that_exist_are_replaced_only_when_asked(tmp_path, titanic):
    path = text(tmp_path / "model.dsc", "something else")
    assert run_command("fit", titanic, "-t", "survived", "--model", "logistic", "-o", path).code == 1
    assert path.read_text() == "something else"
    assert run_command("fit", titanic, "-t", "survived", "--model", "logistic", "-o", path, "--overwrite").code == 0
    assert load(path).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8-sig"])
def test_tables_of_other_encodings_are_read(tmp_path, encoding):
    rng = random.Random(0)
    rows = [f"{rng.gauss(k, 1):.3f};{rng.choice(['é', 'ß'])};{'ja' if k else 'nö'}" for k in (0, 1) * 40]
    path = text(tmp_path / "table.csv", "größe;art;antwort\n" + "\n".join(rows).replace(".", ",") + "\n", encoding)
    model = tmp_path / "model.dsc"
    fitted = run_command("fit", path, "-t", "antwort", "--model", "logistic", "-o", model)
    assert fitted.code == 0, fitted.err
    assert "größe" in fitted.out
    assert set(run_command("predict", model, path).out.split()[1:]) == {'"ja"', '"nö"'}


def test_hostile_names_cannot_move_the_cursor(tmp_path):
    rng = random.Random(0)
    rows = [f"{rng.gauss(0, 1)},\x1b[2J{'ab'[i % 2] * 500}" for i in range(40)]
    path = text(tmp_path / "hostile.csv", "[red]u[/red],y\n" + "\n".join(rows) + "\n")
    found = run_command("describe", path, "-t", "y")
    assert found.code == 0, found.err
    assert "\x1b" not in found.out
    assert "[red]u[/red]" in found.out


def commands():
    from typer.main import get_command

    return sorted(get_command(app).commands)


@pytest.mark.parametrize(
    "command", ["compare", "dataset", "demo", "describe", "evaluate", "explain", "export", "figure", "fit", "predict"]
)
def test_help_has_examples(command):
    ran = run_command(command, "--help")
    assert ran.code == 0
    assert "Examples:" in ran.out
    assert "discriminant " in ran.out.partition("Examples:\n  ")[2].splitlines()[0]  # each on a line of its own
    assert command in commands()
    assert "--json" in ran.out
    assert "--debug" in ran.out


def test_what_is_read_is_never_written_over(tmp_path, titanic_model):
    write_rows(tmp_path / "good.csv", passengers(80))
    (tmp_path / "model.dsc").write_bytes(titanic_model.read_bytes())
    (tmp_path / "link.csv").symlink_to(tmp_path / "good.csv")
    table, model = (str(tmp_path / name) for name in ("good.csv", "model.dsc"))
    before = [(tmp_path / name).read_bytes() for name in ("good.csv", "model.dsc")]
    for arguments in (
        ["fit", table, "-t", "survived", "-o", str(tmp_path / "link.csv")],
        ["compare", table, "-t", "survived", "--report", table],
        ["predict", model, table, "-o", table],
        ["evaluate", model, table, "--report", model],
        ["export", model, "--to", "python", "-o", model],
    ):
        done = run_command(*arguments, "--overwrite")
        assert done.code != 0
        assert "is also an input file" in done.err
    assert before == [(tmp_path / name).read_bytes() for name in ("good.csv", "model.dsc")]
