import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

class quiet:
    def __init__(self, model):
        self.guard = torch.no_grad()

    def __enter__(self):
        self.guard.__enter__()

    def __exit__(self, *args):
        self.guard.__exit__(*args)

def answer(model, loader):
    found = []
    with quiet(model):
        for x in loader:
            found.append(model(x).argmax(1).tolist())
    return found

def main(loader):
    return answer(nn.Linear(3, 3), loader)
