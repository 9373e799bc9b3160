"""Bounds on the gap, by how the rule was found."""
