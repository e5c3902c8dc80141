"""The views of the Learn page in their order: what they are called and say, their formulas and their controls."""

from __future__ import annotations

from collections.abc import Mapping

from .learn_views import Choice, View, scale

#: Points to begin with, by name: what they are called on the page.
PRESETS = {
    "blank": "An empty plane, to paint on",
    "crossed_normals": "Two long classes side by side",
    "three_in_a_row": "Three classes in a row",
    "triangle": "Three classes around a centre",
    "far_rows": "Two classes and rows far away",
    "curved": "Two classes with a curved boundary",
    "and": "AND of two bits",
    "or": "OR of two bits",
    "xor": "XOR of two bits",
    "iris": "Petals of three irises",
    "six_rows": "Six rows of one column",
    "two_normals": "Two normal classes, one column",
    "avocados": "Prices of avocados, one column",
}
#: Models by their short names: what all views call them.
_MODELS = {
    "lda": "Linear discriminant analysis",
    "qda": "Quadratic discriminant analysis",
    "logistic": "Logistic regression, maximum likelihood",
    "ridge": "Logistic regression, ridge",
    "least-squares": "Least squares",
    "fisher": "Fisher's discriminant (two classes)",
    "minimum-distance": "Nearest class mean",
    "gaussian-nb": "Naive Bayes, normal densities",
    "rda": "Regularised discriminant analysis",
    "svm": "Support vector machine",
    "perceptron": "Perceptron",
}


def _models(*names: str) -> dict[str, str]:
    return {name: _MODELS[name] for name in names}


#: Models of two classes that are one line.
_LINES = {
    "svm": "Support vector machine, soft margin",
    "hard": "Support vector machine, hard margin",
    **_models("lda", "logistic", "least-squares", "perceptron"),
}
#: Models of two classes that are combined.
_BINARY = _models("least-squares", "lda", "ridge", "svm", "perceptron")
_WITH_POSTERIORS = _models("lda", "qda", "logistic", "ridge", "gaussian-nb")
_SHARES = tuple(round(0.05 * i, 2) for i in range(1, 20))

VIEWS = {
    view.name: view
    for view in (
        View(
            "model",
            "Any model of the notes",
            "Paint, and see where a model decides for which class. Its boundary lies where the two highest scores are "
            "equal.",
            [
                (
                    "It decides for the class of the highest score",
                    r"\hat{y}(x) = \underset{k}{\operatorname{argmax}}\; \delta_k(x)",
                )
            ],
            [Choice("model", "Model", _MODELS)],
            "crossed_normals",
        ),
        View(
            "line",
            "Boundary, margin, distances",
            "The equation of the line, how far the rows are from it, and for a support vector machine the margin and "
            "the rows that hold it.",
            [
                (
                    "The line, and the distance of a row",
                    r"g(x) = w^\top x + b = 0, \qquad r = \frac{g(x)}{\lVert w \rVert}",
                ),
                (
                    "The widest margin, with slack",
                    r"\min_{w, b}\; \tfrac12 \lVert w \rVert^2 + C \sum_i \max(0,\, 1 - y_i g(x_i))",
                ),
            ],
            [
                Choice("model", "Model", _LINES),
                scale("C", "C of the soft margin", (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0), 1.0),
            ],
            "crossed_normals",
        ),
        View(
            "perceptron",
            "The perceptron, update by update",
            "A row on the wrong side pulls the line towards itself. The primal form keeps the line, the dual form how "
            "often each row pulled: they are the same. Where a line separates, the number of updates is bounded.",
            [
                (
                    "An update, for a row on the wrong side",
                    r"w \leftarrow w + \eta\, y_i x_i, \quad b \leftarrow b + \eta\, y_i",
                ),
                ("The dual form counts", r"w = \eta \sum_i \alpha_i y_i x_i, \quad \alpha_i \leftarrow \alpha_i + 1"),
                ("The bound", r"\sum_i \alpha_i \le \frac{R^2}{\gamma^2}"),
            ],
            [
                Choice("rule", "An update where", {"sign": "y sign(w'x + b) < 0", "nonpositive": "y (w'x + b) ≤ 0"}),
                scale("passes", "Passes at most", (1, 2, 5, 10, 20, 50, 100), 50),
            ],
            "and",
            from_start=True,
        ),
        View(
            "likelihood",
            "Climbing the likelihood",
            "Gradient steps follow the slope, mini-batches guess it from a few rows, Newton's steps know the "
            "curvature. Contours are those of the log-likelihood, in the units of the data.",
            [
                ("The log-likelihood", r"\ell(\theta) = \sum_i y_i \log p_i + (1 - y_i) \log(1 - p_i)"),
                ("A gradient step", r"\theta \leftarrow \theta + \rho\, X^\top (y - p)"),
                ("A Newton step", r"\theta \leftarrow \theta + (X^\top D X)^{-1} X^\top (y - p)"),
            ],
            [
                scale("rate", "Step length (0: the safe one)", (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0), 0.0),
                Choice(
                    "schedule",
                    "Steps of mini-batches",
                    {"constant": "of constant length", "decaying": "that become shorter"},
                ),
                scale("batch", "Rows of a mini-batch", (1, 2, 5, 10, 20, 50), 5),
                scale("steps", "Steps", (10, 20, 50, 100, 200), 50),
            ],
            "six_rows",
        ),
        View(
            "sphering",
            "Ellipses and sphering",
            "LDA sees one ellipse around every class mean. Sphering turns it into a circle; then the nearest mean "
            "decides, but for the priors.",
            [
                ("The sphere", r"x^* = \Sigma^{-1/2} (x - \bar{x})"),
                ("There", r"\delta_k = -\tfrac12 \lVert x^* - \mu_k^* \rVert^2 + \log \pi_k"),
            ],
            [],
            "crossed_normals",
            from_start=True,
        ),
        View(
            "fisher",
            "Fisher's direction and its threshold",
            "Rows are projected on the direction that keeps the classes apart best for their spread; a threshold cuts "
            "it.",
            [
                ("The direction", r"w \propto S_W^{-1} (\mu_1 - \mu_2)"),
                ("It maximises", r"J(w) = \frac{w^\top S_B w}{w^\top S_W w}"),
            ],
            [
                Choice(
                    "threshold",
                    "Threshold",
                    {
                        "midpoint": "midpoint of the means",
                        "prior-weighted": "weighted by priors",
                        "bayes": "where normal densities are equal",
                        "cv": "best in cross-validation",
                    },
                )
            ],
            "crossed_normals",
        ),
        View(
            "masking",
            "A class that least squares hides",
            "Least squares fits a plane to each class; the class in the middle never has the highest one. LDA and "
            "logistic regression see it.",
            [
                ("Least squares", r"\hat{B} = (X^\top X)^{-1} X^\top Y"),
                ("It decides by", r"\hat{y} = \underset{k}{\operatorname{argmax}}\; x^\top \hat{B}_k"),
            ],
            [],
            "three_in_a_row",
        ),
        View(
            "outliers",
            "Rows that pull the line",
            "Rows far on their own side cost least squares as much as errors, and turn its line. Move or erase them: "
            "LDA follows less, logistic regression hardly.",
            [
                ("Least squares", r"\min_{w, b}\; \sum_i (y_i - w^\top x_i - b)^2"),
                ("Logistic regression", r"\min_{w, b}\; \sum_i \log\left(1 + e^{-y_i (w^\top x_i + b)}\right)"),
            ],
            [],
            "far_rows",
        ),
        View(
            "many",
            "Many classes from two",
            "One against the rest takes K lines, one against one K (K - 1) / 2. Hatched is what no class or several "
            "classes claim before the highest confidence decides.",
            [
                ("One against the rest", r"\hat{y} = \underset{k}{\operatorname{argmax}}\; g_k(x)"),
                (
                    "One against one, votes",
                    r"\hat{y} = \underset{k}{\operatorname{argmax}}\; \sum_{j \ne k} \mathbb{1}[g_{kj}(x) > 0]",
                ),
            ],
            [Choice("model", "Of each two", _BINARY)],
            "triangle",
        ),
        View(
            "decision",
            "Priors, costs, and no answer",
            "The model stays; shares of the classes, costs of errors and the price of no answer move its boundary.",
            [
                (
                    "Least expected cost",
                    r"\hat{a}(x) = \underset{a}{\operatorname{argmin}}\; \sum_k \lambda(a, k)\, p(k \mid x)",
                ),
                ("Other shares", r"p'(k \mid x) \propto p(k \mid x)\, \frac{\pi'_k}{\pi_k}"),
            ],
            [
                Choice("model", "Model", _WITH_POSTERIORS),
                scale("prior", "Share of the second class", _SHARES, 0.5),
                scale(
                    "cost",
                    "A missed second class costs",
                    (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
                    1.0,
                    "{:g} false alarms",
                ),
                scale("reject", "No answer costs (0: always answer)", (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4), 0.0),
            ],
            "crossed_normals",
        ),
        View(
            "bayes",
            "The error that nobody avoids",
            "Where the true densities are known, the best decision is, and so is how often it is wrong.",
            [
                ("The Bayes error", r"B^* = 1 - \mathbb{E}\left[\max_k\, p(k \mid x)\right]"),
                ("The posterior", r"p(k \mid x) = \frac{\pi_k\, p(x \mid k)}{\sum_j \pi_j\, p(x \mid j)}"),
            ],
            [scale("prior", "Share of the first class", _SHARES, 0.5)],
            "two_normals",
        ),
        View(
            "separable",
            "Where maximum likelihood has no end",
            "Where a line separates the classes, steeper is always more likely: the coefficients grow without end. "
            "Firth's penalty keeps them finite.",
            [
                ("Maximum likelihood", r"\sup_\theta \ell(\theta) = 0, \quad \lVert w \rVert \to \infty"),
                ("Firth's", r"\ell(\theta) + \tfrac12 \log \det I(\theta)"),
            ],
            [scale("steps", "Newton's steps", (2, 5, 10, 15, 20), 15)],
            "far_rows",
        ),
        View(
            "roc",
            "The ROC curve and its threshold",
            "Every threshold of the posterior is a boundary in the plane and a point of the curve.",
            [
                ("A row is called the second class where", r"p(2 \mid x) \ge t"),
                ("A point of the curve", r"\left(\frac{FP}{N^-},\; \frac{TP}{N^+}\right)"),
            ],
            [Choice("model", "Model", _WITH_POSTERIORS), scale("threshold", "Threshold t", _SHARES, 0.5)],
            "crossed_normals",
        ),
    )
}

#: Worked examples of the notes: the view that shows each, its points, and settings that are not the usual ones.
EXAMPLES: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "avocado": ("bayes", "avocados", {"prior": "0.6"}),
    "avocado-costs": ("decision", "avocados", {"prior": "0.4", "cost": "0.5"}),
    "bayes-error": ("bayes", "two_normals", {"prior": "0.5"}),
    "masking": ("masking", "three_in_a_row", {}),
    "far-rows": ("outliers", "far_rows", {}),
    "and-perceptron": ("perceptron", "and", {}),
    "or-perceptron": ("perceptron", "or", {}),
    "xor": ("perceptron", "xor", {}),
    "newton-steps": ("likelihood", "six_rows", {}),
    "ambiguous-centre": ("many", "triangle", {}),
}
