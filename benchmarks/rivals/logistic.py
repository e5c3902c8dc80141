"""Logistic regression of other packages.

``fit(X, y, alpha, tol)`` returns coefficients and intercepts for the objective mean loss + alpha / 2 |w|^2, or raises
the error of the package.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .ladder import Fit, Rival

Array = np.ndarray[Any, Any]


def _sklearn(solver: str, module: str = "sklearn.linear_model") -> Fit:
    def fit(X: Any, y: Any, alpha: float, tol: float) -> tuple[Array, Array]:
        from importlib import import_module

        C = np.inf if alpha == 0 else 1 / (alpha * X.shape[0])
        model = import_module(module).LogisticRegression(C=C, solver=solver, tol=tol, max_iter=2000)
        model.fit(X, y)
        return model.coef_, model.intercept_

    return fit


def _glum(X: Any, y: Any, alpha: float, tol: float) -> tuple[Array, Array]:
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(family="binomial", alpha=alpha, l1_ratio=0, gradient_tol=tol, max_iter=500)
    model.fit(X, y)
    return model.coef_[None], np.array([model.intercept_])


def _statsmodels(X: Any, y: Any, alpha: float, tol: float) -> tuple[Array, Array]:
    import statsmodels.api as sm

    if alpha:
        raise ValueError("statsmodels is run without a penalty")
    found = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=tol, maxiter=100).params
    return found[None, 1:], found[:1]


def _snapml(X: Any, y: Any, alpha: float, tol: float) -> tuple[Array, Array]:
    import snapml

    model = snapml.LogisticRegression(
        fit_intercept=True, regularizer=max(alpha * X.shape[0], 1e-6), tol=tol, max_iter=500, n_jobs=2, normalize=False
    )
    model.fit(X, y)
    return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)


def torch_lbfgs(X: Array, y: Array, alpha: float, tol: float) -> tuple[Array, Array]:
    """Full batches in float32 with the strong Wolfe line search, on two threads."""
    import torch

    torch.set_num_threads(2)
    rows, codes = torch.from_numpy(X), torch.from_numpy(y)
    layer = torch.nn.Linear(X.shape[1], int(y.max()) + 1)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    found = torch.optim.LBFGS(
        layer.parameters(), max_iter=2_000, history_size=12, tolerance_grad=tol * 1e-2, tolerance_change=tol * 1e-2,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure() -> Any:
        found.zero_grad()
        loss = torch.nn.functional.cross_entropy(layer(rows), codes) + alpha / 2 * (layer.weight**2).sum()
        loss.backward()
        return loss

    found.step(closure)
    return layer.weight.detach().numpy(), layer.bias.detach().numpy()


RIVALS = [
    Rival("scikit-learn lbfgs", _sklearn("lbfgs"), multinomial=True, sparse=True),
    Rival("scikit-learn newton-cholesky", _sklearn("newton-cholesky"), multinomial=True),
    Rival("scikit-learn newton-cg", _sklearn("newton-cg"), multinomial=True, sparse=True),
    Rival("scikit-learn-intelex lbfgs", _sklearn("lbfgs", "sklearnex.linear_model"), multinomial=True),
    Rival("LIBLINEAR (through scikit-learn)", _sklearn("liblinear"), sparse=True),
    Rival("glum", _glum),
    Rival("statsmodels", _statsmodels),
    Rival("snapml", _snapml, sparse=True),
]


def adelie_path(X: Array, y: Array, alphas: Array, tol: float | None, n_threads: int = 2) -> list[tuple[Array, float]]:
    """The lasso path of adelie, for columns that are contiguous in memory; None: its default tolerances."""
    import adelie

    tolerances = {} if tol is None else {"tol": tol, "irls_tol": tol}
    state = adelie.grpnet(
        X=X, glm=adelie.glm.binomial(y=y.astype(float)), lmda_path=alphas, n_threads=n_threads,
        early_exit=False, progress_bar=False, **tolerances,
    )  # fmt: skip
    betas = state.betas.toarray()
    return [(beta, float(intercept)) for beta, intercept in zip(betas, state.intercepts, strict=True)]


def glmnet_path(X: Array, y: Array, alphas: Array) -> list[tuple[Array, float]]:
    """The lasso path of glmnet's Fortran code, at its default tolerance."""
    from glmnet import LogitNet

    model = LogitNet(alpha=1, lambda_path=alphas.copy(), standardize=False, n_splits=0).fit(X, y)
    return [
        (coef, float(b)) for coef, b in zip(model.coef_path_[0].T, np.ravel(model.intercept_path_), strict=True)
    ]  # fmt: skip


def glmnet_cv(X: Array, y: Array, l1_ratio: float) -> Any:
    """Cross-validation by glmnet's Fortran code: 10 folds, 100 strengths."""
    from glmnet import LogitNet

    return LogitNet(alpha=l1_ratio, n_splits=10, scoring="log_loss", random_state=0).fit(X, y)


def glum_path(X: Array, y: Array, alphas: Array, tol: float) -> list[tuple[Array, float]]:
    """The lasso path of glum, each strength started from the one before."""
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(
        family="binomial",
        l1_ratio=1,
        gradient_tol=tol,
        warm_start=True,
        scale_predictors=False,
        alpha=1.0,
        max_iter=300,
    )
    found = []
    for alpha in alphas:
        model.set_params(alpha=alpha).fit(X, y.astype(float))
        found.append((model.coef_.copy(), float(model.intercept_)))
    return found
