import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gru = nn.GRU(n, 32, batch_first=True)
        self.head = nn.Linear(32, 1)
        self.state = None

    def reset(self):
        self.state = None

    def forward(self, x):
        out, self.state = self.gru(x, self.state)
        return self.head(out[:, -1])

def fit(loader, epochs):
    net = Net(4)
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(epochs):
        net.reset()
        for x, y in loader:
            loss = F.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
