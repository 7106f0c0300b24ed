"""byzfl: a server and 50 clients with one plain network each; the trimmed mean of their weights, 20 liars assumed."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

UNUSED = ("torchvision", "matplotlib", "seaborn")


class Absent(MetaPathFinder, Loader):
    """Stands in for what byzfl imports for datasets and figures, which are not used here."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in UNUSED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__getattr__ = lambda name: MagicMock()  # type: ignore[method-assign]
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


sys.meta_path.append(Absent())

import byzfl  # noqa: E402
import workload as w  # noqa: E402
from byzfl.fed_framework import models  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

models.paper_cnn = w.cnn  # byzfl finds networks by name in this module
SHARED = {
    "model_name": "paper_cnn",
    "device": "cpu",
    "optimizer_name": "SGD",
    "optimizer_params": {"momentum": w.MOMENTUM},
    "learning_rate": w.RATE,
    "weight_decay": 0.0,
    "milestones": [],
    "learning_rate_decay": 1.0,
}


def main() -> None:
    inputs, labels = w.images()

    def loader(client: int) -> DataLoader[Any]:
        return DataLoader(TensorDataset(inputs[client], labels[client]), batch_size=w.BATCH, shuffle=True)

    owned = {
        "loss_name": "CrossEntropyLoss",
        "LabelFlipping": False,
        "nb_labels": w.CLASSES,
        "momentum": 0.0,
        "store_per_client_metrics": False,
    }
    clients = [byzfl.Client(SHARED | owned | {"training_dataloader": loader(at)}) for at in range(w.CLIENTS)]
    trimmed = {"name": "TrMean", "parameters": {"f": w.TRIM}}
    server = byzfl.Server(SHARED | {"test_loader": loader(0), "aggregator_info": trimmed, "pre_agg_list": []})

    def play() -> None:
        state = server.get_dict_parameters()
        for client in clients:
            client.set_model_state(state)
            client.compute_model_update(w.BATCHES)
        server.update_model_with_weights([client.get_flat_parameters() for client in clients])

    w.time_rounds(play)


main()
