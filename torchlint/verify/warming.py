"""What torch makes once in a process (lazily imported modules, workspaces), made before anything is counted."""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["warm"]


def warm(device: str) -> None:
    """Train a small network for a step with each common optimizer, so that no program is the first.

    Args:
        device: "cpu", "cuda" or "cuda:N". On "cpu" nothing here may start a thread, since the process is forked later.
    """
    if device.startswith("cuda"):
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
        _train(kind, torch.device(device))


def _train(kind: type[torch.optim.Optimizer], device: torch.device) -> None:
    network = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)).to(device)
    optimizer = kind(network.parameters(), lr=1e-3)  # type: ignore[call-arg]
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    data = torch.utils.data.TensorDataset(torch.ones(4, 16), torch.zeros(4, dtype=torch.int64))
    for x, y in torch.utils.data.DataLoader(data, batch_size=2):
        loss = nn.functional.cross_entropy(network(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        network.state_dict()
