"""The networks of the library written down once more in plain ``torch.nn``, from their sources and not from the YAML, so that
parameters and operations are counted independently. They are made on the meta device: nothing is stored, nothing is computed."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Example = tuple[nn.Module, tuple[Tensor, ...]]


def image(channels: int, size: int) -> tuple[Tensor]:
    return (torch.empty(1, channels, size, size, device="meta"),)


def words(length: int, inputs: int = 1) -> tuple[Tensor, ...]:
    return tuple(torch.empty(1, length, dtype=torch.int64, device="meta") for _ in range(inputs))


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1, bias: bool = False, groups: int = 1) -> nn.Sequential:
    """A convolution that pads half its kernel, and its normalisation."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=bias), nn.BatchNorm2d(outputs))


# --- convolutional ------------------------------------------------------------------------------------------------------


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def lenet() -> nn.Module:
    first = (nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten())
    return nn.Sequential(*first, nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10))


def mnist_cnn() -> nn.Module:
    first = (nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    return nn.Sequential(*first, nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))


def vgg16(classes: int, normalised: bool) -> nn.Module:
    layers: list[nn.Module] = []
    channels = 3
    for filters in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if filters == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(channels, filters, 3, padding=1), *([nn.BatchNorm2d(filters)] if normalised else []), nn.ReLU()]
        channels = filters
    head = (nn.Flatten(), nn.Linear(25088, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, classes))
    return nn.Sequential(*layers, *head)


class Shortcut(nn.Module):
    def __init__(self, body: nn.Module, shortcut: nn.Module | None = None, last: nn.Module | None = None) -> None:
        super().__init__()
        self.body, self.shortcut, self.last = body, shortcut or nn.Identity(), last or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.body(x) + self.shortcut(x))


def resnet50(classes: int, keras: bool = False) -> nn.Module:
    """With the stride in the 3x3 convolution as torchvision has it, or in the first 1x1 and biases, as Keras."""
    layers: list[nn.Module] = [conv(3, 64, 7, 2, bias=keras), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            step = stride if block == 0 else 1
            first, second = (step, 1) if keras else (1, step)
            body = nn.Sequential(
                conv(channels, width, 1, first, bias=keras),
                nn.ReLU(),
                conv(width, width, 3, second, bias=keras),
                nn.ReLU(),
                conv(width, 4 * width, 1, bias=keras),
            )
            layers.append(Shortcut(body, conv(channels, 4 * width, 1, step, bias=keras) if block == 0 else None, nn.ReLU()))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes))


def resnet18_cifar() -> nn.Module:
    layers: list[nn.Module] = [conv(3, 64, 3), nn.ReLU()]
    channels = 64
    for filters in (64, 128, 256, 512):
        for stride in (1 if filters == 64 else 2, 1):
            body = nn.Sequential(conv(channels, filters, 3, stride), nn.ReLU(), conv(filters, filters, 3))
            layers.append(Shortcut(body, conv(channels, filters, 1, stride) if channels != filters else None, nn.ReLU()))
            channels = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def mobilenet_v2() -> nn.Module:
    layers: list[nn.Module] = [conv(3, 32, 3, 2), nn.ReLU6()]
    channels = 32
    for expand, filters, count, stride in (
        *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
        *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
    ):
        for number in range(count):
            hidden, step = expand * channels, stride if number == 0 else 1
            grown = [conv(channels, hidden, 1), nn.ReLU6()] if expand > 1 else []
            block = nn.Sequential(*grown, conv(hidden, hidden, 3, step, groups=hidden), nn.ReLU6(), conv(hidden, filters, 1))
            layers.append(Shortcut(block) if step == 1 and channels == filters else block)
            channels = filters
    return nn.Sequential(*layers, conv(320, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


class Grown(nn.Module):
    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.body(x)], 1)


def densenet121() -> nn.Module:
    def before(inputs: int, outputs: int, kernel: int) -> list[nn.Module]:
        return [nn.BatchNorm2d(inputs), nn.ReLU(), nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)]

    layers: list[nn.Module] = [conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for count in (6, 12, 24, 16):
        for _ in range(count):
            layers.append(Grown(nn.Sequential(*before(channels, 128, 1), *before(128, 32, 3))))
            channels += 32
        if count != 16:
            layers += [*before(channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
    return nn.Sequential(*layers, nn.BatchNorm2d(1024), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))


def unet() -> nn.Module:
    def double(inputs: int, filters: int) -> list[nn.Module]:
        return [conv(inputs, filters, 3), nn.ReLU(), conv(filters, filters, 3), nn.ReLU()]

    inner: list[nn.Module] = double(256, 512)
    for filters in (256, 128, 64, 32):
        below = nn.Sequential(nn.MaxPool2d(2), *inner, nn.ConvTranspose2d(2 * filters, filters, 2, 2))
        inner = [*double(3 if filters == 32 else filters // 2, filters), Grown(below), *double(2 * filters, filters)]
    return nn.Sequential(*inner, nn.Conv2d(32, 1, 1))


# --- transformers -------------------------------------------------------------------------------------------------------


class SelfAttention(nn.Module):
    def __init__(self, units: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.joint, self.out = nn.Linear(units, 3 * units), nn.Linear(units, units)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, units = x.shape
        q, k, v = self.joint(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-1, -2) / (units / self.heads) ** 0.5, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, units))


def feed_forward(units: int, hidden: int) -> nn.Module:
    return nn.Sequential(nn.Linear(units, hidden), nn.GELU(), nn.Linear(hidden, units))


def post_norm(units: int, heads: int) -> list[nn.Module]:
    return [Shortcut(SelfAttention(units, heads)), nn.LayerNorm(units), Shortcut(feed_forward(units, 4 * units)), nn.LayerNorm(units)]


def pre_norm(units: int, heads: int) -> list[nn.Module]:
    attention = nn.Sequential(nn.LayerNorm(units), SelfAttention(units, heads))
    return [Shortcut(attention), Shortcut(nn.Sequential(nn.LayerNorm(units), feed_forward(units, 4 * units)))]


class Bert(nn.Module):
    """The encoder of BERT, with the table of segments or, as DistilBERT, without; ``head`` takes the sequence."""

    def __init__(self, units: int, heads: int, layers: int, segments: bool, head: nn.Module, tied: bool = False) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30522, units), nn.Embedding(512, units)
        self.segments = nn.Embedding(2, units) if segments else None
        self.norm = nn.LayerNorm(units)
        self.layers = nn.Sequential(*(part for _ in range(layers) for part in post_norm(units, heads)))
        self.head = head
        self.bias = nn.Parameter(torch.zeros(30522)) if tied else None

    def forward(self, tokens: Tensor, kinds: Tensor | None = None) -> Tensor:
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        if self.segments is not None:
            x = x + self.segments(kinds)
        y = self.head(self.layers(self.norm(x)))
        return y if self.bias is None else F.linear(y, self.words.weight, self.bias)


class First(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[:, 0]


def classifier(units: int, activation: nn.Module) -> nn.Module:
    return nn.Sequential(First(), nn.Linear(units, units), activation, nn.Linear(units, 2))


class Gpt2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        self.layers = nn.Sequential(*(part for _ in range(12) for part in pre_norm(768, 12)), nn.LayerNorm(768))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        return F.linear(self.layers(x), self.words.weight)


class Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Conv2d(3, 768, 16, 16)

    def forward(self, x: Tensor) -> Tensor:
        return self.project(x).flatten(2).transpose(1, 2)


class Vit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = Patches()
        self.token, self.places = nn.Parameter(torch.zeros(1, 1, 768)), nn.Parameter(torch.zeros(197, 768))
        self.layers = nn.Sequential(*(part for _ in range(12) for part in pre_norm(768, 12)), nn.LayerNorm(768))
        self.head = nn.Linear(768, 1000)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.patches(x)
        return self.head(self.layers(torch.cat([self.token.expand(len(x), -1, -1), patches], 1) + self.places)[:, 0])


class OverPatches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(768), feed_forward(196, 384)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.mix(self.norm(x).transpose(1, 2)).transpose(1, 2)


class Mean(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.mean(1)


def mixer() -> nn.Module:
    layers: list[nn.Module] = []
    for _ in range(12):
        layers += [OverPatches(), Shortcut(nn.Sequential(nn.LayerNorm(768), feed_forward(768, 3072)))]
    return nn.Sequential(Patches(), *layers, nn.LayerNorm(768), Mean(), nn.Linear(768, 1000))


# --- recurrent ----------------------------------------------------------------------------------------------------------


class Reviews(nn.Module):
    """A recurrent network step by step, its products written out, since the counter does not see into ``nn.LSTM``."""

    def __init__(self, gates: int, biases: int) -> None:
        super().__init__()
        self.words = nn.Embedding(20000, 128)
        self.inner, self.outer = nn.Linear(128, gates * 128, bias=True), nn.Linear(128, gates * 128, bias=biases == 2)
        self.head = nn.Linear(128, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens)
        state = torch.zeros_like(x[:, 0])
        for place in range(x.shape[1]):
            gates = (self.inner(x[:, place]) + self.outer(state)).chunk(len(self.inner.bias) // 128, -1)
            state = torch.tanh(sum(gates))
        return self.head(state)


MODELS: dict[str, Callable[[], Example]] = {
    "mlp-mnist": lambda: (mlp(), (torch.empty(1, 784, device="meta"),)),
    "lenet5-mnist": lambda: (lenet(), image(1, 28)),
    "mnist-cnn": lambda: (mnist_cnn(), image(1, 28)),
    "vgg16": lambda: (vgg16(1000, False), image(3, 224)),
    "vgg16-cifar10": lambda: (vgg16(10, True), image(3, 224)),
    "resnet50": lambda: (resnet50(1000), image(3, 224)),
    "resnet50-cifar": lambda: (resnet50(100), image(3, 32)),
    "resnet50-v1": lambda: (resnet50(1000, keras=True), image(3, 224)),
    "resnet50-v1-cifar": lambda: (resnet50(100, keras=True), image(3, 32)),
    "resnet18-cifar": lambda: (resnet18_cifar(), image(3, 32)),
    "mobilenet-v2": lambda: (mobilenet_v2(), image(3, 224)),
    "densenet121": lambda: (densenet121(), image(3, 224)),
    "unet-small": lambda: (unet(), image(3, 128)),
    "vit-b16": lambda: (Vit(), image(3, 224)),
    "mlp-mixer": lambda: (mixer(), image(3, 224)),
    "bert-base": lambda: (Bert(768, 12, 12, True, classifier(768, nn.Tanh())), words(128, 2)),
    "bert-large": lambda: (Bert(1024, 16, 24, True, classifier(1024, nn.Tanh())), words(128, 2)),
    "bert-base-mlm": lambda: (
        Bert(768, 12, 12, True, nn.Sequential(nn.Linear(768, 768), nn.GELU(), nn.LayerNorm(768)), tied=True),
        words(512, 2),
    ),
    "distilbert": lambda: (Bert(768, 12, 6, False, classifier(768, nn.ReLU())), words(128)),
    "gpt2-small": lambda: (Gpt2(), words(256)),
    "lstm-text": lambda: (Reviews(4, 1), words(80)),
    "gru-text": lambda: (Reviews(3, 2), words(80)),
}
