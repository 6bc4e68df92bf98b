"""Each probe on programs whose answer is known by arithmetic."""

from __future__ import annotations

import gc
import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from stand_in_for_torch_cuda import StandInForTorchCuda

torch = pytest.importorskip("torch", reason="the verifier needs torch, and it is not installed")

from torchlint.verify.execution import execute  # noqa: E402
from torchlint.verify.harness import measure, script  # noqa: E402
from torchlint.verify.measurement import Pass, Series, Task  # noqa: E402
from torchlint.verify.probes import Probe  # noqa: E402
from torchlint.verify.probes.calls import CallProbe  # noqa: E402
from torchlint.verify.probes.cuda import CudaProbe  # noqa: E402
from torchlint.verify.probes.heap import HeapProbe  # noqa: E402
from torchlint.verify.probes.nodes import NodeProbe  # noqa: E402
from torchlint.verify.probes.objects import ObjectProbe  # noqa: E402
from torchlint.verify.probes.saved import SavedProbe  # noqa: E402
from torchlint.verify.probes.storages import StorageProbe  # noqa: E402
from torchlint.verify.probes.workers import WorkerProbe, private_bytes  # noqa: E402

STEPS = 6
KIB = 1024


@pytest.fixture(autouse=True, scope="module")
def what_torch_makes_at_its_first_use() -> None:
    """It is made before the first test, whichever that is."""
    measure(lambda loader, device: [x.sum() for x, _ in loader], (StorageProbe(),), steps=1)


@pytest.fixture(autouse=True)
def nothing_from_earlier_tests() -> Iterator[None]:
    """What other tests left is not counted, as in the process that measures."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def figures(program: Callable[[Any, Any], object], probe: Probe) -> dict[str, Series]:
    return measure(program, (probe,), steps=STEPS).series


def steps(loader: Any) -> Iterator[None]:
    """Draws each batch and drops it."""
    for batch in loader:
        del batch
        yield


# -- autograd nodes ---------------------------------------------------------------------------------------------------


def test_a_sum_of_spent_losses_keeps_its_nodes() -> None:
    def program(loader, device):
        weight = torch.ones(16, requires_grad=True)
        total = 0
        for x, _ in loader:
            loss = (x @ weight).sum()
            loss.backward()
            total = total + loss  # noqa: TLK101 - what the probe is to see
        return total

    # matmul (mv) and sum for each loss, and one addition.
    assert figures(program, NodeProbe())["nodes.survivors"] == (3,) * STEPS


def test_a_detached_sum_keeps_no_node_of_an_earlier_step() -> None:
    def program(loader, device):
        weight = torch.ones(16, requires_grad=True)
        total = 0
        for x, _ in loader:
            loss = (x @ weight).sum()
            loss.backward()
            total = total + loss.detach()
        return total

    seen = figures(program, NodeProbe())
    assert seen["nodes.survivors"] == (0,) * (STEPS - 1) + (2,)
    assert seen["nodes.live"] == (0,) + (2,) * STEPS


def test_nodes_made_in_another_thread_have_their_step() -> None:
    kept = []

    def forward(x, weight):
        kept.append((x @ weight).sum())

    def program(loader, device):
        weight = torch.ones(16, requires_grad=True)
        for x, _ in loader:
            worker = threading.Thread(target=forward, args=(x, weight))
            worker.start()
            worker.join()

    assert figures(program, NodeProbe())["nodes.survivors"] == (2,) * STEPS


def test_a_gradient_with_a_graph_is_found_through_its_parameter() -> None:
    def program(loader, device):
        weight = torch.ones(16, requires_grad=True)
        for x, _ in loader:
            weight.grad = None
            (x @ weight).square().sum().backward(create_graph=True)
        weight.grad = None

    assert min(figures(program, NodeProbe())["nodes.live"][1:]) > 0


def test_parameters_alone_have_no_nodes() -> None:
    def program(loader, device):
        model = torch.nn.Linear(16, 4)
        for x, _ in loader:
            with torch.no_grad():
                model(x)

    assert set(figures(program, NodeProbe())["nodes.live"]) == {0}


# -- storages ---------------------------------------------------------------------------------------------------------


def test_bytes_kept_are_counted_by_their_step() -> None:
    def program(loader, device):
        kept = []
        for _ in steps(loader):
            kept.append(torch.zeros(256))

    seen = figures(program, StorageProbe())
    assert seen["storages.survivors"] == (KIB,) * STEPS
    assert seen["storages.live"] == tuple(KIB * step for step in range(STEPS + 1))


def test_a_view_keeps_its_whole_base() -> None:
    def program(loader, device):
        kept = []
        for _ in steps(loader):
            kept.append(torch.zeros(256)[:1])

    assert figures(program, StorageProbe())["storages.survivors"] == (KIB,) * STEPS


def test_what_is_replaced_by_something_larger_grows_though_nothing_survives() -> None:
    def program(loader, device):
        everything = torch.zeros(0)
        for _ in steps(loader):
            everything = torch.cat([everything, torch.zeros(256)])

    seen = figures(program, StorageProbe())
    assert seen["storages.survivors"][:-1] == (0,) * (STEPS - 1)
    assert [seen["storages.live"][n + 1] - seen["storages.live"][n] for n in range(1, STEPS)] == [KIB] * (STEPS - 1)


def test_the_peak_is_what_is_alive_at_once() -> None:
    def program(loader, device):
        for _ in steps(loader):
            one, other = torch.zeros(256), torch.zeros(512)
            del one, other
            torch.zeros(256)

    assert figures(program, StorageProbe())["storages.peak"] == (3 * KIB,) * STEPS


def test_a_storage_that_is_resized_counts_with_its_new_size() -> None:
    def program(loader, device):
        tensor = torch.zeros(256)
        for _ in steps(loader):
            tensor.resize_(512)
            tensor.fill_(0)

    assert figures(program, StorageProbe())["storages.live"][-1] == 2 * KIB


def test_what_only_the_cyclic_collector_frees_is_told_apart() -> None:
    class Holder:
        def __init__(self) -> None:
            self.tensor = torch.zeros(256)
            self.itself = self

    def program(loader, device):
        for _ in steps(loader):
            Holder()

    seen = figures(program, StorageProbe())
    assert seen["storages.cyclic"][1:] == (KIB,) * STEPS
    assert set(seen["storages.live"]) == {0}


def test_operations_and_storages_made_are_counted() -> None:
    def program(loader, device):
        for _ in steps(loader):
            torch.zeros(4).add_(1).mul_(2)

    seen = figures(program, StorageProbe())
    # x and y of the batch, and the zeros.
    assert seen["storages.made"] == (3,) * STEPS
    assert len(set(seen["storages.operations"])) == 1


# -- saved for backward -----------------------------------------------------------------------------------------------


def test_what_no_backward_reads_is_counted() -> None:
    def program(loader, device):
        weight = torch.ones(256, requires_grad=True)
        for _ in loader:
            weight.exp().sum()

    # exp saves its result: 256 numbers of four bytes.
    assert figures(program, SavedProbe())["saved.unused"] == (KIB,) * STEPS


def test_what_a_backward_reads_is_not() -> None:
    def program(loader, device):
        weight = torch.ones(256, requires_grad=True)
        for _ in loader:
            weight.exp().sum().backward()

    assert figures(program, SavedProbe())["saved.unused"] == (0,) * STEPS


def test_double_backward_still_works_under_the_hooks() -> None:
    def program(loader, device):
        weight = torch.full((1,), 2.0, requires_grad=True)
        for _ in loader:
            (first,) = torch.autograd.grad(weight**3, weight, create_graph=True)
            (second,) = torch.autograd.grad(first, weight)
        return second.item()

    assert measure(program, (SavedProbe(),), steps=STEPS).result == 12.0


# -- calls ------------------------------------------------------------------------------------------------------------


def test_what_is_built_in_a_step_is_counted() -> None:
    def program(loader, device):
        for _ in loader:
            model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
            torch.optim.SGD(model.parameters(), lr=0.1)

    # A Sequential, a Linear, a ReLU and an optimizer.
    assert figures(program, CallProbe())["calls.built"] == (4,) * STEPS


def test_calls_are_counted_the_same_in_every_step() -> None:
    def program(loader, device):
        for _ in loader:
            len([])

    made = figures(program, CallProbe())["calls.made"]
    assert len(made) == STEPS
    assert len(set(made)) == 1


# -- host -------------------------------------------------------------------------------------------------------------


def test_tracked_objects_are_counted() -> None:
    def program(loader, device):
        kept = []
        for _ in loader:
            kept.append([[], []])

    live = figures(program, ObjectProbe())["objects.live"]
    assert [live[n + 1] - live[n] for n in range(1, STEPS)] == [3] * (STEPS - 1)


@pytest.mark.skipif(HeapProbe()._read is None, reason="the C heap tells its size with glibc 2.33 and later only")
def test_the_c_heap_grows_by_what_is_kept() -> None:
    def program(loader, device):
        kept = []
        for _ in loader:
            kept.append(bytearray(1 << 20))

    heap = figures(program, HeapProbe())["heap.bytes"]
    # The middle one of all steps: this process frees things of its own now and then.
    assert (1 << 20) <= median(heap[n + 1] - heap[n] for n in range(STEPS)) < (1 << 20) + 64 * KIB


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="only Linux tells the memory of a process")
def test_a_worker_that_writes_to_its_memory_grows() -> None:
    def program(loader, device):
        work = "import sys\nkept = []\nfor _ in sys.stdin: kept.append(bytearray(1 << 20)); print(flush=True)"
        with subprocess.Popen([sys.executable, "-c", work], stdin=-1, stdout=-1, text=True) as worker:
            assert worker.stdin is not None
            assert worker.stdout is not None
            sizes = []
            for _ in loader:
                worker.stdin.write("\n")
                worker.stdin.flush()
                worker.stdout.readline()
                sizes.append(private_bytes(worker.pid))
            worker.stdin.close()
        return sizes

    sizes = measure(program, (WorkerProbe(),), steps=STEPS).result
    assert isinstance(sizes, list)
    assert all((1 << 20) <= sizes[n + 1] - sizes[n] < (1 << 20) + 256 * KIB for n in range(1, STEPS - 1))
    assert not multiprocessing.active_children()


# -- CUDA, on a stand-in ----------------------------------------------------------------------------------------------


def test_the_cuda_probe_reads_the_allocator_of_a_stand_in() -> None:
    cuda = StandInForTorchCuda()
    cuda.allocate(10_000)  # what the process held before
    probe = CudaProbe("cuda", cuda)

    def program(loader, device):
        for _ in loader:
            cuda.allocate(1000)  # kept
            cuda.allocate(700)
            cuda.free(700)

    seen = figures(program, probe)
    assert seen["cuda.requested"] == tuple(1000 * step for step in range(STEPS + 1))
    assert seen["cuda.allocated"] == tuple(1024 * step for step in range(STEPS + 1))
    assert seen["cuda.peak"] == tuple(1024 * (step + 1) + 1024 for step in range(STEPS))
    assert set(seen["cuda.retries"]) == {0}
    assert set(seen["cuda.taken"]) == {2}
    assert cuda.synchronized > STEPS


def test_a_run_on_cuda_goes_its_whole_way_over_a_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = StandInForTorchCuda()
    names = ("synchronize", "memory_stats", "max_memory_allocated", "reset_peak_memory_stats")
    for name in (*names, "mem_get_info", "memory_reserved", "set_per_process_memory_fraction"):
        monkeypatch.setattr(torch.cuda, name, getattr(cuda, name))
    file = tmp_path / "leak_sum.py"
    file.write_text(
        "import torch\n"
        "def main(loader, device):\n"
        "    weight, total = torch.ones(16, requires_grad=True), 0\n"
        "    for x, _ in loader:\n"
        "        loss = (x @ weight).sum()\n"
        "        loss.backward()\n"
        "        total = total + loss\n"
        "    return str(device)\n"
    )
    outcome = execute(Task(str(file), Pass.PLAIN, device="cuda", memory_limit=2 << 30))
    assert outcome.detail == ""
    assert dict(outcome.result) == {"result": "cuda"}
    # A loss whose backward has run allocates nothing on the device, and is seen all the same.
    assert set(outcome.series["cuda.requested"]) == {0}
    assert set(outcome.series["nodes.survivors"]) == {3}
    assert cuda.fraction == 0.25


def test_what_a_program_switches_for_the_whole_process_is_put_back(tmp_path: Path) -> None:
    file = tmp_path / "clean_debugging.py"
    file.write_text(
        "import torch\n"
        "def main(loader, device):\n"
        "    torch.autograd.set_detect_anomaly(True)\n"
        "    torch.set_default_dtype(torch.float64)\n"
        "    torch.set_grad_enabled(False)\n"
        "    torch.use_deterministic_algorithms(True)\n"
        "    return [x.sum().item() for x, _ in loader]\n"
    )
    assert execute(Task(str(file), Pass.PLAIN)).detail == ""
    assert not torch.is_anomaly_enabled()
    assert torch.get_default_dtype() is torch.float32
    assert torch.is_grad_enabled()
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_the_cuda_probe_reads_a_real_allocator() -> None:
    kept = []

    def program(loader, device):
        for _ in loader:
            kept.append(torch.zeros(256, device="cuda"))

    seen = figures(program, CudaProbe("cuda"))
    assert [seen["cuda.requested"][n + 1] - seen["cuda.requested"][n] for n in range(STEPS)] == [KIB] * STEPS


# -- the harness ------------------------------------------------------------------------------------------------------


def test_the_loader_is_empty_after_its_last_batch_and_the_numbers_are_always_the_same() -> None:
    def program(loader, device):
        first = [x.sum().item() for x, _ in loader]
        return first, list(loader), len(loader)

    one = measure(program, (), steps=STEPS).result
    other = measure(program, (), steps=STEPS).result
    assert one == other
    assert isinstance(one, tuple)
    assert len(one[0]) == one[2] == STEPS
    assert one[1] == []


def test_batches_may_vary_in_size() -> None:
    def program(loader, device):
        return [len(y) for _, y in loader]

    assert measure(program, (), steps=5, batch_sizes=(8, 6, 7)).result == [8, 6, 7, 8, 6]


def test_a_script_is_measured_by_its_own_loaders(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(
        "import sys, torch\n"
        "from torch.utils.data import DataLoader\n"
        "kept = []\n"
        "for x in DataLoader(torch.zeros(int(sys.argv[1]), 4)):\n"
        "    kept.append(torch.zeros(256))\n"
        "finished = __name__\n"
    )
    found = measure(script(file, ["5"]), (StorageProbe(),))
    assert found.drawn == 6  # five batches, and the question that found no sixth
    assert found.series["storages.survivors"][:4] == (KIB,) * 4
    assert isinstance(found.result, dict)
    assert found.result["finished"] == "__main__"
