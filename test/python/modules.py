# SPDX-License-Identifier: Apache-2.0
"""One step of a module beside PyTorch's in f64, on the undivided batch."""
import copy

import torch

import accum


def rows(count, *shape, seed=0):
    return torch.randn(count, *shape, generator=torch.Generator().manual_seed(seed))


def classes(count, among=3, seed=1):
    return torch.randint(among, (count,), generator=torch.Generator().manual_seed(seed))


def trainer(module, batch, **options):
    samples = len(next(iter(batch.values())) if isinstance(batch, dict) else batch[0])
    return accum.Trainer(module, batch, batch=samples, memory="1GiB", optimizer="sgd", lr=0.01, **options)


def wide(value):
    return value.double() if value.is_floating_point() else value


def expected(module, batch, loss=None):
    """(loss, gradients by name); loss: of the module and its batch, by default what the module returns."""
    module = copy.deepcopy(module).double()
    batch = {name: wide(value) for name, value in batch.items()} if isinstance(batch, dict) else tuple(map(wide, batch))
    value = loss(module, batch) if loss else module(**batch) if isinstance(batch, dict) else module(*batch)
    value.backward()
    return value.item(), {name: each.grad for name, each in module.named_parameters() if each.grad is not None}


def check_step(module, batch, own=None, sizes=(2,), tolerance=1e-4, **options):
    """Loss and gradients of one step, cut into micro-batches. own: the loss as PyTorch computes it, of (module, batch)."""
    loss, gradients = expected(module, batch, own)
    for size in sizes:
        with trainer(copy.deepcopy(module), batch, **({"micro_batch": size} if size else {}), **options) as run:
            assert abs(run.step(batch).loss - loss) <= 1e-5 * abs(loss)
            found = run.gradients()
            for name, wanted in gradients.items():
                difference = (torch.tensor(found[name]).double() - wanted).abs().max()
                assert difference <= tolerance * wanted.abs().max() + 1e-9, (name, size)
    return run
