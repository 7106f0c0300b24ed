"""Figures and tables, made from records and nothing else."""

from surefed.report.figure import plot

__all__ = ["plot"]
