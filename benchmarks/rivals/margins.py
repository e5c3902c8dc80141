"""Support vector machines with the hinge loss elsewhere; all of them penalise the intercept like a coefficient."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ladder import Rival

Array = np.ndarray[Any, Any]


def _linear_svc(X: Any, y: Any, C: float, tol: float) -> tuple[Array, Array]:
    from sklearn.svm import LinearSVC

    model = LinearSVC(loss="hinge", C=C, tol=tol, max_iter=3000).fit(X, y)
    return model.coef_, model.intercept_


def _liblinear(X: Any, y: Any, C: float, tol: float) -> tuple[Array, Array]:
    from liblinear.liblinearutil import train

    model = train(np.where(y == 1, 1.0, -1.0), X, f"-s 3 -c {C} -B 1 -e {tol} -q")
    weights, bias = model.get_decfun()
    sign = 1.0 if model.get_labels()[0] == 1 else -1.0
    return sign * np.array(weights)[None], sign * np.array([bias])


def _snapml(X: Any, y: Any, C: float, tol: float) -> tuple[Array, Array]:
    import snapml

    model = snapml.SupportVectorMachine(
        loss="hinge", regularizer=1 / C, fit_intercept=True, tol=tol, max_iter=3000, n_jobs=2, normalize=False
    )
    model.fit(X, y)
    return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)


RIVALS = [
    Rival("scikit-learn LinearSVC", _linear_svc, ladder=(0.1, 1e-2, 1e-3, 1e-4, 1e-5), sparse=True),
    Rival("LIBLINEAR", _liblinear, ladder=(0.1, 1e-2, 1e-3, 1e-4, 1e-5), sparse=True),
    Rival("snapml", _snapml, ladder=(1e-4, 1e-5, 1e-6, 1e-7, 1e-8), sparse=True),
]
