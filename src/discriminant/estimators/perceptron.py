"""The perceptron, primal and dual, with the bound on its updates."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import LabelledRows, check_choice, check_integer, check_number, require
from ..engine import side_by_side
from ..errors import DegenerateDataError, InputError, Message, Model, NotReadyError, Setting, warn
from ..margins import perceptron as training
from ..results import several, shown
from ..rules import LinearRule
from .base import StreamingMixin, can_stream
from .multiclass import BinaryLearner

#: The dual form keeps the products of every two rows: 800 MB of this many.
_MOST_DUAL_ROWS = 10_000


@dataclass(eq=False, repr=False)
class Perceptron(StreamingMixin, BinaryLearner):
    """Rosenblatt's perceptron: at every mistake, ``w += eta y x`` and ``b += eta y``, until a pass makes none.

    Starts at ``w = 0, b = 0`` and goes through the rows in their order, over and over. ``y`` is -1 for the first class
    (in sorted order) and +1 for the second; the intercept is the weight of a column of ones. Because of the start at
    0, ``eta`` scales the weights and changes nothing else.

    If the classes can be separated, it stops after at most ``R^2 / gamma^2`` updates: `certificate` computes the bound.
    If they cannot, it never would: after ``max_iter`` passes, or when it is found to run in a circle, it warns
    and keeps the best weights seen at the end of a pass, those with the fewest mistakes counted over all rows. They
    need not be the best of all; weights in the middle of a pass are not tried. Rows sorted by class make for poor
    ends of passes, so ``shuffle=True`` is better then.

    There is no ``sample_weight``: the result depends on the order of the rows, and equal rows need not stand next to
    each other.

    Parameters
    ----------
    form : {"primal", "dual"}, default="primal"
        Keep the weights; or keep for every row the number of updates it caused, and see rows through their products
        only. Both make the same updates, step for step. The dual form is for up to 10,000 rows.
    rule : {"sign", "nonpositive"}, default="sign"
        What is a mistake: ``y sign(w'x + b) < 0`` with sign(0) = 1, or ``y (w'x + b) <= 0``. A score is 0 where it
        is 0 but for rounding: at most 9e-16 times the length of ``(x, 1)`` times the sum of the lengths of the rows
        that caused updates.
    eta : float, default=1.0
        Length of a step.
    max_iter : int, default=1000
        Most passes over the rows.
    shuffle : bool, default=False
        Visit the rows in a new random order in every pass.
    average : bool, default=False
        Classify with the mean of the weights after every visit (Freund & Schapire 1999), which stands whether or not
        the classes can be separated; nothing is warned of then.
    trace : bool, default=False
        Keep every update in ``trace_``.
    fit_intercept : bool, default=True
        Whether the scores have a constant, which is not penalised.
    multiclass : {"one-vs-rest", "one-vs-one"}, default="one-vs-rest"
        For more than two classes: each against all others, the highest score wins; or each pair, the most votes win,
        and the scores decide among equals.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.
    random_state : int, default=None
        For ``shuffle``.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coef_, intercept_ : arrays of shape (1, p) and (1,) for two classes, else one row for each binary problem
    n_iter_ : int
        Passes made; the most of any binary problem.
    updates_, mistakes_ : int, or array with one number for each binary problem
        Updates made; rows that the weights kept get wrong, by ``rule``.
    converged_ : bool
        Whether every binary problem came to weights without mistakes; their mean may still make some.
    alpha_ : array of shape (n,) for two classes, else one row for each binary problem (dual form)
        Updates caused by each row on the way to the weights kept: ``coef_ = eta sum alpha_i y_i x_i``. With ``average``
        all updates are counted.
    trace_ : list of `PerceptronUpdate`, or one list for each binary problem
    codebook_ : Codebook
        Which classes each binary problem tells apart.
    walks_ : list of `PerceptronState`
        Where each binary problem stands, for `partial_fit` to go on from.

    See Also
    --------
    SupportVectorClassifier : The separating hyperplane with the widest margin, also for classes that overlap.

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
    3 updates made, at most R^2/gamma^2 = 30 (R = 2.44949, gamma = 0.447214)
    cosine with the direction of the widest margin 1.0000, at least 0.3162
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
    _needs_all_rows = (
        "form",
        "dual",
        "counts the updates of rows it has at hand",
        "form='primal', which makes the same updates",
    )
    _zero_is_second = True  # sign(0) = 1

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Train from 0 until a pass makes no mistake.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows, in the order of training.
        y : array-like of shape (n_rows,)
            The class of each row.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    @available_if(can_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Make one pass over these rows, going on from where training stands. Not with ``form="dual"``.

        The weights after the last row classify, or with ``average`` the mean since the start: other rows are not at
        hand to tell which weights were better. If ``average`` is set only later on, the weights at that time stand for
        all those before. Called once for every pass that `fit` makes over the same rows, it makes the same updates.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows, each visited once.
        y : array-like of shape (n_rows,)
            Labels, as in `fit`.
        classes : array-like, default=None
            What labels there will ever be, in the first call; without it, those of the first ``y``.

        Returns
        -------
        self
        """
        return super().partial_fit(X, y, classes)

    def _learn_more(self, data: LabelledRows, first: bool) -> None:
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
        passed = side_by_side(one_more_pass, list(enumerate(before)), self.n_jobs)
        finite = np.isfinite([walk.weights for walk, _ in passed]).all(axis=0)
        if not finite.all():
            table.refuse_column(int(np.argmin(finite)))
        for name in {"_training", "mistakes_", "converged_", "alpha_", "trace_"} & set(vars(self)):
            delattr(self, name)  # only training to the end can tell
        self._keep_walks([walk for walk, _ in passed], [steps for _, steps in passed])
        self._set_rule(self._linear([walk.read(self.average) for walk in self.walks_]))

    def certificate(self) -> training.PerceptronCertificate | list[training.PerceptronCertificate]:
        """The bound on the number of updates beside those made; one for each binary problem of more than two classes.

        Needs the rows of `fit`, and computes the widest margin between the classes from them.

        Returns
        -------
        PerceptronCertificate, or list with one for each binary problem
        """
        check_is_fitted(self, "rule_")
        if not hasattr(self, "_training"):
            raise NotReadyError(
                "The certificate is computed from the rows of fit, which partial_fit does not keep and a stored model "
                "does not carry. Fit it again."
            )
        found = [self._certificate(self._training, column) for column in range(len(self.walks_))]
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
            n_jobs=self.n_jobs,
        )

    def _problem(self, data: LabelledRows, column: int) -> training.TwoSides:
        """The binary problem of a column of the codebook."""
        chosen, sides = self.codebook_.targets(data.codes, column)
        return training.TwoSides(np.arange(data.n_rows) if chosen is None else chosen, sides, column)

    def _solutions(self, data: LabelledRows) -> list[training.PerceptronRun]:
        table, settings, gram = training.RowBlocks(data.rows), self._settings(), None
        if self.form == "dual":
            if data.n_rows > _MOST_DUAL_ROWS:
                raise InputError(
                    Setting("form", "dual"),
                    f" keeps the products of every two rows, and is for at most {_MOST_DUAL_ROWS:,} rows; X has "
                    f"{data.n_rows:,}. Use ",
                    Setting("form", "primal"),
                    ", which makes the same updates.",
                )
            gram = training.gram_matrix(table, settings.fit_intercept)

        def trained(column: int) -> training.PerceptronRun:
            task = table, self._problem(data, column), settings
            return training.train(
                training.PrimalPerceptron(*task) if gram is None else training.DualPerceptron(*task, gram)
            )

        return side_by_side(trained, list(range(self.codebook_.n_columns)), self.n_jobs)

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
        """The call that decides whether a binary problem can be solved."""
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
            circle = f"It runs in a circle: passes {since} and {again} ended with the same weights. "
        problems = f" in {len(failed)} of {len(solutions)} binary problems" if len(solutions) > 1 else ""
        warn(
            Message(
                f"No pass was without mistakes{problems}. The best weights at the end of a pass are kept: after "
                f"{outcome.reached.epochs} epochs they get {several(outcome.mistakes, 'row')} wrong in "
                f"{self._named(worst)}. "
                f"{circle}{self._question(worst)} decides whether they can be separated at all. If so, raise ",
                Setting("max_iter"), ", else use ", Setting("average", True), ", ", Model("LogisticRegression"), " or ",
                Model("SupportVectorClassifier"), ".",
            ),
            ConvergenceWarning,
        )  # fmt: skip

    def _certificate(self, data: LabelledRows, column: int) -> training.PerceptronCertificate:
        problem, walk = self._problem(data, column), self.walks_[column]
        block = data.rows.take(problem.chosen)
        try:
            return training.certified(block, problem.sides, walk.weights, walk.updates, bool(self.fit_intercept))
        except DegenerateDataError as error:
            plane = "hyperplane" if self.fit_intercept else "hyperplane through the origin"
            raise DegenerateDataError(
                f"No {plane} separates {self._named(column)}: there is no margin, hence no bound on the updates. "
                f"{self._question(column)} shows why."
            ) from error
