"""How the protocol behind a published figure can differ from ours: which differences forbid a comparison, and which are only told."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """``short`` stands in a table, ``meaning`` explains it once; ``forbids`` says that the figures are not of the same thing."""

    short: str
    forbids: bool
    meaning: str


DIFFERENCES: dict[str, Difference] = {
    # not of the same thing
    "no_wait": Difference("no wait", True, "the clock stops before the device has finished"),
    "data_loading": Difference("data loading", True, "the clock contains reading and preparing data, which can be what takes the time"),
    "evaluation": Difference("evaluation", True, "the clock contains an evaluation"),
    "start_up": Difference("start-up", True, "the clock contains start or compilation to a notable part"),
    "other_work": Difference("other work", True, "a step does other work than one of the workload"),
    "unknown_input": Difference("input not stated", True, "the shape of the input is not stated"),
    "unknown_precision": Difference("precision not stated", True, "the precision is not stated, and the device has several that are usual"),
    "threads": Difference("threads", True, "the processor's threads were limited"),
    "memory_short": Difference("short of memory", True, "the machine was short of memory and swapped"),
    "doubtful": Difference("doubtful", True, "the source or its readers doubt the figure itself"),
    # told, and small beside the tolerance
    "data_overlap": Difference("data loaded meanwhile", False, "other processes load data while the device, which is slower, works"),
    "host_copy": Difference("copies batches", False, "batches in memory are copied to the device within the clock"),
    "loss_read": Difference("loss read", False, "the loss is read back in every step"),
    "wait_each": Difference("waits each call", False, "the device is waited for after each call"),
    "wait_unknown": Difference("wait not stated", False, "whether the clock waits for the device is not stated"),
    "first_step": Difference("first step within", False, "the first step is in the clock, one among hundreds"),
    "form": Difference("form", False, "the network has another form, whose operations are nearly as many"),
    "head": Difference("outputs", False, "the last layer has another number of outputs"),
    "vocabulary": Difference("vocabulary", False, "the vocabulary has another size"),
    "dropout_off": Difference("no dropout", False, "dropout was off"),
    "optimizer": Difference("optimizer", False, "another optimizer made the updates"),
    "precision_assumed": Difference("precision assumed", False, "the precision is not stated; it is the only one usual there"),
    "framework_layer": Difference("another layer above", False, "the framework was used through another library"),
}
