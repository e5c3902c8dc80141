"""The perceptron, primal and dual, with the bound on its number of updates."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, MatrixLike
from ..data import LabelledRows, TrainingData, check_choice, check_integer, check_number, require
from ..engine import parallel_map
from ..errors import DegenerateDataError, InputError, Message, Model, NotReadyError, Setting, warn
from ..margins import perceptron as training
from ..results import shown
from ..rules import LinearRule
from .codebook_classifier import BinaryLearner
from .mixins import StreamingMixin, can_stream

# The dual form keeps the Gram matrix of the rows (800 MB).
MAX_DUAL_ROWS: Final = 10_000


@dataclass(eq=False, repr=False)
class Perceptron(StreamingMixin, BinaryLearner):
    """Rosenblatt's perceptron: at every mistake, ``w += eta y x`` and ``b += eta y``, until a pass makes none.

    Starts at ``w = 0, b = 0`` and visits the rows in their order, in every pass. ``y`` is -1 for the first class (in
    sorted order) and +1 for the second; the intercept is the weight of a column of ones. ``eta`` only scales the
    weights.

    For separable classes it stops after at most ``R^2 / gamma^2`` updates, see `certificate`. Otherwise, after
    ``max_iter`` passes or when it cycles, it warns and keeps the weights with the fewest mistakes at the end of a pass.
    Use ``shuffle=True`` for rows sorted by class.

    There is no ``sample_weight``, because the result depends on the order of the rows.

    Parameters
    ----------
    form : {"primal", "dual"}, default="primal"
        Keep the weights; or the number of updates of every row, with inner products of rows only. Both make the same
        updates. The dual form supports up to 10,000 rows.
    rule : {"sign", "nonpositive"}, default="sign"
        Definition of a mistake: ``y sign(w'x + b) < 0`` with sign(0) = 1, or ``y (w'x + b) <= 0``. Scores are 0 up to
        rounding: 9e-16 times the length of ``(x, 1)`` times the sum of the lengths of the rows with updates.
    eta : float, default=1.0
        Step length.
    max_iter : int, default=1000
        Maximum number of passes.
    shuffle : bool, default=False
        Visit the rows in random order in every pass.
    average : bool, default=False
        Use the mean of the weights after every visit (Freund & Schapire 1999), without convergence warnings.
    trace : bool, default=False
        Keep every update in ``trace_``.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    multiclass : {"one-vs-rest", "one-vs-one"}, default="one-vs-rest"
        For more than two classes: each against all others and the highest score wins; or each pair and the most votes
        win, with ties broken by scores.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.
    random_state : int, default=None
        Seed of ``shuffle``.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coef_, intercept_ : arrays of shape (1, p) and (1,) for two classes, else one row for each binary problem
    n_iter_ : int
        Number of passes, the maximum over binary problems.
    updates_, mistakes_ : int, or array with one number for each binary problem
        Number of updates, and of misclassified rows by ``rule``.
    converged_ : bool
        Whether every binary problem reached weights without mistakes.
    alpha_ : array of shape (n,) for two classes, else one row for each binary problem (dual form)
        Number of updates of each row: ``coef_ = eta sum alpha_i y_i x_i``. With ``average`` of all updates.
    trace_ : list of `PerceptronUpdate`, or one list for each binary problem
    codebook_ : Codebook
        The binary problems.
    walks_ : list of `PerceptronState`
        State of each binary problem, for `partial_fit`.

    See Also
    --------
    SupportVectorClassifier : The hyperplane with the widest margin, also for overlapping classes.

    References
    ----------
    Rosenblatt, F. (1958). The perceptron. Psychological Review 65.
    Novikoff, A. B. J. (1962). On convergence proofs for perceptrons (the bound on the updates).
    Gallant, S. I. (1990). Perceptron-based learning algorithms. IEEE Trans. Neural Networks 1 (the pocket).
    Freund, Y. & Schapire, R. E. (1999). Large margin classification using the perceptron. Machine Learning 37.

    Examples
    --------
    >>> X = [[1, 1], [0, 1], [2, 0], [0, -1], [1, 2], [-1, 0]]
    >>> y = ["up", "down", "up", "down", "up", "down"]
    >>> model = Perceptron(trace=True).fit(X, y)
    >>> [(step.epoch, step.row, step.coef.tolist(), step.intercept) for step in model.trace_]
    [(1, 1, [0.0, -1.0], -1.0), (1, 2, [2.0, -1.0], 0.0), (1, 3, [2.0, 0.0], -1.0)]
    >>> print(model.certificate())
    Updates: 3 (bound R^2/gamma^2: 30, R: 2.44949, gamma: 0.447214)
    Cosine with the direction of the maximum margin: 1.0000 (lower bound: 0.3162)
    """

    form: Literal["primal", "dual"] = "primal"
    _: KW_ONLY
    rule: Literal["sign", "nonpositive"] = "sign"
    eta: float = 1.0
    max_iter: int = 1000
    shuffle: bool = False
    average: bool = False
    trace: bool = False
    fit_intercept: bool = True
    multiclass: Literal["one-vs-rest", "one-vs-one"] = "one-vs-rest"
    n_jobs: int | None = None
    random_state: Any = None

    _stream_state = "walks_"
    _needs_all_rows = ("form", "dual", "form='primal'")
    _zero_is_second = True  # sign(0) = 1

    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Train from 0 until a pass has no mistakes.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows in training order.
        y : array-like of shape (n_rows,)
            The class of each row.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    @available_if(can_stream)
    def partial_fit(self, X: MatrixLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Continue training with one pass over these rows; not with ``form="dual"``.

        Predictions use the weights after the last row, or with ``average`` their mean. One call for each pass of `fit`
        over the same rows makes the same updates.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows, each visited once.
        y : array-like of shape (n_rows,)
            Their labels.
        classes : array-like, default=None
            All classes, in the first call. Default: those of the first ``y``.

        Returns
        -------
        self
        """
        return super().partial_fit(X, y, classes)

    def _learn_more(self, rows: TrainingData, first: bool) -> None:
        data = rows.gather()
        if first:
            self.codebook_ = self._make_codebook(len(self.classes_))
        table, settings = training.RowBlocks(data.rows), self._settings()

        def one_more_pass(
            task: tuple[int, training.PerceptronState | None],
        ) -> tuple[training.PerceptronState, list[training.PerceptronUpdate]]:
            column, walk = task
            epoch = 1 if walk is None else walk.epochs + 1
            form = training.PrimalPerceptron(table, self._problem(data, column), settings, walk)
            form.pass_over(epoch)
            return form.reached(epoch), form.trace

        before = [None] * self.codebook_.n_columns if first else self.walks_
        passed = parallel_map(one_more_pass, list(enumerate(before)), self.n_jobs)
        finite = np.isfinite([walk.weights for walk, _ in passed]).all(axis=0)
        if not finite.all():
            table.refuse_column(int(np.argmin(finite)))
        for name in {"_training", "mistakes_", "converged_", "alpha_", "trace_"} & set(vars(self)):
            delattr(self, name)  # known after `fit` only
        self._keep_walks([walk for walk, _ in passed], [steps for _, steps in passed])
        self._set_rule(self._linear([walk.result(self.average) for walk in self.walks_]))

    def certificate(self) -> training.PerceptronCertificate | list[training.PerceptronCertificate]:
        """The number of updates and its bound, for each binary problem.

        Needs the rows of `fit` for the widest margin.

        Returns
        -------
        PerceptronCertificate, or list with one for each binary problem
        """
        check_is_fitted(self, "rule_")
        if not hasattr(self, "_training"):
            raise NotReadyError("The certificate needs the training rows of fit. Fit again.")
        found = [self._certificate(self._training.gather(), column) for column in range(len(self.walks_))]
        return found[0] if len(self.classes_) == 2 else found

    def _check_parts(self) -> None:
        for walk in vars(self).get("walks_", ()):
            require(len(walk.weights) == self.n_features_in_ + 1, self, "walks_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("form", self.form, ("primal", "dual"))
        check_choice("rule", self.rule, ("sign", "nonpositive"))
        check_number("eta", self.eta, 0, open_below=True)
        check_integer("max_iter", self.max_iter, 1)

    def _settings(self) -> training.PerceptronSettings:
        return training.PerceptronSettings(
            nonpositive=self.rule == "nonpositive",
            eta=float(self.eta),
            fit_intercept=bool(self.fit_intercept),
            max_iter=int(self.max_iter),
            shuffle=bool(self.shuffle),
            average=bool(self.average),
            trace=bool(self.trace),
            seed=self._seed() if self.shuffle else 0,
        )

    def _problem(self, data: LabelledRows, column: int) -> training.BinaryTask:
        """The binary problem of a column of the codebook."""
        chosen, sides = self.codebook_.targets(data.codes, column)
        return training.BinaryTask(np.arange(data.n_rows) if chosen is None else chosen, sides, column)

    def _solutions(self, data: LabelledRows) -> list[training.PerceptronRun]:
        table, settings, gram = training.RowBlocks(data.rows), self._settings(), None
        if self.form == "dual":
            if data.n_rows > MAX_DUAL_ROWS:
                reason = f" supports at most {MAX_DUAL_ROWS:,} rows, got {data.n_rows:,}. Use "
                raise InputError(Setting("form", "dual"), reason, Setting("form", "primal"), ".")
            gram = training.gram_matrix(table, settings.fit_intercept)

        def trained(column: int) -> training.PerceptronRun:
            task = table, self._problem(data, column), settings
            return training.train(
                training.PrimalPerceptron(*task) if gram is None else training.DualPerceptron(*task, gram)
            )

        return parallel_map(trained, list(range(self.codebook_.n_columns)), self.n_jobs)

    def _columns_of(self, solutions: list[training.PerceptronRun]) -> LinearRule:
        return self._linear([one.weights for one in solutions])

    def _linear(self, weights: list[Array]) -> LinearRule:
        coef = np.array([one[:-1] for one in weights])
        return LinearRule(np.zeros(coef.shape[1]), coef, np.array([one[-1] for one in weights]))

    def _keep(self, solutions: list[training.PerceptronRun], codes: Array) -> None:  # noqa: ARG002
        self._keep_walks([one.reached for one in solutions], [one.trace for one in solutions])
        self.mistakes_ = self._one_or_each([one.mistakes for one in solutions])
        self.converged_ = all(one.converged for one in solutions)
        if self.form == "dual":
            self.alpha_ = self._one_or_each([one.alpha for one in solutions])

    def _keep_walks(self, walks: list[training.PerceptronState], traces: list[list[training.PerceptronUpdate]]) -> None:
        self.walks_: list[training.PerceptronState] = walks
        self.n_iter_ = max(walk.epochs for walk in walks)
        self.updates_ = self._one_or_each([walk.updates for walk in walks])
        if self.trace:
            self.trace_ = traces[0] if len(self.classes_) == 2 else traces

    def _question(self, column: int) -> str:
        """The call that decides whether a binary problem is separable."""
        if len(self.classes_) == 2 or not self.codebook_.matrix.all():
            return "linear_separability(X, y)"
        return f"linear_separability(X, y == {shown(self.classes_[column])})"

    def _warn_unsolved(self, solutions: list[training.PerceptronRun]) -> None:
        failed = [column for column, one in enumerate(solutions) if not one.converged]
        if not failed or self.average:
            return
        worst = max(failed, key=lambda column: solutions[column].mistakes)
        outcome, circle = solutions[worst], ""
        if outcome.cycle:
            since, again = outcome.cycle
            circle = f" It cycles: the weights after epochs {since} and {again} are equal."
        problems = f" in {len(failed)} of {len(solutions)} binary problems" if len(solutions) > 1 else ""
        reached = (
            f"The perceptron did not converge{problems}. Epochs: {outcome.reached.epochs}, misclassified rows: "
            f"{outcome.mistakes} in {self._named(worst)}.{circle} If {self._question(worst)}.separable, raise "
        )
        instead = (Setting("average", True), " or ", Model("SupportVectorClassifier"), ".")
        warn(Message(reached, Setting("max_iter"), "; otherwise use ", *instead), ConvergenceWarning)

    def _certificate(self, data: LabelledRows, column: int) -> training.PerceptronCertificate:
        problem, walk = self._problem(data, column), self.walks_[column]
        block = data.rows.take(problem.chosen)
        try:
            return training.certified(block, problem.sides, walk.weights, walk.updates, bool(self.fit_intercept))
        except DegenerateDataError as error:
            origin = "" if self.fit_intercept else " by a hyperplane through the origin"
            reason = (
                f"Not linearly separable{origin}: {self._named(column)}. The updates have no bound; see "
                f"{self._question(column)}."
            )
            raise DegenerateDataError(reason) from error
