// SPDX-License-Identifier: Apache-2.0
// Which initializers are trained, under which framework name, and which are one parameter twice.
#pragma once
#include "compiler/Import/model/Model.h"

namespace accum::import {

/// A second initializer of the file that holds the same parameter, as it is or transposed (2-D).
struct ParameterAlias {
  std::string initializer;
  bool transposed = false;
};

/// A float initializer that is read by the graph as a weight, or could have been taken for one.
struct Parameter {
  std::string name; ///< of the initializer that is kept; unique in the graph
  std::string
      module; ///< the framework's name, `transformer.h.0.attn.c_attn.weight`; `name` where not recoverable
  bool moduleTransposed = false; ///< the framework's layout is the transpose of the file's
  double moduleAdded = 0;        ///< the file's values are the framework's plus this
  /// `module` says what it is made of, and the framework's tensor of that name has another layout that the
  /// file does not tell (rows of a table), or other values.
  bool isNameless = false;
  bool isRows = false; ///< nameless: some rows of the table `module`
  bool isTold = false; ///< the module names are those that the traced calls take, nothing is guessed
  std::vector<ParameterAlias> aliases;    ///< sorted by initializer; not listed as parameters themselves
  std::vector<std::string> moduleAliases; ///< other framework names of the same parameter (`lm_head.weight`)
  DType dtype = DType::Undefined;
  std::vector<int64_t> shape; ///< as in the file

  /// Where the bytes lie: the model file or an external file, relative to the model's folder. Empty for
  /// values that the file spells out number by number (they are small: see Tensor::data).
  std::string sourceFile;
  uint64_t sourceOffset = 0; ///< bytes
  uint64_t sourceBytes = 0;

  bool trained = false;
  std::string
      reason; ///< why it is trained or not, a phrase for the summary: "PARAMETER in the export's signature"
};

/// A model file may carry what to freeze, for when --trainable gives nothing: in the metadata_props of
/// ModelProto, `accum.freeze` = patterns with spaces or commas between them.
inline constexpr std::string_view kFreezeKey = "accum.freeze";

/// What the user asked for on the command line.
struct ParameterOptions {
  /// When not empty, exactly the parameters that match one of these are trained. A float constant or buffer
  /// is trained only when its name is written out, never through a wildcard.
  std::vector<std::string> trainable = {};
  std::vector<std::string> freeze = {}; ///< wins over `trainable`
  bool untie = false;                   ///< equal initializers stay separate parameters
  std::vector<std::string> trusted =
      {};                            ///< whose gradient is the model's, whatever the file cannot say of it
  std::vector<std::string> tie = {}; ///< "A=B", for models whose weights are absent
};

struct ParameterTable {
  std::vector<Parameter> parameters; ///< in order of the initializers; trained and frozen ones
  std::vector<std::string> notices;  ///< lowercase sentences for the summary: ties, vanished biases
  /// What state_dict holds by the file's own record: parameters and persistent buffers. Empty without one.
  std::vector<std::string> stateNames;
  /// Values that the exporter computed from a parameter, so that training them would not train it; not frozen
  /// by the user. Each is an error (`unsupported`) to report once the graph has passed the check: a graph
  /// that is refused for another reason should be told that one.
  Failures refused;

  int64_t trainedElements() const;
  /// The entry of that initializer, itself or as an alias; null for constants.
  const Parameter *find(std::string_view initializer) const;
};

/// Decides by rule and by `options`. Rewrites the graph where the exporter merged parameters that merely
/// were equal at export time: each gets an initializer of its own over the same bytes. Reads weight bytes
/// only to compare candidates for tying. Ties do not change the graph: consumers keep reading the alias.
Result<ParameterTable> decideParameters(Model &model, const ParameterOptions &options = {});

/// xxh3 of the tensor's bytes; above 1 MiB of its length and of 4 KiB pieces spread evenly, so that a
/// changed file is noticed without reading it all. Nothing when the bytes are absent.
std::optional<uint64_t> fingerprint(const Tensor &tensor);

/// Shell pattern over dotted names: `*` any run of characters, `?` one character, `[abc]` a set.
bool matchesGlob(std::string_view pattern, std::string_view name);

} // namespace accum::import
