"""The certificates' numbers, their coverage, and twins that show the coverage check can fail."""

import dataclasses
import math

import numpy as np
import pytest

from dpfair.errors import InputError
from dpfair.fairness.bounds.paper import (
    chernoff_gap_bound,
    combined_gap_bound,
    expected_gap,
    interval_gap_bound,
    paper_expected_gap_bound,
    paper_gap_bound,
    paper_utility_bound,
)
from dpfair.fairness.rates import NoisyRate
from dpfair.fairness.rules import (
    Rule,
    exact_gap,
    group_acceptance,
    minimal_changes,
    parity_rule,
    prediction_changes,
)

BOUNDS = {"C2": interval_gap_bound, "C3": combined_gap_bound}
ADULT, CREDIT = ((3674, 7631), (0.06, 0.2)), ((4530, 2970), (0.06, 0.075))
DUPLICATED = ((4892, 10189), (0.06, 0.2))


def expected_release(sizes, rates, noise, private=False):
    """The release without any luck: counts equal to their expectation."""
    counts = [round(n * p) for n, p in zip(sizes, rates, strict=True)]
    return [
        NoisyRate(c, n - c if private else None, None if private else n, noise)
        for c, n in zip(counts, sizes, strict=True)
    ]


def rule_of(release):
    return parity_rule([rate.estimate for rate in release])


def draw(rng, sizes, rates, noise, private=False):
    """A random release, with noise drawn independently of the library."""
    p = -math.expm1(-noise)
    counts = rng.binomial(sizes, rates)
    added = rng.geometric(p, (2, len(sizes))) - rng.geometric(p, (2, len(sizes)))
    others = np.array(sizes) - counts + added[1]
    return [
        NoisyRate(int(y), int(r) if private else None, None if private else n, noise)
        for y, r, n in zip(counts + added[0], others, sizes, strict=True)
    ]


def true_gap(rule, rates):
    return float(np.ptp(group_acceptance(rule, rates)))


@pytest.mark.parametrize(
    ("data", "noise", "paper", "mean", "chernoff", "c2", "c3", "exact"),
    [
        (ADULT, 0.05, 0.0799, 0.0220, 0.0452, 0.0291, 0.0259, 0.0068),
        (ADULT, 3.0, 0.0451, 0.0141, 0.0297, 0.0152, 0.0116, 0.0037),
        (CREDIT, 0.1, 0.0773, 0.0222, 0.0399, 0.0254, 0.0191, 0.0061),
        (CREDIT, 3.0, 0.0537, 0.0168, 0.0350, 0.0180, 0.0139, 0.0045),
        (DUPLICATED, 0.05, 0.0651, 0.0182, 0.0358, 0.0227, 0.0198, 0.0054),
        (DUPLICATED, 3.0, 0.0390, 0.0122, 0.0257, 0.0131, 0.0100, 0.0032),
    ],
)
def test_table_of_check_numbers(data, noise, paper, mean, chernoff, c2, c3, exact):
    sizes, rates = data
    release = expected_release(sizes, rates, noise)
    rule = rule_of(release)
    epsilons = [noise, noise]
    assert paper_gap_bound(sizes, epsilons, 0.05) == pytest.approx(paper, abs=5.1e-5)
    assert paper_expected_gap_bound(sizes, epsilons) == pytest.approx(mean, abs=5.1e-5)
    assert chernoff_gap_bound(sizes, epsilons, 0.05) == pytest.approx(chernoff, abs=5.1e-5)
    assert interval_gap_bound(release, rule, 0.95).bound == pytest.approx(c2, abs=1.5e-4)
    assert combined_gap_bound(release, rule, 0.95).bound == pytest.approx(c3, abs=2.5e-4)
    assert expected_gap(rates, sizes, epsilons) == pytest.approx(exact, abs=5.1e-5)


def test_adult_is_certified_within_three_points_where_the_paper_certifies_eight():
    sizes, rates = ADULT
    release = expected_release(sizes, rates, 0.05)
    certified = interval_gap_bound(release, rule_of(release), 0.95)
    assert certified.bound <= 0.031
    assert round(paper_gap_bound(sizes, [0.05, 0.05], 0.05), 3) == 0.080
    assert certified.excess_changes == 2 * certified.bound
    assert paper_utility_bound(sizes, [0.05, 0.05], 0.05) == pytest.approx(0.1996, abs=1e-4)
    assert paper_utility_bound(sizes, [0.05, 0.05]) == pytest.approx(2.5 * 0.0220, abs=1.5e-4)


SMALL = [((25, 25), (0.5, 0.5), 0.3), ((30, 20), (0.2, 0.6), 0.5)]


def coverage(method, sizes, rates, noise, private, trials, believe=lambda release: release):
    """How often the bound on the gap, and all that comes with it, is true."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(trials):
        release = draw(rng, sizes, rates, noise, private)
        rule = rule_of(release)
        certified = BOUNDS[method](believe(release), rule, 0.95)
        changes = float(prediction_changes(rule, rates).sum())
        gap = true_gap(rule, rates)
        held = [
            gap <= certified.bound,
            certified.changes[0] <= changes <= certified.changes[1],
            changes - minimal_changes(rates[:2], gap) <= (certified.excess_changes or 9.0),
        ]
        for rate, after, before_range, after_range in zip(
            rates, group_acceptance(rule, rates), certified.before, certified.after, strict=True
        ):
            held.append(before_range[0] <= rate <= before_range[1])
            held.append(after_range[0] <= after <= after_range[1])
        hits += all(held)
    return hits / trials


@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
@pytest.mark.parametrize(("sizes", "rates", "noise"), [*SMALL, (*ADULT, 0.05)])
def test_interval_bound_covers(sizes, rates, noise, private):
    assert coverage("C2", sizes, rates, noise, private, trials=30 if private else 200) >= 0.95


@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
@pytest.mark.parametrize(("sizes", "rates", "noise"), SMALL)
def test_combined_bound_covers(sizes, rates, noise, private):
    assert coverage("C3", sizes, rates, noise, private, trials=12 if private else 50) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("method", BOUNDS)
@pytest.mark.parametrize(("sizes", "rates", "noise"), [*SMALL, (*ADULT, 0.05)])
def test_bounds_with_private_sizes_cover_often(method, sizes, rates, noise):
    assert coverage(method, sizes, rates, noise, True, trials=200) >= 0.95


@pytest.mark.parametrize("method", BOUNDS)
def test_three_groups_are_covered(method):
    trials = {"C2": 150, "C3": 30}[method]
    setting = ((40, 60, 50), (0.2, 0.5, 0.7), 0.5)
    assert coverage(method, *setting, private=False, trials=trials) >= 0.95


def without_noise(release):
    return [dataclasses.replace(rate, noise=math.inf) for rate in release]


@pytest.mark.parametrize("method", BOUNDS)
@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
def test_ignoring_the_noise_fails_the_coverage_check(method, private):
    trials = {"C2": 200, "C3": 60}[method]
    covered = coverage(method, *SMALL[0], private, trials=trials, believe=without_noise)
    assert covered < 0.9  # the twins above ask for 0.95


def test_paper_and_chernoff_bounds_dominate_the_gap():
    rng = np.random.default_rng(12)
    for sizes, rates, noise in [(*ADULT, 0.05), (*CREDIT, 3.0), ((200, 300), (0.0, 0.9), 0.1)]:
        gaps = np.array(
            [true_gap(rule_of(draw(rng, sizes, rates, noise)), rates) for _ in range(1000)]
        )
        epsilons = [noise, noise]
        assert np.mean(gaps <= paper_gap_bound(sizes, epsilons, 0.05)) >= 0.95
        assert np.mean(gaps <= chernoff_gap_bound(sizes, epsilons, 0.05)) >= 0.95
        assert gaps.mean() <= paper_expected_gap_bound(sizes, epsilons)


@pytest.mark.parametrize(
    ("sizes", "rates", "noise"),
    [(*ADULT, 0.05), ((25, 25), (0.5, 0.5), 0.3), ((40, 30), (0.0, 1.0), 0.2)],
)
def test_expected_gap_equals_simulation(sizes, rates, noise):
    rng = np.random.default_rng(13)
    gaps = [true_gap(rule_of(draw(rng, sizes, rates, noise)), rates) for _ in range(6000)]
    error = np.std(gaps) / math.sqrt(len(gaps))
    assert abs(expected_gap(rates, sizes, [noise, noise]) - np.mean(gaps)) < 4 * error


def test_expected_gap_without_noise_is_a_double_sum():
    total = 0.0
    for a in range(4):
        for b in range(6):
            mass = math.comb(3, a) * math.comb(5, b) * 0.3**a * 0.7 ** (3 - a) * 0.5**5
            total += mass * abs(exact_gap(parity_rule([a / 3, b / 5]), [0.3, 0.5]))
    assert expected_gap([0.3, 0.5], [3, 5], [math.inf, math.inf]) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("method", BOUNDS)
def test_bounds_are_at_most_one_and_shrink_with_less_confidence(method):
    release = [NoisyRate(500, None, 3, 0.1), NoisyRate(-400, None, 2, 0.1)]
    certified = BOUNDS[method](release, Rule([[0.0, 1.0], [0.0, 1.0]]), 0.95)
    assert certified.bound == 1.0
    release = expected_release(*ADULT, 0.05)
    rule = rule_of(release)
    bounds = [BOUNDS[method](release, rule, c).bound for c in (0.5, 0.9, 0.99)]
    assert bounds[0] < bounds[1] < bounds[2]


@pytest.mark.parametrize("method", BOUNDS)
def test_an_empty_group_certifies_nothing(method):
    release = [NoisyRate(0, None, 0, 1.0), NoisyRate(30, None, 100, 1.0)]
    certified = BOUNDS[method](release, rule_of(release), 0.95)
    assert certified.bound == 1.0
    assert certified.before[0] == (0.0, 1.0)


def test_combined_bound_contains_the_region_found_by_brute_force():
    release = [NoisyRate(22, None, 60, 0.4), NoisyRate(35, None, 50, 0.4)]
    rule = rule_of(release)
    p = np.linspace(0, 1, 1201)
    first, second = (rate.p_value(p, 0.5) for rate in release)
    region = np.outer(first, second) >= math.exp(-9.487729036781154 / 2)  # chi-square, 4 d.f.
    after = [rule.accept[a, 0] + (rule.accept[a, 1] - rule.accept[a, 0]) * p for a in (0, 1)]
    largest = np.abs(after[0][:, None] - after[1][None, :])[region].max()
    bound = combined_gap_bound(release, rule, 0.95).bound
    assert largest <= bound <= largest + 0.004


def test_coarse_steps_only_enlarge_the_combined_bound():
    release = [
        NoisyRate(22, None, 60, 0.4),
        NoisyRate(35, None, 50, 0.4),
        NoisyRate(9, None, 40, 1),
    ]
    for groups in (release[:2], release):
        rule = rule_of(groups)
        fine = combined_gap_bound(groups, rule, 0.95)
        for steps in (1, 2, 3, 7):
            coarse = combined_gap_bound(groups, rule, 0.95, steps)
            assert coarse.bound >= fine.bound
            assert coarse.changes[0] <= fine.changes[0]
            assert coarse.changes[1] >= fine.changes[1]


def test_excess_is_only_claimed_for_rules_of_the_paper():
    release = expected_release(*ADULT, 0.05)
    assert interval_gap_bound(release, Rule([[0.0, 1.0]] * 2), 0.95).excess_changes is not None
    assert interval_gap_bound(release, Rule([[0.1, 0.9]] * 2), 0.95).excess_changes is None
    release = [*release, NoisyRate(30, None, 100, 0.05)]
    assert interval_gap_bound(release, rule_of(release), 0.95).excess_changes is None


def test_decreasing_rules_are_bounded_too():
    release = expected_release(*ADULT, 3.0)
    reverse = Rule([[1.0, 0.0], [1.0, 0.0]])
    for bound in BOUNDS.values():
        certified = bound(release, reverse, 0.95)
        assert 0.14 < certified.bound < 0.17
        assert certified.after[0][0] <= 0.94 <= certified.after[0][1]
        assert certified.changes[1] == 2.0


def test_paper_bounds_are_capped():
    assert paper_gap_bound([2, 2], [0.01, 0.01], 0.05) == 1.0
    assert chernoff_gap_bound([2, 2], [0.01, 0.01], 0.05) == 1.0
    assert paper_expected_gap_bound([2, 2], [0.01, 0.01]) == 1.0
    assert paper_utility_bound([2, 2], [0.01, 0.01], 0.05) == 2.0
    assert chernoff_gap_bound([1000, 1000], [math.inf, math.inf], 0.05) == pytest.approx(
        math.sqrt(math.log(80) / 2 * (2 / 1000)), rel=1e-6
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: paper_gap_bound([10], [1.0], 0.05),
        lambda: paper_gap_bound([10, 0], [1.0, 1.0], 0.05),
        lambda: paper_gap_bound([10, 10], [1.0, math.nan], 0.05),
        lambda: paper_gap_bound([10, 10], [1.0, 1.0], 0.0),
        lambda: chernoff_gap_bound([10, 10], [1.0, 1.0], 1.0),
        lambda: interval_gap_bound(expected_release(*ADULT, 1.0), Rule([[0.0, 1.0]]), 0.95),
        lambda: combined_gap_bound(expected_release(*ADULT, 1.0), Rule([[0, 1]] * 2), 1.0),
    ],
)
def test_impossible_questions_are_refused(call):
    with pytest.raises(InputError, match="Expected"):
        call()
