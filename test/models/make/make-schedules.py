#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make-schedules.py > ../../runtime/schedules.csv: factors of the learning rate by torch.optim.lr_scheduler and transformers, for runs
of S steps with w of warm-up, as accum-run counts them: 1 at step w, the floor in the last step.

Warm-up, linear and cosine are torch's LinearLR and CosineAnnealingLR; inverse-sqrt and wsd are transformers'
get_inverse_sqrt_schedule and get_wsd_schedule."""
import torch
import transformers
from torch.optim import lr_scheduler as torch_schedules

CASES = [(kind, steps, warmup, floor, decay)
         for steps, warmup, floor in [(50, 0, 0.0), (50, 10, 0.1), (200, 7, 0.0), (37, 1, 0.25), (12, 3, 1.0), (11, 10, 0.5)]
         for kind, decay in [("constant", 0), ("linear", 0), ("cosine", 0), ("inverse-sqrt", 0), ("wsd", 5)]
         if warmup + decay < steps and not (kind == "inverse-sqrt" and floor > 0) and not (kind == "constant" and floor > 0)]


def optimizer():
    return torch.optim.SGD([torch.zeros(1, dtype=torch.float64, requires_grad=True)], lr=1.0)


def factors(make, count):
    adam = optimizer()
    schedule, found = make(adam), []
    for _ in range(count):
        found.append(adam.param_groups[0]["lr"])
        adam.step()
        schedule.step()
    return found


def falling(kind, steps, warmup, floor, decay):
    """From step `warmup` on."""
    last, left = steps - 1 - warmup, steps - warmup
    if kind == "constant" or last == 0:
        return [1.0] * left
    if kind == "linear":
        return factors(lambda o: torch_schedules.LinearLR(o, start_factor=1.0, end_factor=floor, total_iters=last), left)
    if kind == "cosine":
        return factors(lambda o: torch_schedules.CosineAnnealingLR(o, T_max=last, eta_min=floor), left)
    if kind == "inverse-sqrt":
        return factors(lambda o: transformers.get_inverse_sqrt_schedule(o, num_warmup_steps=warmup), steps)[warmup:]
    return factors(lambda o: transformers.get_wsd_schedule(o, num_warmup_steps=0, num_decay_steps=decay, num_stable_steps=last - decay,
                                                           decay_type="linear", min_lr_ratio=floor), left)


def main():
    print("kind,steps,warmup,floor,decay,step,factor")
    for case in CASES:
        kind, steps, warmup, floor, decay = case
        rising = factors(lambda o: torch_schedules.LinearLR(o, start_factor=1 / warmup, end_factor=1.0, total_iters=max(warmup - 1, 1)),
                         warmup) if warmup else []
        for step, factor in enumerate(rising + falling(*case)):
            if step % 3 == 0 or abs(step - warmup) < 3 or step > steps - 4:
                print(f"{kind},{steps},{warmup},{floor},{decay},{step},{factor!r}")


if __name__ == "__main__":
    main()
