"""One coin per record: repeatable with its key, whatever the batch; unpredictable without it."""

import numpy as np
import pytest

from dpfair.data.records import Records
from dpfair.errors import InputError
from dpfair.fairness.coins import decide
from dpfair.fairness.rules import parity_rule

N = 20_000
RULE = parity_rule((0.2, 0.6))
RECORDS = Records.of_arrays(
    np.arange(N, dtype=np.float64)[:, None],
    np.zeros((N, 1), np.int32),
    np.arange(N) % 2,
)
SCORES = (np.arange(N) // 2 % 2).astype(np.float64)


def decided(records=RECORDS, scores=SCORES, *, coins="keyed", key=b"key"):
    return decide(RULE, records, scores, coins=coins, key=key)


def test_a_decision_does_not_depend_on_the_batch():
    whole = decided()
    rows = np.random.default_rng(1).permutation(N)[:5000]
    assert (decided(RECORDS.take(rows), SCORES[rows]) == whole[rows]).all()
    for i in range(5):
        assert decided(RECORDS.take(np.array([i])), SCORES[i : i + 1])[0] == whole[i]


def test_records_are_accepted_at_the_rates_of_the_rule():
    chances = RULE.probabilities(RECORDS.groups, SCORES)
    assert ((chances > 0) & (chances < 1)).any()
    for chance in np.unique(chances):
        accepted = decided()[chances == chance]
        deviation = np.sqrt(chance * (1 - chance) / len(accepted))
        assert abs(accepted.mean() - chance) <= 5 * deviation


def test_another_key_and_fresh_coins_decide_otherwise():
    keyed = decided()
    assert (decided() == keyed).all()
    assert (decided(key=b"other") != keyed).any()
    assert (decided(coins="fresh") != decided(coins="fresh")).any()
    certain = np.isin(RULE.probabilities(RECORDS.groups, SCORES), (0, 1))
    assert (decided(coins="fresh")[certain] == keyed[certain]).all()


def test_unknown_coins_are_refused():
    with pytest.raises(InputError, match="coins"):
        decided(coins="weighted")
