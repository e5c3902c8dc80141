"""The engine's promises: results in the order of the rows, whoever computed them; errors reach the caller; BLAS gets
back the threads it had."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from discriminant import LinearDiscriminantAnalysis
from discriminant.data import as_rows, labelled_rows
from discriminant.engine import blas_threads, map_rows, one_blas_thread, quiet_blas, reduce, worker_count, workspace
from discriminant.errors import ParameterError
from helpers import normal_classes

N_ROWS = 200_000
DATA = labelled_rows(np.arange(2.0 * N_ROWS).reshape(-1, 2), np.arange(N_ROWS) % 2)
any_jobs = pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, 7, 40, -1])


def blas_counts():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


class Starts:
    """A statistic that remembers the first row of each block, in the order in which they were added."""

    def __init__(self, during=lambda block: None):
        self.seen, self.during = [], during

    def fresh(self):
        return Starts(self.during)

    def update(self, block):
        self.during(block)
        self.seen.append(block.start)

    def merge(self, other):
        self.seen += other.seen


def uneven(block):
    """Later blocks first."""
    time.sleep(0.003 * (block.start < N_ROWS / 2))


@any_jobs
def test_statistics_are_merged_in_the_order_of_the_rows(n_jobs):
    total = reduce(DATA, Starts(uneven), n_jobs)
    assert len(total.seen) > 5
    assert total.seen == sorted(set(total.seen))


def test_the_statistic_given_is_left_empty():
    given = Starts()
    reduce(DATA, given, 2)
    assert given.seen == []


@any_jobs
def test_every_row_is_written_once(n_jobs):
    written = np.zeros(N_ROWS)

    def write(block, where):
        written[where] += block[:, 0] + 1

    map_rows(DATA.rows, write, n_jobs)
    assert_array_equal(written, 2.0 * np.arange(N_ROWS) + 1)


class Broken(Exception):
    """Raised on purpose."""


def fail_in_the_middle(block):
    if block.start > N_ROWS / 2:
        raise Broken(block.start)


@any_jobs
def test_an_error_in_a_worker_reaches_the_caller_and_blas_gets_its_threads_back(n_jobs):
    with threadpool_limits(2, user_api="blas"):
        before = blas_counts()
        with pytest.raises(Broken):
            reduce(DATA, Starts(fail_in_the_middle), n_jobs)
        assert blas_counts() == before


@any_jobs
def test_an_error_while_writing_reaches_the_caller(n_jobs):
    def write(block, where):
        fail_in_the_middle(where)

    with pytest.raises(Broken):
        map_rows(DATA.rows, write, n_jobs)


def test_an_error_leaves_the_threads_fit_for_the_next_reduction():
    for _ in range(3):
        with pytest.raises(Broken):
            reduce(DATA, Starts(fail_in_the_middle), 4)
    before = threading.active_count()
    reduce(DATA, Starts(), 4)
    assert threading.active_count() == before


@any_jobs
def test_blas_has_one_thread_while_the_engine_runs(n_jobs):
    inside = []
    with threadpool_limits(2, user_api="blas"):
        before = blas_counts()
        reduce(DATA, Starts(lambda block: inside.append(blas_counts())), n_jobs)
        assert blas_counts() == before
    assert all(count == 1 for counts in inside for count in counts)


def test_blas_gets_its_threads_back_when_the_last_caller_leaves():
    with threadpool_limits(2, user_api="blas"):
        before = blas_counts()
        with one_blas_thread():
            with one_blas_thread():
                assert set(blas_counts()) == {1}
            assert set(blas_counts()) == {1}
            assert blas_threads() == max(before)
        assert blas_counts() == before


@pytest.mark.parametrize(("n_columns", "quiet"), [(4, False), (16, False), (17, True), (256, True), (257, False)])
def test_blas_is_kept_quiet_for_small_matrices_only(n_columns, quiet):
    with threadpool_limits(2, user_api="blas"):
        before = blas_counts()
        with quiet_blas(n_columns):
            assert blas_counts() == ([1] * len(before) if quiet else before)
        assert blas_counts() == before


def test_two_callers_at_once_do_not_disturb_each_other():
    X, y = normal_classes(n=60_000, p=6)
    expected = LinearDiscriminantAnalysis(n_jobs=1).fit(X, y).coef_
    with threadpool_limits(2, user_api="blas"):
        before = blas_counts()
        with ThreadPoolExecutor(4) as pool:
            fits = [pool.submit(lambda: LinearDiscriminantAnalysis(n_jobs=2).fit(X, y).coef_) for _ in range(8)]
        for fit in fits:
            assert_array_equal(fit.result(), expected)
        assert blas_counts() == before


def test_one_caller_fails_while_another_goes_on():
    with threadpool_limits(2, user_api="blas"):
        before = blas_counts()
        with ThreadPoolExecutor(2) as pool:
            bad = pool.submit(reduce, DATA, Starts(fail_in_the_middle), 2)
            good = pool.submit(reduce, DATA, Starts(uneven), 2)
        assert isinstance(bad.exception(), Broken)
        assert good.result().seen == sorted(good.result().seen)
        assert blas_counts() == before


def test_a_reduction_inside_a_reduction():
    inner = labelled_rows(np.arange(200_000.0).reshape(-1, 2), np.arange(100_000) % 2)
    expected, found = reduce(inner, Starts(), 1).seen, []
    reduce(DATA, Starts(lambda block: found.append(reduce(inner, Starts(), 2).seen)), 3)
    assert len(found) > 5
    assert all(seen == expected for seen in found)


def test_few_rows_stay_on_the_calling_thread():
    threads = []
    few = labelled_rows(np.ones((10, 2)), [0, 1] * 5)
    reduce(few, Starts(lambda block: threads.append(threading.current_thread())), 4)
    assert threads == [threading.current_thread()]


def test_many_rows_go_to_several_threads():
    meeting, others = threading.Barrier(3), []
    first = [span[0] for span in DATA.spans[:3]]

    def meet(block):
        """Goes on when three threads are here at once."""
        if block.start in first:
            meeting.wait(timeout=60)
            others.append(threading.current_thread() is not threading.main_thread())

    reduce(DATA, Starts(meet), 3)
    assert others == [True] * 3


def test_number_of_threads():
    cores = worker_count(-1)
    assert cores >= 1
    assert worker_count(5) == 5
    assert worker_count(-2) == max(1, cores - 1)
    assert worker_count(-1000) == 1
    assert worker_count(np.int64(3)) == 3
    with threadpool_limits(2, user_api="blas"):
        assert worker_count(None) == max(blas_counts())


@pytest.mark.parametrize("n_jobs", [0, 1.0, "2", True, [1]])
def test_what_is_no_number_of_threads_is_refused(n_jobs):
    with pytest.raises(ParameterError, match="n_jobs"):
        worker_count(n_jobs)


def test_a_thread_uses_its_working_memory_again():
    first = workspace((40, 3))
    assert first.shape == (40, 3)
    assert np.shares_memory(first, workspace((5, 2)))
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(workspace, (40, 3)).result()
    assert not np.shares_memory(workspace((40, 3)), other)


def test_the_number_of_threads_does_not_change_how_rows_are_cut():
    rows = as_rows(np.ones((100_000, 3)))
    cut = []

    def note(block, where):
        cut.append((where.start, where.stop))

    for n_jobs in (1, 5):
        cut.append(None)
        map_rows(rows, note, n_jobs)
    middle = cut.index(None, 1)
    assert sorted(cut[1:middle]) == sorted(cut[middle + 1 :])
