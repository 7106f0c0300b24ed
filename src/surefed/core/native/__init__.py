"""Native code for CPUs: the work of a round in C, with the numbers of the torch path.

The C file beside this one is compiled once by the machine's own compiler, for the machine's own vector unit, into the
cache folder. Where there is none, or with SUREFED_NATIVE=0 in the environment, everything runs in torch; what is
computed is the same to rounding.
"""

from surefed.core.native.build import library
from surefed.core.native.edges import each_pair, fits, inspect, lead, pool, pushes, repair, survey
from surefed.core.native.threads import shared

__all__ = ["each_pair", "fits", "inspect", "lead", "library", "pool", "pushes", "repair", "shared", "survey"]
