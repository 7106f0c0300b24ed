"""Flower: its simulation with one plain network a client and FedTrimmedAvg, one single-threaded actor per core."""

from __future__ import annotations

import os
import time
from itertools import pairwise

os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
ACTORS = int(os.environ.get("OMP_NUM_THREADS", "1"))
os.environ["OMP_NUM_THREADS"] = "1"

import torch  # noqa: E402
import workload as w  # noqa: E402
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict  # noqa: E402
from flwr.clientapp import ClientApp  # noqa: E402
from flwr.serverapp import Grid, ServerApp  # noqa: E402
from flwr.serverapp.strategy import FedTrimmedAvg  # noqa: E402
from flwr.simulation import run_simulation  # noqa: E402
from torch import nn  # noqa: E402

client_app, server_app = ClientApp(), ServerApp()
marks: list[float] = []
heard: list[int] = []


@client_app.train()
def train(message: Message, context: Context) -> Message:
    inputs, labels = (value[int(context.node_config["partition-id"])] for value in w.images())
    net = w.cnn()
    net.load_state_dict(message.content["arrays"].to_torch_state_dict())
    optimiser = torch.optim.SGD(net.parameters(), lr=w.RATE, momentum=w.MOMENTUM)
    for batch in torch.randperm(w.SAMPLES)[: w.BATCHES * w.BATCH].view(w.BATCHES, w.BATCH):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(inputs[batch]), labels[batch]).backward()
        optimiser.step()
    answer = {"arrays": ArrayRecord(net.state_dict()), "metrics": MetricRecord({"num-examples": w.SAMPLES})}
    return Message(content=RecordDict(answer), reply_to=message)


@server_app.main()
def serve(grid: Grid, context: Context) -> None:
    def mark(round: int, arrays: ArrayRecord) -> None:
        """Called before the first round and after each."""
        marks.append(time.perf_counter())

    def count(replies: list[RecordDict], key: str) -> MetricRecord:
        """Called with the answers that were aggregated; Flower goes on without clients that failed."""
        heard.append(len(replies))
        return MetricRecord()

    strategy = FedTrimmedAvg(
        fraction_evaluate=0.0,
        min_available_nodes=w.CLIENTS,
        train_metrics_aggr_fn=count,
        beta=w.TRIM / w.CLIENTS,
    )
    strategy.start(grid, ArrayRecord(w.cnn().state_dict()), num_rounds=w.WARM + w.rounds(), evaluate_fn=mark)


def main() -> None:
    backend = {"init_args": {"num_cpus": ACTORS}, "client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server_app, client_app, num_supernodes=w.CLIENTS, backend_config=backend)
    if heard != [w.CLIENTS] * (w.WARM + w.rounds()):
        raise SystemExit(f"clients that answered, round by round: {heard}")
    w.report([after - before for before, after in pairwise(marks)][w.WARM :])


main()
