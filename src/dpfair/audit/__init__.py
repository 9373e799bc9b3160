"""Audits that look for privacy bugs, by replay (without statistics) and by sampling."""
