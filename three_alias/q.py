import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

quiet = lambda model: torch.no_grad()
