"""Decisions: least expected cost by brute force, the laws of abstaining, and every way to say what things cost."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from discriminant.decision import Decision, Posterior
from discriminant.errors import InputError, LabelError, ParameterError

ORGANIC = Posterior([[0.26 / 0.47, 0.21 / 0.47]], classes=["organic", "ordinary"], priors=[0.4, 0.6])
COSTS = {("ordinary", "organic"): 2, ("organic", "ordinary"): 1}
seeds = st.integers(0, 10_000)


def random_problem(seed, K=None, A=None, n=20):
    """A posterior over named classes and costs of some actions."""
    rng = np.random.default_rng(seed)
    K, A = K or int(rng.integers(2, 6)), A or int(rng.integers(1, 7))
    classes = [f"class {k}" for k in range(K)]
    priors = rng.dirichlet(np.full(K, 5.0))
    found = Posterior(rng.dirichlet(np.full(K, 0.7), n), classes, priors)
    return found, rng.uniform(0, 10, (K, A)), [f"action {j}" for j in range(A)]


def by_brute_force(p, costs):
    """The action of least expected cost, one row and one action at a time."""
    return [min(range(costs.shape[1]), key=lambda j: sum(row[k] * costs[k, j] for k in range(len(row)))) for row in p]


def test_the_worked_example_of_the_avocados():
    assert_allclose(ORGANIC.probabilities[0, 0], 0.5532, atol=5e-5)
    decision = Decision(COSTS)
    assert_allclose(decision.risk(ORGANIC), [[0.8936, 0.5532]], atol=5e-5)
    assert_array_equal(decision.decide(ORGANIC), ["ordinary"])
    assert_array_equal(Decision().decide(ORGANIC), ["organic"])
    assert_array_equal(Decision(rule="ml").decide(ORGANIC), ["organic"])
    assert_array_equal(Decision(rule="prior").decide(ORGANIC), ["ordinary"])
    assert_allclose(decision.explain(ORGANIC).threshold, 2 / 3)


@given(seeds)
def test_least_risk_equals_brute_force(seed):
    found, costs, actions = random_problem(seed)
    decision = Decision(costs, actions)
    best = by_brute_force(found.probabilities, costs)
    assert_array_equal(decision.decide(found), np.array(actions)[best])
    assert_allclose(decision.risk(found), found.probabilities @ costs, rtol=1e-13)
    assert_allclose(decision.total_risk(found), (found.probabilities @ costs).min(axis=1).mean())


@given(seeds)
def test_own_costs_of_every_row_equal_one_decision_for_each(seed):
    rng = np.random.default_rng(seed)
    found, _, actions = random_problem(seed, A=3)
    costs = rng.uniform(0, 5, (len(found), len(found.classes), 3))
    decision = Decision(costs, actions, reject_cost=1.5)
    single = [Decision(costs[i], actions, reject_cost=1.5) for i in range(len(found))]
    assert_array_equal(decision.decide(found), [one.decide(found[i])[0] for i, one in enumerate(single)])
    assert_allclose(decision.risk(found), np.concatenate([one.risk(found[i]) for i, one in enumerate(single)]))
    y = rng.choice(found.classes, len(found))
    each = [one.total_risk(found[i], y[i : i + 1]) for i, one in enumerate(single)]
    assert_allclose(decision.total_risk(found, y), np.mean(each))
    assert decision.explain(found, 4) == single[4].explain(found[4])


def test_blocks_do_not_matter():
    rng = np.random.default_rng(0)
    p, costs = rng.dirichlet(np.ones(4), 70_000), rng.uniform(size=(4, 4))
    decision = Decision(costs, reject_cost=0.3)
    whole = decision.decide(p)
    assert_array_equal(np.concatenate([decision.decide(part) for part in np.array_split(p, 7)]), whole)


@given(seeds)
def test_map_is_zero_one_costs_and_the_most_probable_class(seed):
    found, _, _ = random_problem(seed)
    K = len(found.classes)
    assert_array_equal(Decision().decide(found), found.labels())
    assert_array_equal(Decision(1 - np.eye(K)).decide(found), found.labels())
    assert_allclose(Decision().risk(found), 1 - found.probabilities, atol=1e-15)
    assert_allclose(Decision(1 - np.eye(K)).risk(found), Decision().risk(found), atol=1e-15)


@given(seeds)
def test_ml_is_the_highest_likelihood_and_map_under_equal_priors(seed):
    found, _, _ = random_problem(seed)
    likelihood = found.probabilities / found.priors
    assert_array_equal(Decision(rule="ml").decide(found), found.classes[likelihood.argmax(axis=1)])
    equal = np.full(len(found.classes), 1 / len(found.classes))
    assert_array_equal(Decision(rule="ml").decide(found), Decision(priors=equal).decide(found))
    under_equal = Posterior(found.probabilities, found.classes, equal)
    assert_array_equal(Decision(rule="ml").decide(under_equal), Decision().decide(under_equal))


def test_a_priori_looks_at_no_row():
    found, _, _ = random_problem(3)
    expected = found.classes[found.priors.argmax()]
    assert set(Decision(rule="prior").decide(found)) == {expected}
    assert set(Decision(rule="prior", priors=np.eye(len(found.classes))[0]).decide(found)) == {found.classes[0]}


@given(seeds)
def test_priors_of_the_decision_move_the_posterior_first(seed):
    found, costs, actions = random_problem(seed)
    new = np.random.default_rng(seed + 1).dirichlet(np.ones(len(found.classes)))
    expected = Decision(costs, actions).risk(found.with_priors(new))
    assert_allclose(Decision(costs, actions, priors=new).risk(found), expected, rtol=1e-13)
    named = dict(zip(found.classes.tolist(), new.tolist(), strict=True))
    assert_allclose(Decision(costs, actions, priors=named).risk(found), expected, rtol=1e-13)


@given(seeds, st.floats(0, 12))
def test_abstaining_is_one_more_action_of_constant_cost(seed, reject_cost):
    found, costs, actions = random_problem(seed)
    risk = found.probabilities @ costs
    assume(np.abs(risk.min(axis=1) - reject_cost).min() > 1e-9)
    decision = Decision(costs, actions, reject_cost=reject_cost)
    expected = np.where(risk.min(axis=1) < reject_cost, np.array(actions)[risk.argmin(axis=1)], "abstain")
    assert_array_equal(decision.decide(found), expected)
    assert_array_equal(decision.risk(found)[:, -1], reject_cost)
    assert_allclose(decision.total_risk(found), np.minimum(risk.min(axis=1), reject_cost).mean())
    column = np.column_stack((costs, np.full(len(costs), reject_cost)))
    assert_array_equal(Decision(column, [*actions, "abstain"]).decide(found), expected)


@given(seeds)
def test_a_reject_cost_of_zero_abstains_always_and_one_above_the_worst_never(seed):
    found, costs, actions = random_problem(seed)
    sure = Posterior(np.eye(len(found.classes)), found.classes)
    for rows in (found, sure):
        assert set(Decision(costs, actions, reject_cost=0).decide(rows)) == {"abstain"}
        assert set(Decision(reject_cost=0.0).decide(rows)) == {"abstain"}
        assert "abstain" not in Decision(costs, actions, reject_cost=costs.max() * 1.0001).decide(rows)
        assert "abstain" not in Decision(reject_cost=1.0).decide(rows)


@given(seeds, st.floats(0, 10), st.floats(0, 10))
def test_a_higher_reject_cost_abstains_less(seed, first, second):
    found, costs, actions = random_problem(seed)
    low, high = sorted((first, second))
    seldom = Decision(costs, actions, reject_cost=high).decide(found) == "abstain"
    often = Decision(costs, actions, reject_cost=low).decide(found) == "abstain"
    assert not (seldom & ~often).any()


@given(seeds, st.floats(0.01, 0.99))
def test_one_threshold_for_all_classes_is_a_reject_cost(seed, threshold):
    found, _, _ = random_problem(seed)
    assume(np.abs(found.probabilities - threshold).min() > 1e-9)
    by_threshold = Decision(thresholds=threshold).decide(found)
    assert_array_equal(by_threshold, Decision(reject_cost=1 - threshold).decide(found))


@given(seeds)
def test_thresholds_equal_brute_force(seed):
    found, costs, _ = random_problem(seed, K=4, A=4)
    rng = np.random.default_rng(seed)
    thresholds = rng.uniform(0, 0.6, 4)
    classes = found.classes.tolist()
    costs = {true: dict(zip(classes, row, strict=True)) for true, row in zip(classes, costs.tolist(), strict=True)}
    decided = Decision(costs, thresholds=thresholds).decide(found)
    risks = Decision(costs).risk(found)
    for p, risk, action in zip(found.probabilities, risks, decided, strict=True):
        allowed = [k for k in range(4) if p[k] >= thresholds[k]]
        expected = classes[min(allowed, key=lambda k: risk[k])] if allowed else "abstain"
        assert action == expected


def test_thresholds_may_leave_classes_out_and_do_not_bind_other_actions():
    p = Posterior([[0.6, 0.4]], classes=["a", "b"])
    assert Decision(thresholds={"a": 0.7}).decide(p) == ["b"]
    assert Decision(thresholds=[0.7, 0.7]).decide(p) == ["abstain"]
    assert Decision(thresholds=[0.6, 0.6]).decide(p) == ["a"]
    wait = Decision([[0, 1, 0.9], [1, 0, 0.9]], ["a", "b", "wait"], thresholds=0.7)
    assert wait.decide(p) == ["wait"]
    assert Decision(thresholds=0.7, reject_cost=0.5).total_risk(p) == 0.5


@given(seeds)
def test_the_order_of_the_classes_does_not_matter(seed):
    found, costs, actions = random_problem(seed)
    order = np.random.default_rng(seed).permutation(len(found.classes))
    mixed = Posterior(found.probabilities[:, order], found.classes[order], found.priors[order])
    thresholds = np.linspace(0, 0.2, len(order))
    named = Decision(costs, actions, classes=found.classes, reject_cost=4, thresholds=thresholds)
    assert_array_equal(named.decide(mixed), named.decide(found))
    assert_allclose(named.risk(mixed), named.risk(found), rtol=1e-12)
    new = np.arange(1, len(order) + 1) / np.arange(1, len(order) + 1).sum()
    moved = Decision(costs, actions, classes=found.classes, priors=new)
    assert_allclose(moved.risk(mixed), moved.risk(found), rtol=1e-12)


@given(seeds)
def test_total_risk_with_labels_is_the_mean_cost_of_what_was_done(seed):
    found, costs, actions = random_problem(seed, A=3)
    rng = np.random.default_rng(seed)
    y, weight = rng.choice(found.classes, len(found)), rng.integers(1, 4, len(found))
    decision = Decision(costs, actions, reject_cost=3.0)
    paid = []
    for true, action in zip(y, decision.decide(found), strict=True):
        k = found.classes.tolist().index(true)
        paid.append(3.0 if action == "abstain" else costs[k, actions.index(action)])
    assert_allclose(decision.total_risk(found, y), np.mean(paid))
    repeated = Posterior(np.repeat(found.probabilities, weight, axis=0), found.classes)
    assert_allclose(decision.total_risk(found, y, weight), decision.total_risk(repeated, np.repeat(y, weight)))
    assert_allclose(decision.total_risk(found, sample_weight=weight), decision.total_risk(repeated))


def test_total_risk_is_what_labels_drawn_from_the_posterior_cost():
    rng = np.random.default_rng(0)
    found, costs, actions = random_problem(5, K=3, A=4, n=200)
    decision = Decision(costs, actions)
    totals = []
    for _ in range(300):
        draws = (rng.random((len(found), 1)) > found.probabilities.cumsum(axis=1)).sum(axis=1)
        totals.append(decision.total_risk(found, found.classes[draws]))
    assert abs(np.mean(totals) - decision.total_risk(found)) < 4 * np.std(totals) / np.sqrt(len(totals))


NAMED = pd.DataFrame([[0.0, 20.0, 3.0], [1.0, 0.0, 2.0]], index=["ill", "well"], columns=["treat", "wait", "test"])


@pytest.mark.parametrize(
    "costs",
    [
        NAMED,
        NAMED.loc[["well", "ill"], ["test", "treat", "wait"]],
        pl.DataFrame({"true": ["ill", "well"], "treat": [0.0, 1.0], "wait": [20.0, 0.0], "test": [3.0, 2.0]}),
        NAMED.T.to_dict(),
        {(true, action): NAMED.loc[true, action] for action in NAMED for true in NAMED.index},
    ],
    ids=["pandas", "pandas in another order", "polars", "nested", "pairs"],
)
def test_every_form_of_named_costs_says_the_same(costs):
    p = Posterior([[0.9, 0.1], [0.02, 0.98], [0.3, 0.7]], classes=["ill", "well"])
    decision = Decision(costs, actions=["treat", "wait", "test"])
    assert_array_equal(decision.decide(p), ["treat", "wait", "treat"])
    assert_allclose(decision.risk(p), p.probabilities @ NAMED.to_numpy())
    swapped = Posterior(p.probabilities[:, ::-1], classes=["well", "ill"])
    assert_allclose(decision.risk(swapped), decision.risk(p))


def test_being_right_costs_nothing_unless_it_is_said():
    p = [[0.5, 0.5]]
    assert_allclose(Decision({0: {1: 3}, 1: {0: 1}}, actions=[0, 1]).risk(p), [[0.5, 1.5]])
    assert_allclose(Decision({0: {0: 2, 1: 3}, 1: {0: 1}}, actions=[0, 1]).risk(p), [[1.5, 1.5]])


def test_labels_keep_their_type():
    p = [[0.1, 0.9], [0.6, 0.4]]
    assert Decision().decide(p).dtype.kind == "i"
    assert Decision([[0, 1], [1, 0]]).decide(p).dtype.kind == "i"
    assert Decision(reject_cost=0.2).decide(p).tolist() == [1, "abstain"]
    assert Decision(classes=[False, True]).decide(p).tolist() == [True, False]
    assert_array_equal(Decision(reject_cost=0.2).actions_for([0, 1]), np.array([0, 1, "abstain"], dtype=object))


def test_frames_of_probabilities_are_read_by_name():
    frame = pd.DataFrame({"ordinary": [0.4468], "organic": [0.5532]})
    assert_array_equal(Decision(COSTS).decide(frame), ["ordinary"])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_copies_decide_the_same(copied):
    decision = Decision(COSTS, reject_cost=0.7, thresholds={"organic": 0.1})
    assert_array_equal(copied(decision).risk(ORGANIC), decision.risk(ORGANIC))


# --- bad input ---------------------------------------------------------------------------------------------------

P3 = Posterior([[0.2, 0.3, 0.5]], classes=["a", "b", "c"], priors=[0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"costs": np.ones((2, 2))}, r"costs has shape \(2, 2\)"),
        ({"costs": np.ones((2, 3)), "actions": ["x", "y", "z"]}, r"Use costs\.T"),
        ({"costs": np.ones((3, 2))}, r"actions=\[...\]"),
        ({"costs": np.ones((3, 2)), "actions": ["x"]}, r"costs has shape \(3, 2\), but actions=\['x'\]"),
        ({"costs": np.ones((2, 3)), "actions": ["x", "y"], "classes": list("abc")}, r"costs\.T"),
        ({"costs": np.ones(3)}, r"shape \(n_classes, n_actions\)"),
        ({"costs": [["1", "x"], [2, 3]]}, "costs must be numbers"),
        ({"costs": [[0, 1, 1], [1, 0, np.nan], [1, 1, 0]]}, "true class 1, action 2 has nan"),
        ({"costs": {"a": {"b": np.inf}, "b": {"a": 1}}}, "true class 'a', action 'b' has inf"),
        ({"costs": {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2}}}, "the classes are 'a', 'b' and 'c'"),
        (
            {"costs": {truth: dict.fromkeys("abc", 1) for truth in ("a", "b", "see")}},
            "costs has the rows 'a', 'b' and 'see'; the classes are",
        ),
        ({"costs": {truth: dict.fromkeys("abc", 1) for truth in "abde"}}, "costs has the rows 'a', 'b', 'd' and 'e'"),
        ({"costs": {label: {"x": 1, "y": 2} for label in "abcd"}}, "costs has the rows 'a', 'b', 'c' and 'd'"),
        ({"costs": {"a": {"x": 1, "y": 2}, "b": {"x": 1}, "c": {"x": 1, "y": 1}}}, "'y'.*'b'"),
        ({"costs": {"x": dict.fromkeys("abc", 1), "y": dict.fromkeys("abc", 2)}}, r"costs\.T"),
        ({"costs": {"a": 1, "b": 2}}, r"\{true class: \{action: cost\}\}"),
        ({"costs": {}}, r"\{true class: \{action: cost\}\}"),
        (
            {"costs": {label: {"x": 1, "y": 2} for label in "abc"}, "actions": ["x", "z"]},
            r"actions \['x', 'y'\], but actions=",
        ),
        ({"costs": np.ones((3, 2)), "actions": ["x", "x"]}, "'x' more than once"),
        ({"costs": np.ones((3, 2)), "actions": "xy"}, "actions must be a list of names"),
        ({"costs": np.ones((3, 2)), "actions": ["x", "abstain"], "reject_cost": 1}, "'abstain'"),
        ({"actions": ["x", "y"]}, "actions=.*'x', 'y'"),
        ({"rule": "risk"}, "rule='risk'"),
        ({"rule": "map", "costs": np.ones((3, 3))}, "rule='map'"),
        ({"rule": "bayes"}, "rule must be one of"),
        ({"rule": "ml", "priors": [0.2, 0.3, 0.5]}, "rule='ml'"),
        ({"priors": [0.2, 0.3]}, "one number for each of the 3 classes"),
        ({"priors": {"a": 0.5, "z": 0.5}}, "priors.*'z'"),
        ({"priors": [0.5, 0.6, -0.1]}, "class 'c' has -0.1"),
        ({"reject_cost": -1}, "reject_cost must be a number of at least 0"),
        ({"reject_cost": np.nan}, "reject_cost"),
        ({"thresholds": 1.5}, "thresholds must be from 0 to 1: class 'a' has 1.5"),
        ({"thresholds": [0.1, -0.2, 0.3]}, "class 'b' has -0.2"),
        ({"thresholds": [0.1, np.nan, 0.3]}, "class 'b' has nan"),
        ({"thresholds": {"z": 0.5}}, "thresholds.*'z'"),
        ({"thresholds": [0.1, 0.2]}, "thresholds.*3 classes"),
        ({"thresholds": "high"}, "thresholds must be numbers"),
    ],
)
def test_what_cannot_be_decided_is_said(parameters, words):
    with pytest.raises(ParameterError, match=words):
        Decision(**parameters).decide(P3)


def test_other_bad_input():
    with pytest.raises(LabelError, match="class 'z'"):
        Decision(classes=["a", "b", "z"]).decide(P3)
    with pytest.raises(InputError, match=r"row 0 sum to 0\.9"):
        Decision().decide([[0.4, 0.5]])
    with pytest.raises(InputError, match="3 columns, expected 2"):
        Decision(classes=["a", "b"]).decide([[0.2, 0.3, 0.5]])
    with pytest.raises(ParameterError, match="0 and 1"):
        Decision(COSTS).decide([[0.5, 0.5]])
    with pytest.raises(InputError, match="4 rows"):
        Decision(np.ones((4, 3, 2)), ["x", "y"]).decide(P3)
    with pytest.raises(LabelError, match=r"'z'.*row 0"):
        Decision().total_risk(P3, ["z"])
    with pytest.raises(InputError, match="length"):
        Decision().total_risk(P3, ["a", "b"])
    with pytest.raises(ParameterError, match="reject_cost"):
        Decision(thresholds=0.9).total_risk(P3)
    with pytest.raises(ParameterError, match="reject_cost"):
        Decision(thresholds=0.9).total_risk(P3, ["a"])
    with pytest.raises(ParameterError, match="priors"):
        Decision(rule="ml").decide([[0.5, 0.5]])
    with pytest.raises(ParameterError, match="rule='prior'"):
        Decision(rule="prior").decide([[0.5, 0.5]])
    with pytest.raises(InputError, match="row=3"):
        Decision().explain(P3, 3)


@pytest.mark.parametrize(
    "costs",
    [
        pl.DataFrame({"truth": [0, 1], "0": [0, 5], "1": [1, 0], "ask": [0.2, 0.2]}),
        pd.DataFrame([[0, 1, 0.2], [5, 0, 0.2]], index=[0, 1], columns=["0", "1", "ask"]),
    ],
    ids=["polars", "pandas"],
)
def test_frames_that_only_know_text_name_classes_that_are_numbers(costs):
    decision = Decision(costs)
    assert decision.actions_for([0, 1]).tolist() == [0, 1, "ask"]
    assert decision.decide([[0.99, 0.01], [0.5, 0.5], [0.01, 0.99]]).tolist() == [0, "ask", 1]
    assert Decision(costs, thresholds={0: 0.995}).decide([[0.99, 0.01]]).tolist() == ["ask"]
