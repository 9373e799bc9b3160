"""The audit's noise: answers that can be given out again, coins that stay with their records."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpfair.audit.tape import Diverged, Session
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.draw import Question
from dpfair.privacy.events import gaussian_steps, noisy_table, step_event
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import noise_from, noise_source

COUNT = noisy_table(1, "add_remove")


def count(session, *counts):
    receipt = Ledger(1, 1e-5, noise=session()).charge(COUNT, scope="a", purpose="count")
    return receipt.draw(COUNT).discrete_laplace(list(counts))


def test_a_tape_never_claims_to_be_secure():
    assert not Session()().secure
    assert not Ledger(1, 1e-5, noise=Session()()).private


def test_methods_draw_from_the_session_and_their_seeds_do_not_count():
    with noise_from(Session(seed=4)):
        assert noise_source(7).take(8) == Session(seed=4)().take(8)
        assert noise_source(7).take(8) != Session(seed=5)().take(8)


def test_a_question_is_heard_with_its_exact_value_and_its_answer():
    session = Session()
    answer = count(session, 5, 9)
    [heard] = session.heard
    assert heard.question.kind == "counts"
    assert heard.question.value.tolist() == [5, 9]
    assert (heard.question.event, heard.question.scope) == (COUNT, "a")
    assert heard.answer == answer


def test_a_replay_gives_the_recorded_answers_and_hears_the_new_values():
    recorded = Session()
    answer = count(recorded, 5, 9)
    replayed = Session(script=recorded.heard)
    assert count(replayed, 6, 9) == answer
    assert replayed.heard[0].question.value.tolist() == [6, 9]


def test_changing_an_answer_does_not_change_the_record():
    recorded = Session()
    tape = recorded()
    question = Question("gaussian", np.zeros(2))
    first = tape.answer(question, lambda: np.ones(2))
    first += 5
    question.value[:] = 7
    [heard] = recorded.heard
    assert heard.answer.tolist() == [1, 1]
    assert heard.question.value.tolist() == [0, 0]
    replayed = Session(script=recorded.heard)()
    replayed.answer(question, lambda: np.ones(2))[:] = 3
    assert heard.answer.tolist() == [1, 1]


@pytest.mark.parametrize(
    "question",
    [
        Question("counts", np.zeros(3)),
        Question("gaussian", np.zeros(2)),
    ],
    ids=["shape", "kind"],
)
def test_a_question_that_no_recorded_answer_fits_ends_the_run(question):
    recorded = Session()
    count(recorded, 5, 9)
    replayed = Session(script=recorded.heard)
    with pytest.raises(Diverged):
        replayed().answer(question, lambda: 0)
    assert len(replayed.heard) == 1


def test_a_question_beyond_the_end_ends_the_run():
    replayed = Session(script=[])
    with pytest.raises(Diverged):
        count(replayed, 5)


@pytest.mark.parametrize(
    "coins",
    [
        lambda tape, n: tape.uniforms(n),
        lambda tape, n: tape.normals(n),
        lambda tape, n: tape.random_uint64(n),
        lambda tape, n: np.array(tape.discrete_laplace(Fraction(1, 3), n)),
        lambda tape, n: np.isin(np.arange(n), tape.poisson_batch(n, 0.3)),
        lambda tape, n: np.isin(np.arange(n), tape.exact_batch(n, 0.3)),
    ],
    ids=["uniforms", "normals", "words", "laplace", "poisson", "exact batch"],
)
def test_one_more_record_leaves_the_coins_of_the_others_alone(coins):
    few, many = Session(1)(), Session(1)()
    for n in (1, 40, 7):  # and of all later calls
        np.testing.assert_array_equal(coins(few, n), coins(many, n + 1)[:n])


def test_calls_and_sources_have_different_coins():
    session = Session()
    one, two = session(), session()
    drawn = [one.take(16), one.take(16), two.take(16), two.take(16)]
    assert len(set(drawn)) == 4


def test_sources_are_numbered_by_their_first_use():
    """Or a plan that is made in passing would change all coins of the run."""
    plain, planning = Session(), Session()
    planning()
    assert planning().take(8) == plain().take(8)


def test_drawing_an_answer_uses_up_no_coins():
    """A replay draws no answers, and must have the same coins."""
    recorded = Session()
    tape = recorded()
    before = tape.take(8)
    tape.answer(Question("gaussian", np.zeros(2)), lambda: tape.normals(2))
    after = tape.take(8)
    replayed = Session(script=recorded.heard)()
    assert replayed.take(8) == before
    replayed.answer(Question("gaussian", np.zeros(2)), lambda: replayed.normals(2))
    assert replayed.take(8) == after


def test_answers_have_noise_of_their_own():
    session = Session()
    noise = [np.array(count(session, 0, 0, 0, 0)) for _ in range(2)]
    coins = session()
    assert not np.array_equal(*noise)
    tape = session()
    first = tape.answer(Question("gaussian", np.zeros(9)), lambda: tape.normals(9))
    second = tape.answer(Question("gaussian", np.zeros(9)), lambda: tape.normals(9))
    assert not set(first) & set(second)
    assert not set(first) & set(coins.normals(9))


def test_the_noise_of_the_tape_follows_its_law():
    tape, size = Session()(), 40_000
    laplace = np.array(tape.discrete_laplace(Fraction(1, 2), size))
    decay = np.exp(-0.5)
    expected = (1 - decay) / (1 + decay) * decay ** np.abs(np.arange(-3, 4))
    shares = [(laplace == z).mean() for z in range(-3, 4)]
    np.testing.assert_allclose(shares, expected, atol=0.01)
    gaussian = tape.discrete_gaussian(16, size)
    assert gaussian.dtype == np.int64
    assert gaussian.std() == pytest.approx(4, rel=0.02)
    batches = [len(tape.poisson_batch(100, 0.2)) for _ in range(400)]
    assert np.mean(batches) == pytest.approx(20, abs=1)


def test_every_kind_of_draw_passes_the_tape():
    session = Session()
    steps, exact = gaussian_steps(1.0, 0.5, 1), step_event(1.0, 0.5, exact=True)
    ledger = Ledger(50, 1e-5, noise=session())
    draw = ledger.charge(steps, scope="", purpose="sum").draw(step_event(1.0, 0.5))
    draw.batch(10)
    draw.gaussian(np.zeros(3), 1.0)
    draw = ledger.charge(exact, scope="", purpose="sum").draw(exact)
    draw.batch(10)
    draw.discrete_gaussian(np.zeros(3, np.int64), np.full(3, 0.5), 1.0)
    ledger.assume(Assumption(), np.array([3]))
    assert [h.question.kind for h in session.heard] == ["gaussian", "grid", "assumed"]
