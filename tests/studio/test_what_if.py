"""What if starts with the row as the model was given it, with missing values and days."""

from dataclasses import replace

import numpy as np
import pytest

from discriminant.studio.table_work import Table, TableFile, compared
from discriminant.workflow.exploring import ClassDecision

ROWS = """when,where,size,sure,kind
2024-02-29,north,1.5,true,a
2024-03-01,,2.5,false,b
2024-03-02,south,,true,a
,north,4.5,true,b
2024-03-04,south,5.5,false,a
2024-03-05,,6.5,true,b
2024-03-06,north,,false,a
2024-03-07,south,8.5,true,b
"""


def test_every_coded_row_is_what_its_values_are_coded_as(tmp_path):
    path = tmp_path / "rows.csv"
    head, rows = ROWS.split("\n", 1)
    path.write_text(f"{head}\n{3 * rows}")
    training = Table.read(TableFile.opened(path, "rows.csv"), "kind", (), ["ridge"]).training
    columns = training.schema.used
    assert [column.name for column in columns if column.missing_column] == ["when", "where", "size"]
    for row in training.X:
        coded, first = [], 0
        for column in columns:
            coded += [*column.code(column.value(row[first : first + len(column.outputs)]))]
            first += len(column.outputs)
        np.testing.assert_array_equal(coded, row)


def test_the_prediction_is_known_before_the_changes_are_searched(tmp_path):
    path = tmp_path / "rows.csv"
    head, rows = ROWS.split("\n", 1)
    path.write_text(f"{head}\n{3 * rows}")
    found = compared(
        Table.read(TableFile.opened(path, "rows.csv"), "kind", (), ["ridge", "lda"]), ["ridge", "lda"], None
    )
    for name in ("ridge", "lda"):
        for decision in (None, ClassDecision("a", found.table.class_shares(), 5.0)):
            in_use = replace(found.in_use(name), decision=decision)
            base = in_use.coded_row(1)
            decided = in_use.decided(base, {"size": 99.0})
            assert decided.outside["size"][1] < decided.row[list(found.table.training.schema.names).index("size")] == 99
            assert decided.label == in_use.changes(decided.row).label
            assert decided.contributions.label == decided.label
            if decision is None:
                assert decided.lead_threshold is None
                continue
            sign = 1 if decided.label == "a" else -1
            assert decided.lead_threshold == pytest.approx(-sign * np.log(5))
            assert decided.contributions.lead >= decided.lead_threshold


def test_changes_of_integers_are_integers(tmp_path):
    rng = np.random.default_rng(2)
    n, size = rng.integers(0, 9, 120), rng.normal(size=120).round(3)
    rows = [f"{a},{b},{'yes' if a + b > 4 else 'no'}" for a, b in zip(n, size, strict=True)]
    rows[3] = f",{rows[3].partition(',')[2]}"  # the imputed mean is no integer
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["n,size,large", *rows]))
    found = compared(Table.read(TableFile.opened(path, "rows.csv"), "large", (), ["lda"]), ["lda"], None)
    in_use, afters = found.in_use("lda"), []
    for place in range(40):
        row = in_use.coded_row(place)
        changes = in_use.changes(row)
        for one in changes.single:
            assert in_use.decided(row, {one.columns[0]: one.after[0]}).label == one.label != changes.label
            afters += [one.after[0]] * (one.columns == ("n",))
    assert afters
    assert all(value == round(value) for value in afters)
