"""Published numbers, and exact answers that no accountant computed."""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import norm

from dpfair.privacy.accountants import epsilon

DELTA = 1e-5

# The published noise levels: standard deviation (clip 1.5), q, T, and the four answers.
PUBLISHED = [
    (3.13, 0.034, 1500, {"pld": 2.831, "rdp": 3.082, "gdp": 2.765, "prv": 2.842}),
    (3.27, 0.034, 1500, {"pld": 2.677, "rdp": 2.914, "gdp": 2.617, "prv": 2.687}),
    (3.01, 0.034, 1500, {"pld": 2.979, "rdp": 3.242, "gdp": 2.906, "prv": 2.989}),
    (1.50, 0.034, 1500, {"pld": 8.818, "rdp": 9.620, "gdp": 8.351, "prv": 8.828}),
    (1.56, 0.034, 1500, {"pld": 8.178, "rdp": 8.920, "gdp": 7.756, "prv": 8.188}),
    (1.45, 0.034, 1500, {"pld": 9.430, "rdp": 10.296, "gdp": 8.922, "prv": 9.441}),
    (4.44, 0.0683, 750, {"pld": 2.735, "rdp": 2.977, "gdp": 2.678, "prv": 2.745}),
    (4.65, 0.0683, 750, {"pld": 2.586, "rdp": 2.815, "gdp": 2.534, "prv": 2.596}),
    (4.30, 0.0683, 750, {"pld": 2.844, "rdp": 3.095, "gdp": 2.782, "prv": 2.854}),
    (2.49, 0.0683, 1500, {"pld": 8.678, "rdp": 9.377, "gdp": 8.489, "prv": 8.688}),
    (2.60, 0.0683, 1500, {"pld": 8.152, "rdp": 8.812, "gdp": 7.979, "prv": 8.163}),
    (2.43, 0.0683, 1500, {"pld": 8.993, "rdp": 9.718, "gdp": 8.796, "prv": 9.004}),
]


def spent(event, delta=DELTA, **how):
    return epsilon(event, delta, **how).epsilon


def gaussian_delta(mu, eps):
    """Balle and Wang (2018), Theorem 8: the exact delta of a Gaussian of sensitivity mu sigma."""
    first = log_ndtr(mu / 2 - eps / mu)
    second = eps + log_ndtr(-mu / 2 - eps / mu)
    return math.exp(first) * -math.expm1(second - first)


def exact_gaussian(mu, delta):
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    top = 1.0
    while gaussian_delta(mu, top) > delta:
        top *= 2
    return brentq(lambda e: gaussian_delta(mu, e) - delta, 0, top, xtol=1e-12)


def exact_one_step(sigma, q, relation, delta):
    """One Poisson-sampled Gaussian, by plain integration of the hockey-stick divergence."""
    x, step = np.linspace(-20 * sigma, 20 * sigma, 100_001, retstep=True)
    nobody = norm.pdf(x, 0, sigma)
    mixture = (1 - q) * nobody + q * norm.pdf(x, 1, sigma)
    other = (1 - q) * nobody + q * norm.pdf(x, -1, sigma)
    pairs = {
        "add_remove": [(mixture, nobody), (nobody, mixture)],
        "replace_one": [(mixture, other)],
    }[relation]

    def excess(eps):
        return max(np.maximum(p - math.exp(eps) * r, 0).sum() for p, r in pairs) * step - delta

    return brentq(excess, 0, 60, xtol=1e-9) if excess(0) > 0 else 0.0
