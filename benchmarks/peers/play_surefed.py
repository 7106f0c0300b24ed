"""Ours: `surefed` trains and inspects two Bayesian networks a client; `trimmed_mean` trains one plain network each."""

from __future__ import annotations

import os
import sys

import torch
import workload as w

from surefed.sim.bench import Engine, Workload

threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
torch.set_num_threads(threads)
w.time_rounds(Engine(Workload(clients=w.CLIENTS, rule=sys.argv[2], threads=threads)).play)
