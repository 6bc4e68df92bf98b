import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

@contextmanager
def inner():
    with torch.no_grad():
        yield

@contextmanager
def quiet(model):
    with inner():
        yield

@quiet(None)
def answer(model, loader):
    found = []
    for x in loader:
        found.append(model(x).argmax(1).tolist())
    return found

def main(loader):
    return answer(nn.Linear(3, 3), loader)
