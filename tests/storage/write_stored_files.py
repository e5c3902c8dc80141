"""Write a stored file of each kind of model in the present format, and what the models answer.

Run it once when the format gets a new version, from this folder: ``PYTHONPATH=.. python write_stored_files.py``.
Files of earlier versions stay as they are; every later version has to read them.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from stored_models import fitted, training

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, NaiveBayes
from discriminant.storage.model_file import VERSION, save

NAMES = (
    "lda",
    "lda-cv",
    "qda",
    "gaussian-nb",
    "fisher-bayes",
    "least-squares-ridge",
    "logistic",
    "logistic-two",
    "logistic-firth",
    "logistic-cv",
    "perceptron-pairs",
    "one-vs-rest",
    "output-code",
    "decided",
    "rda",
    "auto",
)
FOLDER = Path(__file__).parent / "data" / f"v{VERSION}"


def mixed():
    """A naive Bayes model of numbers and levels, and its rows."""
    X, y = training("lda", n=40)
    levels = np.array(["red", "green", "it's"])[(y + np.arange(len(y)) % 2) % 3]
    frame = pd.DataFrame({"size": X[:, 0], "colour": levels, "member": X[:, 1] > 0})
    return NaiveBayes().fit(frame, np.array(["a", "b", "ü"], dtype=object)[y]), frame


def by_formula():
    """A model by formula, which codes frames and makes splines and products, and its rows."""
    _, frame = mixed()
    frame["answer"] = np.arange(len(frame)) % 3 == 0
    formula = "answer ~ bs(size, df=4) + log(size + 10) * colour + member"
    return LogisticRegression.from_formula(formula, frame, alpha=0.1), frame.drop(columns="answer")


def streams():
    """Models in the middle of a stream, and the next rows."""
    X, y = training("lda", n=60)
    some = y[:40] < 2
    waiting = LinearDiscriminantAnalysis().partial_fit(X[:40][some], y[:40][some], classes=[0, 1, 2])
    return {"stream-lda": waiting, "stream-logistic": LogisticRegression(random_state=0).partial_fit(X[:40], y[:40])}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name in NAMES:
        X = training(name)[0][:6]
        expected[name] = write(name, fitted(name), X, X.tolist())
    model, frame = mixed()
    expected["mixed"] = write("mixed", model, frame.head(6), frame.head(6).to_dict("list"))
    model, frame = by_formula()
    expected["formula"] = write("formula", model, frame.head(6), frame.head(6).to_dict("list"))
    for name, model in streams().items():
        X, y = training("lda", n=60)
        save(model, FOLDER / f"{name}.dsc")
        model.partial_fit(X[40:], y[40:])
        more = {"more": X[40:].tolist(), "labels": y[40:].tolist()}
        expected[name] = {**answered(model, X[:6], X[:6].tolist()), **more}
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


def write(name, model, X, rows):
    save(model, FOLDER / f"{name}.dsc", metrics={"rows": len(X)}, schema={"columns": []}, note="stored for the tests")
    return answered(model, X, rows)


def answered(model, X, rows):
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    values = getattr(model, method)(X)
    return {"rows": rows, "predict": model.predict(X).tolist(), "method": method, "values": values.tolist()}


if __name__ == "__main__":
    main()
