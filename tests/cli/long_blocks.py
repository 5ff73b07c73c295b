# SPDX-License-Identifier: Apache-2.0
"""What the long blocks of the pages take for granted, what makes hours minutes, and which are not run, with the reason."""

# Lines of a shell that no machine runs by itself: (pattern of "PAGE: line", reason). The first that fits counts.
NEVER_RUN = (
    (r"^docs/demo\.md", "what `make demo` prints; demo_test runs it"),
    (r": make (demo|test|targets|wheel)\b|run_target", "a target of make by itself"),
    (r"imagenet|resnet50\.", "ImageNet, or float weights for it"),
    (r"resnet18\.onnx", "a model that does not come with Nibble"),
    (r"(hang|big|upload)\.nib", "a stranger's file; hostile_test reads such ones"),
    (r"cuda|runs/gpu", "a GPU"),
    (r"data get|: curl |pip install (tensorboard|scikit)", "the network, for what no line needs"),
    (r"make frozen", "a course of hours before it"),
    (r"pip install ('?\.|--no-build)|pip uninstall", "minutes of compiling; wheels are installed in a fresh environment"),
    (r"tensorboard --logdir", "serves until somebody stops it"),
)

# What of NIBBLE_DATA lies beside each page, and which lines need it.
OF_DATA = {
    "resnet20-cifar10/resnet20.onnx": r"resnet20\.onnx",
    "resnet20-cifar10/resnet20.npz": r"resnet20\.npz",
    "resnet50-int4": r"resnet50-int4/|\br50\b",
}

# What a line takes less of, so that its first part is seen: (pattern, other words for some of it, options that it lacks).
# Courses on CIFAR-10 have one epoch over `few.npz`, the first pictures of it.
ONE_EPOCH = {"--epochs": "1", "--overwrite": ""}
LESS = (
    (r"nibble train cifar10-", {"--data cifar10-png": "--data few.npz"}, {"--data": "few.npz", **ONE_EPOCH}),
    (r"nibble train .*cifar10", {"cifar10": "few.npz"}, ONE_EPOCH),
    (r"nibble train .*mnist", {r"--epochs \d+": "--epochs 1"}, ONE_EPOCH),
    # Twins that average their weights from a late epoch on have no course of one.
    (r"nibble sweep (mnist|fashion)-", {"--seeds 3": "--seeds 1", r" --twin \S+-twin-fp32": ""}, {"--epochs": "1"}),
    (r"nibble quantize .*--recipe", {"cifar10": "few.npz"}, {"--samples": "64", "--finetune": "1"}),
    (r"nibble train \w", {}, {"--overwrite": ""}),
    (r"nibble tune", {}, {"--output": "tuning.txt"}),
)

# Where a fail is an answer, too: of Server's runs a machine that is too slow makes invalid ones, and two runs of ten seconds
# differ by more than the 10 % of TEST01 and TEST04 where others share it (117.7 and 127.7 % were seen); loadgen_test checks both.
MAY_FAIL = (r"--scenario Server", r"loadgen test0[14]")

# Models and files that pages speak of, by the commands that make them; {data} is the folder of data sets, {wheels} of the dev build's,
# {root} the tree.
MADE = {
    "lenet": "nibble train lenet --data mnist --epochs 1 --out lenet",
    "lenet.nib": "cp lenet/model.nib lenet.nib",
    "lenet-int8": "nibble train lenet --data mnist --arith int8 --epochs 1 --out lenet-int8",
    "lenet8.nib": "nibble quantize lenet -o lenet8.nib --calib mnist",
    "lenet8.onnx": "nibble convert lenet8.nib lenet8.onnx",
    # TEST01's of mlcommons/inference, without its comments.
    "audit.config": "printf '*.*.mode = 2\\n*.*.accuracy_log_rng_seed = 720381539243781796\\n"
    "*.*.accuracy_log_sampling_target = 128\\n' > audit.config",
    "digits": "nibble train digits-convnet-fp32 --epochs 1 --out digits",
    "digits-e4m3": "nibble train digits-convnet-e4m3 --epochs 1 --out digits-e4m3",
    "digits8.nib": "nibble quantize digits -o digits8.nib --calib digits",
    "dist": "cp -r {wheels} dist",
    "docs": "mkdir -p docs/images && cp -r {root}/docs/curves docs",
    "resnet20.nib": "nibble convert {data}/resnet20-cifar10/resnet20.npz resnet20.nib --network resnet20",
}

# By what name pages know them.
CALLED = {
    "docs/data.md": {"model.nib": "digits8.nib"},
    "docs/emit.md": {"convnet.nib": "lenet.nib"},
    "docs/emit-training.md": {"runs/lenet-1": "lenet-int8"},
    "docs/engine.md": {"model.nib": "lenet8.nib"},
    "docs/integer-training.md": {"model.nib": "lenet.nib", "docs": "docs"},
    "docs/mlperf.md": {"TEST01/audit.config": "audit.config"},
    "docs/onnx.md": {"quantized.onnx": "lenet8.onnx"},
    "docs/python.md": {"dist": "dist"},
    "docs/reports.md": {"runs/fp32": "digits", "runs/e4m3": "digits-e4m3"},
    "docs/training.md": {"model.nib": "resnet20.nib"},
}
