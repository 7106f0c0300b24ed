"""Aggregation rules: a function of that name per file, returning a `Rule`."""

from surefed.core.registry import Factory, discover
from surefed.rules.base import Inspection, Outcome, Receivers, Rule

RULES: dict[str, Factory] = discover(__name__, __path__)

__all__ = ["RULES", "Inspection", "Outcome", "Receivers", "Rule"]
