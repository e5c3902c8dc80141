"""Every measure in one sentence, for readers who meet it for the first time."""

from __future__ import annotations

#: How a measure is called in the report, and what it says.
WORDS: dict[str, tuple[str, str]] = {
    "accuracy": ("Accuracy", "The share of rows that are given their own class."),
    "error": ("Error rate", "The share of rows that are given another class than their own."),
    "balanced accuracy": ("Balanced accuracy", "The mean recall of the classes: rare classes count as much as others."),
    "auc": (
        "AUC",
        "How often a row of the class scores above a row of another class; 0.5 is guessing, 1 is never wrong.",
    ),
    "log_loss": (
        "Log-loss",
        "How surprised the probabilities are by the truth, on average; 0 is best, and sure errors cost most.",
    ),
    "brier": ("Brier score", "The mean squared distance of the probabilities from what came true; 0 is best."),
    "cost": ("Cost", "What a row costs on average under the costs given; less is better."),
    "least risk": (
        "Cost, least risk",
        "What a row costs if the action of least expected cost is taken instead of the likeliest class.",
    ),
    "recall": ("Recall", "Of the rows of a class, the share that is recognised; also called sensitivity."),
    "precision": ("Precision", "Of the rows that are given a class, the share that truly is of it."),
    "f1": ("F1", "The harmonic mean of recall and precision: high only where both are."),
    "sensitivity": ("Sensitivity", "Of the rows of the class, the share that is recognised."),
    "specificity": ("Specificity", "Of the rows of other classes, the share that is not taken for the class."),
    "interval": (
        "Interval",
        "The values that are compatible with the data; had the study been repeated, most such intervals would hold the "
        "true value.",
    ),
    "p (Holm)": (
        "p (Holm)",
        "How often chance alone makes a difference as large as this, corrected for the number of pairs looked at.",
    ),
    "odds ratio": (
        "Odds ratio",
        "What the odds of the class are multiplied by when the column grows by one, the others unchanged.",
    ),
    "coefficient": ("Coefficient", "What one unit more of the column adds to the score of the class."),
    "standardised": (
        "Per standard deviation",
        "What one standard deviation more of the column adds to the score; comparable between columns.",
    ),
    "out of fold": (
        "Held-out rows",
        "Rows that were put aside while the model was fitted, so that it could not learn them by heart.",
    ),
    "threshold": ("Threshold", "The score from which a row is given the class; lower means more hits and more alarms."),
    "calibration error": (
        "Calibration error",
        "How far predicted probabilities are from the shares that came true, on average over ten groups of rows.",
    ),
    "fingerprint": (
        "Fingerprint",
        "A number made of every value of the data: it differs if a single value does.",
    ),
}


def word(metric: str) -> str:
    """How a measure is called."""
    return WORDS[metric][0] if metric in WORDS else metric
