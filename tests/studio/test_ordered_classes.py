"""Classes whose names have a known order, on the Table page."""

import numpy as np
import pandas as pd
import pytest

from discriminant.studio.table_work import Table, TableFile, compared

pytestmark = pytest.mark.xdist_group("table_page")
ORDER = ["low", "medium", "high"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("ordered") / "grades.csv", np.random.default_rng(0)
    age, dose = rng.normal(50, 10, 200), rng.normal(size=200)
    grade = np.digitize(0.1 * (age - 50) + dose + rng.logistic(size=200), [-1, 1])
    kind = rng.choice(["cat", "dog", "fish"], 200)
    pd.DataFrame({"age": age, "dose": dose, "grade": np.array(ORDER)[grade], "kind": kind}).to_csv(path, index=False)
    return TableFile.opened(path, "grades.csv")


def test_an_order_is_known_but_applied_only_with_the_ordinal_model(file):
    table = Table.read(file, "grade", ("kind",), ["ridge"])
    assert table.known_order == ORDER
    assert table.order is None
    assert Table.read(file, "kind", (), ["ridge"]).known_order is None
    without = compared(table, ["ridge"], None)
    assert "--ordered" not in without.code("ridge")[1]


def test_the_ordinal_model_is_compared_and_its_code_has_the_order(file):
    found = compared(Table.read(file, "grade", ("kind",), ["ridge"]), ["ridge", "ordinal"], None)
    assert set(found.comparison.ranking) >= {"ridge", "ordinal"}
    assert found.models.fit("ordinal").model.classes_order_.tolist() == ORDER
    python, commands = found.code("ordinal")
    assert "classes_order=['low', 'medium', 'high']" in python
    compare, fit, _ = commands.splitlines()
    assert "--ordered low,medium,high" in compare
    assert "--model ordinal --ordered low,medium,high" in fit


def test_the_page_offers_the_ordinal_model_where_the_order_is_known(visit, studio, file):
    (studio.folder / "grades.csv").write_bytes(file.path.read_bytes())
    with visit() as page:
        page.set_input_files("input[type=file]", studio.folder / "grades.csv")
        page.get_by_role("heading", name="Classification of").wait_for()
        for target, offered in (("grade", 1), ("kind", 0)):
            page.get_by_label("Target column", exact=True).focus()
            page.keyboard.press("Enter")
            page.get_by_role("option", name=target).click()
            page.get_by_role("heading", name=f"Classification of “{target}”").wait_for()
            page.get_by_label("Models to compare", exact=True).focus()
            page.keyboard.press("Enter")
            page.get_by_role("option", name="ridge").wait_for()
            assert (
                page.get_by_role("option", name="Ordinal logistic regression, low < medium < high (ordinal)").count()
                == offered
            )
            page.keyboard.press("Escape")
