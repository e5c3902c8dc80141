"""Problems for support vector machines, and the proof that a solution is one, computed with more digits."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from discriminant.multiclass import CodebookRule

Wide = np.longdouble


def _plain(rng, n, p):
    X = rng.normal(size=(n, p))
    return X, X @ rng.normal(size=p) + rng.choice([0.3, 3.0]) * rng.normal(size=n) > 0.3


def _separable(rng, n, p):
    X = rng.normal(size=(n, p))
    side = rng.random(n) < 0.5
    return X + 6.0 * side[:, None], side


def _integers(rng, n, p):
    X = rng.integers(-3, 4, size=(n, p)).astype(float)
    return X, X.sum(axis=1) + rng.integers(-2, 3, n) > 0


def _unbalanced(rng, n, p):
    X = rng.normal(size=(1001, p))
    return X, np.arange(1001) == rng.integers(1001)


def changed(make):
    """Plain rows, changed."""

    def problem(rng, n, p):
        X, side = _plain(rng, n, p)
        return make(rng, X), side

    return problem


#: What rows look like, by name: a function of a generator and of about how many rows and columns there should be.
KINDS = {
    "plain": _plain,
    "separable": _separable,
    "integers": _integers,
    "one to a thousand": _unbalanced,
    "one column": lambda rng, n, p: _plain(rng, n, 1),
    "two rows": lambda rng, n, p: (rng.normal(size=(2, p)), np.array([False, True])),
    "more columns than rows": lambda rng, n, p: _plain(rng, 15, 40),
    "duplicates": changed(lambda rng, X: X[rng.integers(0, len(X) // 3, len(X))]),
    "collinear": changed(lambda rng, X: np.column_stack((X, 2 * X[:, 0], X.sum(axis=1)))),
    "a constant column": changed(lambda rng, X: np.column_stack((X, np.full(len(X), rng.choice([0.0, 0.1, 1e3]))))),
    "far from 0": changed(lambda rng, X: X + 1e6 * rng.normal(size=X.shape[1])),
    "units": changed(lambda rng, X: X * 10.0 ** rng.integers(-6, 7, X.shape[1])),
}


def problem(kind, seed, weighted=False):
    """Rows, labels 0 and 1, and weights or None."""
    rng = np.random.default_rng((seed, list(KINDS).index(kind)))
    X, side = KINDS[kind](rng, int(rng.integers(12, 110)), int(rng.integers(2, 9)))
    y = side.astype(int)
    y[0], y[-1] = (0, 1) if kind != "one to a thousand" else (y[0], y[-1])
    weight = rng.choice([0.0, 0.5, 1.0, 2.0, 10.0, 1e-3], len(y)) if weighted else None
    if weighted:
        for label in (0, 1):
            weight[np.argmax(y == label)] = 1.0
    return X, y, weight


@dataclass
class Proof:
    """A soft margin with its multipliers, and what follows from them by arithmetic alone.

    The minimum is between ``dual``, a bound from feasible multipliers, and ``primal``.
    """

    primal: float
    dual: float
    alpha: np.ndarray
    cost: np.ndarray
    slacks: np.ndarray
    spare: np.ndarray
    stray: float  #: |coef - alpha y X|^2 / 2
    unbalanced: float  #: |sum alpha y| relative to sum alpha
    rounding: float  #: what the rounding of coefficients, scores and sums of rows may add to their distance

    @property
    def gap(self):
        return self.primal - self.dual


def proof(model, X, y, weight=None, column=0):
    """The `Proof` of a binary problem of a fitted model."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X).astype(Wide)
    side = model.codebook_.matrix[:, column][np.searchsorted(model.classes_, y)]
    part = side != 0
    sign, X = side[part].astype(Wide), X[part]
    cost = Wide(model.C) * (np.ones(len(sign)) if weight is None else np.asarray(weight)[part]).astype(Wide)
    alpha = np.zeros(len(y), Wide)
    alpha[model.support_] = model.dual_coef_[column]
    alpha = alpha[part] * sign
    linear = model.rule_.columns if isinstance(model.rule_, CodebookRule) else model.rule_
    row = column + (len(model.classes_) == 2)
    centre, coef = linear.centre.astype(Wide), linear.coef[row].astype(Wide)
    score = (X - centre) @ coef + Wide(linear.constants[row])
    slacks, spare = np.maximum(1 - sign * score, 0), np.maximum(sign * score - 1, 0)
    squared = model.loss == "squared_hinge"
    feasible = _balanced(alpha, sign) if model.fit_intercept else alpha
    implied = (feasible * sign) @ (X - centre if model.fit_intercept else X)
    conjugate = np.sum(feasible[feasible > 0] ** 2 / (4 * cost[feasible > 0])) if squared else 0
    terms = 1 + np.abs(X - centre) @ np.abs(coef)
    summed = 1e-15 * feasible @ np.linalg.norm((X - centre).astype(float), axis=1)
    return Proof(
        primal=float(coef @ coef / 2 + cost @ (slacks**2 if squared else slacks)),
        dual=float(feasible.sum() - implied @ implied / 2 - conjugate),
        alpha=alpha.astype(float),
        cost=cost.astype(float),
        slacks=slacks.astype(float),
        spare=spare.astype(float),
        stray=float((coef - implied) @ (coef - implied) / 2),
        unbalanced=float(abs(alpha @ sign) / alpha.sum()) if model.fit_intercept and alpha.any() else 0.0,
        rounding=float(1e-15 * cost @ terms + summed * (summed + np.sqrt(implied @ implied))),
    )


def _balanced(alpha, sign):
    """The multipliers made exactly feasible."""
    excess = alpha @ sign
    heavier = sign == np.sign(excess)
    return alpha if excess == 0 else np.where(heavier, alpha * (1 - abs(excess) / alpha[heavier].sum()), alpha)


def assert_optimal(model, X, y, weight=None, column=0, tol=1e-6):
    """Every condition of a minimum, and the model's own bound, hold in arithmetic with more digits."""
    found = proof(model, X, y, weight, column)
    solution = model.solution_ if len(model.classes_) == 2 else model.solution_[column]
    noise = found.rounding + 1e-13 * found.primal
    assert found.gap <= tol * found.primal + noise
    assert found.gap <= solution.duality_gap + noise  # the bound is one
    assert abs(solution.objective - found.primal) <= noise
    assert found.alpha.min() >= 0
    assert (found.alpha[found.cost == 0] == 0).all()
    if model.loss == "hinge":
        assert (found.alpha <= found.cost * (1 + 1e-12)).all()
        assert ((found.cost - found.alpha) * found.slacks).max() <= found.gap + noise
    else:  # alpha = 2 C slack
        assert ((found.alpha - 2 * found.cost * found.slacks) ** 2 <= 4 * found.cost * (found.gap + noise)).all()
    assert (found.alpha * found.spare).max() <= found.gap + noise
    assert found.unbalanced <= 1e-12
    assert found.stray <= found.gap + noise
    return found
