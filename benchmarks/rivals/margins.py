"""Support vector machines of other packages with the hinge loss, most of which penalise the intercept."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ladder import Fit, Rival

Array = np.ndarray[Any, Any]


def _linear_svc(max_iter: int) -> Fit:
    def fit(X: Any, y: Any, C: float, tol: float) -> tuple[Array, Array]:
        from sklearn.svm import LinearSVC

        model = LinearSVC(loss="hinge", C=C, tol=tol, max_iter=max_iter).fit(X, y)
        return model.coef_, model.intercept_

    return fit


def _liblinear(X: Any, y: Any, C: float, tol: float) -> tuple[Array, Array]:
    from liblinear.liblinearutil import train

    model = train(np.where(y == 1, 1.0, -1.0), X, f"-s 3 -c {C} -B 1 -e {tol} -q")
    weights, bias = model.get_decfun()
    sign = 1.0 if model.get_labels()[0] == 1 else -1.0
    return sign * np.array(weights)[None], sign * np.array([bias])


def _snapml(max_iter: int) -> Fit:
    def fit(X: Any, y: Any, C: float, tol: float) -> tuple[Array, Array]:
        import snapml

        model = snapml.SupportVectorMachine(
            loss="hinge", regularizer=1 / C, fit_intercept=True, tol=tol, max_iter=max_iter, n_jobs=2, normalize=False
        )
        model.fit(X, y)
        return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)

    return fit


def _svc(X: Any, y: Any, C: float, tol: float) -> tuple[Array, Array]:
    from sklearn.svm import SVC

    model = SVC(kernel="linear", C=C, tol=tol).fit(X, y)
    return model.coef_, model.intercept_


#: On raw counts only scikit-learn's reaches about 1e-6; LIBLINEAR stops at 2e-3, after its 1,000 iterations.
RIVALS = [
    Rival("scikit-learn LinearSVC", _linear_svc(20_000)),
    Rival("LIBLINEAR", _liblinear),
    Rival("snapml", _snapml(3_000)),
]
#: Its intercept is not penalised.
LIBSVM = Rival("scikit-learn SVC(kernel='linear')", _svc)
#: On tall data none of them converges within minutes; they are stopped after a number of iterations.
STOPPED_RIVALS = [
    Rival("scikit-learn LinearSVC, 100 iterations", _linear_svc(100), ladder=(1e-6,)),
    Rival("snapml, 200 iterations", _snapml(200), ladder=(1e-8,)),
]
