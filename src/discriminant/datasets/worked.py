"""The worked examples of the lecture notes: what each gives, and the numbers that must come out of it.

One source for tests, lessons and the gallery. An example holds data and numbers only, it computes nothing: whoever
reads it calls the functions of the package on ``given`` and compares with ``numbers``. Where the notes give a number it
is theirs, with all digits; where they draw a picture or state a rule, the number was worked out by hand or by another
program, and ``origin`` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ParameterError
from ..results import Result, listed, suggestion
from . import tables

_BASIC = "Clasificadores discriminativos básicos (R. Ñanculef, INF-398, 2021)"
_DISCRIMINATIVE = "Classificazione discriminativa (V. Bonifaci, IN550 Machine Learning)"
_MODELS = "Modelos de clasificación lineales (M. Onetto)"
_LINEAR = "Classificação linear (lecture notes in Portuguese)"


@dataclass(frozen=True, repr=False, eq=False)
class WorkedExample(Result):
    """An example of the notes.

    Attributes
    ----------
    name : str
        By which `worked_example` knows it.
    title : str
        What it shows, in a few words.
    rows : tuple of str
        The subjects it replays, by the ids of the table of subjects: D1, L7 and so on.
    note : str
        The notes it comes from.
    section : str
        Where in the notes it stands.
    question : str
        What is given and what is asked.
    given : dict
        What goes into the functions: tables, priors, costs, points.
    numbers : dict
        What must come out, by name.
    origin : str
        Whose numbers these are.

    See Also
    --------
    worked_example : One example by its name.
    """

    name: str
    title: str
    rows: tuple[str, ...]
    note: str
    section: str
    question: str
    given: Mapping[str, Any]
    numbers: Mapping[str, Any]
    origin: str = "the notes"

    def _columns(self) -> Mapping[str, Any]:
        return {"what": list(self.numbers), "value": [str(value) for value in self.numbers.values()]}

    def __str__(self) -> str:
        lines = [f"{name}: {value}" for name, value in self.numbers.items()]
        where = f"{self.note}, {self.section} ({listed(self.rows)}; numbers: {self.origin})"
        return "\n".join([f"{self.title}. {self.question}", *lines, where])


def worked_examples() -> dict[str, WorkedExample]:
    """All worked examples of the notes by name, in the order of the subjects.

    Returns
    -------
    dict of WorkedExample
        Made anew at each call.

    See Also
    --------
    worked_example : One of them.

    Examples
    --------
    >>> from discriminant.datasets import worked_examples
    >>> list(worked_examples())[:3]
    ['avocado', 'avocado-costs', 'bayes-error']
    """
    made = [*_decisions(), *_moments(), *_perceptrons(), *_logistic(), *_many_classes(), *_measures()]
    return {example.name: example for example in made}


def worked_example(name: str) -> WorkedExample:
    """A worked example of the notes by its name.

    Parameters
    ----------
    name : str
        One of the keys of `worked_examples`.

    Returns
    -------
    WorkedExample
        What is given, and what must come out.

    See Also
    --------
    worked_examples : All of them.

    Examples
    --------
    >>> from discriminant.datasets import worked_example
    >>> avocado = worked_example("avocado")
    >>> avocado.given["priors"], round(avocado.numbers["posterior of organic"], 4)
    ({'organic': 0.4, 'ordinary': 0.6}, 0.5532)
    """
    known = worked_examples()
    if name not in known:
        raise ParameterError(
            f"No worked example is called {name!r}.{suggestion(str(name), known)} Names: {', '.join(known)}."
        )
    return known[name]


def _decisions() -> list[WorkedExample]:
    priors = {"organic": 0.4, "ordinary": 0.6}
    #: The probabilities of weighing 1.4 and of weighing anything else.
    likelihood = {"organic": [0.65, 0.35], "ordinary": [0.35, 0.65]}
    normals = tables.two_normals()
    return [
        WorkedExample(
            "avocado",
            "A priori, most likely and most probable class of an avocado",
            ("D1", "D2"),
            _BASIC,
            "Decisión a-priori vs. decisión a-posteriori",
            "40 % of avocados are organic; 65 % of the organic and 35 % of the ordinary ones weigh 1.4. Of which kind "
            "is one that weighs 1.4?",
            {"priors": priors, "likelihood": likelihood, "value": 0},
            {
                "posterior of organic": 0.26 / 0.47,
                "posterior of ordinary": 0.21 / 0.47,
                "a priori": "ordinary",
                "maximum likelihood": "organic",
                "maximum a posteriori": "organic",
            },
        ),
        WorkedExample(
            "avocado-costs",
            "Costs turn the decision",
            ("D3", "D4"),
            _BASIC,
            "Cost-sensitive classification",
            "Calling an ordinary avocado organic costs 2, the reverse costs 1. What is one that weighs 1.4 called?",
            {
                "priors": priors,
                "likelihood": likelihood,
                "value": 0,
                "costs": {"ordinary": {"organic": 2.0}, "organic": {"ordinary": 1.0}},
            },
            {"risk of organic": 0.42 / 0.47, "risk of ordinary": 0.26 / 0.47, "decision": "ordinary"},
        ),
        WorkedExample(
            "bayes-error",
            "The error that no classifier avoids",
            ("D1",),
            _BASIC,
            "Error & clasificador de Bayes",
            "Two classes of equal share have the densities N(0, 1) and N(2, 1). Where is the best threshold, and how "
            "often is it wrong?",
            {"distributions": normals.distributions, "priors": normals.priors},
            {"threshold": 1.0, "error": 0.15865525393145707},
            "Phi(-1), from tables of the normal distribution",
        ),
        WorkedExample(
            "divergences",
            "Kullback-Leibler and Jensen-Shannon divergence",
            ("D6",),
            _BASIC,
            "Divergencias clásicas",
            "How far is q = (0.2, 0.3, 0.5) from p = (0.5, 0.3, 0.2)?",
            {"p": [0.5, 0.3, 0.2], "q": [0.2, 0.3, 0.5]},
            {"KL": 0.27488721956224654, "JS": 0.06641431438228168},
            "by hand: KL = 0.3 log 2.5, and the formula of JS",
        ),
    ]


def _moments() -> list[WorkedExample]:
    row = tables.three_in_a_row()
    return [
        WorkedExample(
            "masking",
            "Least squares hides the class in the middle",
            ("G1", "G2"),
            _MODELS,
            "Clasificador de regresión lineal",
            "Three classes of 100 rows lie in a row. How many rows does each model give to the middle one?",
            {"data": row},
            {"least squares": 9, "LDA": 100},
            "NumPy's lstsq and the formulas of LDA",
        ),
        WorkedExample(
            "far-rows",
            "Rows that are too correct turn the boundary of least squares",
            ("G1", "L11"),
            _LINEAR,
            "3. Quadrados mínimos para classificação linear, and 6.2",
            "A line separates two classes; ten rows of one lie far away on their own side. How many of the 90 rows are "
            "then on the wrong side?",
            {"data": tables.far_rows()},
            {"least squares": 12, "logistic regression": 0},
            "NumPy's lstsq, and a separating line found by linear programming",
        ),
        WorkedExample(
            "sphering",
            "Sphering by eigenvectors",
            ("G4",),
            _MODELS,
            "C. Implementación",
            "The covariance is [[2, 1], [1, 2]]. What are its eigenvalues and the logarithm of its determinant?",
            {"covariance": [[2.0, 1.0], [1.0, 2.0]]},
            {"eigenvalues": [3.0, 1.0], "log determinant": 1.0986122886681098},
            "by hand: log 3",
        ),
        WorkedExample(
            "hyperplane",
            "Distances from a hyperplane",
            ("geometry",),
            _LINEAR,
            "2.1. Classificação binária",
            "g(x) = 3 x1 + 4 x2 - 10. How far from the line are the origin and the point (5, 5)?",
            {"coef": [3.0, 4.0], "intercept": -10.0, "point": [5.0, 5.0]},
            {"distance of the origin": 2.0, "distance of the point": 5.0},
            "by hand: |b| / |w| = 10 / 5, g(x) / |w| = 25 / 5",
        ),
    ]


def _perceptrons() -> list[WorkedExample]:
    asked = "The four rows are taken in turn, from w = 0 and b = 0, by either rule. What is learned, and how soon?"
    solved = "the perceptron traced by hand; the widest margin from its conditions"
    made = [
        WorkedExample(
            f"{gate}-perceptron",
            f"The perceptron learns {gate.upper()}",
            ("L1", "L2", "L3", "L5"),
            _BASIC if gate == "and" else _DISCRIMINATIVE,
            "Algoritmo de entrenamiento de Rosenblatt" if gate == "and" else "Algoritmo del Percettrone",
            asked,
            {"data": tables.logic_gate(gate)},
            {**numbers, "widest margin": 0.5**0.5},
            solved,
        )
        for gate, numbers in _GATE_NUMBERS.items()
    ]
    xor = WorkedExample(
        "xor",
        "No line separates XOR",
        ("L4",),
        _DISCRIMINATIVE,
        "Classificazione binaria e separabilità lineare",
        "Is there a line with 01 and 10 on one side, 00 and 11 on the other?",
        {"data": tables.logic_gate("xor")},
        {"separable": False, "common point": [0.5, 0.5]},
        "by hand: the diagonals of a square cross",
    )
    return [*made, xor]


#: By rule: updates, w and b; and the bound R^2 / gamma^2 = 3 |(w, b)|^2, with (2, 2, -3) for AND and (2, 2, -1) for OR.
_GATE_NUMBERS: dict[Any, dict[str, Any]] = {
    "and": {
        "sign: updates": 11, "sign: w": [2.0, 1.0], "sign: b": -3.0,
        "nonpositive: updates": 18, "nonpositive: w": [3.0, 2.0], "nonpositive: b": -4.0, "bound": 51.0,
    },
    "or": {
        "sign: updates": 5, "sign: w": [1.0, 1.0], "sign: b": -1.0,
        "nonpositive: updates": 9, "nonpositive: w": [2.0, 2.0], "nonpositive: b": -1.0, "bound": 27.0,
    },
}  # fmt: skip


def _logistic() -> list[WorkedExample]:
    return [
        WorkedExample(
            "newton-steps",
            "Newton-Raphson step by step",
            ("L7",),
            _BASIC,
            "El regresor logístico, (28) to (32)",
            "x = 1, ..., 6 and y = 0, 0, 1, 0, 1, 1, from b = w = 0. What are the first iterates and the maximum?",
            {"data": tables.six_rows()},
            {
                "first iterate": [-2.8, 0.8],
                "second iterate": [-3.884215223551357, 1.1097757781575306],
                "maximum": [-4.249096550479972, 1.2140275858514205],
                "log-likelihood": -2.477986835049612,
            },
            "the formulas of the notes in NumPy, intercept first",
        ),
        WorkedExample(
            "titanic",
            "The odds of survival",
            ("L8",),
            _BASIC,
            "Interpretación (vía modelo lineal)",
            "By how much were the odds of surviving the Titanic better for women than for men?",
            {"data": tables.titanic()},
            {"odds ratio": 344 * 1364 / (126 * 367)},
            "the counts: 344 women survived and 126 did not, 367 men did and 1,364 did not",
        ),
        WorkedExample(
            "softmax",
            "Log-odds against a reference class, and softmax",
            ("L9",),
            _BASIC,
            "Múltiples clases, (44) and (45)",
            "The log-odds of the first two classes against the third are 1 and 0. How probable is each class?",
            {"log-odds": [1.0, 0.0]},
            {"posterior": [0.5761168847658291, 0.21194155761708547, 0.21194155761708547]},
            "by hand: e / (e + 2) and 1 / (e + 2)",
        ),
    ]


def _many_classes() -> list[WorkedExample]:
    return [
        WorkedExample(
            "ambiguous-centre",
            "A point that no class claims, and classes that all claim it",
            ("C1", "C2", "C5"),
            _LINEAR,
            "2.2. Abordagens para classificação multi-classe",
            "Three classes lie around a centre. What do one-versus-rest and one-versus-one say of points in the middle "
            "and outside?",
            {"data": tables.triangle(), "points": [[0.0, -0.05], [0.0, -4.0], [0.0, 3.0]]},
            {"one-versus-rest": ["none", "several", "one"]},
            "the signs of the three lines, fitted by NumPy's lstsq",
        ),
        WorkedExample(
            "output-code",
            "A code of four classes that corrects one error",
            ("C3",),
            _BASIC,
            "Error correcting output codes (ECOC)",
            "The exhaustive code of four classes has seven columns. How far apart are its rows?",
            {"n_classes": 4},
            {"columns": 7, "row distance": 4},
            "by hand: 2^(K - 1) - 1 columns, rows 2^(K - 2) apart",
        ),
    ]


def _measures() -> list[WorkedExample]:
    truth = [0, 0, 0, 0, 1, 1, 1, 1]
    return [
        WorkedExample(
            "rates",
            "The rates of a confusion matrix",
            ("E1", "E2", "E3", "E4"),
            _LINEAR,
            "7. Métricas de avaliação",
            "TP = 40, FN = 10, FP = 20, TN = 30. What are the rates, and F with m = 1 and m = 4?",
            {"TP": 40, "FN": 10, "FP": 20, "TN": 30},
            {
                "error rate": 0.3, "accuracy": 0.7, "false negative rate": 0.2, "false positive rate": 0.4,
                "precision": 2 / 3, "recall": 0.8, "specificity": 0.6, "F, m = 1": 8 / 11, "F, m = 4": 10 / 13,
            },
            "by hand, (91) to (99)",
        ),
        WorkedExample(
            "two-roc-curves",
            "Two classifiers on one ROC",
            ("E5",),
            _LINEAR,
            "7.7. Receiver operating curve (ROC)",
            "Two classifiers score eight rows. Which one ranks them better?",
            {
                "y": truth,
                "A": [0.1, 0.3, 0.35, 0.6, 0.4, 0.7, 0.8, 0.9],
                "B": [0.2, 0.5, 0.3, 0.7, 0.4, 0.6, 0.45, 0.8],
            },
            {"AUC of A": 15 / 16, "AUC of B": 11 / 16},
            "by hand: pairs of a positive above a negative row, of 16",
        ),
    ]  # fmt: skip
