"""Figures and tables, made from records and nothing else."""

from surefed.report.figure import plot, title
from surefed.report.history import notices, story
from surefed.report.score import MEASURES, measured, percent, score
from surefed.report.summary import find, summary

__all__ = ["MEASURES", "find", "measured", "notices", "percent", "plot", "score", "story", "summary", "title"]
