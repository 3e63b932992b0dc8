// SPDX-License-Identifier: Apache-2.0
// Samples from the page cache into the buffers of a micro-step: tokens with labels, and pictures. Bytes are
// those that arrive in the buffers.
#include "runtime/data/Feed.h"
#include "runtime/files/SafetensorsWriter.h"
#include <benchmark/benchmark.h>
#include <filesystem>
#include <fstream>

using namespace accum::runtime;

namespace {

InputSpec input(const std::string &name, DType dtype, std::vector<int64_t> shape) {
  InputSpec spec;
  spec.name = name;
  spec.dtype = dtype;
  spec.shape = std::move(shape);
  spec.batchDim = 0;
  return spec;
}

/// A micro-step of 32 samples, shuffled, again and again.
void feedAll(benchmark::State &state, Manifest &manifest, Expected<Dataset> data) {
  manifest.batch = manifest.m = 32;
  appendRuntimeInputs(manifest);
  manifest.phases = {{.name = "micro", .isLoop = true, .addsGradients = true}};
  for (const InputSpec &spec : manifest.inputs)
    manifest.phases[0].inputs.push_back(spec.name);
  if (!data)
    return state.SkipWithError(data.error().message.c_str());
  Feed feed(std::move(*data), {.shuffle = true, .dropLast = true, .seed = 1});
  std::vector<uint8_t> block(Staging::bytesFor(manifest));
  Staging staging;
  staging.place(manifest, block.data());
  Epochs epochs(feed.samples(), manifest.batch, true);
  uint64_t step = 0;
  int64_t bytes = 0;
  for (auto _ : state) {
    feed.select(epochs.at(step++));
    bytes += int64_t(feed.fill(staging, Share(32, 32, 1, 0), {0, 0, 1}, block.data()));
  }
  state.SetBytesProcessed(bytes);
  if (!feed.health())
    state.SkipWithError(feed.health().error().message.c_str());
}

void tokens(benchmark::State &state) {
  std::string path = std::filesystem::temp_directory_path() / "accum-bench-tokens.bin";
  std::ofstream(path, std::ios::binary) << std::string(64 << 20, '\1');
  Manifest manifest;
  manifest.labels = "cross-entropy";
  manifest.inputs = {input("input_ids", ACCUM_I64, {1, 1024}), input("labels", ACCUM_I64, {1, 1024})};
  manifest.inputs[0].bound = 50257;
  manifest.inputs.reserve(8); // columns point to the inputs
  auto files = readData({path}, "u16");
  feedAll(state, manifest, files ? Dataset::fromFiles(manifest, std::move(*files), {}) : files.error());
  std::filesystem::remove(path);
}

void pictures(benchmark::State &state) {
  std::string path = std::filesystem::temp_directory_path() / "accum-bench-pictures.safetensors";
  std::vector<float> values(size_t(100) * 3 * 224 * 224, 0.5F);
  Status written = writeSafetensors(
      path, {{"pixels", reinterpret_cast<uint8_t *>(values.data()), ACCUM_F32, {100, 3, 224, 224}}}, false);
  Manifest manifest;
  manifest.inputs = {input("pixels", ACCUM_F32, {1, 3, 224, 224})};
  manifest.inputs.reserve(8);
  auto files = written ? readData({path}, "") : Expected<DataFiles>(written.error());
  feedAll(state, manifest, files ? Dataset::fromFiles(manifest, std::move(*files), {}) : files.error());
  std::filesystem::remove(path);
}

} // namespace

BENCHMARK(tokens);
BENCHMARK(pictures);
BENCHMARK_MAIN();
