"""Tumours: a missed malignant one costs more than a false alarm, and some cases are better seen by a second doctor."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import discriminant as d
from discriminant import Decision, DecisionClassifier

#: {truth: {action: cost}}: missing a malignant tumour costs as much as twenty false alarms.
COSTS = {"malignant": {"benign": 20.0}, "benign": {"malignant": 1.0}}
COLUMNS = ["mean radius", "mean texture", "mean smoothness"]

DECISIONS = {
    "most probable class": Decision(),
    "least expected cost": Decision(COSTS),
    "the same, or a second doctor for 0.4": Decision(COSTS, reject_cost=0.4),
}


def results(decision: Decision, posterior: Any, y: Any) -> list[str]:
    """What a decision does with the test cases, and what that costs."""
    action = decision.decide(posterior)
    missed = np.sum((action == "benign") & (y == "malignant"))
    alarms = np.sum((action == "malignant") & (y == "benign"))
    passed_on = np.sum(action == "abstain")
    cost = 20.0 * missed + alarms + 0.4 * passed_on
    return [str(missed), str(alarms), str(passed_on), f"{cost / len(y):.3f}"]


def main() -> None:
    console = Console(width=100)
    data = load_breast_cancer(as_frame=True)
    X, y = data.data[COLUMNS], np.where(data.target == 0, "malignant", "benign")
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    model = DecisionClassifier(d.LinearDiscriminantAnalysis(), DECISIONS["least expected cost"]).fit(X, y)
    posterior = model.posterior(X_test)

    table = Table(title=f"{len(X_test)} tumours, {np.sum(y_test == 'malignant')} malignant")
    table.add_column("decision")
    for name in ("missed", "false alarms", "passed on", "mean cost"):
        table.add_column(name, justify="right")
    for name, decision in DECISIONS.items():
        table.add_row(name, *results(decision, posterior, y_test))
    console.print(table)

    close = int(np.argmin(np.abs(np.diff(model.risk(X_test), axis=1))))
    console.print("The closest call:")
    console.print(str(model.explain(X_test, row=close)), highlight=False)


if __name__ == "__main__":
    main()
