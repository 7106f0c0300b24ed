"""Figures and tables, made from records and nothing else."""

from surefed.report.figure import plot, title
from surefed.report.summary import find, percent, summary

__all__ = ["find", "percent", "plot", "summary", "title"]
