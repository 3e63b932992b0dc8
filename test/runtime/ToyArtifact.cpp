// SPDX-License-Identifier: Apache-2.0
// The toy artifact's files.
#include "test/runtime/ToyArtifact.h"
#include "runtime/files/File.h"
#include "runtime/files/SafetensorsWriter.h"
#include "test/runtime/ToyValues.h"
#include <filesystem>
#include <fstream>

namespace accum::test {

namespace fs = std::filesystem;
using namespace accum::runtime;

namespace {

InputSpec inputOf(const std::string &name, DType dtype, std::vector<int64_t> shape, int64_t batchDim) {
  InputSpec input;
  input.name = name;
  input.dtype = dtype;
  input.shape = std::move(shape);
  input.batchDim = batchDim;
  return input;
}

ParameterSpec parameterOf(const std::string &name, DType dtype, std::vector<int64_t> shape, bool trained) {
  ParameterSpec param;
  param.onnxName = name;
  param.dtype = dtype;
  param.shape = std::move(shape);
  param.trained = trained;
  return param;
}

/// The kernels of kernels.so, as a GPU's artifact lists them.
std::vector<KernelSpec> kernelsOf() {
  struct Entry {
    const char *name;
    uint32_t args;
  };
  std::vector<KernelSpec> specs;
  for (Entry entry : {Entry{"count", 5},
                      {"residual_f32", 13},
                      {"residual_f64", 13},
                      {"scatter_f32", 6},
                      {"scatter_f64", 6},
                      {"update_f32", 3},
                      {"update_f64", 3},
                      {"poison_f32", 1},
                      {"poison_f64", 1}})
    specs.push_back({entry.name, entry.name, {1, 1, 1}, {32, 1, 1}, 0, entry.args});
  return specs;
}

/// Entries without bodies: all that the fake driver reads.
void writePtx(const std::string &path) {
  std::ofstream file(path);
  file << ".version 7.0\n.target sm_80\n.address_size 64\n";
  for (const KernelSpec &spec : kernelsOf()) {
    file << ".visible .entry " << spec.symbol << "(";
    for (uint32_t i = 0; i < spec.args; ++i)
      file << (i ? ", " : "") << ".param .u64 p" << i;
    file << ")\n{\n  ret;\n}\n";
  }
}

Manifest makeManifest(const ToyOptions &options) {
  Manifest manifest;
  manifest.producer = "toy 1";
  manifest.target = options.target;
  if (options.target == "cuda")
    manifest.kernels = kernelsOf();
  manifest.cpuFeatures = options.cpuFeatures;
  manifest.argv = {"accumc", "toy.onnx"};
  manifest.model = "toy.onnx";
  manifest.modelHash = "0000";
  manifest.batch = options.batch;
  manifest.devices = options.devices;
  manifest.m = options.m;
  manifest.optimizer = options.optimizer;
  DType real = options.isDouble ? ACCUM_F64 : ACCUM_F32;
  manifest.inputs = {inputOf("x", real, {kFeatures, 1}, 1), inputOf("ids", ACCUM_I64, {1, kWords}, 0),
                     inputOf("mask", ACCUM_I64, {1, kWords}, 0), inputOf("t", real, {1}, 0)};
  manifest.inputs[kIds].bound = kVocabulary;
  manifest.inputs[kIds].ignoreIndex = kIgnored;
  manifest.inputs[kMask].synthesize = Synthesize::Ones;
  std::vector<std::string> all;
  for (const InputSpec &input : manifest.inputs)
    all.push_back(input.name);
  for (bool isEval : {false, true}) {
    manifest.phases.push_back({.name = "pre-pass", .isEval = isEval, .isLoop = true, .inputs = all});
    manifest.phases.push_back({.name = isEval ? "evaluation" : "micro",
                               .isEval = isEval,
                               .isLoop = true,
                               .addsGradients = !isEval,
                               .inputs = all});
  }
  appendRuntimeInputs(manifest);
  manifest.params = {parameterOf("w", real, {kFeatures, 1}, true),
                     parameterOf("e", real, {kVocabulary}, true), parameterOf("b", real, {1}, true),
                     parameterOf("scale", real, {1}, false)};
  manifest.params[0].aliases = {{"onnx::MatMul_7", true}};
  manifest.scalars = {{"loss", ACCUM_F64, 0}, {"targets", ACCUM_I64, 0}};
  manifest.commands = {{0, "count", {}},   {1, "gemm", {"/predict/MatMul"}}, {2, "residual", {"/loss/Sub"}},
                       {3, "scatter", {}}, {4, "gemm", {"/predict/MatMul"}}, {5, "update", {}},
                       {6, "poison", {}}};
  (void)assignStateLayout(manifest);
  return manifest;
}

ToyConfig makeConfig(const Manifest &manifest, const ToyOptions &options) {
  ToyConfig config = options.config;
  const auto &params = manifest.params;
  config.stateBytes = manifest.stateBytes;
  config.scratchBytes = 3 * (uint64_t(options.m) * 8 + 64);
  config.w = params[0].stateOffset;
  config.e = params[1].stateOffset;
  config.b = params[2].stateOffset;
  config.scale = params[3].stateOffset;
  config.dw = params[0].gradOffset;
  config.de = params[1].gradOffset;
  config.db = params[2].gradOffset;
  for (int p = 0; p < 3; ++p)
    for (size_t slot = 0; slot < params[p].slots.size(); ++slot)
      config.slots[slot][p] = params[p].slots[slot].stateOffset;
  config.gradients = manifest.gradients.offset;
  config.gradientBytes = manifest.gradients.bytes;
  config.loss = manifest.findScalar("loss")->stateOffset;
  config.targets = manifest.findScalar("targets")->stateOffset;
  config.m = uint32_t(options.m);
  config.devices = uint32_t(options.devices);
  config.isDouble = options.isDouble;
  config.optimizer = options.optimizer == "sgd"            ? kSgd
                     : options.optimizer == "sgd-momentum" ? kMomentum
                     : options.optimizer == "adam"         ? kAdam
                                                           : kAdamW;
  config.onHost = options.target == "host";
  if (config.abi == 0)
    config.abi = ACCUM_ABI_VERSION;
  if (options.config.nanStep == 0)
    config.nanStep = -1;
  return config;
}

void writeManifest(const std::string &artifact, Manifest &manifest) {
  manifest.files.clear();
  for (const char *name :
       {"kernels.so", "kernels.ptx", "kernels.sm_90.cubin", "params.safetensors", "program.so", "toy.config"})
    if (fs::exists(artifact + "/" + name))
      manifest.files.push_back(
          {name, fs::file_size(artifact + "/" + name), *hashFile(artifact + "/" + name)});
  std::ofstream(artifact + "/manifest.json") << toJson(manifest);
}

void writeParameters(const std::string &artifact) {
  ToyState start = startState();
  std::vector<float> w(start.w.begin(), start.w.end()), e(start.e.begin(), start.e.end());
  float b = float(start.b), scale = float(kScale);
  auto raw = [](const float *data) { return reinterpret_cast<const uint8_t *>(data); };
  (void)writeSafetensors(artifact + "/params.safetensors",
                         {{"w", raw(w.data()), ACCUM_F32, {kFeatures, 1}},
                          {"e", raw(e.data()), ACCUM_F32, {kVocabulary}},
                          {"b", raw(&b), ACCUM_F32, {1}},
                          {"scale", raw(&scale), ACCUM_F32, {1}}},
                         false);
}

} // namespace

std::string freshFolder(const std::string &name) {
  std::string folder = ACCUM_TEST_FOLDER "/" + name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

std::string writeToyArtifact(const std::string &folder, const ToyOptions &options) {
  std::string artifact = folder + "/toy.accum";
  fs::create_directories(artifact);
  auto over = fs::copy_options::overwrite_existing;
  fs::copy_file(TOY_PROGRAM, artifact + "/program.so", over);
  fs::copy_file(TOY_KERNELS, artifact + "/kernels.so", over);
  if (options.target == "cuda")
    writePtx(artifact + "/kernels.ptx");
  writeParameters(artifact);
  Manifest manifest = makeManifest(options);
  ToyConfig config = makeConfig(manifest, options);
  std::ofstream(artifact + "/toy.config", std::ios::binary)
      .write(reinterpret_cast<char *>(&config), sizeof config);
  writeManifest(artifact, manifest);
  return artifact;
}

void editManifest(const std::string &artifact, void (*edit)(Manifest &)) {
  auto text = readText(artifact + "/manifest.json", 1 << 20);
  auto manifest = parseManifest(*text, "manifest.json");
  edit(*manifest);
  writeManifest(artifact, *manifest);
}

std::string writeToyData(const std::string &folder, const ToyData &data) {
  std::string path = folder + "/data.safetensors";
  std::vector<float> x(data.x.begin(), data.x.end()), t(data.t.begin(), data.t.end());
  std::vector<int32_t> mask(data.mask.begin(), data.mask.end());
  auto raw = [](const auto &values) { return reinterpret_cast<const uint8_t *>(values.data()); };
  (void)writeSafetensors(path,
                         {{"x", raw(x), ACCUM_F32, {data.samples, kFeatures}},
                          {"ids", raw(data.ids), ACCUM_I64, {data.samples, kWords}},
                          {"mask", raw(mask), ACCUM_I32, {data.samples, kWords}},
                          {"t", raw(t), ACCUM_F32, {data.samples}}},
                         false);
  return path;
}

} // namespace accum::test
