"""PyTorch: models and loop as in any tutorial."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from frameworks.contract import Job, Session
from frameworks.data import batches

from .base import HandAdapter, HandSession


class Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU()
        self.downsample = None
        if stride != 1 or channels != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        blocks, channels = [], 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for index in range(count):
                blocks.append(Bottleneck(channels, width, stride if index == 0 else 1))
                channels = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(2048, 1000)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.head(torch.flatten(self.pool(self.blocks(self.stem(image))), 1))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(768, 768) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(768, eps=1e-12), nn.LayerNorm(768, eps=1e-12)
        self.up, self.down = nn.Linear(768, 3072), nn.Linear(3072, 768)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, t, _ = x.shape
        q, k, v = (layer(x).view(n, t, 12, 64).transpose(1, 2) for layer in (self.query, self.key, self.value))
        a = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 if self.training else 0.0)
        x = self.norm1(x + self.dropout(self.out(a.transpose(1, 2).reshape(n, t, 768))))
        return self.norm2(x + self.dropout(self.down(F.gelu(self.up(x)))))


class Bert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word, self.segment = nn.Embedding(30522, 768), nn.Embedding(2, 768)
        self.position = nn.Embedding(512, 768)
        self.norm, self.dropout = nn.LayerNorm(768, eps=1e-12), nn.Dropout(0.1)
        self.encoders = nn.Sequential(*(Encoder() for _ in range(12)))
        self.pooler, self.classifier = nn.Linear(768, 768), nn.Linear(768, 2)

    def forward(self, tokens: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.norm(self.word(tokens) + self.segment(segments) + self.position(positions)))
        return self.classifier(self.dropout(torch.tanh(self.pooler(self.encoders(x)[:, 0]))))


class PyTorchLoop(HandSession):
    def __init__(self, job: Job) -> None:
        device = torch.device(job.device)
        vision = any(tensor.name == "image" for tensor in job.computation.inputs)
        self.model = (ResNet50() if vision else Bert()).to(device).train()
        settings = job.computation.optimizer
        if vision:
            self.optimizer: torch.optim.Optimizer = torch.optim.SGD(
                self.model.parameters(), settings["learning_rate"], settings["momentum"], weight_decay=settings["weight_decay"]
            )
        else:
            self.optimizer = torch.optim.AdamW(
                self.model.parameters(), settings["learning_rate"], eps=settings["eps"], weight_decay=settings["weight_decay"]
            )
        self.data = []
        for batch in batches(job.computation, job.batches):
            inputs = [torch.from_numpy(value) for value in batch.inputs.values()]
            inputs = [value.permute(0, 3, 1, 2).contiguous() if value.is_floating_point() else value.long() for value in inputs]
            self.data.append(([value.to(device) for value in inputs], torch.from_numpy(batch.target).long().to(device)))
        self.step_number = 0
        self.device = device

    def step(self) -> None:
        inputs, target = self.data[self.step_number % len(self.data)]
        self.step_number += 1
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(*inputs), target)
        loss.backward()
        self.optimizer.step()
        self.last_loss = loss.detach()

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


class Loop(HandAdapter):
    def build(self, job: Job) -> Session:
        return PyTorchLoop(job)
