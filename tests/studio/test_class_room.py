"""A class of clients that paint, fit and step at the same time, without errors or leftovers on the server."""

import asyncio
import os
import time

import pytest
from benchmarks.class_room import resident, share_within, wave
from studios import running

#: A client that has gone is forgotten after this many seconds.
FORGOTTEN = 26


def lesson(studio, pupils, actions, seed=0):
    found = asyncio.run(wave(studio.address.rstrip("/"), pupils, actions, seed))
    assert all(len(one.seconds) == actions + 1 for one in found)
    assert not [error for one in found for error in one.errors]
    return found


def test_a_few_pupils_are_answered(studio):
    lesson(studio, pupils=6, actions=3)
    found = lesson(studio, pupils=6, actions=3, seed=1)  # what they need is loaded now
    assert share_within(found, 10.0) >= 0.95  # busy machines need time


@pytest.mark.slow
def test_thirty_pupils_are_answered_within_a_second_and_leave_nothing_behind(tmp_path):
    with running(tmp_path) as studio:
        lesson(studio, pupils=6, actions=3)
        memory = []
        for number in range(3):
            found = lesson(studio, pupils=30, actions=6, seed=number)
            assert share_within(found, 1.0) >= 0.95
            time.sleep(FORGOTTEN)
            memory.append(resident(studio.process.pid))
        assert memory[2] <= 1.03 * memory[1]
        assert os.cpu_count() >= 2
