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

# What begins a command; in a block without prompts that has one, all other lines are comments.
CALL = r"([A-Z_]+=\S+ )*(nibble|make|pip|curl|tensorboard|tests/\S+) "

# Options that make a call short without changing what it is; a run of a call before makes room.
SHORTER = {
    "train": {"--epochs": "1", "--overwrite": None},
    "bench": {"--seconds": "0.1"},
    "tune": {"--rounds": "1", "--output": "tuning.txt"},
    "emit": {"--vectors": "2"},
}

# Who reads blocks in a language: pages_test (none: commands; toml, json), python/tests/test_guide.py, tests/install (c, cpp, cmake).
READERS = ("", "toml", "json", "python", "c", "cpp", "cmake")

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
