"""How much work a simulation does."""

from __future__ import annotations

from dataclasses import dataclass, replace

from surefed.core import ConfigError


@dataclass(frozen=True, slots=True)
class Settings:
    """Rounds of each federation, independent repetitions of it, and the seed of its samples."""

    rounds: int = 1000
    repetitions: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.repetitions < 1:
            raise ConfigError(f"at least 1 round and 1 repetition are needed, not {self.rounds} and {self.repetitions}")

    def times(self, rounds: float = 1.0, repetitions: float = 1.0) -> Settings:
        """So many times the rounds and the repetitions; of these at least 2 are left."""
        return replace(
            self, rounds=round(rounds * self.rounds), repetitions=max(2, round(repetitions * self.repetitions))
        )
