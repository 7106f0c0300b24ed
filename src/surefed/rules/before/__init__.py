"""What may be done to the messages before a rule sees them: a function of that name per file, returning a `Before`."""

from surefed.core.registry import Factory, discover
from surefed.rules.before.base import Before, preceded

BEFORE: dict[str, Factory] = discover(__name__, __path__)

__all__ = ["BEFORE", "Before", "preceded"]
