"""``dpfair evaluate``: how a model does on labelled records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfair.cli.looks import print_facts, print_table
from dpfair.cli.models import deciding_model
from dpfair.cli.options import (
    AsJson,
    DataFiles,
    LedgerKey,
    LedgerPath,
    LedgerScope,
    ModelFile,
    NewScope,
    OwnLearner,
    charge_to,
)
from dpfair.cli.output import print_json, say
from dpfair.cli.progress import counting_rows, working
from dpfair.cli.stopping import saying_what_is_left, what_is_left
from dpfair.cli.tables import (
    files_in_parts,
    names_several,
    needed_names,
    read_data,
    some_rows_at_a_time,
    table_and_labels,
)
from dpfair.errors import InputError

if TYPE_CHECKING:
    import polars as pl


def evaluate(
    model: ModelFile,
    data: DataFiles,
    private_epsilon: Annotated[
        float | None, typer.Option(help="Release the numbers with noise, at this cost.")
    ] = None,
    ledger: LedgerPath = None,
    scope: LedgerScope = "",
    new_scope: NewScope = False,
    key: LedgerKey = None,
    learner: OwnLearner = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse DATA if a group or label is not declared, or if half of a column is "
            "missing, cannot be read or is outside of its bounds.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Accuracy, gap and group rates on DATA: internal numbers, unless they are paid for.

    Records of an undeclared group or label are left out and counted. With --private-epsilon they
    are part of the release, and nothing else is said about them.
    """
    from dpfair.cli.deciding import in_background
    from dpfair.cli.paying import keep_numbers, kept_numbers, ledger_line
    from dpfair.data.unread import Unread
    from dpfair.evaluation import DecisionCounts, check_budget, evaluate_privately

    to = charge_to(ledger, scope, key, new_scope)
    if to is not None and private_epsilon is None:
        raise InputError("--ledger belongs to --private-epsilon: exact numbers cannot be paid for.")
    if strict and private_epsilon is not None:
        raise InputError("--strict would tell what is in DATA without paying: leave it out.")
    with working("reading the model"):
        fitted = deciding_model(model, learner, whole=True)
    if private_epsilon is not None:
        earlier = kept_numbers(to, lambda: check_budget(fitted, epsilon=private_epsilon, ledger=to))
        if earlier is not None:
            if not as_json:
                print(f"Earlier result of the job {key!r}; DATA was not read.")
            _show_private({**earlier, "earlier": True}, as_json=as_json)
            return
    unit = None if fitted.unit is None else str(fitted.unit_name)
    names, label = needed_names(fitted.schema_, unit), fitted.schema_.label.name
    if private_epsilon is not None:
        if unit is not None and names_several(data):
            raise InputError(
                "With unit, the records of a person are looked for in all of the table: give one "
                "file."
            )
        table: Any = None if unit else files_in_parts(data, None, fitted.schema_.file)
        labels = None
        if table is None:
            with working("reading the records"):
                frame = read_data(data, fitted.schema_.file)
            table, labels = table_and_labels(frame, fitted.schema_, unit)
        with working("deciding"), saying_what_is_left(what_is_left(to)):
            paid = evaluate_privately(fitted, table, labels, epsilon=private_epsilon, ledger=to)
        try:
            keep_numbers(to, paid.to_json())
        finally:  # they are paid for, also if the ledger has no room for them
            _show_private({**paid.to_json(), "earlier": False}, as_json=as_json)
            if to is not None and not as_json:
                print(ledger_line(to))
        return
    counts, odd = DecisionCounts(fitted), Unread(fitted.schema_)

    def count(frame: pl.DataFrame) -> None:
        records = fitted.records_of(frame.select(names))
        odd.add(frame, records)
        counts.add(records, frame[label])
        done(len(frame))

    with counting_rows("deciding") as done:
        rows = some_rows_at_a_time(data, fitted.schema_.file)
        in_background(count, rows.frames([*names, label]))
    unread = odd.sentences()
    if strict and unread:
        raise InputError(" ".join(unread))
    result = counts.metrics(strict=strict)
    for sentence in unread:
        say(f"dpfair: warning: {sentence} --strict refuses such a table.")
    if as_json:
        print_json(result)
        return
    say("dpfair: these numbers read records without paying: internal, do not publish.")
    _print_internal(result)


def _print_internal(result: dict[str, Any]) -> None:
    from dpfair.fairness.notions import NOTIONS

    floor = (
        f"   (a perfectly fair rule shows {result['floor']:.4f} on average)"
        if "floor" in result
        else ""
    )
    facts = [
        ("Records", f"{result['n']}{_left_out(result['left_out'])}"),
        ("Accuracy", f"{result['accuracy']:.4f}"),
        ("Gap", f"{result['gap']:.4f}{floor}"),
    ]
    plain = [f"{name:<9} {text}" for name, text in facts]
    if "notion_gap" in result:
        facts.append((f"Gap in {NOTIONS[result['notion']].title}", f"{result['notion_gap']:.4f}"))
        plain.append(": ".join(facts[-1]))
    print_facts(facts, plain)
    _print_rates(result["group_rates"])


def _left_out(counts: dict[str, int]) -> str:
    found = [f"{count} with an undeclared {kind}" for kind, count in counts.items() if count]
    return f"   (left out: {', '.join(found)})" if found else ""


def _show_private(result: dict[str, Any], *, as_json: bool) -> None:
    from dpfair.certificate.text import round_down, round_up
    from dpfair.fairness.notions import NOTIONS
    from dpfair.fairness.undeclared import many_undeclared

    if as_json:
        print_json(result)
        return
    least = most = ""
    if not result["reason"]:
        least = f"   (at least {round_down(result['accuracy_bound'])})"
        most = f"   (at most {round_up(result['gap_bound'])})"
    facts = [("Records", f"about {result['n']}"), ("Accuracy", f"{result['accuracy']:.4f}{least}")]
    grouped = len(result["group_rates"]) > 1
    if grouped:
        facts.append(("Gap", f"{result['gap']:.4f}{most} in {NOTIONS[result['notion']].title}"))
    print_facts(facts, [f"{name:<9} {text}" for name, text in facts])
    _print_rates(result["group_rates"])
    for kind, (share, ends) in result["undeclared"].items():
        if kind == "group" and not grouped:
            continue
        bound = "" if ends is None else f"   (at most {round_up(ends[1])})"
        print(f"Undeclared {kind}s: {share:.4f} of the records{bound}")
        if many_undeclared(share, ends):
            say(
                f"dpfair: warning: many records have a {kind} that the schema does not declare: no "
                "decision about them counts as right."
            )
    print(f"Privacy   epsilon = {result['epsilon']:g}, paid for these numbers.")
    if result["reason"]:
        print(f"There are no bounds for new records, because {result['reason']}.")
        return
    print(
        f"Each bound holds for new records with {100 * result['confidence']:.10g}% confidence, if "
        "these records took no part in training."
    )


def _print_rates(rates: dict[str, float]) -> None:
    rows = [(group, f"{rate:.4f}") for group, rate in rates.items()]
    print_table(("group", "accepted"), rows, [f"  accepted in {g}: {rate}" for g, rate in rows])
