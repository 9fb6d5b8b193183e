"""PyTorch: step by step, as its users train."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from backblocks.bench.training.network import Network

Values = dict[str, Any]


def steps(network: Network) -> dict[str, Callable[[], Any]]:
    data = {name: torch.from_numpy(value) for name, value in network.data.items()}
    parameters = {
        name: torch.from_numpy(value.copy()).requires_grad_()
        for name, value in network.parameters.items()
    }
    if network.name == "spheres":  # its own order of axes, before the clock starts
        data["x"] = data["x"].permute(0, 4, 1, 2, 3).contiguous()
        for name in ("w1", "w2"):
            turned = parameters[name].detach().permute(4, 3, 0, 1, 2).contiguous()
            parameters[name] = turned.requires_grad_()
    descent = torch.optim.SGD(list(parameters.values()), network.rate)

    def step() -> Any:
        descent.zero_grad()
        loss = LOSSES[network.name](data, parameters)
        loss.backward()
        descent.step()
        return loss.item()

    return {"torch": step}


def _regression(data: Values, p: Values) -> Any:
    return functional.mse_loss(data["x"] @ p["w"] + p["b"], data["y"])


def _xor(data: Values, p: Values) -> Any:
    hidden = torch.sigmoid(data["x"] @ p["w1"] + p["b1"])
    return functional.mse_loss(torch.sigmoid(hidden @ p["w2"] + p["b2"]), data["y"])


def _spheres(data: Values, p: Values) -> Any:
    x = data["x"]
    for name in ("w1", "w2"):
        x = functional.max_pool3d(functional.relu(functional.conv3d(x, p[name], padding=1)), 2)
    flat = x.permute(0, 2, 3, 4, 1).reshape(-1, 4 * 4 * 4 * 16)
    return functional.cross_entropy(flat @ p["w3"], data["y"])


LOSSES = {"regression": _regression, "xor": _xor, "spheres": _spheres}
