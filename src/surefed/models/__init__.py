"""Networks as plain `nn.Module`s: a function of that name per file, given the shape of one input and the classes."""

from surefed.core.registry import Factory, discover

MODELS: dict[str, Factory] = discover(__name__, __path__)

__all__ = ["MODELS"]
