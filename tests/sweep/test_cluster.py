from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from surefed.core import ConfigError, Interrupted
from surefed.sweep import CellsFailed, cluster, read_sweep, run_sweep
from surefed.sweep.cluster import Cluster

from .conftest import Write
from .test_drive import status
from .test_folder import rows
from .test_processes import Stopper

pytest.importorskip("ray")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_cells_run_on_a_cluster_fail_there_and_stop_at_a_checkpoint(write: Write, tmp_path: Path) -> None:
    text = "data.clients = [4, 1400]\nmodel.name = 'linear'\nseed = [0, 1]\nrounds = 3\n"
    with pytest.raises(CellsFailed, match="2 of 4 cells failed"):
        run_sweep(read_sweep(write(text, small="")), tmp_path / "out", ray="local", workers=2)
    assert status(tmp_path / "out") == ["finished", "failed", "finished", "failed"]
    long = read_sweep(write("seed = [0]\n"), settings=["rounds=1000000"])
    with pytest.raises(Interrupted, match="1 saved on their way"):
        run_sweep(long, tmp_path / "long", ray="local", workers=1, watch=Stopper())
    (row,) = rows(tmp_path / "long")
    assert row["status"] == "interrupted"
    assert (tmp_path / "long" / "s0" / "checkpoint.safetensors").exists()
    assert not (tmp_path / "long" / ".stop").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_without_gpus_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no GPU; use --device cpu"):
        Cluster("local", tmp_path, "cuda", keep_beliefs=False, gpu_share=0.5, size=None)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_gcs_rpc_server_connect_timeout_s", "1")
    with pytest.raises(ConfigError, match="cannot reach a Ray cluster at 'nonsense://'"):
        Cluster("nonsense://", tmp_path, "cpu", keep_beliefs=False, gpu_share=1.0, size=None)


class SlowRay:
    """Stands in for Ray where it takes too long to start, as often as said."""

    def __init__(self, failures: int) -> None:
        self.failures, self.starts, self.ends = failures, 0, 0

    def init(self, **given: object) -> None:
        self.starts += 1
        if self.starts <= self.failures:
            raise Exception("The current node timed out during startup.")  # the type that Ray raises

    def shutdown(self) -> None:
        self.ends += 1

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, **given: object) -> Callable[[object], object]:
        return lambda function: function


def _given(ray: SlowRay) -> SlowRay:
    return ray


def test_a_slow_start_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late, never, far = SlowRay(1), SlowRay(9), SlowRay(9)
    monkeypatch.setattr(cluster, "_ray", lambda: late)
    assert Cluster("local", tmp_path, "cpu", keep_beliefs=False, gpu_share=1.0, size=None).size == 2
    assert (late.starts, late.ends) == (2, 1)
    for ray, address, starts in ((never, "local", 2), (far, "ray://somewhere", 1)):
        monkeypatch.setattr(cluster, "_ray", partial(_given, ray))
        with pytest.raises(ConfigError, match=r"Ray did not start .*timed out.*without --ray"):
            Cluster(address, tmp_path, "cpu", keep_beliefs=False, gpu_share=1.0, size=None)
        assert (ray.starts, ray.ends) == (starts, starts)
