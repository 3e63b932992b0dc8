// SPDX-License-Identifier: Apache-2.0
// Rows of the model's outputs, on their way from micro-steps to whoever asked for them.
#ifndef ACCUM_RUNTIME_SESSION_PREDICTION_H
#define ACCUM_RUNTIME_SESSION_PREDICTION_H

#include "runtime/artifact/Manifest.h"
#include "runtime/data/Division.h"

namespace accum::runtime {

class Prediction {
public:
  /// Of the manifest's outputs those with these names, in its order; of all where there are no names. Slug
  /// `no-such-output` (exit 2), with the outputs that there are.
  static Expected<Prediction> of(const Manifest &manifest, const std::vector<std::string> &names);

  /// Room for the rows of so many samples; those of the latest are gone.
  void start(int64_t samples);
  /// Takes what a micro-step of `share` has of output `number`, rows of the program in memory of the process.
  void take(uint32_t number, const uint8_t *rows, const Division &division, const Share &share, uint32_t k);
  bool wants(uint32_t number) const { return columns[number].isWanted; }
  /// Only these samples are kept.
  void keep(int64_t begin, int64_t end);

  struct Column {
    OutputSpec spec;
    bool isWanted = false;
    std::vector<int64_t> shape = {};  ///< of all rows, the samples leading
    std::vector<uint64_t> words = {}; ///< all rows, and what fills the last word
    uint64_t rowBytes = 0;            ///< as they are given
  };
  std::vector<Column> &all() { return columns; }
  /// Null where the latest prediction has none of that name.
  const Column *find(const std::string &name) const;

private:
  std::vector<Column> columns; ///< of all outputs
};

} // namespace accum::runtime
#endif
