"""Tables and model files that the tests of the command line share."""

import pytest
from commands import passengers, run_command, write_rows
from sklearn.datasets import load_iris


@pytest.fixture
def run():
    def succeeding(*arguments):
        ran = run_command(*arguments)
        assert ran.code == 0, ran.err
        return ran

    return succeeding


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="session")
def iris(folder):
    """Iris with a name for every class."""
    data = load_iris()
    names = ["sepal length", "sepal width", "petal length", "petal width", "species"]
    rows = [[*values, data.target_names[code]] for values, code in zip(data.data.tolist(), data.target, strict=True)]
    return write_rows(folder / "iris.csv", [names, *rows])


@pytest.fixture(scope="session")
def titanic(folder):
    return write_rows(folder / "titanic.csv", passengers())


@pytest.fixture(scope="session")
def new_passengers(folder):
    return write_rows(folder / "new.csv", passengers(150, seed=1))


@pytest.fixture(scope="session")
def titanic_model(folder, titanic):
    path = folder / "titanic.dsc"
    assert run_command("fit", titanic, "-t", "survived", "--model", "logistic", "-o", path).code == 0
    return path


@pytest.fixture(scope="session")
def iris_model(folder, iris):
    path = folder / "iris.dsc"
    assert run_command("fit", iris, "-t", "species", "--model", "lda", "-o", path).code == 0
    return path


@pytest.fixture(scope="session")
def costs(folder):
    """Missing a survivor costs 5, the reverse 1; classes are numbers."""
    return write_rows(folder / "costs.csv", [["truth", "0", "1"], ["0", 0, 1], ["1", 5, 0]])
