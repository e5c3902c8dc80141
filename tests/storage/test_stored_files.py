"""Files written by earlier versions are read by this one, and answer as they did."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discriminant.storage.model_file import VERSION, read_model_file

DATA = Path(__file__).parent / "data"
CASES = [
    (folder.name, name)
    for folder in sorted(DATA.iterdir())
    for name in json.loads((folder / "expected.json").read_text(encoding="utf-8"))
]


def test_there_are_files_of_every_version():
    assert {version for version, _ in CASES} == {f"v{number}" for number in range(1, VERSION + 1)}


@pytest.mark.parametrize(("version", "name"), CASES)
def test_a_stored_model_answers_as_it_did(version, name):
    wanted = json.loads((DATA / version / "expected.json").read_text(encoding="utf-8"))[name]
    file = read_model_file(DATA / version / f"{name}.dsc")
    rows = pd.DataFrame(wanted["rows"]) if isinstance(wanted["rows"], dict) else np.array(wanted["rows"])
    if "more" in wanted:
        file.model.partial_fit(np.array(wanted["more"]), wanted["labels"])
    assert f"v{file.metadata['version']}" == version
    assert file.model.predict(rows).tolist() == wanted["predict"]
    values = getattr(file.model, wanted["method"])(rows)
    np.testing.assert_allclose(values, wanted["values"], rtol=1e-10, atol=1e-13)
