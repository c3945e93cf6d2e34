"""Judgments in the admin site, for operators: settings, runs, the labelling queue, reports."""

from judgments.admin import runs, settings

__all__ = ["runs", "settings"]
