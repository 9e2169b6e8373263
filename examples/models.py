"""Models that need no download: architectures of transformers with random weights.

Each function is a factory for ``python main.py generate examples.models:…``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.nn import Module

BERT_LAYERS = 2
"""Of the twelve of BERT-base: they are all alike, and a count of two is twice that of one."""

GPT2_LAYERS = 2


def mobilenet_v2() -> Module:
    """MobileNetV2 with a head of 1,000 classes; input 1,3,224,224."""
    from transformers import MobileNetV2Config, MobileNetV2ForImageClassification  # noqa: PLC0415

    return MobileNetV2ForImageClassification(MobileNetV2Config(num_labels=1000))


def resnet50() -> Module:
    """ResNet-50 with a head of 1,000 classes; input 1,3,224,224."""
    from transformers import ResNetConfig, ResNetForImageClassification  # noqa: PLC0415

    return ResNetForImageClassification(ResNetConfig(num_labels=1000))


def bert() -> Module:
    """BERT of the width of BERT-base; input_ids=1,32:int64<30522."""
    from transformers import BertConfig, BertModel  # noqa: PLC0415

    return BertModel(BertConfig(num_hidden_layers=BERT_LAYERS))


def gpt2() -> Module:
    """GPT-2 of the width of the smallest; input_ids=1,32:int64<50257."""
    from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415

    return GPT2LMHeadModel(GPT2Config(n_layer=GPT2_LAYERS))
