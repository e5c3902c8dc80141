"""Fit and compare every classifier on a real data set: breast cancer diagnoses, 569 cases, 30 measurements."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import discriminant as d

MODELS: dict[str, Any] = {
    "LDA": d.LinearDiscriminantAnalysis(),
    "LDA, shrinkage by CV": d.LinearDiscriminantAnalysis(shrinkage="cv"),
    "QDA": d.QuadraticDiscriminantAnalysis(),
    "QDA, shrinkage by CV": d.QuadraticDiscriminantAnalysis(shrinkage="cv"),
    "Fisher, midpoint": d.FisherDiscriminant(),
    "Fisher, Bayes threshold": d.FisherDiscriminant(threshold="bayes"),
    "Least squares": d.LeastSquaresClassifier(),
    "Gaussian naive Bayes": d.GaussianNB(),
    "Logistic, ridge": d.LogisticRegression(alpha=0.01),
    "Logistic, lasso by CV": d.LogisticRegressionCV(l1_ratio=1.0, n_alphas=20, random_state=0),
    "Naive Bayes, log-normal": make_pipeline(FunctionTransformer(np.log1p), d.NaiveBayes()),
}


def best_fit_time(model: Any, X: Any, y: Any, rounds: int = 5) -> float:
    """Seconds of the fastest of several fits."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        model.fit(X, y)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    console = Console()
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target.map(dict(enumerate(data.target_names)))
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    table = Table(title=f"Breast cancer: {len(X)} cases, {X.shape[1]} measurements, {y.nunique()} classes")
    table.add_column("model")
    for name in ("accuracy\n(10-fold)", "standard\nerror", "on training\nrows", "fit time\n(ms)"):
        table.add_column(name, justify="right")
    for name, model in MODELS.items():
        held_out = cross_val_score(model, X, y, cv=folds)
        seconds = best_fit_time(model, X, y)
        error = held_out.std(ddof=1) / np.sqrt(len(held_out))
        table.add_row(
            name, f"{held_out.mean():.3f}", f"{error:.3f}", f"{model.score(X, y):.3f}", f"{1000 * seconds:.2f}"
        )
    console.print(table)
    lda = MODELS["LDA"]
    strongest = np.argsort(-np.abs(lda.scalings_[:, 0] * X.std().to_numpy()))[:3]
    console.print(
        f"LDA weighs {', '.join(X.columns[strongest])} most. It gives the first case "
        f"{lda.predict_proba(X[:1])[0].max():.1%} for '{lda.predict(X[:1])[0]}'; it was '{y[0]}'.\n"
    )
    few = X[["mean radius", "mean texture", "mean smoothness"]]
    print(d.LogisticRegression(reference="benign").fit(few, y).summary())


if __name__ == "__main__":
    main()
