import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

@contextmanager
def quiet(model):
    model.eval()
    with torch.no_grad():
        yield
from a import evaluate
def main(loader):
    model = nn.Linear(3, 3)
    with quiet(model):
        return evaluate(model, loader)
