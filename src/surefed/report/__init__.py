"""Figures and tables, made from records and nothing else."""

from surefed.report.figure import plot, title
from surefed.report.history import notices, story
from surefed.report.summary import find, percent, summary

__all__ = ["find", "notices", "percent", "plot", "story", "summary", "title"]
