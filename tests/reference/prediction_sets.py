"""Makes prediction_sets.json, sets of MAPIE with given calibration scores: ``python prediction_sets.py``."""

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression


def main():
    import mapie
    from mapie.classification import SplitConformalClassifier

    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, calibration, test = order[:60], order[60:120], order[120:]
    model = LogisticRegression(max_iter=5000).fit(X[train, :3], y[train])
    found = {"version": mapie.__version__, "test": model.predict_proba(X[test, :3]).tolist(), "cases": []}
    for score in ("lac", "aps"):
        for coverage in (0.7, 0.8, 0.9):
            sets = SplitConformalClassifier(
                model, confidence_level=coverage, conformity_score=score, prefit=True, random_state=0
            )
            sets.conformalize(X[calibration, :3], y[calibration])
            # With aps the calibration scores are randomised; the last class that exceeds the threshold is left out.
            more = {} if score == "lac" else {"conformity_score_params": {"include_last_label": False}}
            contains = sets.predict_set(X[test, :3], **more)[1][:, :, 0]
            scores = np.ravel(sets._mapie_classifier.conformity_scores_)
            case = {
                "score": score,
                "coverage": coverage,
                "scores": scores.tolist(),
                "sets": contains.astype(int).tolist(),
            }
            found["cases"].append(case)
    Path(__file__).with_suffix(".json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
