# SPDX-License-Identifier: Apache-2.0
"""A model folder's own code, as DeepSeek-OCR's has it: test data for trust_remote_code.

Written for this test and much smaller; what it shares with the real one is how it is called: the names of the classes
and modules, the arguments of forward(), no logits_to_keep, and a cache that the caller only passes on.
"""
from types import SimpleNamespace

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel


class DeepseekOCRConfig(PretrainedConfig):
    model_type = "DeepseekOCR"


class Layer(nn.Module):
    """One head of attention over all tokens so far."""

    def __init__(self, size):
        super().__init__()
        self.self_attn = nn.Linear(size, 3 * size)
        self.mlp = nn.Linear(size, size)

    def forward(self, x, past):
        q, k, v = self.self_attn(x).chunk(3, -1)
        if past is not None:
            k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        ahead = torch.ones_like(scores, dtype=torch.bool).triu(k.shape[1] - q.shape[1] + 1)
        x = x + scores.masked_fill(ahead, float("-inf")).softmax(-1) @ v
        return x + self.mlp(x), (k, v)


class DeepseekOCRModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        size, wide = config.hidden_size, 24
        self.sam_model = nn.Conv2d(3, wide, 64, 64)
        self.vision_model = nn.Linear(wide, wide)
        self.projector = nn.Linear(2 * wide, size)
        self.image_newline = nn.Parameter(torch.randn(size))
        self.view_seperator = nn.Parameter(torch.randn(size))
        self.embed_tokens = nn.Embedding(config.vocab_size, size)
        self.layers = nn.ModuleList(Layer(size) for _ in range(config.num_hidden_layers))

    def see(self, whole):
        coarse = self.sam_model(whole).flatten(2).transpose(1, 2)
        seen = self.projector(torch.cat([self.vision_model(coarse), coarse], -1))[0]
        side = int(seen.shape[0] ** 0.5)
        lines = torch.cat([seen.view(side, side, -1), self.image_newline.expand(side, 1, -1)], 1)
        return torch.cat([lines.flatten(0, 1), self.view_seperator[None]])

    def forward(self, input_ids, images, places, past):
        x = self.embed_tokens(input_ids)
        for row in range(len(images) if images is not None and past is None else 0):
            x[row] = x[row].masked_scatter(places[row][:, None], self.see(images[row][1]).to(x.dtype))
        now = []
        for index, layer in enumerate(self.layers):
            x, kept = layer(x, past[index] if past else None)
            now.append(kept)
        return x, now


class DeepseekOCRForCausalLM(PreTrainedModel):
    config_class = DeepseekOCRConfig

    def __init__(self, config):
        super().__init__(config)
        self.model = DeepseekOCRModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, inputs_embeds=None,
                labels=None, use_cache=None, output_attentions=None, output_hidden_states=None, images=None,
                images_seq_mask=None, images_spatial_crop=None, return_dict=None):
        x, now = self.model(input_ids, images, images_seq_mask, past_key_values)
        return SimpleNamespace(logits=self.lm_head(x), past_key_values=now)
