"""Explanations: the limits they name are where the decision does change."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from discriminant.decision import Decision, Posterior

seeds = st.integers(0, 10_000)


def moved(posterior, explained, target):
    """The posterior with ``gaining`` at ``target``, at the expense of ``losing``."""
    p = posterior.probabilities[0].copy()
    names = posterior.classes.tolist()
    gaining, losing = names.index(explained.gaining), names.index(explained.losing)
    p[losing] += p[gaining] - target
    p[gaining] = target
    return Posterior([np.maximum(p, 0)], posterior.classes, posterior.priors)


def random_decision(rng, K):
    A = int(rng.integers(1, 5))
    costs = rng.uniform(0, 5, (K, A + K))
    actions = [*(f"class {k}" for k in range(K)), *(f"action {j}" for j in range(A))]
    reject = float(rng.uniform(0, 3)) if rng.random() < 0.5 else None
    thresholds = rng.uniform(0, 0.7, K) if rng.random() < 0.5 else None
    return Decision(costs, actions, reject_cost=reject, thresholds=thresholds)


@given(seeds, st.integers(2, 5))
def test_the_decision_changes_where_it_is_said_to_and_not_before(seed, K):
    rng = np.random.default_rng(seed)
    decision = random_decision(rng, K)
    posterior = Posterior([rng.dirichlet(np.ones(K))], [f"class {k}" for k in range(K)])
    found = decision.explain(posterior)
    assert found.action == decision.decide(posterior)[0]
    low, high = found.holds
    now = found.probabilities[found.gaining]
    assert 0 <= low <= now + 1e-12
    assert now <= high + 1e-12
    for share in (0.001, 0.3, 0.7, 0.999):
        inside = low + share * (high - low)
        assert decision.decide(moved(posterior, found, inside))[0] == found.action
    if found.above is not None:
        assert decision.decide(moved(posterior, found, high + 1e-9))[0] == found.above != found.action
    else:
        assert_allclose(high, now + found.probabilities[found.losing], atol=1e-12)
    if found.below is not None:
        assert decision.decide(moved(posterior, found, low - 1e-9))[0] == found.below != found.action
    else:
        assert_allclose(low, 0, atol=1e-12)
    assert str(found)


@given(st.floats(0.01, 20), st.floats(0.01, 20), st.floats(0.01, 0.99))
def test_the_threshold_of_two_classes_is_a_share_of_the_costs(false_alarm, miss, p):
    decision = Decision({"ill": {"well": miss}, "well": {"ill": false_alarm}}, classes=["ill", "well"])
    found = decision.explain([p, 1 - p])
    limit = found.threshold if found.gaining == "ill" else 1 - found.threshold
    assert_allclose(limit, false_alarm / (false_alarm + miss), rtol=1e-9)


def test_in_words():
    posterior = Posterior([[0.26 / 0.47, 0.21 / 0.47]], classes=["organic", "ordinary"])
    decision = Decision({("ordinary", "organic"): 2, ("organic", "ordinary"): 1})
    assert str(decision.explain(posterior)).splitlines() == [
        "Decision: ordinary, expected cost 0.5532; next best: organic, 0.8936.",
        "Probabilities: organic 0.5532, ordinary 0.4468.",
        "Same decision for P(organic) up to 0.6667 (current: 0.5532); above: organic.",
    ]


def test_in_words_with_more_classes_abstaining_and_thresholds():
    p = Posterior([[0.5, 0.3, 0.2]], classes=list("abc"))
    assert str(Decision(reject_cost=0.6).explain(p)).endswith(
        "Same decision if only a and b change: for P(b) up to 0.4 (current: 0.3); above: abstain."
    )
    found = Decision(thresholds=0.7).explain(p)
    assert str(found).startswith("Decision: abstain, ")
    assert (found.runner_up, found.action) == (None, "abstain")
    found = Decision(thresholds={"a": 0.6}).explain(p)
    assert (found.action, found.refused, found.runner_up) == ("b", ("a",), "c")
    assert "Rejected because of thresholds: a (0.5)" in str(found)


def test_nothing_changes_a_dominant_action():
    found = Decision([[0, 5], [0, 5]], ["go", "stay"]).explain([0.4, 0.6])
    assert (found.action, found.above, found.below, found.threshold) == ("go", None, None, None)
    assert "for every P(0)" in str(found)
    assert Decision([[1], [2]], ["only"]).explain([0.4, 0.6]).runner_up is None


def test_many_classes_are_summed_up():
    p = np.full(12, 1 / 12)
    assert ", others 0.5833." in str(Decision().explain(p))


def test_a_certain_class_can_still_be_explained():
    found = Decision(reject_cost=0.2).explain([1.0, 0.0, 0.0])
    assert (found.action, found.losing, found.above) == (0, 0, "abstain")
    assert_allclose(found.holds, (0.0, 0.2))


def test_probabilities_that_are_not_those_given_say_so():
    given = Posterior([[0.6, 0.4]], classes=["a", "b"], priors=[0.9, 0.1])
    assert "Probabilities: a 0.6, b 0.4." in str(Decision().explain(given))
    assert "Probabilities under equal priors: b 0.8571" in str(Decision(rule="ml").explain(given))
    assert "Probabilities (priors only): a 0.9" in str(Decision(rule="prior").explain(given))
    moved = Decision(priors={"a": 0.5, "b": 0.5}).explain(given)
    assert "Probabilities under the target priors: b 0.8571" in str(moved)
