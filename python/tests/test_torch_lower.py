# SPDX-License-Identifier: Apache-2.0
"""nibble.torch.lower: what is rounded in each kind of layer, and that a lowered model stays a model."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")

import nibble
import nibble.torch as nt
from torch import nn
from torch_devices import DEVICES, same_bits


class OwnLinear(nn.Linear):
    """A user's subclass with a forward of its own."""

    def forward(self, x):
        return super().forward(x) * 2


class Mixed(nn.Module):
    """One of each kind of layer."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.lstm = nn.LSTM(8, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(8, 8, batch_first=True)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = OwnLinear(8, 3)

    def forward(self, tokens, mask=None):
        x, _ = self.lstm(self.embedding(tokens))
        x, _ = self.gru(x)
        x = self.encoder(x, src_key_padding_mask=mask)
        x, _ = self.attention(x, x, x)
        return self.head(x)


def is_in(x, fmt):
    return same_bits(x, nibble.quantize(x.detach(), fmt))


@pytest.fixture
def tokens():
    return torch.randint(0, 10, (3, 5), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Mixed()


def test_results_and_errors_of_a_layer_are_rounded():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 5), nn.Tanh())
    low = nt.lower(net, activation="e4m3", error="fixed(8,9)")
    x = torch.randn(4, 6, requires_grad=True)
    hidden = nibble.quantize(torch.nn.functional.linear(x, net[0].weight, net[0].bias).detach(), "e4m3")
    out = nibble.quantize(torch.tanh(hidden), "e4m3")
    assert same_bits(low(x), out)
    grad = torch.randn(4, 5)
    low(x).backward(grad)
    back = nibble.quantize(grad, "fixed(8,9)") * (1 - torch.tanh(hidden) ** 2)
    back = nibble.quantize(back, "fixed(8,9)") @ net[0].weight
    assert torch.allclose(x.grad, back, rtol=1e-5, atol=1e-7)


def test_weights_are_rounded_in_use_and_stay_as_they_are():
    torch.manual_seed(0)
    net = nn.Linear(6, 5)
    low = nt.lower(net, weight="e4m3", gradient="fixed(8,4)")
    x = torch.randn(4, 6)
    expected = nn.functional.linear(x, nibble.quantize(net.weight.detach(), "e4m3"), net.bias)
    assert same_bits(low(x), expected)
    assert isinstance(low.weight, nn.Parameter) and same_bits(low.weight, net.weight)
    low(x).sum().backward()
    net(x).sum().backward()
    assert same_bits(low.weight.grad, nibble.quantize(net.weight.grad, "fixed(8,4)"))
    assert same_bits(low.bias.grad, net.bias.grad)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LSTM(6, 5, 2, bidirectional=True),
        lambda: nn.GRU(6, 5),
        lambda: nn.RNN(6, 5),
        lambda: nn.LSTM(6, 5, proj_size=3),
    ],
)
@pytest.mark.parametrize("device", DEVICES)
def test_recurrent_layers_use_rounded_weights(make, device):
    torch.manual_seed(0)
    layer = make().to(device)
    low = nt.lower(layer, activation="e4m3", weight="e3m2")
    rounded = copy.deepcopy(layer)
    with torch.no_grad():
        for name, p in rounded.named_parameters():
            if "weight" in name:
                p.copy_(nibble.quantize(p.detach(), "e3m2"))
    x = torch.randn(4, 2, 6, device=device)
    for got, expected in zip(_flat(low(x)), _flat(rounded(x))):
        assert same_bits(got, nibble.quantize(expected.detach(), "e4m3"))
    low(x)[0].sum().backward()
    assert all(p.grad is not None for p in low.parameters())
    assert all(a is b for a, b in zip(low._flat_weights, [getattr(low, n) for n in low._flat_weights_names]))


def _flat(value):
    return [value] if isinstance(value, torch.Tensor) else [t for one in value for t in _flat(one)]


def test_packed_sequences_pass():
    low = nt.lower(nn.GRU(6, 5), activation="e4m3")
    packed = nn.utils.rnn.pack_sequence([torch.randn(4, 6), torch.randn(2, 6)])
    out, _ = low(packed)
    assert is_in(out.data, "e4m3") and torch.equal(out.batch_sizes, packed.batch_sizes)


@pytest.mark.parametrize("training", [True, False])
def test_attention_uses_rounded_weights_of_its_projections(training):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, batch_first=True).train(training)
    low = nt.lower(layer, weight="e3m2")
    rounded = copy.deepcopy(layer)
    with torch.no_grad():
        for p in (rounded.in_proj_weight, rounded.out_proj.weight):
            p.copy_(nibble.quantize(p.detach(), "e3m2"))
    x = torch.randn(2, 3, 8)
    with torch.set_grad_enabled(training):
        assert torch.allclose(low(x, x, x)[0], rounded(x, x, x)[0], atol=1e-6)
        assert not torch.allclose(low(x, x, x)[0], layer(x, x, x)[0], atol=1e-4)


def test_embeddings_are_rounded():
    layer = nn.Embedding(10, 4, padding_idx=0)
    low = nt.lower(layer, weight="e3m2", gradient="e5m2")
    index = torch.tensor([1, 2, 9])
    assert same_bits(low(index), nibble.quantize(layer.weight.detach(), "e3m2")[index])
    low(index).sum().backward()
    assert low.weight.grad[1].tolist() == [1, 1, 1, 1] and low.weight.grad[0].tolist() == [0, 0, 0, 0]


def test_transformer_encoders_do_not_pass_by_their_layers(model, tokens):
    """In evaluation torch computes a whole encoder layer at once; a lowered one must not."""
    low = nt.lower(model, activation="e3m2", names="encoder.*").eval()
    mask = torch.zeros(3, 5, dtype=torch.bool)
    mask[0, 3:] = True
    with torch.no_grad():
        x = torch.randn(3, 5, 8)
        assert is_in(low.encoder(x), "e3m2") and is_in(low.encoder(x, src_key_padding_mask=mask), "e3m2")


def test_subclasses_keep_their_forward(model):
    low = nt.lower(model.head, weight="e3m2", accumulator="fp32")
    x = torch.randn(2, 8)
    weight = nibble.quantize(model.head.weight.detach(), "e3m2")
    assert same_bits(low(x), nn.functional.linear(x, weight, model.head.bias) * 2)
    assert isinstance(low, OwnLinear)


def test_every_parameter_gets_a_gradient_and_the_original_is_untouched(model, tokens):
    before = copy.deepcopy(model.state_dict())
    low = nt.lower(model, "e4m3", "e4m3", "e5m2", "e5m2", rounding="stochastic")
    low(tokens).sum().backward()
    assert all(p.grad is not None for p in low.parameters())
    assert type(model.head) is OwnLinear and all(same_bits(before[k], v) for k, v in model.state_dict().items())


def test_a_lowered_model_is_copied_pickled_saved_and_restored(model, tokens):
    low = nt.lower(model, "e4m3", "e4m3", rounding="stochastic").eval()
    low(tokens)
    others = [copy.deepcopy(low), pickle.loads(pickle.dumps(low))]
    loaded = nt.lower(model, "e4m3", "e4m3", rounding="stochastic").eval()
    loaded.load_state_dict(low.state_dict())
    expected = low(tokens)
    assert all(same_bits(expected, other(tokens)) for other in others + [loaded])
    assert not same_bits(expected, low(tokens))  # the next step draws anew
    low.load_state_dict(model.state_dict())  # a checkpoint from before the lowering
    plain = nt.restore(low)
    assert list(plain.state_dict()) == list(model.state_dict())
    assert [type(m) for m in plain.modules()] == [type(m) for m in model.modules()]
    assert torch.equal(plain(tokens), model.eval()(tokens))


@pytest.mark.parametrize("device", DEVICES)
def test_draws_do_not_depend_on_the_device(device):
    torch.manual_seed(0)
    net = nt.lower(nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 2)), weight="e3m2", rounding="stochastic")
    seen = {}
    for place in ("cpu", device):
        low = copy.deepcopy(net).to(place)
        low[0].register_forward_pre_hook(lambda *_: None)
        with low[0].nibble_lowering.rounded_parameters(low[0], low[0].nibble_lowering.draws.next()):
            seen[place] = low[0].weight.detach().cpu().clone()
    assert same_bits(seen["cpu"], seen[device])
    assert not is_in(net[0].weight, "e3m2") and is_in(seen["cpu"], "e3m2")


def test_types_names_and_a_second_call_choose_layers():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(2, 2))
    names = lambda low: [layer.name for layer in nt.report(low).layers]
    assert names(nt.lower(net, "e4m3")) == ["0", "1", "2", "4"]
    assert names(nt.lower(net, "e4m3", types=["conv", nn.Linear])) == ["0", "4"]
    assert names(nt.lower(net, "e4m3", names="[12]")) == ["1", "2"]
    assert names(nt.lower(net, "e4m3", skip=["4"])) == ["0", "1", "2"]
    low = nt.lower(nt.lower(net, "e4m3"), "fp16", names="4")
    formats = [layer.activation for layer in nt.report(low).layers]
    assert formats == ["e4m3 nearest-even"] * 3 + ["fp16 nearest-even"]


def test_report_names_formats_and_what_is_left():
    net = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
    told = nt.report(nt.lower(net, "e4m3", nt.Rounder("e5m2", "stochastic"), gradient="fp16"))
    assert told.layers[0].weights == {"weight": "e5m2 stochastic"} and told.layers[0].layer == "Linear"
    assert told.layers[0].gradients == {"weight": "fp16 nearest-even"}
    assert told.parameters_left == ("0.bias", "1.weight", "1.bias")
    assert "e5m2 stochastic" in str(told) and "not rounded: 0.bias" in str(told)
    everything = nt.report(nt.lower(net, weight="e4m3", parameters="all"))
    assert everything.parameters_left == ()


def test_an_exception_in_a_layer_leaves_its_parameters(model):
    low = nt.lower(nn.Linear(4, 4), weight="e4m3")
    before = low.weight
    with pytest.raises(RuntimeError):
        low(torch.randn(2, 5))
    assert low.weight is before


def test_accumulators_take_their_input_by_name():
    x, picture = torch.randn(2, 4), torch.randn(1, 2, 5, 5)
    for layer, value in ((torch.nn.Linear(4, 3), x), (torch.nn.Conv2d(2, 3, 3), picture)):
        low = nt.lower(layer, accumulator="e5m10")
        assert torch.equal(low(input=value), low(value))


def test_accumulators_of_lowered_layers():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.Flatten(), nn.Linear(48, 2))
    x = torch.randn(2, 2, 4, 4)
    assert torch.allclose(nt.lower(net, accumulator="fp32")(x), net(x), atol=1e-5)
    assert not torch.allclose(nt.lower(net, accumulator="e4m3")(x), net(x), atol=1e-3)


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: nt.lower(3, "e4m3"), TypeError),
        (lambda: nt.lower(nn.ReLU(), "e9m9"), ValueError),
        (lambda: nt.lower(nn.ReLU(), activation=3), TypeError),
        (lambda: nt.lower(nn.ReLU(), "e4m3", types="cnv"), ValueError),
        (lambda: nt.lower(nn.ReLU(), "e4m3", types=[3]), TypeError),
        (lambda: nt.lower(nn.ReLU(), "e4m3", names=[3]), TypeError),
        (lambda: nt.lower(nn.ReLU(), "e4m3", parameters="some"), ValueError),
        (lambda: nt.lower(nn.ReLU(), "e4m3", seed=1.5), TypeError),
        (lambda: nt.lower(nn.ReLU(), "bfp(8)", clamped_gradient=True), ValueError),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(make, error):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "make", [lambda: nn.LSTM(6, 5, 2), lambda: nn.GRU(6, 5, batch_first=True), lambda: nn.RNN(6, 5)]
)
def test_states_are_rounded_at_every_time_step(make):
    torch.manual_seed(0)
    layer = make()
    low = nt.lower(layer, activation="e3m2", error="e5m2", round_states=True)
    x = torch.randn(4, 3, 6)
    state, expected = None, []
    for t in range(x.shape[1 if layer.batch_first else 0]):
        _, state = layer(x[:, t : t + 1] if layer.batch_first else x[t : t + 1], state)
        state = nibble_of(state, "e3m2")
        expected.append((state[0] if isinstance(state, tuple) else state)[-1])
    out, last = low(x)
    assert same_bits(out, torch.stack(expected, 1 if layer.batch_first else 0))
    assert all(same_bits(a, b) for a, b in zip(_flat(last), _flat(state)))
    out.sum().backward()
    assert all(p.grad is not None for p in low.parameters())


def nibble_of(state, fmt):
    if isinstance(state, tuple):
        return tuple(nibble_of(part, fmt) for part in state)
    return nibble.quantize(state.detach(), fmt)


def test_bidirectional_and_packed_states_are_refused():
    with pytest.raises(ValueError, match="bidirectional"):
        nt.lower(nn.LSTM(2, 2, bidirectional=True), activation="e4m3", round_states=True)
    low = nt.lower(nn.GRU(2, 2), activation="e4m3", round_states=True)
    with pytest.raises(TypeError, match="packed"):
        low(nn.utils.rnn.pack_sequence([torch.randn(2, 2)]))


def test_streams_follow_from_the_model_alone(model):
    streams = lambda low: {
        name: m.nibble_lowering.stream for name, m in low.named_modules() if hasattr(m, "nibble_lowering")
    }
    everything = streams(nt.lower(model, "e4m3"))
    assert len(set(everything.values())) == len(everything)
    assert streams(nt.lower(model, "e4m3", names="head"))["head"] == everything["head"]
    assert streams(nt.lower(nt.lower(model, "e4m3"), "fp16")) == everything


def test_clamped_gradients_of_results():
    low = nt.lower(nn.Identity(), "fixed(8,4)", types=nn.Identity, clamped_gradient=True)
    x = torch.tensor([1.0, 8.0, -9.0], requires_grad=True)
    low(x).sum().backward()
    assert x.grad.tolist() == [1, 0, 0]
