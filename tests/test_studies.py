"""Simulation studies: a sample of each holds, and the page is made of the figures stored beside it."""

import json

import pytest
from tests.studies import names, simulate, study
from tests.studies.__main__ import DOCS, page, restored, stored


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_a_sample_of_the_study_is_within_bounds(name):
    module = study(name)
    assert module.check(simulate(name, module.SAMPLE), module.SAMPLE) == []


def test_stored_figures_are_those_of_the_studies_settings():
    parts = json.loads((DOCS / "coverage.json").read_text())
    assert set(parts) <= set(names())
    for name, part in parts.items():
        found = restored(part)
        assert set(found) == set(study(name).tasks()), name
        assert json.loads(json.dumps(stored(found, part["replications"]))) == part
    assert (DOCS / "coverage.md").read_text() == page(parts)
