// SPDX-License-Identifier: Apache-2.0
// The manifest's layout, its round trip, and what the reader refuses.
#include "runtime/artifact/Manifest.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace accum::runtime;
using accum::Offload;
using accum::Shard;
using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

static Manifest sample() {
  Manifest manifest;
  manifest.producer = "accumc 0.1.0";
  manifest.cpuFeatures = {"avx2"};
  manifest.argv = {"accumc", "m.onnx"};
  manifest.model = "m.onnx";
  manifest.batch = 5;
  manifest.devices = 3;
  manifest.m = 2;
  manifest.optimizer = "adamw";
  InputSpec ids;
  ids.name = "ids";
  ids.dtype = ACCUM_I64;
  ids.shape = {1, 7};
  ids.batchDim = 0;
  ids.bound = 11;
  ids.ignoreIndex = -100;
  ids.synthesize = Synthesize::Iota;
  manifest.inputs = {ids};
  appendRuntimeInputs(manifest);
  ParameterSpec weight, bias, table;
  weight.onnxName = "w";
  weight.aliases = {{"w_t", true}};
  weight.shape = {7, 11};
  weight.trained = true;
  bias.onnxName = "b";
  bias.shape = {11};
  bias.trained = true;
  table.onnxName = "table";
  table.dtype = ACCUM_I64;
  table.shape = {3};
  manifest.params = {weight, bias, table};
  manifest.scalars = {{"loss", ACCUM_F64, 0}, {"targets", ACCUM_I64, 0}};
  manifest.commands = {{17, "ln_fwd", {"/h.0/ln"}}};
  manifest.separated = {{"w_t", "w", {{"y", 1}}}};
  manifest.files = {{"kernels.so", 10, "0011223344556677"}};
  EXPECT_TRUE(assignStateLayout(manifest));
  return manifest;
}

TEST(Manifest, LayoutIsInManifestOrderAndAligned) {
  Manifest manifest = sample();
  // w: 308 bytes -> 512, b: 44 -> 256, table: 24 -> 256; gradients: 768 bytes are 3 * 256.
  EXPECT_EQ(manifest.params[0].stateOffset, 0u);
  EXPECT_EQ(manifest.params[1].stateOffset, 512u);
  EXPECT_EQ(manifest.params[2].stateOffset, 768u);
  EXPECT_EQ(manifest.gradients.offset, 1024u);
  EXPECT_EQ(manifest.gradients.bytes, 768u);
  EXPECT_EQ(manifest.params[1].gradOffset, 1536u);
  EXPECT_EQ(manifest.params[0].slots[0].stateOffset, 1792u);
  EXPECT_EQ(manifest.params[1].slots[0].stateOffset, 2304u);
  EXPECT_EQ(manifest.params[0].slots[1].stateOffset, 2560u);
  EXPECT_EQ(manifest.params[1].slots[1].stateOffset, 3072u);
  EXPECT_EQ(manifest.findScalar("loss")->stateOffset, 3328u);
  EXPECT_EQ(manifest.stateBytes, 3840u);
  EXPECT_TRUE(manifest.params[0].decayDefault);
  EXPECT_FALSE(manifest.params[1].decayDefault);
}

TEST(Manifest, RangesOfTrainedParametersHaveOneOrder) {
  Manifest manifest = sample();
  std::rotate(manifest.params.begin(), manifest.params.begin() + 2,
              manifest.params.end()); // the frozen one first
  ASSERT_TRUE(assignStateLayout(manifest));
  const ParameterSpec &table = manifest.params[0], &weight = manifest.params[1], &bias = manifest.params[2];
  EXPECT_EQ(weight.stateOffset, 0u);
  EXPECT_EQ(table.stateOffset, 768u);
  EXPECT_EQ(bias.stateOffset - weight.stateOffset, 512u);
  EXPECT_EQ(bias.gradOffset - weight.gradOffset, 512u);
  for (int slot : {0, 1})
    EXPECT_EQ(bias.slots[slot].stateOffset - weight.slots[slot].stateOffset, 512u);
}

TEST(Manifest, FactoredSlotsAreSmallerThanTheirParameter) {
  Manifest manifest = sample();
  manifest.optimizer = "adafactor";
  ASSERT_TRUE(assignStateLayout(manifest));
  const ParameterSpec &weight = manifest.params[0], &bias = manifest.params[1];
  ASSERT_EQ(weight.slots.size(), 2u);
  EXPECT_EQ(weight.slots[0].shape, (std::vector<int64_t>{7, 1}));
  EXPECT_EQ(weight.slots[1].shape, (std::vector<int64_t>{1, 11}));
  EXPECT_EQ(weight.slotBytes(), 72u);
  ASSERT_EQ(bias.slots.size(), 1u);
  EXPECT_EQ(bias.slots[0].name, "v");
  EXPECT_EQ(bias.slotBytes(), bias.bytes());
  EXPECT_EQ(manifest.stateBytes, 1792u + 3 * 256 + 512);
  auto read = parseManifest(toJson(manifest), "m");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->params[0].slots[1].shape, weight.slots[1].shape);
}

TEST(Manifest, FactoredSlotsAreWholeOnEveryDevice) {
  Manifest manifest = sample();
  manifest.optimizer = "adafactor";
  manifest.devices = 2;
  manifest.shard.mode.shard = Shard::Parameters;
  manifest.shard.mode.offload = Offload::Parameters;
  manifest.shard.units = {2};
  manifest.shard.pieces = {1};
  ASSERT_TRUE(assignStateLayout(manifest));
  auto segment = [&](uint64_t offset) {
    return *std::find_if(manifest.shard.segments.begin(), manifest.shard.segments.end(), [&](auto &each) {
      return each.offset <= offset && offset < each.offset + each.bytes;
    });
  };
  for (const ParameterSpec &param : {manifest.params[0], manifest.params[1]}) {
    EXPECT_TRUE(segment(param.stateOffset).isCut && segment(param.stateOffset).isOffloaded);
    for (const SlotSpec &slot : param.slots)
      EXPECT_FALSE(segment(slot.stateOffset).isCut || segment(slot.stateOffset).isOffloaded) << slot.name;
  }
}

TEST(Manifest, ModesAreReadByTheirWords) {
  Manifest manifest = sample();
  manifest.devices = 2;
  manifest.shard.mode = {Shard::Gradients, Offload::Optimizer, true};
  manifest.shard.units = {2};
  manifest.shard.pieces = {1};
  ASSERT_TRUE(assignStateLayout(manifest));
  std::string text = toJson(manifest);
  auto read = parseManifest(text, "m");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->shard.mode, manifest.shard.mode);
  text.replace(text.find("zero2"), 5, "zero9");
  EXPECT_THAT(parseManifest(text, "m").error().message, HasSubstr("the unknown mode `zero9`"));
}

TEST(Manifest, GradientsArePaddedForEveryDevice) {
  Manifest manifest = sample();
  manifest.devices = 4;
  ASSERT_TRUE(assignStateLayout(manifest));
  EXPECT_EQ(manifest.gradients.bytes, 1024u);
}

TEST(Manifest, RoundTrip) {
  std::string text = toJson(sample());
  auto read = parseManifest(text, "manifest.json");
  ASSERT_TRUE(read) << format(read.error());
  EXPECT_EQ(toJson(*read), text);
  EXPECT_EQ(read->inputs[0].ignoreIndex, -100);
  EXPECT_EQ(read->inputs[0].synthesize, Synthesize::Iota);
  EXPECT_TRUE(read->params[0].aliases[0].transposed);
}

TEST(Manifest, OutputsHaveAFormatOfTheirOwn) {
  Manifest manifest = sample();
  manifest.outputs = {{"logits", ACCUM_BF16, {1, 3}}};
  manifest.outputsLeftOut = {{"scores", "relates samples to each other"}};
  EXPECT_THAT(parseManifest(toJson(manifest), "m").error().message,
              HasSubstr("`outputs` that no phase predicts"));
  manifest.phases.push_back(
      {.name = "prediction", .isPredict = true, .isLoop = true, .inputs = {manifest.inputs[0].name}});
  std::string text = toJson(manifest);
  EXPECT_EQ(ordered_json::parse(text)["format"], kOutputsFormat);
  auto read = parseManifest(text, "m");
  ASSERT_TRUE(read) << format(read.error());
  EXPECT_EQ(toJson(*read), text);
  EXPECT_EQ(read->outputs[0].given(), ACCUM_F32);
  EXPECT_TRUE(read->isPredictedFrom(manifest.inputs[0].name));
  EXPECT_FALSE(read->isPredictedFrom("labels"));
  manifest.outputs.clear();
  EXPECT_THAT(parseManifest(toJson(manifest), "m").error().message,
              HasSubstr("phases of a prediction without `outputs`"));
}

/// The message for the sample manifest after `edit`.
static std::string refusal(void (*edit)(ordered_json &)) {
  ordered_json json = ordered_json::parse(toJson(sample()));
  edit(json);
  auto read = parseManifest(json.dump(), "a/manifest.json");
  EXPECT_FALSE(read);
  return read ? "accepted" : format(read.error());
}

TEST(Manifest, RefusesOtherFormats) {
  EXPECT_THAT(
      refusal([](ordered_json &json) { json["format"] = 6; }),
      HasSubstr("a/manifest.json: is format 6, this runtime reads formats 3 to 5 (the artifact is newer)"));
  EXPECT_THAT(refusal([](ordered_json &json) { json.erase("format"); }), HasSubstr("no `format` number"));
}

/// Format 1 had no checksum: its age is told, not damage.
TEST(Manifest, TellsAnOlderFormatFromDamage) {
  std::string older = refusal([](ordered_json &json) {
    json["format"] = 1;
    json.erase("checksum");
  });
  EXPECT_THAT(older, HasSubstr("is format 1, this runtime reads formats 3 to 5 (the artifact is older)"));
  EXPECT_THAT(older, HasSubstr("compile the model again"));
  EXPECT_THAT(older, Not(HasSubstr("damaged")));
}

TEST(Manifest, RefusesWhatIsNotJson) {
  EXPECT_FALSE(parseManifest("", "m"));
  EXPECT_FALSE(parseManifest("{\"format\": 2", "m"));
  EXPECT_FALSE(parseManifest("[1]", "m"));
  EXPECT_FALSE(parseManifest(std::string(100000, '['), "m"));
}

TEST(Manifest, RefusesAnyOtherNumber) {
  EXPECT_THAT(refusal([](ordered_json &json) { json["commands"][0]["id"] = 3; }),
              HasSubstr("a/manifest.json: is damaged: its checksum is"));
  EXPECT_THAT(refusal([](ordered_json &json) { json.erase("checksum"); }), HasSubstr("is damaged: "));
  ordered_json json = ordered_json::parse(toJson(sample()));
  EXPECT_TRUE(parseManifest(json.dump(), "m")) << "white space does not matter";
}

/// A reader that goes deep by calling itself would end the process.
TEST(Manifest, RefusesDeepListsInUnknownKeys) {
  for (size_t depth : {60, 64, 3000000}) {
    std::string text = toJson(sample());
    text.insert(text.rfind('}'), ", \"new\": " + std::string(depth, '[') + std::string(depth, ']'));
    auto read = parseManifest(text, "m");
    ASSERT_FALSE(read);
    EXPECT_THAT(format(read.error()), depth < 64
                                          ? HasSubstr("its checksum is")
                                          : HasSubstr("more than 64 lists and objects inside each other"));
  }
  ordered_json json = ordered_json::parse(toJson(sample()));
  json["producer"] = std::string(100, '[') + "\"" + std::string(100, '{');
  EXPECT_THAT(format(parseManifest(json.dump(), "m").error()), HasSubstr("its checksum is")) << "quoted";
}

TEST(Manifest, RefusesNumbersThatItCannotHold) {
  EXPECT_THAT(refusal([](ordered_json &json) { json["m"] = 2.0; }),
              HasSubstr("`m` is not an integer of 64 bits"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["batch"] = UINT64_MAX; }),
              HasSubstr("`batch` is not an integer of 64 bits"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["inputs"][0]["bound"] = 1e300; }),
              HasSubstr("`bound` is not an integer of 64 bits"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["inputs"][0]["shape"][1] = true; }),
              HasSubstr("`shape` is not an integer of 64 bits"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["inputs"][0]["shape"] = {{"a", 7}}; }),
              HasSubstr("`shape` is not a list"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["abi"] = (int64_t(1) << 32) + ACCUM_ABI_VERSION; }),
              HasSubstr("`abi` is not an integer of 32 bits"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["commands"][0]["id"] = -1; }),
              HasSubstr("`id` is not an integer of 32 bits"));
}

TEST(Manifest, RefusesSizesThatWouldOverflow) {
  EXPECT_THAT(refusal([](ordered_json &json) { json["batch"] = INT64_MAX; }),
              HasSubstr("`batch` or `devices` is impossibly large"));
  EXPECT_THAT(refusal([](ordered_json &json) {
                json["batch"] = int64_t(1) << 40;
                json["devices"] = (int64_t(1) << 32) + 3;
              }),
              HasSubstr("`batch` or `devices` is impossibly large"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["batch"] = int64_t(1) << 50; }),
              HasSubstr("takes more micro-steps than a program counts"));
  EXPECT_THAT(refusal([](ordered_json &json) {
                json["batch"] = json["m"] = int64_t(1) << 40;
                json["devices"] = 1;
                json["inputs"][0]["shape"] = {1, int64_t(1) << 40};
              }),
              HasSubstr("the inputs of a micro-step take more than 2^56 bytes"));
  for (int64_t bound : {int64_t(0), int64_t(-3), INT64_MAX}) {
    Manifest manifest = sample();
    manifest.inputs[0].bound = bound;
    auto read = parseManifest(toJson(manifest), "m");
    EXPECT_THAT(read ? "accepted" : format(read.error()), HasSubstr("input `ids` has an impossible `bound`"));
  }
}

TEST(Manifest, RefusesContradictions) {
  EXPECT_THAT(refusal([](ordered_json &json) { json["params"][0]["state_offset"] = 1 << 20; }),
              HasSubstr("`w` ends outside the state"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["params"][1]["state_offset"] = 256; }),
              HasSubstr("`b` overlaps `w`"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["params"][1]["state_offset"] = -256; }),
              HasSubstr("`state_offset` is not a number of bytes"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["params"][0]["grad_offset"] = 0; }),
              HasSubstr("the gradient of `w` is outside the gradients"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["inputs"].erase(1); }),
              HasSubstr("`valid` and `first_row`"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["params"][0]["shape"] = {1ll << 40, 1ll << 40}; }),
              HasSubstr("`w` has an impossible shape"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["optimizer"] = "sgd"; }),
              HasSubstr("other optimizer slots"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["optimizer"] = "adamw2"; }),
              HasSubstr("unknown optimizer `adamw2`"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["params"][0]["slots"][0]["shape"] = {7, 1}; }),
              HasSubstr("other optimizer slots"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["m"] = 3; }),
              HasSubstr("larger than the per-device batch"));
  EXPECT_THAT(refusal([](ordered_json &json) { json["files"][0]["name"] = "../x"; }),
              HasSubstr("leaves the artifact"));
}
