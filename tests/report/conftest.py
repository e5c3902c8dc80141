"""Every kind of report, written once for all tests that read it."""

import pytest
from report_cases import KINDS


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """A function from the kind of a report to its file."""
    folder, written = tmp_path_factory.mktemp("reports"), {}

    def of(kind):
        if kind not in written:
            written[kind] = KINDS[kind](folder / f"{kind}.html")
        return written[kind]

    return of
