// SPDX-License-Identifier: Apache-2.0
// manifest.json as a value: what an artifact holds, how its inputs look, and where everything that persists
// lies in the state. The one schema: the compiler writes it and the runtime reads it through this file
// (docs/manifest.md).
#ifndef ACCUM_RUNTIME_ARTIFACT_MANIFEST_H
#define ACCUM_RUNTIME_ARTIFACT_MANIFEST_H

#include "base/Sharding.h"
#include "runtime/files/DType.h"
#include "runtime/system/Status.h"
#include <array>
#include <cstdint>

namespace accum::runtime {

/// Every range and tensor of the state begins at a multiple of so many bytes.
inline constexpr uint64_t kRangeAlign = 256;

inline constexpr int kManifestFormat = 3;
/// Of an artifact of several lengths, which a runtime that knows format 3 alone cannot run.
inline constexpr int kLengthsFormat = 4;
/// Of one whose outputs can be predicted, of any number of lengths.
inline constexpr int kOutputsFormat = 5;

/// What an input becomes when the data lacks it.
/// `Position`, where there are several lengths: each sample's place in the global batch, which no data hold.
enum class Synthesize { None, Ones, Zeros, Iota, Position };

/// A size of each dimension that has several, and how samples that fit are computed.
struct LengthSpec {
  std::vector<int64_t> sizes;
  int64_t m = 0;
  double seconds = 0; ///< predicted, of a micro-step
};

/// An axis that is one of those dimensions.
struct PaddedAxis {
  int64_t axis = 0;    ///< of the slab
  int64_t dim = 0;     ///< in the manifest's `lengthDims`
  double padding = 0;  ///< what stands after a sample's end
  bool isMask = false; ///< the loss needs that there: other values are part of the sample
  bool isOnes = false; ///< the loss needs 1 everywhere before it
};

/// One model input. `shape` is the slab, one sample's static shape; axis `batchDim` of the value that the
/// program sees is outer x m x rows, with rows = shape[batchDim] / outer.
struct InputSpec {
  std::string name;
  DType dtype = ACCUM_F32;
  std::vector<int64_t> shape;
  std::optional<int64_t> batchDim; ///< none: the same for every sample (only "first_row")
  int64_t outer = 1;
  std::optional<int64_t> bound;       ///< index input: 0 <= value < bound
  std::optional<int64_t> ignoreIndex; ///< the one value outside [0, bound) that is legal
  Synthesize synthesize = Synthesize::None;
  std::optional<PaddedAxis> padded; ///< `shape` is that of the largest size
  /// The last two, "valid" and "first_row", which no data hold; the model may have inputs of the same names.
  bool isRuntimeMade = false;

  int64_t slabElements() const;
  uint64_t slabBytes() const { return slabElements() * bytesOf(dtype); }
  /// As a program of this length sees it.
  InputSpec at(const LengthSpec &length) const;
};

/// A part of a step, an evaluation or a prediction, which begin_micro names by its position in the list.
struct PhaseSpec {
  std::string name = {};
  bool isEval = false;
  bool isPredict = false;
  bool isLoop = false;                  ///< over micro-batches; others run once
  uint32_t length = 0;                  ///< of a loop: which of the manifest's `lengths`
  bool addsGradients = false;           ///< the loop whose last micro-step the sum of gradients may overlap
  std::vector<std::string> inputs = {}; ///< what a loop reads; the others are not brought for it
};

/// An output of the model that a run predicts. `shape` is what a sample has of it, the axis of the samples
/// leading.
struct OutputSpec {
  std::string name;
  DType dtype = ACCUM_F32; ///< of the program's rows
  std::vector<int64_t> shape;

  int64_t rowElements() const;
  /// What a run gives: f32 for what is stored in fewer bits.
  DType given() const { return dtype == ACCUM_BF16 || dtype == ACCUM_F16 ? ACCUM_F32 : dtype; }
};

/// One that it does not, and why: what follows "the output NAME ".
struct OutputLeftOut {
  std::string name, why;
};

/// Another name of a parameter in the model file; `transposed`: its two axes are swapped there; `added`: what
/// the model file's value is larger by (1 where it holds 1 + w of a norm's w).
struct AliasSpec {
  std::string name;
  bool transposed = false;
  double added = 0;
};

struct SlotSpec {
  std::string name; ///< of the optimizer's row in Optimizers.cpp
  uint64_t stateOffset = 0;
  std::vector<int64_t> shape; ///< the parameter's, or a part of it

  int64_t elements() const;
};

/// A tensor of the state that the model file defines. A gradient has the parameter's dtype
/// and shape, an optimizer slot its dtype.
struct ParameterSpec {
  std::string onnxName;
  std::vector<AliasSpec> aliases;
  std::vector<AliasSpec> framework; ///< names for `load_state_dict`; empty: not known
  std::string madeOf;  ///< no such name: the framework's tensor that this one was made of; empty: not known
  bool isRows = false; ///< these are rows of `madeOf`, which ones the model file does not tell
  DType dtype = ACCUM_F32;
  std::vector<int64_t> shape;
  bool trained = false;
  bool detached = false;     ///< the model holds a part of its gradient back: it is no derivative of the loss
  bool decayDefault = false; ///< what `--decay matrices` decays: two or more axes
  uint64_t stateOffset = 0;
  uint64_t gradOffset = 0;     ///< trained only
  std::vector<SlotSpec> slots; ///< trained only

  int64_t elements() const;
  uint64_t bytes() const { return elements() * bytesOf(dtype); }
  uint64_t bytes(const SlotSpec &slot) const { return slot.elements() * bytesOf(dtype); }
  uint64_t slotBytes() const;
};

/// A named number in the state: "loss" (f64, mean over the global batch) and "targets" (i64, what it was
/// divided by) mean something to accum-run, of an evaluation "correct" of "counted" (i64) targets, and
/// "output:NAME" (f64, over the global batch) of outputs alongside the loss; others
/// are carried along.
struct ScalarSpec {
  std::string name;
  DType dtype = ACCUM_F64;
  uint64_t stateOffset = 0;

  /// Of an output of the model alongside the loss: its name there; empty for all others.
  std::string output() const { return name.starts_with("output:") ? name.substr(7) : ""; }
  /// Only an evaluation writes it.
  bool isMetric() const { return name == "correct" || name == "counted"; }
};

/// A tensor that the model file has under another's name: exporters merge what is equal.
struct SeparatedSpec {
  struct Reader {
    std::string node; ///< its first output in the model file
    int64_t operand = 0;
  };
  std::string name;            ///< of a parameter or a constant
  std::string from;            ///< its name in the model file
  std::vector<Reader> readers; ///< those that read it there; none: an Identity of the file gives `name`
};

struct CommandSpec {
  uint32_t id = 0;
  std::string kernel;
  std::vector<std::string> onnxNodes;
};

/// A node whose result is not finite where a mask hides all that it reads.
struct NanSource {
  std::string kind; ///< "softmax", "extremum" or "quotient"; others are passed over
  std::string node;
};

/// How a kernel of kernels.ptx is started; its place in the list is the number that the program launches.
struct KernelSpec {
  std::string name;                ///< what it computes, for people
  std::string symbol;              ///< of the entry in kernels.ptx
  std::array<uint32_t, 3> grid{};  ///< in blocks
  std::array<uint32_t, 3> block{}; ///< in threads
  uint32_t sharedBytes = 0;        ///< dynamic shared memory; what the entry declares itself is not counted
  uint32_t args = 0;               ///< 64-bit device pointers
};

struct FileSpec {
  std::string name;
  uint64_t bytes = 0;
  std::string xxh3; ///< XXH3 64 bit, 16 lowercase hexadecimal digits
};

/// A range of the state, which ranks hold whole or in `devices` equal parts. Offsets of parameters,
/// gradients, slots and scalars are those of a state that is whole; where state is sharded or offloaded,
/// segments cover all of it.
struct StateSegment {
  uint64_t offset = 0, bytes = 0; ///< in the whole state
  uint64_t local = 0;             ///< where a rank has the segment, or its part
  bool isCut = false;             ///< a rank has its part only
  bool isOwned = false;           ///< a rank has all of it, of which its part is valid
  bool isOffloaded = false;       ///< `local` is a place in offloaded memory, not on the device

  bool operator==(const StateSegment &) const = default;
};

/// How the state is spread over the ranks, and what of it they keep off their devices.
struct ShardSpec {
  Sharing mode = {};
  std::vector<int64_t> units = {};  ///< trained parameters cut together, and frozen ones: how many each
  std::vector<int64_t> pieces = {}; ///< of a part of each unit
  std::vector<int64_t> order = {};  ///< of each parameter its number in the model file; empty: the same
  std::vector<StateSegment> segments = {}; ///< none where the whole state is on each device

  bool isNone() const { return !mode.isSharded(); }
  /// Each device has the whole state.
  bool isPlain() const { return isNone() && !mode.isOffloaded(); }
};

/// All gradients: one flat range of the state, one dtype, padded to a multiple of devices * 256 bytes.
struct GradientRange {
  uint64_t offset = 0, bytes = 0;
  DType dtype = ACCUM_F32;
};

struct Manifest {
  std::string producer;
  uint32_t abi = ACCUM_ABI_VERSION;
  std::string target = "host";             ///< "host" or "cuda"
  std::vector<std::string> cpuFeatures;    ///< needed by kernels.so; names as LLVM or /proc/cpuinfo has them
  std::vector<std::string> argv;           ///< the compile command
  std::string model, modelHash, modelPath; ///< modelPath: absolute, when it was compiled; empty: not known
  int64_t batch = 0, devices = 1, m = 0;   ///< m: of the largest length
  bool wholeBatch = false;                 ///< samples are related: a step has exactly `batch` of them
  std::string precision = "f32";           ///< what was asked for: "f32", "tf32", "bf16", "f64"
  std::string optimizer;                   ///< a row of Optimizers.cpp
  std::vector<InputSpec>
      inputs; ///< in the order of accum_ctx::inputs; the last two are "valid" and "first_row"
  std::vector<std::string> lengthDims; ///< names of the dimensions that have several sizes
  std::vector<LengthSpec> lengths;     ///< ascending; empty: one length, and `m` says all
  std::vector<PhaseSpec>
      phases; ///< in the order in which they run; of a step, then of an evaluation, then of a prediction
  std::vector<OutputSpec> outputs; ///< numbered so by the program; empty: none can be predicted
  std::vector<OutputLeftOut> outputsLeftOut;
  std::string labels; ///< label convention, informative; empty: none
  std::vector<ParameterSpec> params;
  std::vector<std::string> stateLacks; ///< names of the framework's state that no parameter here has
  uint64_t stateBytes = 0;             ///< on a rank
  ShardSpec shard;
  GradientRange gradients;
  std::vector<ScalarSpec> scalars;
  std::vector<CommandSpec> commands;
  std::vector<SeparatedSpec> separated;
  std::vector<NanSource> nanSources; ///< for the message about a loss that is not finite
  std::vector<KernelSpec> kernels;   ///< cuda only; on the host the table is in kernels.so
  std::vector<FileSpec> files;

  /// `lengths`, or what the manifest says of the only one.
  std::vector<LengthSpec> allLengths() const;
  /// Samples of the global batch that one device holds: ceil(batch / devices).
  int64_t deviceBatch() const { return (batch + devices - 1) / devices; }
  /// Whether a step may be cut into other micro-batches: not where related samples are all computed at once.
  bool isCuttable() const;
  /// Of a state that is whole.
  uint64_t wholeBytes() const;
  /// Numbers of the parameters in the order of the model file, which a sharded state may not have.
  std::vector<size_t> modelOrder() const;
  /// Of what is offloaded, on a rank.
  uint64_t offloadedBytes() const;
  /// Of a unit of parameters: 1 where a rank has all of them.
  int64_t parts() const { return shard.isNone() ? 1 : devices; }
  /// The loop that runs next in the same step, or evaluation.
  std::optional<uint32_t> loopAfter(uint32_t phase) const;
  /// Whether a prediction reads the input.
  bool isPredictedFrom(const std::string &input) const;
  const ScalarSpec *findScalar(const std::string &name) const;
  const ParameterSpec *findParameter(const std::string &onnxName) const;
  /// Also by an alias or a framework name that has the parameter's own layout.
  const ParameterSpec *findByAnyName(const std::string &name) const;
};

/// Gives every parameter, gradient, slot and scalar its offset, and fills gradients, stateBytes and
/// decayDefault. Order: trained parameters, frozen ones, gradients, each slot of all parameters, scalars;
/// every item starts on a multiple of 256 bytes, so that trained parameters, their gradients and each slot
/// that is as large as its parameter are ranges in which a parameter has one place. Needs: params (dtype,
/// shape, trained), scalars, optimizer, devices, and shard without its segments. All trained parameters have
/// one dtype. Where state is sharded or offloaded, each unit is padded to a multiple of devices * pieces *
/// 512 bytes, in all ranges; slots of an optimizer that is `isByTensor` stay whole, and on the device.
Status assignStateLayout(Manifest &manifest);

/// Tells the last two inputs, which the runtime makes, from the model's.
void markRuntimeInputs(std::vector<InputSpec> &inputs);

/// Adds the two inputs that the runtime makes itself, "valid" and "first_row".
void appendRuntimeInputs(Manifest &manifest);

std::string toJson(const Manifest &manifest);

/// Refuses, naming `path`: what is not JSON, a newer format, a missing or mistyped key, and what contradicts
/// itself (an offset outside the state, overlapping tensors, wrong slots, `valid` and `first_row` not last).
Expected<Manifest> parseManifest(const std::string &text, const std::string &path);

} // namespace accum::runtime
#endif
