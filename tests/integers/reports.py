# SPDX-License-Identifier: Apache-2.0
"""What is reported of answers, as docs/integer-training.md has it: losses in f64, classes, the best five."""

import math

import numpy as np
from laws import clamp, to_nearest

BATCH = 256  # of an evaluation by shifts of batches


def losses_of(answers, expected, loss):
    """Of each image: answers (mantissas, exponent), labels (n) or targets (n, k), the loss node's operation."""
    values = answers.mantissas.reshape(len(expected), -1) * 2.0**answers.exponent
    if loss == "softmax_cross_entropy":
        return [math.log(sum(math.exp(v - max(row)) for v in row)) - (row[label] - max(row))
                for row, label in zip(values.tolist(), expected)]
    if expected.ndim == 1:
        expected = np.eye(values.shape[1])[expected]
    targets = clamp(to_nearest(np.float64(expected) * 2**16), 2**31 - 1) * 2.0**-16
    return [sum((y - t) ** 2 / 2 for y, t in zip(row, wanted)) for row, wanted in zip(values.tolist(), targets.tolist())]


def classes_of(answers, labels):
    """(confusion [label, answer], how many labels are among the best five); of equal answers the lowest class is before."""
    mantissas = answers.mantissas.reshape(len(labels), -1)
    confusion = np.zeros((mantissas.shape[1],) * 2, int)
    np.add.at(confusion, (labels, mantissas.argmax(axis=1)), 1)
    order = np.argsort(-mantissas, axis=1, kind="stable")[:, :5]
    return confusion, int((order == labels[:, None]).any(axis=1).sum())


def report_of(parts, labels, loss):
    """As `nibble eval --json` prints it, of the answers to parts of the images, one after another."""
    confusion, best_five, total, begin = 0, 0, 0.0, 0
    for answers in parts:
        of_part = labels[begin:begin + len(answers.mantissas)]
        begin += len(of_part)
        right, among = classes_of(answers, of_part)
        confusion, best_five = confusion + right, best_five + among
        for each in losses_of(answers, of_part, loss):
            total += each
    correct = int(np.trace(confusion))
    return {"images": begin, "correct": correct, "top1": correct / begin, "top5": best_five / begin, "loss": total / begin,
            "confusion": confusion.tolist()}
