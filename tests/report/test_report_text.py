"""What stands in a report: the right numbers, in order, whatever the data are called."""

import base64
import functools
import json
import re
from dataclasses import asdict, replace
from itertools import pairwise
from types import SimpleNamespace

import html5lib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from report_cases import COSTS, HOSTILE, HOSTILE_COLUMN, KINDS, cancer, compared, iris_table
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import ShuffleSplit

from discriminant import (
    DecisionClassifier,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    calibration_curve,
    compare,
)
from discriminant.errors import InputError, ParameterError
from discriminant.evaluation import EvaluationOptions, LabelledPredictions, evaluate, evaluation_of
from discriminant.evaluation.ranking import rank
from discriminant.report import write_report
from discriminant.report.cost_thresholds import (
    PROBABILITIES,
    RATIOS,
    _at,
    cost_ratio,
    thresholds_of,
    thresholds_section,
)
from discriminant.report.page import as_text, between, measured, short, signed, significant
from discriminant.report.sections import _size, fingerprint
from discriminant.report.sentences import precision_at
from discriminant.report.table_report import SECTIONS, TableReport
from discriminant.results import p_value, percent

PLOTLY = re.compile(r"<script>/\*\*\n\* plotly\.js.*?</script>", re.DOTALL)


def text_of(path):
    """The page without plotly's program."""
    return PLOTLY.sub("", path.read_text(encoding="utf-8"))


def figures_of(text):
    """The figures of a page by their places."""
    return json.loads(re.search(r'<script type="application/json" id="figures">(.*?)</script>', text)[1])


@functools.cache
def parsed(path):
    """The page as a tree; a mistake in its HTML is an error."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text_of(path))


def words(element):
    return " ".join("".join(element.itertext()).split())


def section(path, name):
    return next(found for found in parsed(path).iter("section") if found.get("id") == name)


def cells(path, part, label, table=0):
    """The texts of the row of a table that starts with this label."""
    rows = list(list(section(path, part).iter("table"))[table].iter("tr"))
    return next([words(cell) for cell in row] for row in rows if words(row[0]) == label)


def report_data_of(kind="two", **more):
    result, training, models = compared(kind)
    return TableReport(result, training, **{"model": models["LDA"], "model_name": "LDA", **more})


#: Sections that a report does not have, because there is nothing to say: no probabilities, no scores, no rows.
WITHOUT = {
    "margins": ["calibration"],
    "margins_of_two": ["calibration"],
    "one_evaluation": ["models", "coefficients", "roc", "calibration", "thresholds", "regions"],
}
#: Reports with a decision curve: of held-out probabilities of two classes.
OF_TWO_CLASSES = ("two_classes", "two_classes_with_costs", "many_columns", "poor_class")


@pytest.mark.parametrize("kind", KINDS)
def test_every_report_is_valid_html_with_all_parts_in_order(report, kind):
    page = parsed(report(kind))
    assert page.get("lang") == "en"
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    sections = [found.get("id") for found in page.iter("section")]
    left_out = [*WITHOUT.get(kind, ()), *([] if kind in OF_TWO_CLASSES else ["decision"])]
    left_out += [] if kind == "two_classes" else ["groups"]
    expected = [name for (name, *_) in SECTIONS if name not in left_out]
    assert sections == [*expected, "words"]
    links = [link.get("href") for link in page.iter("a")]
    assert set(links) == {f"#{name}" for name in expected}
    levels = [int(element.tag[1]) for element in page.iter() if element.tag in ("h1", "h2", "h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_one_file_of_reasonable_size_that_asks_for_nothing(report, kind):
    page = report(kind).read_text(encoding="utf-8")
    assert len(page) < 7_000_000
    assert len(PLOTLY.findall(page)) == 1
    rest = text_of(report(kind))
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:|//)|@import|url\(""", re.sub(r"&lt;.*?&gt;", "", rest))
    assert "default-src 'none'" in rest


@pytest.mark.parametrize("kind", KINDS)
def test_no_number_is_printed_as_nan_or_none(report, kind):
    for part in parsed(report(kind)).iter("section"):
        assert not re.search(r"\b(nan|None|inf)\b", words(part))


def test_names_are_escaped_wherever_they_stand(report):
    text = text_of(report("hostile"))
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "<b>bold" not in text
    page = parsed(report("hostile"))
    assert [words(title) for title in page.iter("h1")] == [HOSTILE]
    shown = words(section(report("hostile"), "data"))
    assert HOSTILE in shown
    assert HOSTILE_COLUMN in shown
    assert len(list(page.iter("script"))) == text.count("<script")


def test_the_answer_tells_winner_interval_baseline_and_ties(report):
    result, _, _ = compared("two")
    answer = words(section(report("two_classes"), "answer"))
    crossed = result.cross_validation
    low, high = crossed.interval("logistic")
    assert "logistic" in answer
    assert f"{100 * crossed.mean('logistic'):.1f} %" in answer
    assert f"95 % CI {100 * low:.1f} to {100 * high:.1f} %" in answer
    assert f"{100 * 357 / 569:.1f} %" in answer
    for name in ("LDA", "naive Bayes"):
        assert (name in answer) == (not result.is_real("logistic", name))


@pytest.mark.parametrize("kind", KINDS)
def test_the_summary_has_at_most_five_lines_and_the_main_measures(report, kind):
    answer = section(report(kind), "answer")
    order = [element for element in answer.iter() if element.tag in ("ul", "p", "dl")]
    assert [(element.tag, element.get("class")) for element in order] == [
        ("ul", "bullets"), ("p", "recommendation"), ("dl", "keys"),
    ]  # fmt: skip
    bullets = [words(item) for item in order[0].iter("li")]
    assert 3 <= len(bullets) <= 4
    assert all(bullet.endswith(".") for bullet in bullets)
    assert len(words(order[1])) > len("Recommendation. ")
    assert any(words(key).startswith("Recall of “") for key in answer.iter("dt"))


def advice(path):
    return next(words(element) for element in section(path, "answer").iter("p"))


def test_what_is_recommended_follows_from_what_was_found(report, tmp_path):
    assert advice(report("poor_class")).startswith(
        "Recommendation. Do not use these models: none is significantly better"
    )
    assert advice(report("two_classes")).startswith("Recommendation. Use logistic")
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=300) > -0.5, "yes", "no")
    contrary = DummyClassifier(strategy="constant", constant="no")
    result = compare({"LDA": LinearDiscriminantAnalysis(), "contrary": contrary}, X, y, cv=5)
    path = write_report(tmp_path / "r.html", TableReport(result, (X, y), model_name="contrary"))
    assert advice(path) == (
        "Recommendation. Use LDA instead of contrary: it is significantly better than the baseline."
    )


def test_the_rare_class_has_a_bullet_and_a_tile(report):
    data = report_data_of("two", model=compared("two")[2]["logistic"], model_name="logistic")
    recall = percent(data.evaluation["recall", "malignant"].value)
    answer = words(section(report("two_classes"), "answer"))
    assert f"Recall of “malignant” (37.3 % of the rows): {recall}" in answer
    tiles = {words(key[0]): words(key[1]) for key in section(report("two_classes"), "answer").iter("div")}
    assert tiles["Recall of “malignant”"].startswith(recall)


def test_source_and_date_stand_below_the_title(tmp_path):
    evaluation = evaluation_of(LabelledPredictions(list("aabbab"), predicted=list("abbbab")))
    path = write_report(
        tmp_path / "r.html", TableReport(None, None, given_evaluation=evaluation, source=tmp_path / "<i>in.csv")
    )
    byline = next(words(p) for p in parsed(path).iter("p") if p.get("class") == "byline")
    assert re.fullmatch(r"<i>in\.csv · 6 rows · 2 classes · positive class “b” · \d+ [A-Z][a-z]+ \d{4}", byline)


def test_coefficients_are_drawn_per_standard_deviation_and_listed_in_their_units(report):
    X, _, names = cancer()
    model = compared("two")[2]["logistic"]
    (drawn,) = figures_of(text_of(report("two_classes")))["plot-coefficients"]["data"]
    shown = np.frombuffer(base64.b64decode(drawn["x"]["bdata"]), drawn["x"]["dtype"])
    np.testing.assert_allclose(shown, model.coef_[0] * X.std(axis=0), rtol=1e-9)
    listed = cells(report("two_classes"), "coefficients", names[0])
    assert listed[1].startswith(significant(model.coef_[0, 0]))
    assert listed[-1] == significant(model.coef_[0, 0] * X[:, 0].std())


def test_held_out_predictions_have_smooth_calibration_decision_curve_and_groups(report):
    text, (result, _, _) = text_of(report("two_classes")), compared("two")
    found = result.cross_validation
    malignant = found.posteriors("logistic")[:, 1]
    assert str(calibration_curve(found.truth == 1, malignant)).partition(": ")[2] in text
    for place in ("smooth-calibration", "decision", "groups"):
        assert f'id="plot-{place}"' in text
    # The positive class is the second one; every model with probabilities has a curve.
    page = figures_of(text)["plot-decision"]
    names = {trace["name"] for trace in page["data"] if trace.get("showlegend") is not False}
    assert names == {"logistic", "LDA", "naive Bayes", "treat all", "treat none"}
    assert '<th scope="col">size</th>' in text


def test_several_classes_have_a_calibration_curve_each(report):
    text = text_of(report("three_classes"))
    names = [trace.get("name", "") for trace in figures_of(text)["plot-smooth-calibration"]["data"]]
    assert any(name.startswith("virginica: ICI") for name in names)


def test_the_answer_tells_what_errors_cost(report):
    data = report_data_of(given_costs=COSTS)
    answer = words(section(report("two_classes_with_costs"), "answer"))
    assert f"expected cost): {significant(data.evaluation['cost'].value, 3)}" in answer


def test_models_stand_in_their_order_with_scores_and_verdicts(report):
    result, _, _ = compared("two")
    rows = list(next(section(report("two_classes"), "models").iter("table")).iter("tr"))[1:]
    assert [words(row[0]) for row in rows] == list(result.ranking)
    assert result.sentence in words(section(report("two_classes"), "models"))
    assert words(rows[-1][-1]) == "worse"
    for name, row in zip(result.ranking[1:], rows[1:], strict=True):
        real = result.is_real(result.best, name)
        assert words(row[-1]) == ("worse" if real else "not significantly different")
        gap = result.cross_validation.mean(name, "log_loss") - result.cross_validation.mean(result.best, "log_loss")
        assert words(row[-3]).split()[0] == signed(gap, 3)
    assert str(result.chosen) in words(section(report("two_classes"), "models"))


def test_coefficients_are_those_of_the_summary(report):
    _, (_, _, names), models = compared("two")
    rows = [row for row in models["logistic"].summary().rows if row.term != "intercept"]
    for name, row in zip(names, rows, strict=True):
        found = cells(report("two_classes"), "coefficients", name)
        assert found[1].startswith(f"{significant(row.estimate)} {significant(row.low)} to")
        assert found[2].startswith(f"{significant(row.odds_ratio)} {significant(np.exp(row.low))} to")
        assert found[3] == p_value(row.p_value, 3)


def test_coefficients_without_intervals_are_sorted_by_standardised_size(report):
    training, model = iris_table(), compared("three")[2]["LDA"]
    table = next(section(report("three_classes"), "coefficients").iter("table"))
    first = [words(cell) for cell in list(table.iter("tr"))[1]]
    coef = model.coef_[:2] - model.coef_[2]  # log-odds against the last class
    effects = coef * training.X.std(axis=0)
    k, j = np.unravel_index(np.abs(effects).argmax(), effects.shape)
    assert first[:3] == [training.schema.names[j], training.y[50 * k], significant(coef[k, j])]
    assert first[3] == significant(np.exp(coef[k, j]))
    assert first[4:6] == [significant(np.exp(effects[k, j])), significant(effects[k, j])]


def test_the_coefficients_of_a_model_that_decides_by_costs_are_those_within_it(tmp_path):
    X, y, names = cancer()
    model = DecisionClassifier(LogisticRegression(), COSTS).fit(X, y)
    evaluation = evaluate(model, X, y, options=EvaluationOptions(costs=COSTS))
    path = write_report(
        tmp_path / "r.html",
        TableReport(None, (X, y, names), given_evaluation=evaluation, model=model, given_costs=COSTS),
    )
    row = model.estimator_.summary().rows[1]
    assert cells(path, "coefficients", names[0])[1].startswith(significant(row.estimate))


def test_many_columns_are_cut_and_said_to_be(report):
    path = report("many_columns")
    assert "170 smaller effects are not listed" in words(section(path, "coefficients"))
    assert "180 more columns" in words(section(path, "data"))
    names = [words(row[0]) for row in list(next(section(path, "coefficients").iter("table")).iter("tr"))[1:3]]
    assert set(names) == {"gene 7", "gene 50"}


def test_the_data_show_what_was_found_and_left_out(report):
    training = iris_table()
    data = words(section(report("three_classes"), "data"))
    assert training.findings
    for finding in training.findings:
        assert " ".join(str(finding.message).split()) in data
    for column in training.schema.columns:
        assert column.name in data
    assert cells(report("three_classes"), "data", "setosa")[1:3] == ["50", "33.3 %"]


def test_class_measures_are_those_of_the_evaluation(report):
    data = report_data_of("three")
    for label in data.classes:
        found = cells(report("three_classes"), "confusion", label)
        for text, metric in zip(found[2:], ("recall", "precision", "f1", "auc"), strict=True):
            row = data.evaluation[metric, label]
            assert text == f"{measured(metric, row.value)} {between(metric, row.low, row.high, row.is_range)}".strip()


def test_models_without_probabilities_still_have_thresholds(report):
    for kind in ("margins", "margins_of_two"):
        path = report(kind)
        assert "AUC" in words(section(path, "roc"))
        assert any(element.get("id") == "threshold-panel" for element in section(path, "thresholds").iter("form"))


def test_a_rare_class_is_named_as_such(report):
    assert "“rare” (3)" in words(section(report("poor_class"), "confusion"))


def test_costs_and_learning_curve_are_shown(report):
    path = report("two_classes_with_costs")
    assert cells(path, "thresholds", "malignant") == ["malignant", "8", "0"]
    assert "given costs (8 : 1)" in words(section(path, "thresholds"))
    assert "unlimited rows" in words(section(path, "confusion"))
    assert "--costs costs.csv" in words(section(path, "reproduction"))


def test_thresholds_name_precision_where_the_class_is_rarer(report):
    counts = report_data_of(model=compared("two")[2]["logistic"], model_name="logistic").evaluation.confusion.counts
    sensitivity, alarm = counts[1, 1] / counts[1].sum(), counts[0, 1] / counts[0].sum()
    rarer = counts[1].sum() / counts.sum() / 10
    expected = rarer * sensitivity / (rarer * sensitivity + (1 - rarer) * alarm)
    assert f"(these rows), {100 * expected:.1f} % at" in words(section(report("two_classes"), "thresholds"))


def test_the_evaluation_is_that_of_the_out_of_fold_predictions_of_the_comparison():
    result, (_, y, _), models = compared("two")
    for name in models:
        data = report_data_of(model=models[name], model_name=name)
        assert "5 folds)" in data.evaluated_on
        np.testing.assert_array_equal(data.evaluation.confusion.counts, result.cross_validation.confusion(name).counts)
        expected = evaluation_of(LabelledPredictions(y, posterior=result.cross_validation.posteriors(name)))
        for measure in ("log_loss", "auc"):
            np.testing.assert_equal(asdict(data.evaluation[measure]), asdict(expected[measure]))


def test_no_model_is_fitted_for_the_evaluation(monkeypatch):
    result, training, _ = compared("two")
    monkeypatch.setattr(LogisticRegression, "fit", None)
    assert TableReport(result, training, model_name="logistic").evaluation["auc"].value > 0.9


def test_a_comparison_that_kept_predicted_classes_alone_says_so(tmp_path):
    X, y, _ = cancer()
    result = compare({"LDA": LinearDiscriminantAnalysis()}, X, y, cv=5, keep="predictions")
    path = write_report(tmp_path / "r.html", TableReport(result, None))
    counts = result.cross_validation.confusion("LDA").counts
    np.testing.assert_array_equal(TableReport(result, None).evaluation.confusion.counts, counts)
    assert "no probabilities" in words(section(path, "confusion"))


def test_splits_that_do_not_hold_out_every_row_leave_their_counts(tmp_path):
    X, y, _ = cancer()
    result = compare({"LDA": LinearDiscriminantAnalysis()}, X, y, ShuffleSplit(3, test_size=0.3, random_state=0))
    path = write_report(tmp_path / "r.html", TableReport(result, None))
    assert "the held-out rows of the comparison" in words(section(path, "confusion"))
    assert "no probabilities" in words(section(path, "confusion"))


def test_a_model_evaluated_on_other_rows_is_reported_with_their_counts(tmp_path):
    _, training, models = compared("three")
    evaluation = evaluate(models["LDA"], training.X[40:], training.y[40:])
    path = write_report(
        tmp_path / "r.html", TableReport(None, training, given_evaluation=evaluation, model=models["LDA"])
    )
    assert cells(path, "confusion", "setosa")[1] == "10"
    assert cells(path, "data", "setosa")[1] == "50"
    answer = words(section(path, "answer"))
    assert f": {percent(evaluation['accuracy'].value)} (95 % CI" in answer
    assert not re.search("winner|models compared|Random state", words(next(parsed(path).iter("main"))))


def test_a_baseline_that_wins_is_said_to(tmp_path):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(200, 2)), np.where(np.arange(200) % 4 == 0, "b", "a")
    model = GaussianNB()
    result = compare({"NB": model}, X, y, cv=5)
    for chosen in (None, "NB"):
        path = write_report(
            tmp_path / f"{chosen}.html", TableReport(result, (X, y), model=model.fit(X, y), model_name=chosen)
        )
        assert "No model is significantly better than the baseline" in words(section(path, "answer"))


def test_a_chosen_model_that_is_worse_than_others_or_than_nothing_is_said_to_be(tmp_path):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=300) > -0.5, "yes", "no")
    contrary = DummyClassifier(strategy="constant", constant="no")
    result = compare({"LDA": LinearDiscriminantAnalysis(), "contrary": contrary}, X, y, cv=5)
    answer = words(
        section(write_report(tmp_path / "a.html", TableReport(result, (X, y), model_name="contrary")), "answer")
    )
    assert "contrary is not significantly better than the baseline" in answer
    answer = words(section(write_report(tmp_path / "b.html", TableReport(result, (X, y))), "answer"))
    assert "Best model: LDA." in answer
    assert "All other models are significantly worse than LDA" in answer


def rare_class():
    """Of 600 rows 30 are of the class "rare", of which a model finds a third."""
    X = np.random.default_rng(4).normal(size=(600, 2))
    X[:30, 0] += 2.2
    return X, np.where(np.arange(600) < 30, "rare", "common")


def test_the_headline_tells_of_a_class_that_accuracy_hides(tmp_path):
    X, y = rare_class()
    model = LinearDiscriminantAnalysis().fit(X, y)
    found = evaluate(model, X, y)
    recall = found["recall", "rare"].value
    assert recall < 0.6 < 0.95 < found["accuracy"].value
    for comparison, evaluation in ((None, found), (compare({"LDA": model}, X, y), None)):
        path = tmp_path / f"{comparison is None}.html"
        write_report(path, TableReport(comparison, (X, y), given_evaluation=evaluation, model=model))
        data = TableReport(comparison, (X, y), evaluation, model)
        recall = data.evaluation["recall", "rare"].value
        answer = words(section(path, "answer"))
        assert f"Recall of “rare” (5.0 % of the rows): {percent(recall)}" in answer
        assert "majority-class baseline (“common”): 95.0 %" in answer
        keys = [words(key) for key in section(path, "answer").iter("dt")]
        assert keys[:4] == ["Accuracy", "Majority-class accuracy", "Recall of “rare”", "Balanced accuracy"]
    balanced = evaluate(model, X[:60], y[:60])
    assert f"{percent(balanced['accuracy'].value)} (" in balanced.headline


def test_sliders_start_at_the_threshold_that_costs_decided_by(report):
    data = report_data_of(given_costs=COSTS)
    (found,) = thresholds_of(data)
    start = thresholds_section(data)["state"]["classes"][0]["start"]
    assert found.values[start] == pytest.approx(1 / 9)
    positive = data.confusion.predictions.tolist().index(found.label)
    assert found.hits[start] + found.alarms[start] == data.confusion.counts[:, positive].sum()


def test_weights_count_as_rows():
    training = iris_table()
    weighted = replace(training, weights=np.where(training.y == "setosa", 3.0, 1.0))
    result = compare({"LDA": LinearDiscriminantAnalysis()}, training.X, training.y, 5, sample_weight=weighted.weights)
    model = LinearDiscriminantAnalysis().fit(training.X, training.y, weighted.weights)
    data = TableReport(result, weighted, model=model)
    assert data.class_rows.tolist() == [150, 50, 50]
    assert data.evaluation.total_weight == 250


def test_sparse_rows_are_reported_without_regions(tmp_path):
    X, y, names = cancer()
    model = LinearDiscriminantAnalysis()
    sparse = sp.csr_matrix(X)
    result = compare({"LDA": model}, sparse, y, cv=3)
    path = write_report(tmp_path / "r.html", TableReport(result, (sparse, y, names), model=model.fit(sparse, y)))
    assert "regions" not in [part.get("id") for part in parsed(path).iter("section")]
    assert words(section(path, "answer")) == words(
        section(write_report(tmp_path / "d.html", TableReport(result, (X, y, names), model=model)), "answer")
    )


ROWS = st.lists(
    st.tuples(st.booleans(), st.floats(0, 1, width=32)), min_size=4, max_size=60
).filter(lambda rows: len({side for side, _ in rows}) == 2)  # fmt: skip


@given(ROWS, st.floats(0.01, 100), st.floats(0.01, 0.99))
def test_counts_and_costs_at_thresholds_are_those_of_the_rows(rows, ratio, share):
    positive, scores = np.array([side for side, _ in rows]), np.array([score for _, score in rows])
    found = _at("c", rank(positive, scores), PROBABILITIES)
    for place in range(0, len(PROBABILITIES), 7):
        called = scores >= PROBABILITIES[place]
        assert found.hits[place] == np.count_nonzero(called & positive)
        assert found.alarms[place] == np.count_nonzero(called & ~positive)
        missed, alarmed = np.mean(~called[positive]), np.mean(called[~positive])
        expected = 100 * (share * missed * ratio + (1 - share) * alarmed)
        np.testing.assert_allclose(found.costs(ratio, share)[place], expected, atol=1e-10)
    best = found.best(ratio, share)
    assert found.costs(ratio, share)[best] <= found.costs(ratio, share).min() * (1 + 1e-8) + 1e-11


NAMED = re.compile(
    r"Threshold of minimum cost for .*?: (\S+)(?: \(.*?\))?; sensitivity ([\d.]+ %), specificity ([\d.]+) %"
)


@pytest.mark.parametrize("case", ["two_classes", "margins_of_two"])
def test_sentence_and_table_name_the_same_cheapest_threshold(report, case):
    path = report(case)
    threshold, sensitivity, specificity = NAMED.search(words(section(path, "thresholds"))).groups()
    row = cells(path, "thresholds", "1 : 1")
    assert row[1:3] == [threshold.rstrip(";"), sensitivity]
    assert float(row[3].split()[0]) == pytest.approx(float(specificity), abs=0.11)


@given(ROWS)
def test_the_cheapest_of_all_thresholds_can_be_chosen(rows):
    """And it is written so that a reader who types it gets the same decisions."""
    positive, scores = np.array([side for side, _ in rows]), np.array([score for _, score in rows])
    evaluation = evaluation_of(
        LabelledPredictions(np.where(positive, "yes", "no"), posterior=scores), EvaluationOptions(positive="yes")
    )
    data = TableReport(None, None, evaluation)
    (found,) = thresholds_of(data)
    for ratio in RATIOS:
        called = [scores >= value for value in (*scores, np.inf)]
        least = min(np.sum(~c & positive) * ratio + np.sum(c & ~positive) for c in called)
        best = found.best(ratio)
        if least < found.n_positive * ratio or not (scores == 1).any():  # else no probability is high enough to abstain
            assert found.costs(ratio)[best] * len(rows) / 100 == pytest.approx(least)
        typed = scores >= float(found.values[best])
        assert found.hits[best] == np.count_nonzero(typed & positive)


def test_infinite_effects_are_the_largest():
    def coefficient(estimate, size):
        return SimpleNamespace(estimate=estimate, size=size, std_error=1.0)

    rows = [coefficient(0.1, 4.0), coefficient(-np.inf, np.nan), coefficient(0.0, np.nan), coefficient(2.0, 1.0)]
    assert [row.estimate for row in sorted(rows, key=_size, reverse=True)] == [-np.inf, 0.1, 2.0, 0.0]


def test_precision_follows_the_share_of_the_class():
    y = np.repeat([True, False], [200, 800])
    called = np.r_[np.repeat([True, False], [150, 50]), np.repeat([True, False], [80, 720])]
    assert precision_at(0.2, 0.75, 0.9) == pytest.approx(np.mean(y[called]))
    assert np.isnan(precision_at(0.2, 0.0, 1.0))


@pytest.mark.parametrize(
    ("costs", "ratio"),
    [
        (COSTS, 8.0),
        ({"benign": {"malignant": 2}, "malignant": {"benign": 1}}, 0.5),
        ({"benign": {"benign": -1, "malignant": 1}, "malignant": {"benign": 5, "malignant": 1}}, 2.0),
        ({"benign": {"treat": 1, "wait": 0}, "malignant": {"treat": 0, "wait": 9}}, None),
        ({"benign": {"benign": 0, "malignant": 0}, "malignant": {"benign": 5, "malignant": 0}}, None),
        (None, None),
    ],
)
def test_the_cost_of_a_miss_in_false_alarms(costs, ratio):
    evaluation = evaluation_of(
        LabelledPredictions(["benign", "malignant"] * 4, posterior=[0.1, 0.8, 0.3, 0.6, 0.7, 0.4, 0.2, 0.9])
    )
    data = TableReport(None, None, evaluation, given_costs=costs)
    assert cost_ratio(data.costs, "malignant") == ratio


def test_margins_have_their_own_thresholds_with_zero_among_them():
    data = report_data_of("three", model=compared("three")[2]["SVM"], model_name="SVM")
    for found in thresholds_of(data):
        assert 0 in found.values
        assert found.hits[0] == found.n_positive
        assert found.alarms[0] == found.n_negative


def test_the_fingerprint_changes_with_any_value():
    rows = report_data_of().rows
    first = fingerprint(rows)
    assert first == fingerprint(rows)
    moved = rows.X.copy()
    moved[17, 3] = np.nextafter(moved[17, 3], np.inf)
    assert fingerprint(replace(rows, X=moved)) != first
    other = rows.y.copy()
    other[3] = "benign" if other[3] == "malignant" else "malignant"
    assert fingerprint(replace(rows, y=other)) != first


def test_titles_of_figures_become_text():
    assert as_text("<b>Curve</b> of &lt;b&gt;<br>and<sub>2</sub> more") == "Curve of <b>\nand2 more"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (percent(0.98765), "98.8 %"),
        (percent(float("nan")), "-"),
        (significant(-0.0123456), "−0.01235"),  # noqa: RUF001
        (significant(123456.0), "123456"),
        (significant(1.5e-7), "1.500e−07"),  # noqa: RUF001
        (significant(float("inf")), "∞"),
        (short(8.0), "8"),
        (short(-0.25), "−0.25"),  # noqa: RUF001
        (signed(-0.004, 1), "0.0"),
        (signed(-1.25, 1), "−1.2"),  # noqa: RUF001
        (signed(0.3, 1), "+0.3"),
        (p_value(0.00001, 3), "< 0.001"),
        (between("auc", 0.91234, 0.95), "0.912 to 0.950"),
        (between("recall", float("nan"), 1.0), ""),
    ],
)
def test_numbers_are_printed_for_readers(shown, expected):
    assert shown == expected


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"comparison": None}, ParameterError, "comparison or an evaluation"),
        ({"comparison": "LDA"}, ParameterError, "comparison must be"),
        ({"given_evaluation": 0.9}, ParameterError, "given_evaluation must be"),
        ({"learning_curve": []}, ParameterError, "learning_curve must be"),
        ({"model_name": "QDA"}, ParameterError, "'QDA'"),
        ({"training": [1, 2]}, ParameterError, "training must be what read_training"),
        ({"training": (cancer()[0], cancer()[1], ["a"])}, ParameterError, "names 1 columns, but X has 6"),
        ({"given_costs": np.ones((569, 2, 2))}, ParameterError, "given_costs must be"),
        ({"given_costs": np.ones((3, 3))}, ParameterError, r"costs has shape \(3, 3\)"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_words(tmp_path, change, error, message):
    result, training, models = compared("two")
    arguments = {"comparison": result, "training": training, "model": models["LDA"], "model_name": "LDA"} | change
    comparison, training = arguments.pop("comparison"), arguments.pop("training")
    with pytest.raises(error, match=message):
        write_report(tmp_path / "r.html", TableReport(comparison, training, **arguments))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        write_report(
            tmp_path / "nowhere" / "r.html",
            TableReport(None, None, given_evaluation=evaluation_of(LabelledPredictions([0, 1], predicted=[0, 1]))),
        )


def test_a_report_that_fails_leaves_the_old_one(tmp_path):
    path = tmp_path / "r.html"
    path.write_text("old")
    with pytest.raises(ParameterError):
        write_report(path, TableReport(None, None))
    assert path.read_text() == "old"


def test_a_sentence_on_nothing_learned_names_the_majority_class():
    """Also where costs decide, and the baseline answers with another class than the most frequent one."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.where(np.arange(200) < 140, "a", "b")
    costs = {"a": {"a": 0, "b": 1}, "b": {"a": 9, "b": 0}}
    found = compare({"lda": LinearDiscriminantAnalysis()}, X, y, cv=4, costs=costs)
    data = TableReport(found, (X, y), given_costs=costs)
    assert "“a”: 70.0 % of the rows" in data.standing.against_baseline(data.confusion.most_frequent)
