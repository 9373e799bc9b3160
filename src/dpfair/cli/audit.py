"""``dpfair audit``: try to tell neighbours apart, and compare with what is claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpfair import validate
from dpfair.cli.audit_report import AuditReport
from dpfair.cli.looks import print_styled, print_table
from dpfair.cli.models import read_model
from dpfair.cli.options import AsJson, OwnLearner
from dpfair.cli.output import print_json, say
from dpfair.cli.progress import progress_bar
from dpfair.errors import InputError

if TYPE_CHECKING:
    from dpfair.audit.catalogue import Method
    from dpfair.audit.distinguish import Listening, Mechanism

__all__ = ["audit", "audit_mechanisms", "audit_method", "audit_model", "show"]

CONFIDENCE = 0.999
NEIGHBOURS = 60
# Samples on either input: a minute or two of work for each kind of target.
MECHANISM_SAMPLES, FITS, ENTRY_SAMPLES = 100_000, 1_000, 20_000


def audit(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="The word mechanisms (all of the library's), the name of a method, or a model "
            "file written by fit.",
        ),
    ],
    samples: Annotated[
        int | None,
        typer.Option(help="Outputs (of a method: fits) on either of two neighbouring inputs."),
    ] = None,
    learner: OwnLearner = None,
    seed: Annotated[int | None, typer.Option(help="Make the audit repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Test privacy claims on neighbouring inputs; exit 1 if a claim is refuted."""
    from dpfair.audit.catalogue import catalogue
    from dpfair.audit.distinguish import Listening
    from dpfair.audit.mechanisms import library_mechanisms

    noise, methods = Listening(seed), {method.name: method for method in catalogue()}
    if target == "mechanisms":
        many = MECHANISM_SAMPLES if samples is None else samples
        report = audit_mechanisms(library_mechanisms(), many, noise)
    elif target in methods:
        report = audit_method(methods[target], FITS if samples is None else samples, noise)
    elif Path(target).is_file():
        many = ENTRY_SAMPLES if samples is None else samples
        report = audit_model(Path(target), many, noise, learner)
    elif Path(target).name != target or Path(target).suffix:
        raise InputError(f"There is no file {target}.")
    else:
        raise InputError(
            f"Expected a model file, the word mechanisms or a method ({', '.join(methods)}), "
            f"got {target!r}{validate.did_you_mean(target, ['mechanisms', *methods])}."
        )
    show(report, as_json=as_json)


def show(report: AuditReport, *, as_json: bool) -> None:
    """Print what was found; a failed check ends the command with exit code 1."""
    if as_json:
        print_json(report.to_json())
    else:
        print("\n".join(report.head()))
        headings = ("mechanism", "claimed epsilon", "delta", "lower bound", "samples", "verdict")
        print_table(headings, report.rows(), report.table())
        print("\n".join(report.notes()))
        print_styled(report.verdict)
    if report.failures:
        raise typer.Exit(1)


def audit_mechanisms(
    mechanisms: Sequence[Mechanism], samples: int, noise: Listening
) -> AuditReport:
    """Run mechanisms on neighbouring inputs."""
    from dpfair.audit.distinguish import distinguish_all

    with _progress("sampling mechanisms", len(mechanisms)) as advance:
        findings = distinguish_all(mechanisms, samples, noise, CONFIDENCE, lambda name: advance(1))
    return AuditReport(
        "Every mechanism of the library, run on neighbouring inputs",
        findings,
        [mechanism.name for mechanism in mechanisms],
        "Samples are outputs on either of two neighbours.",
        CONFIDENCE,
    )


def audit_method(
    method: Method, fits: int, noise: Listening, *, neighbours: int = NEIGHBOURS
) -> AuditReport:
    """Replay a method on at least so many neighbouring tables, and play the canary game."""
    from dpfair.audit.game import MIN_FITS, canary_game
    from dpfair.audit.replay import replay_method
    from dpfair.audit.sample import sample_schema
    from dpfair.privacy.events import RELATIONS

    validate.at_least(MIN_FITS, samples=fits)
    schema = sample_schema()
    replays = [replay_method(method, schema, name, at_least=neighbours) for name in RELATIONS]
    with _progress(f"fitting {method.name}", fits) as advance:
        findings = canary_game(
            method, schema, fits, noise, confidence=CONFIDENCE, progress=lambda done: advance(1)
        )
    return AuditReport(
        f"{method.name}: {method.description}",
        findings,
        [finding.name for finding in findings],
        f"Samples are fits on a table of few records ({findings[0].pair}).",
        CONFIDENCE,
        replays,
    )


def audit_model(
    path: Path, samples: int, noise: Listening, learner: str | None = None
) -> AuditReport:
    """Run every entry of a model's ledger again."""
    from dpfair.audit.distinguish import distinguish_all
    from dpfair.audit.entries import entry_mechanisms

    model = read_model(path, learner)
    ledger, privacy = model.ledger_, model.certificate_.privacy
    if not privacy.private:
        leaks = "; ".join(privacy.leaks)
        say(f"dpfair: the certificate says that this model is not private: {leaks}.")
    named = [
        (f"{entry.scope or 'all'}: {entry.purpose}", mechanism)
        for entry in ledger.entries
        for mechanism in entry_mechanisms(entry, ledger.relation)
    ]
    names, mechanisms = [name for name, _ in named], [mechanism for _, mechanism in named]
    with _progress("sampling the ledger's entries", len(named)) as advance:
        findings = distinguish_all(mechanisms, samples, noise, CONFIDENCE, lambda name: advance(1))
    return AuditReport(
        f"{path}: epsilon {ledger.spent:.4g} of {ledger.epsilon:g}, "
        f"{'no delta' if ledger.pure else f'delta {ledger.delta:g}'}, {ledger.relation}; "
        "the certificate follows from the ledger",
        findings,
        names,
        "Each entry of the ledger was run again by this installation, with the entry's parameters "
        "and the record that shows most; where it can show more, Gaussian noise is tested at a "
        "larger delta, too.",
        CONFIDENCE,
        privacy=privacy,
    )


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    with progress_bar(what, total) as advance:
        yield advance or (lambda done: None)
