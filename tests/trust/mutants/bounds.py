"""Broken bounds."""
