import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

@contextmanager
def quiet(model):
    with torch.set_grad_enabled(False):
        yield model
from a import evaluate
def main(loader):
    model = nn.Linear(3, 3)
    with quiet(model):
        return evaluate(model, loader)
