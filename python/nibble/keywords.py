# SPDX-License-Identifier: Apache-2.0
"""The options of the command that functions take as keywords: what they are called, which values they take, what they mean.

from nibble.keywords import TrainOptions

Written by tools/make_keywords.py from the help of the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal, TypedDict


class TrainOptions(TypedDict, total=False):
    """Keywords of nibble.train beside its own: what ``nibble train --help`` lists."""

    round: str | list[str] | None
    """a rule of the policy: ROLES=FORMAT[/ROUNDING], roles weight, activation, error, gradient, momentum, update,
    master, accumulator; may be repeated"""

    optimizer: str | None
    """sgd, adam, adamw"""

    lr: float | None
    """learning rate"""

    momentum: float | None
    """of sgd"""

    nesterov: bool
    """of sgd: steps look ahead by the new momentum"""

    weight_decay: float | None
    """added to gradients (adamw: decoupled)"""

    schedule: str | None
    """constant, cosine, step(60,80;0.1), plateau(0.1,5), warmup(5)+cosine, …"""

    init: str | None
    """he, fan-in, xavier, wage"""

    val: float | None
    """images held from training: a share below 1 or a number"""

    patience: int | None
    """stop after so many epochs without a better validation"""

    average_from: int | None
    """average the weights from this epoch on; 0: no average"""

    crop: int | None
    """random crops out of a border of so many pixels"""

    flip: bool
    """mirror every other picture"""

    cutout: int | None
    """side of a square of each picture that is blanked"""

    smoothing: float | None
    """share of a label's target that all classes get in equal parts (0)"""

    image_size: int | None
    """side of the pictures of a folder"""

    skip_broken: bool
    """leave out pictures that cannot be read, name and count them; all are read once before the work begins. Without
    it such a picture is an error"""

    device: str | None
    """who computes; the integers do not depend on it (cpu): cpu; cuda or cuda:1, a GPU; reference, the definitions,
    slowly; check(cpu,reference), both at once, which ends at the first difference"""

    place: str | None
    """who computes which pass: a device (cpu, cuda, …) or rules of which the last one that fits counts: `conv*=cuda,
    fc.update=cpu, *.weight_gradient=cuda` (passes: forward, input_error, weight_gradient, update), or auto, found by
    measuring. The weights of int8 do not depend on it. Floats: convolutions and linear layers alone, without
    update"""

    memory: str | float | None
    """what may be on the second device of `place` auto: 2GB, 512MiB, or a number of MiB; 0: any (0)"""

    wire: str | None
    """floats: what crosses between the CPU and the device of `place`: fp32 (usual), fp16, bf16, int8"""

    compute: str | None
    """floats: what the device of `place` rounds operands of products to: fp32 (usual), tf32, fp16, bf16; sums are in
    fp32"""

    fast: bool
    """let oneDNN cut the work: the weights then depend on the threads"""

    update: Literal["shift", "sgd"] | None
    """int8: shift, steps of `mu` bits whatever the gradient's size (usual), or sgd, which has `lr`, `schedule`,
    `momentum`, `weight_decay` and `fraction_bits`"""

    mu: str | float | None
    """int8: bits of a layer's largest step by epoch, as 5,4@100,3@150 (5, 4 after half of the epochs, 3 after three
    quarters)"""

    bias_mu: str | float | None
    """int8: the same for biases (1)"""

    shifts: str | None
    """int8: exact, from each batch's largest sum; delayed, from the last batch's"""

    shift_rounding: str | list[str] | None
    """int8: [LAYER.]TENSOR=ROUNDING, tensor value, error or gradient, rounding nearest, stochastic or
    pseudo-stochastic; may be repeated"""

    momentum16: int | None
    """int8: sixteenths of the last step that remain"""

    fraction_bits: int | None
    """int8: bits below the weight's unit in which updates accumulate (0, sgd: 16)"""

    residual_bits: int | None
    """int8: halvings of the first weights of layers that only an add reads (0)"""

    decay: bool
    """int8: NITI's weight decay"""

    decay_norms: bool
    """int8: `weight_decay` counts for scales and shifts of batch norms, too"""

    loss_form: Literal["fractional", "octaves"] | None
    """int8: fractional, or octaves: exponents cut to whole numbers"""

    statistics: Literal["calibrated", "running"] | None
    """int8: what freezes batch norms, calibrated, the images of `calibration` (usual), or running, a mean over the
    batches that trained"""

    calibration: int | None
    """int8: images of the train split that freeze the shifts (1024)"""

    freeze: str | list[str] | None
    """int8: layers whose weights stay as they are, by name or pattern (* any text, ? a letter); may be repeated"""


class SweepOptions(TrainOptions, total=False):
    """Keywords of nibble.sweep beside its own: what ``nibble sweep --help`` lists."""

    data: Any
    """digits, mnist, fashion-mnist, cifar10, or a path"""

    from_: Any
    """a model (.nib) or the folder of a run to start from, in place of random weights; its network is trained unless
    another with the same parameters is given. `arith` int8 takes floats, whose batch norms it folds, or int8
    weights"""

    epochs: int | None
    """passes over the train split"""

    batch: int | None
    """images a step"""

    threads: int | None
    """threads (all cores); the weights do not depend on it"""

    arith: Literal["float", "int8"] | None
    """float, or int8: integers from the image to the weight update (the recipe's, else float)"""


class PlaceOptions(TrainOptions, total=False):
    """Keywords of nibble.place beside its own: what ``nibble place --help`` lists."""

    epochs: int | None
    """passes over the train split"""

    batch: int | None
    """images a step"""

    seed: int | None
    """decides every number of the run"""

    threads: int | None
    """threads (all cores); the weights do not depend on it"""

    arith: Literal["float", "int8"] | None
    """float, or int8: integers from the image to the weight update (the recipe's, else float)"""

    fresh: bool
    """measure again, whatever the cache has"""

    report: str | PathLike[str] | None
    """write a page: the network coloured by device, the time line of a step"""

    limits: str | None
    """what files may ask for:
    memory=68719476736,values=268435456,macs=4398046511104,geometry=65536,nodes=65536,name=240,inflation=100"""


class QuantizeOptions(TypedDict, total=False):
    """Keywords of nibble.quantize_network beside its own: what ``nibble quantize --help`` lists."""

    image_size: int | None
    """side of the pictures of a folder"""

    skip_broken: bool
    """leave out pictures that cannot be read, name and count them; all are read once before the work begins. Without
    it such a picture is an error"""

    form: Literal["usual", "nvidia"] | None
    """of the integers: usual, or nvidia: factors of 16 bits with the shifts of its INT4 ResNet-50; a network of its
    kind can then be written as its layer directory"""

    integer_features: bool
    """the network takes counters and sensors: int32, each feature with its range"""

    recollect: bool
    """of fine-tuning: before each epoch collect histograms anew and set the ranges, as NVIDIA did; otherwise steps
    learn with the weights"""

    lr: float | None
    """of fine-tuning (0.001), falling to 0 by a cosine"""

    crop: int | None
    """of fine-tuning: random crops out of such a border"""

    flip: bool
    """of fine-tuning: mirror every other picture"""

    seed: int | None
    """of fine-tuning: decides every number"""

    threads: int | None
    """threads (all cores)"""

    device: str | None
    """who computes; the integers do not depend on it (cpu): cpu; cuda or cuda:1, a GPU; reference, the definitions,
    slowly; check(cpu,reference), both at once, which ends at the first difference"""


class LoadGenOptions(TypedDict, total=False):
    """Keywords of nibble.loadgen beside its own: what ``nibble loadgen --help`` lists."""

    scenario: Literal["Offline", "Server", "SingleStream", "MultiStream"] | None
    """Offline, Server, SingleStream or MultiStream"""

    mode: Literal["performance", "accuracy", "submission", "find-peak"] | None
    """performance, accuracy, submission (accuracy, then performance), find-peak (of Server: the highest load that is
    still valid)"""

    split: Literal["test", "train"] | None
    """test or train"""

    image_size: int | None
    """side of the pictures of a folder"""

    skip_broken: bool
    """leave out pictures that cannot be read, name and count them; all are read once before the work begins. Without
    it such a picture is an error"""

    user_conf: str | PathLike[str] | None
    """LoadGen's user.conf, as a submission has it; without one a run lasts 10 s"""

    set: str | list[str] | None
    """a key of user.conf, over what the file says: target_latency=15, min_query_count=1000,
    performance_sample_count_override=64 …; ms and %"""

    seconds: float | None
    """`set` min_duration, in seconds"""

    target_qps: float | None
    """`set` target_qps: Server's load, Offline's expected speed (measured)"""

    benchmark: str | None
    """whose rules of LoadGen's mlperf.conf hold"""

    audit: str | PathLike[str] | None
    """an audit.config to read, of a compliance test; none is read otherwise"""

    batch: int | None
    """most samples of a batch (measured)"""

    top5: bool
    """log five classes a sample, the best first"""

    threads: int | None
    """threads (all cores)"""

    device: str | None
    """who computes; the integers do not depend on it (cpu): cpu; cuda or cuda:1, a GPU; reference, the definitions,
    slowly; check(cpu,reference), both at once, which ends at the first difference"""

    beside: str | list[str] | None
    """another device, cuda:1, whose batches run beside those of `device`; may be given for each one more (Offline,
    Server)"""

    start_from: Literal["host", "device"] | None
    """where samples lie when time begins: host (pinned for a GPU) or device"""

    limits: str | None
    """what files may ask for:
    memory=68719476736,values=268435456,macs=4398046511104,geometry=65536,nodes=65536,name=240,inflation=100"""


class TuneOptions(TypedDict, total=False):
    """Keywords of nibble.tune beside its own: what ``nibble tune --help`` lists."""

    batch: int | None
    """pictures at a time (1)"""

    threads: int | None
    """threads (all cores)"""

    device: str | None
    """who computes; the integers do not depend on it (cpu): cpu; cuda or cuda:1, a GPU; reference, the definitions,
    slowly; check(cpu,reference), both at once, which ends at the first difference"""

    rounds: int | None
    """runs of each way (15)"""

    output: str | PathLike[str] | None
    """instead of this machine's file in the cache folder"""

    limits: str | None
    """what files may ask for:
    memory=68719476736,values=268435456,macs=4398046511104,geometry=65536,nodes=65536,name=240,inflation=100"""


class EvaluateOptions(TypedDict, total=False):
    """All keywords of nibble.evaluate: what ``nibble eval --help`` lists."""

    split: str
    """test or train"""

    policy: Mapping[str, str] | str | PathLike[str] | None
    """formats of activations and sums instead of the model's own (TOML)"""

    shifts: str
    """of an integer model: frozen, as in the file, or exact, from each batch of 256"""

    oracle: str | PathLike[str] | None
    """of an integer model: count the answers that an MLPerf accuracy log shares"""

    image_size: int | None
    """side of the pictures of a folder"""

    skip_broken: bool
    """leave out pictures that cannot be read, name and count them; all are read once before the work begins. Without
    it such a picture is an error"""

    threads: int | None
    """threads (all cores)"""

    device: str
    """who computes; the integers do not depend on it (cpu): cpu; cuda or cuda:1, a GPU; reference, the definitions,
    slowly; check(cpu,reference), both at once, which ends at the first difference"""

    engine: bool
    """run an integer-trained model in the engine instead of the trainer's own code: the same answers, bit for bit;
    other models of integers run there anyway"""


class EmitTrainingOptions(TypedDict, total=False):
    """Keywords of nibble.emit beside its own: what ``nibble emit --help`` lists."""

    data: Any
    """data set of the training check (the model's)"""

    seed: int | None
    """of training's randomness (1)"""

    train_batch: int | None
    """images of a training step, at most (8)"""

    train_steps: int | None
    """steps of the training check (100)"""

    train_images: int | None
    """images of the training check (64)"""

    limits: str | None
    """what files may ask for:
    memory=68719476736,values=268435456,macs=4398046511104,geometry=65536,nodes=65536,name=240,inflation=100"""


class EmitOptions(EmitTrainingOptions, total=False):
    """All keywords of nibble.emit: what ``nibble emit --help`` lists."""

    prefix: str
    """of all names in C (net)"""

    target: str
    """c99, or dsp: dual multiply-accumulates of Cortex-M4"""

    ram: int | None
    """most bytes of activations"""

    flash: int | None
    """most bytes of parameters"""

    batch: int
    """examples of one call (1)"""

    vectors: int
    """test vectors (10)"""

    train: bool
    """also the training step, as nibble train `arith` int8 `update` shift has it with its usual settings, whatever
    rule trained the model; MODEL may then be a network, with its first weights"""

    force: bool
    """write into a folder that holds other files"""


class PreprocessOptions(TypedDict, total=False):
    """Keywords of nibble.preprocess beside its own: what ``nibble data preprocess --help`` lists."""

    split: Literal["test", "train"] | None
    """test or train, of folders that have both"""

    skip_broken: bool
    """leave out pictures that cannot be read, name and count them; all are read once before the work begins. Without
    it such a picture is an error"""

    threads: int | None
    """threads (all cores)"""
