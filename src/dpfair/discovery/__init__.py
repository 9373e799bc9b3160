"""Facts that a schema does not declare, found privately in the records of a fit."""
