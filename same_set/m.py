import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

@contextmanager
def quiet(model):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        yield
    finally:
        torch.set_grad_enabled(before)
from a import evaluate
def main(loader):
    model = nn.Linear(3, 3)
    with quiet(model):
        return evaluate(model, loader)
