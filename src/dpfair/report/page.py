"""The report: a fitted model in, one HTML page out that opens offline and runs no script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

import dpfair
from dpfair.certificate.text import round_down, round_up
from dpfair.errors import InputError
from dpfair.files import write_file
from dpfair.methods.base import PrivateClassifier
from dpfair.report import wording
from dpfair.report.account import privacy_account
from dpfair.report.bounds import frontier_of, gap_bounds, method_of, pair_bounds
from dpfair.report.counts import counts_of, decided_of
from dpfair.report.disclosure import disclosures, internal_numbers, limits
from dpfair.report.facts import headline_facts, warnings_of
from dpfair.report.groups import (
    acceptance_rows,
    correction_sentences,
    rate_plots,
    rule_sentences,
    undeclared_rows,
)
from dpfair.report.public import schema_rows
from dpfair.report.rules import OTHERWISE, RULES
from dpfair.report.summary import asked, promises

__all__ = ["render_report", "write_report"]


def write_report(model: Any, path: str | Path, evaluation: Mapping[str, Any] | None = None) -> Path:
    """Write the report of a fitted model to one HTML file.

    Parameters
    ----------
    model
        A fitted :class:`~dpfair.PrivateFairClassifier` or :class:`~dpfair.FairPostProcessor`.
    path
        The file to write. An existing one is replaced.
    evaluation
        Numbers measured on records without paying: any of ``n``, ``accuracy``, ``gap``,
        ``notion_gap``, ``group_rates`` (group name to rate) and ``floor`` (the gap that a
        perfectly fair model would show on as many records). The page then marks them, and
        itself, as internal.

    Privacy
    -------
    Without ``evaluation`` the page shows only what was released and what was assumed public, so
    it costs nothing more. With it, the page must not be published.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from dpfair import PrivateFairClassifier, load_adult, write_report
    >>> data = load_adult()
    >>> model = PrivateFairClassifier(3, schema=data.schema, sensitive="sex").fit(data.X, data.y)
    >>> write_report(model, Path(mkdtemp()) / "report.html").name
    'report.html'
    """
    page = render_report(model, evaluation)
    try:
        # A lone surrogate in a column name is no reason to fail: it becomes a reference.
        return write_file(path, page.encode("utf-8", errors="xmlcharrefreplace"))
    except InputError as error:
        raise InputError(f"Cannot write the report: {error}") from error


def render_report(model: Any, evaluation: Mapping[str, Any] | None = None) -> str:
    """The report of a fitted model as the text of one HTML page.

    The same model gives the same text: the page has no date in it.

    Parameters
    ----------
    model, evaluation
        As in :func:`write_report`.

    Examples
    --------
    >>> from dpfair import FairPostProcessor
    >>> fair = FairPostProcessor(lambda X: X[:, 1], sensitive=0, held_out=True)
    >>> page = render_report(fair.fit([[0, 1], [0, 1], [0, 0], [1, 0], [1, 0], [1, 1]]))
    >>> "NOT PRIVATE" in page
    True
    """
    if not isinstance(model, PrivateClassifier) or not hasattr(model, "certificate_"):
        raise InputError(f"Expected a fitted model with a certificate, got {type(model).__name__}.")
    model = getattr(model, "best_estimator_", model)  # a search's report is that of its winner
    certificate, fitted = model.certificate_, model.fitted_
    fairness = certificate.fairness
    pairs, more_pairs = pair_bounds(fairness)
    return _template().render(
        version=dpfair.__version__,
        certificate=certificate,
        asked=asked(model),
        warnings=warnings_of(model, internal=evaluation is not None),
        facts=headline_facts(model),
        promises=promises(certificate),
        rates=rate_plots(fairness),
        acceptance=acceptance_rows(fairness),
        undeclared=undeclared_rows(fairness),
        corrections=correction_sentences(fairness.group_names, fitted.planned, fitted.rule),
        rules=rule_sentences(fairness.group_names, fitted.rule),
        group_heading=f"Group ({fairness.column})" if fairness.column else "Group",
        grade_rules=RULES,
        other_rules=OTHERWISE,
        bounds=gap_bounds(fairness.bounds),
        bound_method=method_of(fairness.bounds),
        pairs=pairs,
        more_pairs=more_pairs,
        frontier=frontier_of(model),
        exact="count" in fitted.releases and "count" not in model.plan_,
        account=privacy_account(model),
        disclosures=disclosures(model, evaluated=evaluation is not None),
        counts=counts_of(model),
        decided=decided_of(model),
        internal=None if evaluation is None else internal_numbers(evaluation, fairness.column),
        assumed=certificate.privacy.assumed_public,
        columns=schema_rows(model),
        limits=limits(model),
    )


def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("dpfair.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["percent"] = wording.percent
    environment.filters["percent_range"] = wording.percent_range
    environment.filters["round_down"] = round_down
    environment.filters["round_up"] = round_up
    return environment.get_template("page.html.j2")
