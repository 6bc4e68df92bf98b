"""What torch lets a program switch for the whole process, put back when the program is over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["switches_put_back"]


@contextmanager
def switches_put_back(device: str) -> Iterator[None]:
    """Programs that share a process (on CUDA, which survives no fork) find it as the first one did.

    Covers: whether gradients are recorded, anomaly mode, the default type, deterministic algorithms, what cuDNN and
    matrix products may choose, and the history that the allocator records of a GPU.

    Args:
        device: "cpu", "cuda" or "cuda:N".
    """
    with_grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    anomaly, check_nan = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    deterministic, precision = torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision()
    cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    try:
        yield
    finally:
        torch.set_grad_enabled(with_grad)
        torch.set_default_dtype(dtype)
        torch.autograd.set_detect_anomaly(anomaly, check_nan)
        torch.use_deterministic_algorithms(deterministic)
        torch.set_float32_matmul_precision(precision)
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = cudnn
        if device.startswith("cuda") and torch.cuda.is_initialized():
            # Going from one kind of history to another without an end between them has crashed torch 2.11.
            torch.cuda.memory._record_memory_history(enabled=None)
