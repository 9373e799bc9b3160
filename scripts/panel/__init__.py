"""A panel of real tables, on which defaults are chosen and reported: ``make panel``."""
