"""``dpfair evaluate``: how a model does on labelled records."""

from __future__ import annotations

from dpfair.cli.options import AsJson, Data, ModelFile
from dpfair.cli.output import print_json, say
from dpfair.cli.tables import needed_columns, read_data
from dpfair.errors import SchemaError


def evaluate(model: ModelFile, data: Data, as_json: AsJson = False) -> None:
    """Accuracy, gap and group rates on DATA. Internal numbers: they read records unpaid."""
    from dpfair.evaluation import evaluate as measure
    from dpfair.fairness.notions import NOTIONS
    from dpfair.model_file import load_model

    fitted = load_model(model)
    frame = read_data(data)
    name = fitted.schema_.label.name
    if name not in frame.columns:
        raise SchemaError(f"The table has no label column {name!r}.")
    unit = None if fitted.unit is None else str(fitted.unit)
    result = measure(fitted, needed_columns(frame, fitted.schema_, unit), frame[name])
    if as_json:
        print_json(result)
        return
    say("dpfair: these numbers read records without paying: internal, do not publish.")
    print(f"Records   {result['n']}")
    print(f"Accuracy  {result['accuracy']:.4f}")
    floor = (
        f"   (a perfectly fair rule would show {result['floor']:.4f})" if "floor" in result else ""
    )
    print(f"Gap       {result['gap']:.4f}{floor}")
    if "notion_gap" in result:
        print(f"Gap in {NOTIONS[result['notion']].title}: {result['notion_gap']:.4f}")
    for group, rate in result["group_rates"].items():
        print(f"  accepted in {group}: {rate:.4f}")
