"""How much alike are two camps, where somebody plants a backdoor and where nobody lies?

    python benchmarks/camps.py [FILE] [--rounds 600] [--every 100] [--set KEY=VALUE ...]

Plays an experiment, by default the demo's, under SureFED. `alike` is what `rule.camps` is compared with: over the
honest receivers, the median and the highest in that round, and the highest in any round so far. It is looked at every
round; camps are parted only with --set rule.camps=..., else 1.0, which is more than any camp is. `other camp`: how many
are in it for the median receiver, and the share of liars among them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from surefed.core import camps
from surefed.sim import Experiment
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round, predictions

DEMO = Path(__file__).parent.parent / "src" / "surefed" / "cli" / "demo.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=DEMO)
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    asked = parser.parse_args()
    settings = ["attack.name=trojan", "rule.camps=1.0", *asked.set, f"rounds={asked.rounds}"]
    setup = assemble(Experiment.read(asked.file).change(settings))
    world, good = begin(setup), ~setup.malicious
    print("round  accuracy  backdoor  trusts honest, liars  alike: median  highest  ever  other camp  of them liars")
    ever, trigger = 0.0, setup.attack.trigger
    for number in range(1, asked.rounds + 1):
        trusted = play_round(setup, world).trusted
        record = world.state
        known = record.known & (record.verdict <= 1)
        theirs, alike, _ = camps.parted(record.leaning, record.felt, known, record.apart)
        ever = max(ever, float(alike[good].max()))
        if number % asked.every and number != asked.rounds:
            continue
        inputs, labels = setup.clean.test_inputs, setup.clean.test_labels
        guess = predictions(setup, world, "social", inputs)[good].argmax(-1)
        planted = float("nan")
        if trigger is not None:
            others = inputs[labels != trigger.target]
            stamped = predictions(setup, world, "social", trigger.stamp(others, setup.clean.background))[good]
            planted = float((stamped.argmax(-1) == trigger.target).float().mean())
        off = ~torch.eye(setup.clients, dtype=torch.bool)
        honest = trusted[good][:, good][off[good][:, good]].float().mean()
        lying = trusted[good][:, setup.malicious].float().mean()
        camp = theirs[good]
        liars = float((camp & setup.malicious).sum()) / max(1, int(camp.sum()))
        print(
            f"{number:5}  {(guess == labels).float().mean():8.1%}  {planted:8.1%}  {honest:13.0%}  {lying:5.0%}  "
            f"{alike[good].median():13.2f}  {alike[good].max():7.2f}  {ever:4.2f}  "
            f"{camp.sum(1).median():10}  {liars:13.0%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
