# SPDX-License-Identifier: Apache-2.0
"""accum.hf.train (oracle: transformers.Trainer with the same arguments over the same data set: losses within 1e-4)."""
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("onnxscript")

import accum  # noqa: E402
import accum.hf  # noqa: E402

from test_torch import LENGTH, SIZES, VOCABULARY  # noqa: E402


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))


def bert():
    return transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=VOCABULARY, max_position_embeddings=32, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
        num_labels=4, **SIZES))


def seeded(build):
    torch.manual_seed(0)
    return build()


def texts(build, count=50):
    random = torch.Generator().manual_seed(2)
    samples = []
    for _ in range(count):
        tokens = torch.randint(3, VOCABULARY, (LENGTH,), generator=random)
        labels = tokens.clone() if build is gpt2 else torch.randint(4, (), generator=random)
        samples.append({"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": labels})
    return samples


def arguments(folder, **more):
    return transformers.TrainingArguments(output_dir=str(folder), per_device_train_batch_size=4, report_to=[],
                                          disable_tqdm=True, use_cpu=True, save_strategy="no", logging_steps=1,
                                          **more)


@pytest.mark.parametrize("build, more", [
    (gpt2, dict(gradient_accumulation_steps=3, num_train_epochs=2, learning_rate=3e-3, warmup_steps=2, weight_decay=0.1,
                lr_scheduler_type="cosine")),
    (bert, dict(gradient_accumulation_steps=1, max_steps=20, learning_rate=2e-3, max_grad_norm=0.5, optim="adamw_torch",
                dataloader_drop_last=True)),
    (gpt2, dict(gradient_accumulation_steps=1, max_steps=10, learning_rate=3e-3, label_smoothing_factor=0.1)),
    (bert, dict(gradient_accumulation_steps=1, max_steps=10, learning_rate=2e-3, label_smoothing_factor=0.3)),
])
def test_losses_are_those_of_the_trainer(build, more, tmp_path):
    data, theirs, module = texts(build), seeded(build), seeded(build)
    trainer = transformers.Trainer(model=theirs, args=arguments(tmp_path, **more), train_dataset=data)
    trainer.train()
    lines = [line for line in trainer.state.log_history if "loss" in line]
    out = accum.hf.train(module, data, arguments(tmp_path, **more), micro_batch=2)
    assert out.global_step == trainer.state.global_step == len(lines)
    # transformers rounds neither, but logs the mean over devices in float32
    assert [each.loss for each in out.metrics] == pytest.approx([line["loss"] for line in lines], rel=1e-4)
    ours = [line for line in out.log_history if "loss" in line]
    for name, accuracy in (("loss", 1e-4), ("learning_rate", 1e-6), ("grad_norm", 1e-3), ("epoch", 1e-6), ("step", 0)):
        assert [line[name] for line in ours] == pytest.approx([line[name] for line in lines], rel=accuracy), name
    assert out.log_history[-1]["train_loss"] == pytest.approx(trainer.state.log_history[-1]["train_loss"], rel=1e-4)
    for (name, own), other in zip(module.named_parameters(), theirs.parameters()):
        assert torch.allclose(own, other, atol=1e-3), name


def test_evaluations_come_where_they_are_due(tmp_path):
    data, module = texts(gpt2), seeded(gpt2)
    args = arguments(tmp_path, max_steps=4, learning_rate=1e-3, eval_strategy="steps", eval_steps=2)
    found = accum.hf.train(module, data, args, eval_dataset=data[:10])
    evaluations = [line for line in found.log_history if "eval_loss" in line]
    assert [line["step"] for line in evaluations] == [2, 4]
    trainer = transformers.Trainer(model=module, args=args, train_dataset=data, eval_dataset=data[:10])
    assert evaluations[1]["eval_loss"] == pytest.approx(trainer.evaluate()["eval_loss"], rel=1e-4)


def accuracy_of(prediction):
    scores, labels = prediction
    return {"right": float((scores == labels).mean())}


def looker(kinds):
    class Looker(transformers.TrainerCallback):
        """Notes what it is told."""

        def __init__(self):
            self.told = []

    for kind in kinds:
        def note(self, args, state, control, kind=kind, **_):
            self.told.append((kind, state.global_step, round(state.epoch, 4)))
        setattr(Looker, kind, note)
    return Looker()


def test_metrics_callbacks_and_logs_are_those_of_the_trainer(tmp_path):
    """Every event comes when the Trainer's comes, with its step and epoch, and compute_metrics has its numbers."""
    kinds = ("on_train_begin", "on_epoch_begin", "on_step_begin", "on_step_end", "on_epoch_end", "on_log", "on_evaluate", "on_train_end")
    data = texts(bert, 20)
    told, lines = [], []
    more = dict(num_train_epochs=2, gradient_accumulation_steps=1, learning_rate=5e-3, eval_strategy="steps", eval_steps=4)
    shared = dict(eval_dataset=data[:10], compute_metrics=accuracy_of,
                  preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1))
    for is_ours in (False, True):
        own = looker(kinds)
        args = arguments(tmp_path, **more)
        args.logging_steps = 2
        args.logging_first_step = True
        if is_ours:
            history = accum.hf.train(seeded(bert), data, args, callbacks=[own], **shared).log_history
        else:
            trainer = transformers.Trainer(seeded(bert), args, train_dataset=data, callbacks=[own], **shared)
            trainer.train()
            history = trainer.state.log_history
        told.append(own.told)
        lines.append([{name: line[name] for name in ("loss", "eval_loss", "eval_right", "step", "epoch") if name in line} for line in history])
    assert sorted(told[0]) == sorted(told[1])
    assert [sorted(line) for line in lines[0]] == [sorted(line) for line in lines[1]]
    for theirs, ours in zip(*lines):
        assert ours == pytest.approx(theirs, rel=2e-3), (theirs, ours)


def test_the_best_weights_are_loaded_and_a_run_may_stop_early(tmp_path):
    data = texts(bert, 20)
    seen = {}

    def judged(prediction):
        seen[len(seen)] = {name: value.clone() for name, value in module.state_dict().items()}
        return {"mark": [3.0, 5.0, 4.0, 1.0, 7.0][len(seen) - 1]}

    module = seeded(bert)
    args = arguments(tmp_path, max_steps=5, learning_rate=1e-2, eval_strategy="steps", eval_steps=1,
                     metric_for_best_model="mark", greater_is_better=True)
    args.load_best_model_at_end = True
    out = accum.hf.train(module, data, args, eval_dataset=data[:8], compute_metrics=judged,
                         callbacks=[transformers.EarlyStoppingCallback(early_stopping_patience=2)])
    assert out.global_step == 4 and len(seen) == 4  # 4.0 and 1.0 were no better
    for name, value in module.state_dict().items():
        assert torch.equal(value, seen[1][name]), name
    assert any(not torch.equal(value, seen[3][name]) for name, value in module.state_dict().items())


def test_report_to_writes_what_it_names(tmp_path):
    pytest.importorskip("tensorboard")
    args = arguments(tmp_path, max_steps=2, learning_rate=1e-3)
    args.report_to = ["tensorboard"]
    accum.hf.train(seeded(bert), texts(bert, 10), args)
    assert list(tmp_path.rglob("events.out.tfevents*"))


def test_a_callback_between_backward_and_update_is_refused(tmp_path):
    with pytest.raises(accum.UnsupportedError, match="Looker: on_optimizer_step has no meaning here"):
        accum.hf.train(seeded(bert), texts(bert), arguments(tmp_path), callbacks=[looker(["on_optimizer_step"])])


def test_a_resumed_run_has_the_same_bits(tmp_path):
    """Also inside an epoch, whose order goes on."""
    def run(steps, folder, **more):
        args = arguments(tmp_path / folder, max_steps=steps, learning_rate=1e-3, lr_scheduler_type="constant", **more)
        if folder == "cut":
            args.save_strategy = transformers.trainer_utils.SaveStrategy("steps")
        return [(each.step, each.loss) for each in accum.hf.train(seeded(gpt2), texts(gpt2, 20), args).metrics]

    whole = run(7, "whole")
    assert run(3, "cut") == whole[:3]
    assert run(7, "cut", resume_from_checkpoint=True) == whole[3:]


@pytest.mark.parametrize("name, value", [("fp16_full_eval", True),
                                         ("neftune_noise_alpha", 5.0), ("optim", "adafactor")])
def test_what_has_no_meaning_is_refused(name, value, tmp_path):
    args = arguments(tmp_path)
    setattr(args, name, value)
    with pytest.raises(accum.UnsupportedError, match=name) as caught:
        accum.hf.train(seeded(bert), texts(bert), args)
    assert caught.value.exit_code == 2


def test_several_processes_are_refused(tmp_path, monkeypatch):
    """Their loaders would deal out samples by another rule."""
    args = arguments(tmp_path)
    for name, value in dict(RANK="0", WORLD_SIZE="2", MASTER_ADDR="localhost").items():
        monkeypatch.setenv(name, value)
    with pytest.raises(accum.UnsupportedError, match="for one process") as caught:
        accum.hf.train(seeded(bert), texts(bert), args)
    assert "accum.Trainer" in caught.value.notes[0]
