"""The engine's promises: results in the order of the rows, whoever computed them; errors reach the caller; BLAS gets
back the threads it had."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from discriminant import (
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    NaiveBayes,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    SupportVectorClassifier,
)
from discriminant.data import as_rows, labelled_rows
from discriminant.engine import blas_threads, in_order, map_rows, one_blas_thread, worker_count, workspace
from discriminant.errors import ParameterError
from helpers import normal_classes, output

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
    total = DATA.reduce(Starts(uneven), n_jobs)
    assert len(total.seen) > 5
    assert total.seen == sorted(set(total.seen))


def test_the_statistic_given_is_left_empty():
    given = Starts()
    DATA.reduce(given, 2)
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
            DATA.reduce(Starts(fail_in_the_middle), n_jobs)
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
            DATA.reduce(Starts(fail_in_the_middle), 4)
    before = threading.active_count()
    DATA.reduce(Starts(), 4)
    assert threading.active_count() == before


@any_jobs
def test_blas_has_one_thread_while_the_engine_runs(n_jobs):
    inside = []
    with threadpool_limits(2, user_api="blas"):
        before = blas_counts()
        DATA.reduce(Starts(lambda block: inside.append(blas_counts())), n_jobs)
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


def test_any_thread_can_hold_blas_whoever_did_before():
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            pass
        with ThreadPoolExecutor(1) as pool:

            def held():
                with one_blas_thread():
                    return blas_counts()

            assert set(pool.submit(held).result()) == {1}
        assert set(blas_counts()) == {2}


def test_the_number_that_somebody_sets_while_blas_is_held_counts_afterwards():
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            threadpool_limits(3, user_api="blas")
            with one_blas_thread():
                assert set(blas_counts()) == {1}
            assert blas_threads() == 3
        assert set(blas_counts()) == {3}


THREADED = {
    "svm": SupportVectorClassifier(),
    "svm, squared": SupportVectorClassifier(loss="squared_hinge"),
    "svm, dual": SupportVectorClassifier(solver="dual", tol=1e-3),
    "svm, active set": SupportVectorClassifier(solver="active-set"),
    "logistic": LogisticRegression(alpha=1e-3),
    "lasso": LogisticRegression(alpha=0.01, l1_ratio=1.0),
    "lbfgs": LogisticRegression(alpha=0.01, solver="lbfgs"),
    "least squares": LeastSquaresClassifier(),
    "lda": LinearDiscriminantAnalysis(),
    "lda, cross-validated": LinearDiscriminantAnalysis(shrinkage="cv"),
    "qda": QuadraticDiscriminantAnalysis(shrinkage=0.1),
    "naive bayes": NaiveBayes(),
    "perceptron": Perceptron(max_iter=3),
}
#: Above the sizes from which BLAS uses its threads: rows that fill more than one block, and columns more than one tile.
SHAPES = {"tall": (20_001, 12), "wide": (400, 280)}


def all_numbers(model, X, y, weight):
    """What was fitted, what the solver says of it, and predictions, as bytes."""
    fitted = clone(model).fit(X, y, **({} if weight is None else {"sample_weight": weight}))
    found = {name: value for name, value in vars(fitted).items() if isinstance(value, (np.ndarray, float))}
    solution = getattr(fitted, "solution_", None)
    if solution is not None:
        names = ("theta", "objective", "gradient_norm", "suboptimality", "duality_gap")
        found |= {name: getattr(solution, name) for name in names}
    found["output"] = output(fitted, X)
    return {name: np.asarray(value).tobytes() for name, value in found.items()}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning")
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("model", THREADED.values(), ids=THREADED)
def test_threads_leave_no_trace_in_any_digit(model, shape):
    n, p = shape
    X, y = normal_classes(n, p, K=2)
    X[:, 0] += np.random.default_rng(1).normal(scale=4.0, size=n)  # classes that overlap
    weight = None if type(model) is Perceptron else np.random.default_rng(0).uniform(0.5, 2.0, n)
    with threadpool_limits(1, user_api="blas"):
        expected = all_numbers(model, X, y, weight)
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(3) as pool:
        fits = [pool.submit(all_numbers, model, X, y, weight) for _ in range(3)]
        for found in (all_numbers(model, X, y, weight), *(fit.result() for fit in fits)):
            assert [name for name in expected if found[name] != expected[name]] == []


def test_one_caller_fails_while_another_goes_on():
    with threadpool_limits(2, user_api="blas"):
        before = blas_counts()
        with ThreadPoolExecutor(2) as pool:
            bad = pool.submit(DATA.reduce, Starts(fail_in_the_middle), 2)
            good = pool.submit(DATA.reduce, Starts(uneven), 2)
        assert isinstance(bad.exception(), Broken)
        assert good.result().seen == sorted(good.result().seen)
        assert blas_counts() == before


def test_a_reduction_inside_a_reduction():
    inner = labelled_rows(np.arange(200_000.0).reshape(-1, 2), np.arange(100_000) % 2)
    expected, found = inner.reduce(Starts(), 1).seen, []
    DATA.reduce(Starts(lambda block: found.append(inner.reduce(Starts(), 2).seen)), 3)
    assert len(found) > 5
    assert all(seen == expected for seen in found)


def test_few_rows_stay_on_the_calling_thread():
    threads = []
    few = labelled_rows(np.ones((10, 2)), [0, 1] * 5)
    few.reduce(Starts(lambda block: threads.append(threading.current_thread())), 4)
    assert threads == [threading.current_thread()]


def test_many_rows_go_to_several_threads():
    meeting, others = threading.Barrier(3), []
    first = [partition[0] for partition in DATA.partitions[:3]]

    def meet(block):
        """Goes on when three threads are here at once."""
        if block.start in first:
            meeting.wait(timeout=60)
            others.append(threading.current_thread() is not threading.main_thread())

    DATA.reduce(Starts(meet), 3)
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


class Ended(BaseException):
    """What a signal raises in the main thread."""


def ended(*_):
    raise Ended


def at_work(running):
    """Tasks that are known to be under way as long as they take; the first takes longest."""

    def task(number):
        running.add(number)
        time.sleep(0.5 if number == 0 else 0.05)
        running.discard(number)

    return task


def test_no_task_is_under_way_after_a_signal_has_ended_the_wait():
    running, before = set(), signal.signal(signal.SIGALRM, ended)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Ended):
            list(in_order(at_work(running), list(range(4)), n_jobs=2))
        assert not running
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_no_task_is_running_after_results_are_closed():
    running = set()
    with closing(in_order(at_work(running), [1, 2, 3, 0, 4, 5, 6], n_jobs=2)) as results:
        next(results)
        next(results)
    assert not running
