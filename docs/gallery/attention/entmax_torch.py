"""
Entmax in PyTorch, with its gradient
====================================

`hopfieldphase.learn` (extra `learn`) has the same map as a differentiable function of tensors. The gradient
of a weight that is exactly zero is zero: sparse attention learns on its support alone.
"""

import matplotlib.pyplot as plt
import torch

from hopfieldphase.learn.entmax import entmax

plt.style.use("hopfieldphase.plotting.hopfieldphase")

lead = torch.linspace(-3.0, 3.0, 401, dtype=torch.float64, requires_grad=True)
scores = torch.stack([lead, torch.zeros_like(lead), torch.zeros_like(lead)], dim=-1)

figure, axes = plt.subplots(1, 2, figsize=(6.6, 2.7), sharex=True)
for alpha, look in ((1.0, "-"), (1.5, "--"), (2.0, "-.")):
    weight = entmax(scores, alpha)[:, 0]
    (slope,) = torch.autograd.grad(weight.sum(), lead, retain_graph=True)
    axes[0].plot(lead.detach(), weight.detach(), linestyle=look, label=rf"$\alpha = {alpha}$")
    axes[1].plot(lead.detach(), slope, linestyle=look)
axes[0].set(xlabel="lead of one key over two others", ylabel="its weight", ylim=(-0.02, 1.02))
axes[1].set(xlabel="lead of one key over two others", ylabel="derivative of the weight", ylim=(-0.02, None))
axes[0].legend()
plt.show()
