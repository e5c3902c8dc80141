"""Every subject of the notes has a call, a command and a figure that run, or says why there is none."""

import shlex
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest
from plotly.graph_objects import Figure
from typer.testing import CliRunner

from discriminant.cli import app

sys.path.insert(0, str(Path(__file__).parent))
from rows import ROWS, SETUP, page

DOCS = Path(__file__).parents[2] / "docs" / "rows.md"


def command(text):
    """A command in this process, in the folder of the test."""
    ran = CliRunner().invoke(app, shlex.split(text))
    assert ran.exit_code == 0, f"{text}: {ran.stderr}"
    return ran.stdout


def write_table(path, data, names=None):
    columns = names or [f"x{j}" for j in range(data.X.shape[1])]
    pd.DataFrame(data.X, columns=columns).assign(kind=data.y).to_csv(path, index=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the tables and models that the rows speak of, and their names in Python."""
    folder, names = tmp_path_factory.mktemp("rows"), {}
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.chdir(folder)
        exec(SETUP, names)
        kinds = names["load_iris"]().target_names
        iris = pd.DataFrame(names["X"], columns=["a", "b", "c", "e"]).assign(kind=kinds[names["y"]])
        iris.to_csv("iris.csv", index=False)
        iris.loc[50:, ["c", "e", "kind"]].to_csv("two.csv", index=False)
        for name in ("row", "triangle", "six", "xor"):
            write_table(f"{name}.csv", names[name])
        write_table("and.csv", names["gate"])
        Path("costs.csv").write_text("truth,versicolor,virginica\nversicolor,0,1\nvirginica,5,0\n", encoding="utf-8")
        for words in ("two.csv --model lda -o lda.dsc", "two.csv --model logistic -o logistic.dsc",
                      "iris.csv --model lda -o iris.dsc",
                      "triangle.csv --model least-squares --multiclass one-vs-rest -o rest.dsc"):  # fmt: skip
            command(f"fit {words} -t kind")
        raster, made = names["raster"], names["datasets"].scene()
        paths = made.write(folder)
        Path(paths["image"]).rename("scene.tif")
        Path(paths["areas"]).rename("areas.geojson")
        with raster.open_image("scene.tif") as image:
            names["samples"] = raster.draw_samples(image, raster.open_areas("areas.geojson", "class"))
        names["qda4"] = names["d"].QuadraticDiscriminantAnalysis().fit(names["samples"].X, names["samples"].y)
        command("raster classify scene.tif --areas areas.geojson --class-field class --model qda -o map.tif")
    return folder, names


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.id} {row.what}")
@pytest.mark.filterwarnings("ignore")
def test_a_row_runs(row, place, monkeypatch):
    folder, names = place
    monkeypatch.chdir(folder)
    assert eval(row.call, names) is not None
    if not row.command.startswith("none, because"):
        assert command(row.command)
    if not row.figure.startswith("none, because"):
        drawn = eval(row.figure, names)
        assert isinstance(drawn, Figure) or drawn[0].startswith(b"\x89PNG")  # a map is a picture with its legend


def test_the_page_is_the_table():
    assert DOCS.read_text(encoding="utf-8") == page()
