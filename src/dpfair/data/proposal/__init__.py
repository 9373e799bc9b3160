"""Propose a schema by looking at the data. **This is not private**: it is a draft for a person.

Bounds, categories and groups are read off the records, and any of them can reveal a record.
Callers warn the user and state it in the certificate. No bin edges are proposed: they would be
further facts that only the data can tell.
"""

from dpfair.data.proposal.levels import infer_levels
from dpfair.data.proposal.proposal import LeftOut, Proposal
from dpfair.data.proposal.table import infer_schema, propose

__all__ = ["LeftOut", "Proposal", "infer_levels", "infer_schema", "propose"]
