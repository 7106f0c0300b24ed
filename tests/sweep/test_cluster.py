from __future__ import annotations

from pathlib import Path

import pytest

from surefed.core import ConfigError, Interrupted
from surefed.sweep import CellsFailed, read_sweep, run_sweep
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
