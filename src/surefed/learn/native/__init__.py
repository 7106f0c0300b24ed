"""Rows of plain networks learn in C, with the numbers of the torch path to rounding; see core/native."""

from surefed.learn.native.job import Recipe, learn
from surefed.learn.native.plan import Plan, plan

__all__ = ["Plan", "Recipe", "learn", "plan"]
