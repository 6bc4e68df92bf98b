import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

def quiet(model):
    return torch.no_grad()
