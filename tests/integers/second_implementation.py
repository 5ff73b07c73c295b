# SPDX-License-Identifier: Apache-2.0
"""Integer-only training a second time, in NumPy and Python integers, written from docs/integer-training.md alone."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
from batch_norm import BatchNorm
from laws import (DROPOUT, ROUNDING_STREAMS, aligned_sum, augmented, bit_width, byte_table, clamp, draws_of_all, exponent_for,
                  first_weights, in_training, largest, loss_error, moments_of, order_of, shift, to_nearest)
from dequantized import dequantized
from files import exponent_of
from folded import folded, unfaked
from layers import Bias, Product, Tensor
from plain_layers import PLAIN_LAYERS
from rates import rate_at, step_rates
from reports import BATCH, classes_of, losses_of, report_of
from updates import Average, Parameter, move_by_sgd, move_by_shift, move_exponent, mu_after


@dataclass
class Settings:
    """The flags of the command, with their usual values."""

    epochs: int
    batch: int = 128
    seed: int = 1
    mu: str = "5"
    bias_mu: str = "1"
    value_rounding: str = "nearest"
    error_rounding: str = "nearest"
    gradient_rounding: str = "pseudo-stochastic"
    momentum16: int = 0
    fraction_bits: int = 0
    residual_bits: int = 0
    decay: bool = False
    loss_form: str = "fractional"
    statistics: str = "calibrated"
    crop: int = 0
    flip: bool = False
    cutout: int = 0
    calibration: int = 1024
    average_from: int = 0
    update: str = "shift"
    lr: float = 0.05
    schedule: str = "cosine"
    momentum: float = 0.9
    weight_decay: float = 0.0
    decay_norms: bool = False
    nesterov: bool = False
    shifts: str = "exact"
    val: float = 0
    freeze: tuple = ()
    layer_roundings: dict = field(default_factory=dict)  # LAYER.TENSOR, instead of what stands for all


class Evaluation:
    """Rounding points of images that are run as one batch: shifts of the batch, to the nearest."""

    def rounding(self, tensor, index, shape):
        """(rounding, draws) of a node's value, of the error that it sends, or of errors that meet there."""
        return "nearest", None

    def shift_of(self, point, wanted):
        return wanted

    def rounded(self, tensor, index, sums, exponent):
        s = self.shift_of((tensor, index), max(bit_width(largest(sums)) - 7, 0))
        return Tensor(clamp(shift(sums, s, *self.rounding(tensor, index, sums.shape))), exponent + s)

    def value(self, layer, sums, exponent):
        return self.rounded("value", layer.index, sums, exponent)

    def normalized(self, layer, x):
        return layer.normalized(self, x)

    def mask(self, dropout, shape):
        """The features of one image that a dropout leaves, or None: all."""
        return None


class Frozen(Evaluation):
    """Rounding points with the exponents of a model."""

    def __init__(self, exponents):
        self.exponents = exponents

    def value(self, layer, sums, exponent):
        return Tensor(clamp(shift(sums, self.exponents[layer.index] - exponent)), self.exponents[layer.index])

    def normalized(self, layer, x):
        return layer.frozen(x.mantissas, self.exponents[layer.index])


class Step(Evaluation):
    """Rounding points and updates of one step of training."""

    def normalized(self, layer, x):
        value = layer.normalized(self, x)
        layer.keep()
        return value

    def __init__(self, settings, step, steps_an_epoch, images, wanted=None, names=()):
        self.names = names  # of the nodes
        self.settings, self.step, self.epoch = settings, step, step // steps_an_epoch
        self.wanted = {} if wanted is None else wanted  # by each point the last time
        if settings.update == "sgd":
            rate = rate_at(settings.lr, settings.schedule, step, steps_an_epoch, settings.epochs)
            self.rate, self.decay = step_rates(rate, settings.weight_decay, images)

    def rounding(self, tensor, index, shape):
        rounding = self.settings.value_rounding if tensor == "value" else self.settings.error_rounding
        if index and self.settings.layer_roundings:
            rounding = self.settings.layer_roundings.get(f"{self.names[index]}.{tensor[:5]}", rounding)
        if rounding != "stochastic":
            return rounding, None
        return rounding, draws_of_all(self.settings.seed, ROUNDING_STREAMS[tensor] + 8 * index, self.step, shape)

    def mask(self, dropout, shape):
        return draws_of_all(self.settings.seed, DROPOUT + dropout.index, self.step, shape) >> (32 - dropout.k) == 0

    def shift_of(self, point, wanted):
        last, self.wanted[point] = self.wanted.get(point, wanted), wanted
        return last if self.settings.shifts == "delayed" else wanted

    def error(self, layer, sums, exponent):
        return self.rounded("error", layer.index, sums, exponent)

    def meeting(self, index, errors):
        return self.rounded("errors", index, *aligned_sum(errors))

    def error_of_squares(self, answers, labels):
        """Of squared errors from targets, or from 1 at the label and 0 elsewhere."""
        e = min(max(answers.exponent, -40), 24)
        c = min(e, -16)
        if labels.ndim == 2:
            targets = clamp(to_nearest(np.float64(labels) * 2**16), 2**31 - 1).reshape(answers.mantissas.shape)
        else:
            targets = np.zeros_like(answers.mantissas)
            targets[np.arange(len(labels)), 0, 0, labels] = 65536
        return self.rounded("loss", 0, (answers.mantissas << (e - c)) - (targets << (-16 - c)), c)

    def error_of_entropy(self, answers, labels, smoothing):
        flat = answers.mantissas.reshape(len(labels), -1)
        error = loss_error(flat, answers.exponent, labels, self.settings.seed, self.step, self.settings.loss_form, smoothing)
        return Tensor(error.reshape(answers.mantissas.shape), -7)

    def move(self, parameter, gradient, exponent):
        settings, is_weight = self.settings, parameter.kind == "weight"
        if parameter.is_frozen:
            return
        of_all = settings.gradient_rounding
        rounding = settings.layer_roundings.get(f"{parameter.layer}.gradient", of_all), parameter.drawn(settings.seed, self.step)
        if settings.update == "shift":
            mu = mu_after(settings.mu if is_weight else settings.bias_mu, self.epoch)
            move_by_shift(parameter, gradient, mu, settings.momentum16, settings.decay and is_weight, *rounding)
        else:
            is_norm = parameter.kind in ("scale", "shift")
            decay = self.decay if is_weight or is_norm and settings.decay_norms else (0, 0)
            momentum256 = round(256 * settings.momentum)
            move_by_sgd(parameter, gradient, exponent, self.rate, decay, momentum256, settings.nesterov, *rounding)
        if is_weight and settings.update == "sgd":
            move_exponent(parameter)
        if parameter.kind in ("weight", "bias"):
            parameter.settle()


class Network:
    """A network of a .nib file's JSON, with its first weights; it ends in a loss."""

    def __init__(self, description, settings):
        self.settings, self.parameters = settings, []
        nodes = description["nodes"][:-1]
        self.loss = description["nodes"][-1]
        readers = [[node["op"] for node in nodes if index in node["inputs"]] for index in range(len(nodes))]
        values, self.layers = [Tensor(np.zeros((1, *nodes[0]["shape"]), np.int64), 0)], []
        for index, node in enumerate(nodes[1:], 1):
            own = len(self.parameters)
            entering = [values[i] for i in node["inputs"]]
            if node["op"] in ("conv2d", "linear"):
                layer = Product(index, node, entering[0].mantissas.shape[-1], self)
                layer.weight.exponent -= settings.residual_bits if set(readers[index]) == {"add"} else 0
                layer.is_normalized = not node["bias"] and readers[index] == ["batch_norm"]
            elif node["op"] == "batch_norm":
                before = self.layers[node["inputs"][0] - 1] if node["inputs"][0] else None
                product = before if before and before.is_normalized else None
                layer = BatchNorm(index, node, entering[0].mantissas.shape[-1], product, self)
            elif node["op"] == "bias":
                layer = Bias(index, node, entering[0].mantissas.shape[-1], self)
            else:
                layer = PLAIN_LAYERS[node["op"]](index, node)
            is_frozen = any(fnmatchcase(layer.name, pattern) for pattern in settings.freeze)
            layer.learns = layer.learns and not is_frozen
            for parameter in self.parameters[own:]:
                parameter.layer, parameter.is_frozen = layer.name, is_frozen
            self.layers.append(layer)
            values.append(layer.forward(Evaluation(), *entering))

    def make(self, kind, mantissas, exponent, fraction_bits):
        self.parameters.append(Parameter(kind, len(self.parameters), mantissas, exponent, fraction_bits))
        return self.parameters[-1]

    def make_weight(self, shape, exponent):
        mantissas = first_weights(shape, self.settings.seed, len(self.parameters))
        return self.make("weight", mantissas, exponent, self.settings.fraction_bits)

    def make_bias(self, channels):
        return self.make("bias", np.zeros(channels, np.int64), -10, self.settings.fraction_bits)

    def run(self, points, pictures):
        """The values of all nodes up to the answer."""
        values = [pictures]
        for layer in self.layers:
            values.append(layer.forward(points, *(values[i] for i in layer.inputs)))
        return values

    def train(self, step, pictures, labels):
        """One step; its answers."""
        answers = self.run(step, pictures)[-1]
        if self.loss["op"] == "squared_error":
            error = step.error_of_squares(answers, labels)
        else:
            error = step.error_of_entropy(answers, labels, self.loss.get("smoothing", 0.0))
        errors = {len(self.layers): error}
        learns = [False]
        for layer in self.layers:
            learns.append(layer.learns or any(learns[i] for i in layer.inputs))
        for layer in reversed(self.layers):
            if layer.index not in errors or not learns[layer.index]:
                continue
            passed = layer.backward(step, errors[layer.index], learns[layer.inputs[0]])
            for index, error in zip(layer.inputs, passed):
                if learns[index]:
                    errors[index] = step.meeting(index, [errors[index], error]) if index in errors else error
        return answers


@dataclass
class Model:
    network: Network
    exponents: list
    table: np.ndarray  # None of floats
    averages: list
    epochs: list  # (mean loss, right answers) as trained

    def values(self, images):
        """The frozen mantissas of all nodes."""
        pictures = pictures_of(images, self.table, self.exponents[0])
        return [value.mantissas for value in self.network.run(Frozen(self.exponents), pictures)]

    def frozen_report(self, images, labels):
        answers = Tensor(self.values(images)[-1], self.exponents[-1])
        return report_of([answers], labels, self.network.loss["op"])

    def batch_report(self, images, labels):
        """By shifts and statistics of batches; frozen ones are lost."""
        pictures = (pictures_of(images[i:i + BATCH], self.table, self.exponents[0]) for i in range(0, len(images), BATCH))
        return report_of([self.network.run(Evaluation(), each)[-1] for each in pictures], labels, self.network.loss["op"])

    def tensors(self):
        """What the model's file has, by name."""
        return {f"{layer.name}.{kind}": tensor for layer in self.network.layers for kind, tensor in layer.tensors().items()}


def pictures_of(images, table, exponent):
    if table is None:
        return Tensor(clamp(to_nearest(np.float64(images) * 2.0**-exponent)), exponent)
    return Tensor(np.stack([table[images[..., c], c] for c in range(images.shape[-1])], axis=-1), exponent)


def start_of(nodes, tensors):
    """What integer training begins with of a model: its own integers, or floats that nothing is left to fold in."""
    if any(node["op"] == "rescale" for node in nodes):
        nodes, tensors = dequantized(nodes, tensors)
    if "int8" in nodes[0].get("value", {"format": ""})["format"]:
        return nodes, tensors
    return folded(*unfaked(nodes, tensors))


def start_from(network, nodes, tensors):
    """Begins with the parameters of what start_of gave."""
    for layer in network.layers:
        for kind in ("weight", "bias", "scale", "shift"):
            if f"{layer.name}.{kind}" not in tensors:
                continue
            tensor, parameter = tensors[f"{layer.name}.{kind}"], getattr(layer, kind)
            tensor = tensor.reshape(parameter.mantissas.shape)
            if kind in ("scale", "shift"):
                parameter.fine = tensor.astype(np.int64)
            elif tensor.dtype == np.int8:
                key = "weight" if kind == "weight" else "bias_value"
                parameter.start_at(tensor.astype(np.int64), exponent_of(nodes[layer.index][key]))
            else:
                parameter.start_near(tensor)


def trained(description, images, labels, settings, start=None):
    """The model of a run on images (n, rows, columns, channels) of bytes or f32, with labels (n) or targets (n, k).

    `start` has the nodes and tensors of another model to begin with."""
    network, learned = Network(description, settings), in_training(len(images), settings.seed, settings.val)
    if start:
        start_from(network, *start)
    if images.dtype == np.float32:
        table, exponent = None, exponent_for(images)
    elif start:
        table, exponent = byte_table(*(np.float32(start[0][0][key]) for key in ("mean", "deviation")))
    else:
        table, exponent = byte_table(*moments_of(images[learned]))
    count, steps_an_epoch = len(learned), -(-len(learned) // settings.batch)
    window = (settings.epochs - settings.average_from + 1) * steps_an_epoch if settings.average_from else 0
    samples = 1 << (min(window, 4096).bit_length() - 1) if window else 0
    wanted, names = {}, [node["name"] for node in description["nodes"]]
    averages = [Average(parameter, settings.update) for parameter in network.parameters] if samples else []
    epochs = []
    for step in range(settings.epochs * steps_an_epoch):
        epoch, place = divmod(step, steps_an_epoch)
        if place == 0:
            order = learned[order_of(count, settings.seed, epoch)]
            loss, right = 0.0, 0
        chosen = order[place * settings.batch:(place + 1) * settings.batch]
        points = Step(settings, step, steps_an_epoch, len(chosen), wanted, names)
        pictures = augmented(images, chosen, settings.seed, epoch, settings.crop, settings.flip, settings.cutout)
        answers = network.train(points, pictures_of(pictures, table, exponent), labels[chosen])
        loss += round(sum(losses_of(answers, labels[chosen], network.loss["op"])) * 2**20) / 2**20
        if labels.ndim == 1:
            right += int(np.trace(classes_of(answers, labels[chosen])[0]))
        if place == steps_an_epoch - 1:
            epochs.append((loss / count, right))
        k = step - (settings.epochs * steps_an_epoch - window)
        if samples and k >= 0 and (k + 1) * samples // window != k * samples // window:
            for average in averages:
                average.add()
    for average in averages:
        average.finish()
    calibrating = learned[:settings.calibration]
    examples = images[calibrating]
    if any(isinstance(layer, BatchNorm) for layer in network.layers):
        examples = augmented(images, calibrating, settings.seed, 2**32 - 1, settings.crop, settings.flip,
                             settings.cutout)
    values = network.run(Evaluation(), pictures_of(examples, table, exponent))
    if settings.statistics == "running" and settings.epochs and not averages:
        for layer in network.layers:
            if isinstance(layer, BatchNorm):
                layer.freeze_by_kept()
    return Model(network, [value.exponent for value in values], table, averages, epochs)
