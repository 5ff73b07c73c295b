# SPDX-License-Identifier: Apache-2.0
"""What blocks of the pages need to be run, and why some are not: one list of each."""

# Calls that `make test` does not run as they stand: (pattern of "PAGE: nibble …", reason). The first that fits counts. Most of
# them are run by `make docs-test` (long_blocks).
NOT_RUN = (
    (r"^docs/demo\.md", "what `make demo` prints; demo_test runs it"),
    (r"mnist|cifar10|imagenet", "data that does not come with Nibble"),
    (r"resnet|r26|r50|lenet|convnet8\.nib|quantized\.", "a model that does not come with Nibble"),
    (r"loadgen (report|test)", "runs under LoadGen of such models"),
    (r"(hang|big|upload)\.nib", "a stranger's file; hostile_test reads such ones"),
    (r"cuda", "a GPU"),
    (r"nibble signature", "seconds; signature_test compares it with README.md"),
    (r"nibble data check$", "reads all data of the machine"),
    (r"nibble sweep", "minutes; sweep_test runs smaller ones"),
    (r"cat\.jpg", "a picture of one's own; pictures_test has some"),
)

# Options that make a call short without changing what it is; a run of a call before makes room.
SHORTER = {
    "train": {"--epochs": "1", "--overwrite": None},
    "bench": {"--seconds": "0.1"},
    "tune": {"--rounds": "1", "--output": "tuning.txt"},
    "emit": {"--vectors": "2"},
}

# Who reads blocks in a language: here (none: commands; toml, json, c, cpp), python/tests/test_guide.py, tests/install.
READERS = ("", "toml", "json", "c", "cpp", "python", "cmake")

# What begins a line of code, which no page indents.
INDENTED_CODE = r"^( {4,}|\t)(\$ |>>> |([A-Z_]+=\S+ )*(nibble|make|cmake|ctest|pip|python3?|tests/\S+|tools/\S+) \S|(import|from) \S|#include)"

# What the JSON of a page shortens.
JSON_NAMES = {"{…}": '{"format": "fp32", "rounding": "nearest-even", "overflow": "native"}'}

# Who reads the TOML of a page; FILE is the block.
POLICY = ["train", "convnet-8x8", "--data", "digits", "--epochs", "1", "--overwrite", "--policy", "FILE"]
TOML_READERS = {
    "docs/networks.md": ["describe", "FILE"],
    "docs/training.md": POLICY,
    "docs/from-qpytorch.md": POLICY,
    "docs/integer-training.md": ["train", "FILE", "--epochs", "1", "--overwrite"],
    "docs/quantization.md": ["quantize", "runs/fp32", "-o", "q.nib", "--calib", "digits", "--per-layer", "FILE"],
}
# Names in them that stand for a network's own.
TOML_NAMES = {"layer1.0.conv1": "conv1", "layer3.*": "relu2", '"lenet"': '"convnet-8x8"', '"mnist"': '"digits"'}

# What stands before a block of C or C++ that is part of a function; others are whole files.
TENSORS = '#include "nibble/kernels/{}.h"\nusing namespace nibble;\nvoid f(Tensor& a, Tensor& b, Tensor& c) {{'
ENGINE = '#include "nibble/engine/{}.h"\n#include <vector>\n'
ENGINE_AT_WORK = (
    ENGINE.format("engine")
    + "void f(nibble::Engine& engine, std::vector<std::byte>& pictures, std::vector<std::byte>& answers) {"
)
STEP = '#include "net_train.h"\nvoid f(int8_t *images, net_train_label_t *labels, net_train_label_t *classes, int count, int mu, int bias_mu) {'
PRELUDES = {
    ("docs/accumulation.md", 0): TENSORS.format("accumulate"),
    ("docs/accumulation.md", 1): '#include "nibble/kernels/device_accumulate.h"\nusing namespace nibble;\n'
    "void f(float* a, float* b, float* c, std::int64_t m, std::int64_t k, std::int64_t n, Accumulator rules, void* workspace,"
    " void* stream) {",
    ("docs/data.md", 0): '#include "data/batch_order.h"\n#include "nibble/data/augment.h"\n#include "nibble/data/dataset.h"\nusing namespace nibble;\n'
    "void f(std::uint64_t seed, int epoch, int b, Tensor& pictures) {",
    ("docs/engine.md", 1): ENGINE_AT_WORK,
    ("docs/engine.md", 3): '#include "nibble.h"\nvoid f(void* loaded) {',
    ("docs/engine.md", 4): ENGINE.format("cuda_engine") + '#include "nibble/engine/engine.h"\nvoid f() {',
    ("docs/limits.md", 0): ENGINE.format("engine") + "void f() {",
    ("docs/reports.md", 0): '#include "nibble/report/tensorboard.h"\n'
    "void f(std::int64_t step, double loss, std::span<const float> values) {",
    ("docs/emit.md", 1): STEP,
    ("docs/emit-training.md", 0): STEP,
}
