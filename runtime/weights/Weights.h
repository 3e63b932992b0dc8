// SPDX-License-Identifier: Apache-2.0
// The parameters of an open artifact: from files, into files, and by name.
#ifndef ACCUM_RUNTIME_WEIGHTS_WEIGHTS_H
#define ACCUM_RUNTIME_WEIGHTS_WEIGHTS_H

#include "runtime/accum_runtime.h"
#include "runtime/device/Opened.h"
#include "runtime/files/SafetensorsWriter.h"
#include "runtime/weights/InitialWeights.h"
#include <set>

namespace accum::runtime {

/// The file of an artifact that parameters are read from.
constexpr const char *kWeights = "params.safetensors";

/// What parameters a run begins with.
struct StartingWeights {
  std::optional<uint64_t> seed; ///< they are drawn
  bool awaits = false;          ///< `init` or `resume` follows, and the artifact's own may be gone
};

/// Trained parameters on their way into a file.
struct WeightsToSave {
  std::string path, names;
  std::optional<DType> stored; ///< of safetensors; none: the type that is trained
  std::string model;           ///< empty: where the artifact knows it
  bool keepOld = false, checkOnly = false;
};

class Weights {
public:
  /// Which outlives it.
  explicit Weights(Opened &opened) : opened(opened), manifest(opened.artifact.manifest) {}
  Weights(const Weights &) = delete;
  Weights &operator=(const Weights &) = delete;

  /// Before the artifact's files are checked: its weights may be gone.
  void forget();
  Status start(const StartingWeights &from);
  /// On every rank: parameters from a file of weights, over those that are there. How many it held.
  Expected<size_t> init(const InitialWeights &from);
  /// The same of a checkpoint's file of tensors, with the optimizer's slots unless `weightsOnly`.
  Status resume(const std::string &tensors, bool weightsOnly);
  /// Slug `weights` (exit 3) where a parameter has no value.
  Status check() const;

  /// As safetensors, or into the model file where the path ends in .onnx.
  Status save(const WeightsToSave &save);
  /// Parameters or gradients; without a path what the file will lack is noted.
  Status saveTensors(const std::string &kind, const std::string &names, const std::string &path,
                     bool keepOld);
  /// What a checkpoint holds.
  std::vector<ParameterSpec> checkpointed(bool withSlots) const;

  /// See accum_set_weights. Slug `usage` (exit 2) for another word, and for an average that is not kept.
  Status use(const std::string &which);
  /// By all ranks together, before an update: a moving average begins at the weights. Once.
  Status settleAverage();
  /// By all ranks together, in front of what computes with the weights that `use` has named, and after it.
  Status exchangeForEvaluation();

  /// See accum_read.
  Expected<accum_tensor> read(const std::string &kind, const std::string &name);
  /// `kind` as of `read`, but for scalars.
  Status write(const std::string &kind, const std::string &name, const uint8_t *data, uint64_t bytes);

private:
  struct TensorPlace {
    uint64_t offset = 0, bytes = 0;
    DType dtype = ACCUM_F32;
    const std::vector<int64_t> *shape = nullptr;
  };
  Expected<TensorPlace> placeOf(const std::string &kind, const std::string &name) const;
  uint64_t averageOf(const ParameterSpec &param, const SlotSpec &slot) const;
  template <typename Body> Status overAverage(Body &&body);
  Status saveModel(const WeightsToSave &save, std::vector<TensorToWrite> tensors);
  bool isMergedWithNew(size_t p) const;
  void noteMissing(const std::string &names);
  TensorReader reader();
  Status hasAverage(const std::string &path) const;
  Status carryFrozen(const std::string &path);

  Opened &opened;
  Manifest &manifest;
  std::set<size_t> carried;   ///< frozen parameters whose values are not the artifact's
  std::set<size_t> unset;     ///< parameters that have no value yet
  bool takesAverage = false;  ///< evaluations and saved weights: of the average
  bool averageFollows = true; ///< nothing was averaged so far: the average is the weights
};

} // namespace accum::runtime
#endif
