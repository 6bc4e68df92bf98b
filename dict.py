import torch
from torch import nn
import torch.nn.functional as F

def serve(streams, net):
    states = {}
    for name, x in streams:
        out, states[name] = net.gru(x, states.get(name))
        print(out.argmax(-1).tolist())

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 4)

serve(open('x'), Net())
