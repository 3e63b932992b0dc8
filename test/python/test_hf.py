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
    assert [each["learning_rate"] for each in out.log_history] == pytest.approx([line["learning_rate"] for line in lines])
    assert [each["grad_norm"] for each in out.log_history] == pytest.approx([line["grad_norm"] for line in lines], rel=1e-3)
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
                                         ("neftune_noise_alpha", 5.0), ("optim", "adafactor"),
                                         ("load_best_model_at_end", True)])
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
