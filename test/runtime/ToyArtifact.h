// SPDX-License-Identifier: Apache-2.0
// Writes toy artifacts and their data, and trains the same model in one plain double-precision loop.
#ifndef ACCUM_TEST_TOYARTIFACT_H
#define ACCUM_TEST_TOYARTIFACT_H

#include "runtime/artifact/Manifest.h"
#include "runtime/data/Epochs.h"
#include "runtime/session/Hyper.h"
#include "test/runtime/toy/ToyModel.h"

namespace accum::test {

struct ToyOptions {
  int64_t batch = 5, devices = 1, m = 2;
  std::string optimizer = "sgd";
  bool isDouble = true;
  std::string target = "host";
  ToyConfig config{}; ///< misbehaviour; sizes and offsets are filled in
  std::vector<std::string> cpuFeatures = {};
};

/// Empties and makes a folder for one test.
std::string freshFolder(const std::string &name);

/// FOLDER/toy.accum with seeded initial parameters; returns its path. params.safetensors is f32.
std::string writeToyArtifact(const std::string &folder, const ToyOptions &options);

/// Writes the manifest again after `edit`; the files' checksums are taken anew.
void editManifest(const std::string &artifact, void (*edit)(runtime::Manifest &));

struct ToyData {
  int64_t samples = 0;
  std::vector<double> x, t; ///< x: [samples, features], f32 values
  std::vector<int64_t> ids, mask;
};

/// Seeded samples; some ids are ignored, some masked.
ToyData makeToyData(int64_t samples);

/// FOLDER/data.safetensors: x, t as f32, ids as i64, mask as i32; returns its path.
std::string writeToyData(const std::string &folder, const ToyData &data);

/// Parameters, and what the last step left.
struct ToyState {
  std::vector<double> w, e, dw, de;
  double b = 0, db = 0, loss = 0;
  int64_t targets = 0;
};

struct ToyRun {
  uint64_t steps = 1;
  bool shuffle = false, dropLast = false;
  uint64_t seed = 0;
  std::vector<runtime::BatchChange> batches = {}; ///< instead of the one of ToyOptions
  runtime::HyperOptions hyper = {};
  double (*factor)(uint64_t step) = nullptr; ///< of the learning rate
};

/// Full-batch training by PyTorch's formulas, nothing cut into micro-batches or ranks.
ToyState trainReference(const ToyOptions &options, const ToyData &data, const ToyRun &run);

} // namespace accum::test
#endif
