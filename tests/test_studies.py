"""Simulation studies: stored figures hold, a sample repeats, and the page is made of the figures stored beside it."""

import json

import numpy as np
import pytest
from tests.studies import names, simulate, study
from tests.studies.__main__ import DOCS, page, restored, stored

#: The same seeds give the same samples; other versions of numpy and other processors may decide a few close cases
#: differently. A coverage that falls from 95 % to 90 % changes by two to five times as much.
SETTING_TOLERANCE, MEAN_TOLERANCE = 0.025, 0.01


@pytest.fixture(scope="module")
def parts():
    return json.loads((DOCS / "coverage.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_a_sample_of_the_study_has_the_figures_stored(name, parts):
    kept, found = restored(parts[name], "sample"), simulate(name, parts[name]["sample"])
    assert set(found) == set(kept)
    changes = {}
    for task, one in found.items():
        assert set(one) == set(kept[task]), task
        for what, share in one.items():
            changes[task, what] = share - kept[task][what]
    for what in {what for _, what in changes}:
        own = {task: change for (task, found_what), change in changes.items() if found_what == what}
        assert abs(np.mean(list(own.values()))) <= MEAN_TOLERANCE, what
        assert {task: change for task, change in own.items() if abs(change) > SETTING_TOLERANCE} == {}, what


@pytest.mark.parametrize("name", names())
def test_stored_figures_are_those_of_the_settings_and_within_bounds(name, parts):
    part = parts[name]
    found, sample = restored(part), restored(part, "sample")
    assert set(found) == set(study(name).tasks())
    assert json.loads(json.dumps(stored(found, part["replications"], sample, part["sample"]))) == part
    assert study(name).check(found, part["replications"]) == []


def test_the_page_is_made_of_the_stored_figures(parts):
    assert set(parts) == set(names())
    assert (DOCS / "coverage.md").read_text() == page(parts)
