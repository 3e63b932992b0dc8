// SPDX-License-Identifier: Apache-2.0
// The rules of docs/manifest.md, checked the naive way.
#include "runtime/artifact/ManifestCheck.h"
#include "runtime/artifact/LengthJson.h"
#include "runtime/artifact/Optimizers.h"
#include <algorithm>
#include <set>

namespace accum::runtime {
namespace {

using Finding = std::optional<std::string>;

constexpr int64_t kMaxElements = int64_t(1) << 48;
/// More than accumc takes, and far enough below overflow; all inputs of a micro-step, in bytes.
constexpr int64_t kMaxBatch = int64_t(1) << 50;
constexpr uint64_t kMaxStaged = uint64_t(1) << 56;

/// Extents are positive and their product stays far from overflow.
bool isSaneShape(const std::vector<int64_t> &shape) {
  int64_t elements = 1;
  for (int64_t extent : shape) {
    if (extent <= 0 || extent > kMaxElements / elements)
      return false;
    elements *= extent;
  }
  return true;
}

Finding checkInput(const InputSpec &input) {
  if (!isSaneShape(input.shape))
    return "input `" + input.name + "` has an impossible shape";
  if (input.bound && (*input.bound <= 0 || *input.bound > kMaxElements))
    return "input `" + input.name + "` has an impossible `bound`";
  if (!input.batchDim)
    return input.isRuntimeMade ? Finding() : "input `" + input.name + "` has no batch axis";
  int64_t axis = *input.batchDim;
  if (axis < 0 || axis >= int64_t(input.shape.size()))
    return "input `" + input.name + "` has its batch axis outside its shape";
  if (input.outer <= 0 || input.shape[axis] % input.outer != 0)
    return "input `" + input.name + "` has an `outer` that does not divide its batch axis";
  return {};
}

Finding checkInputs(const Manifest &manifest) {
  std::set<std::string> names;
  uint64_t room = kMaxStaged;
  for (const InputSpec &input : manifest.inputs) {
    if (Finding finding = checkInput(input))
      return finding;
    if (input.slabBytes() > room / uint64_t(manifest.m))
      return "the inputs of a micro-step take more than 2^56 bytes";
    room -= input.slabBytes() * uint64_t(manifest.m);
    if (!input.isRuntimeMade && !names.insert(input.name).second)
      return "input `" + input.name + "` appears twice";
  }
  size_t count = manifest.inputs.size();
  if (count < 2 || manifest.inputs[count - 2].name != "valid" ||
      manifest.inputs[count - 1].name != "first_row")
    return "the last two inputs are not `valid` and `first_row`";
  const InputSpec &valid = manifest.inputs[count - 2], &firstRow = manifest.inputs[count - 1];
  if (bytesOf(valid.dtype) != 1 || valid.slabElements() != 1)
    return "`valid` is not one byte per sample";
  if (firstRow.dtype != ACCUM_I64 || !firstRow.shape.empty())
    return "`first_row` is not an i64 scalar";
  return {};
}

Finding checkOutputs(const Manifest &manifest) {
  std::set<std::string> names;
  for (const OutputSpec &output : manifest.outputs) {
    if (!isSaneShape(output.shape) || output.shape.empty())
      return "output `" + output.name + "` has an impossible shape";
    if (uint64_t(output.rowElements()) * bytesOf(output.dtype) > kMaxStaged / uint64_t(manifest.m))
      return "output `" + output.name + "` takes more than 2^56 bytes in a micro-step";
    if (!names.insert(output.name).second)
      return "output `" + output.name + "` appears twice";
  }
  bool predicts = std::ranges::any_of(manifest.phases, &PhaseSpec::isPredict);
  if (predicts == manifest.outputs.empty())
    return predicts ? "phases of a prediction without `outputs`" : "`outputs` that no phase predicts";
  return {};
}

Finding checkPhases(const Manifest &manifest) {
  int adding = 0;
  for (const PhaseSpec &phase : manifest.phases) {
    adding += phase.addsGradients;
    for (const std::string &name : phase.inputs)
      if (std::ranges::count(manifest.inputs, name, &InputSpec::name) == 0)
        return "phase `" + phase.name + "` reads `" + name + "`, which is no input";
  }
  auto most = int(std::max<size_t>(manifest.lengths.size(), 1)); // one for each length
  if (adding > most)
    return "more than one phase adds to gradients";
  return findLengthContradiction(manifest);
}

/// A range of the state that somebody owns.
struct Range {
  uint64_t offset, bytes;
  std::string owner;
};

std::vector<Range> rangesOf(const Manifest &manifest) {
  std::vector<Range> ranges;
  for (const ParameterSpec &param : manifest.params) {
    ranges.push_back({param.stateOffset, param.bytes(), "`" + param.onnxName + "`"});
    for (const SlotSpec &slot : param.slots)
      ranges.push_back(
          {slot.stateOffset, param.bytes(slot), "slot " + slot.name + " of `" + param.onnxName + "`"});
  }
  ranges.push_back({manifest.gradients.offset, manifest.gradients.bytes, "the gradients"});
  for (const ScalarSpec &scalar : manifest.scalars)
    ranges.push_back({scalar.stateOffset, bytesOf(scalar.dtype), "scalar `" + scalar.name + "`"});
  return ranges;
}

Finding checkState(const Manifest &manifest) {
  std::vector<Range> ranges = rangesOf(manifest);
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) { return a.offset < b.offset; });
  const Range *before = nullptr;
  for (const Range &range : ranges) {
    if (range.offset % kRangeAlign != 0)
      return range.owner + " does not start on a multiple of 256 bytes";
    if (range.bytes > manifest.wholeBytes() || range.offset > manifest.wholeBytes() - range.bytes)
      return range.owner + " ends outside the state";
    if (before && before->offset + before->bytes > range.offset)
      return range.owner + " overlaps " + before->owner;
    if (range.bytes)
      before = &range;
  }
  return {};
}

/// Segments cover the whole state and lie one behind the other in a rank's, or in what it keeps off its
/// device, in equal parts where they are cut.
Finding checkSegments(const Manifest &manifest) {
  const ShardSpec &shard = manifest.shard;
  if (shard.isPlain())
    return shard.segments.empty() ? Finding() : "segments of a state that is not sharded";
  if (!shard.isNone() && manifest.devices < 2)
    return "`shard` is `" + std::string(toText(shard.mode.shard)) + "` on " +
           std::to_string(manifest.devices) + " devices";
  uint64_t whole = 0, onDevice = 0, offloaded = 0;
  for (const StateSegment &segment : shard.segments) {
    uint64_t parts = segment.isCut || segment.isOwned ? uint64_t(manifest.devices) : 1;
    uint64_t &local = segment.isOffloaded ? offloaded : onDevice;
    if (segment.offset != whole || segment.local != local || segment.bytes == 0 ||
        segment.bytes > uint64_t(kMaxElements) || segment.bytes % (parts * kRangeAlign) != 0)
      return "the segment at " + std::to_string(segment.offset) + " is out of place or of an odd size";
    whole += segment.bytes;
    local += segment.isCut ? segment.bytes / parts : segment.bytes;
  }
  return onDevice <= manifest.stateBytes ? Finding() : "segments end outside the state";
}

Finding checkTrained(const Manifest &manifest, const ParameterSpec &param) {
  const GradientRange &gradients = manifest.gradients;
  if (param.dtype != gradients.dtype)
    return "`" + param.onnxName + "` and the gradients differ in dtype";
  if (param.gradOffset % kRangeAlign != 0 || param.gradOffset < gradients.offset ||
      param.bytes() > gradients.bytes ||
      param.gradOffset - gradients.offset > gradients.bytes - param.bytes())
    return "the gradient of `" + param.onnxName + "` is outside the gradients";
  std::vector<std::pair<std::string, std::vector<int64_t>>> has, expected;
  for (const SlotSpec &slot : param.slots)
    has.emplace_back(slot.name, slot.shape);
  for (const SlotRow &row : findOptimizer(manifest.optimizer)->slots)
    if (auto shape = slotShape(row.extent, param.shape))
      expected.emplace_back(row.name, *shape);
  if (has != expected)
    return "`" + param.onnxName + "` has other optimizer slots than " + manifest.optimizer;
  return {};
}

Finding checkParameters(const Manifest &manifest) {
  std::set<std::string> names;
  for (const ParameterSpec &param : manifest.params) {
    if (!isSaneShape(param.shape))
      return "parameter `" + param.onnxName + "` has an impossible shape";
    if (!names.insert(param.onnxName).second)
      return "parameter `" + param.onnxName + "` appears twice";
    for (const AliasSpec &alias : param.aliases)
      if (!names.insert(alias.name).second)
        return "parameter `" + alias.name + "` appears twice";
    if (param.trained && !isFloat(param.dtype))
      return "trained parameter `" + param.onnxName + "` is not floating point";
    if (Finding finding = param.trained ? checkTrained(manifest, param) : Finding())
      return finding;
  }
  return {};
}

Finding checkKernels(const Manifest &manifest) {
  if (manifest.target == "cuda" && manifest.kernels.empty())
    return "target cuda without `kernels`";
  for (const KernelSpec &kernel : manifest.kernels)
    for (const auto &sizes : {kernel.grid, kernel.block})
      for (uint32_t size : sizes)
        if (size == 0)
          return "kernel `" + kernel.name + "` has an empty grid or block";
  return {};
}

Finding checkSizes(const Manifest &manifest) {
  if (manifest.batch < 1 || manifest.devices < 1 || manifest.m < 1)
    return "`batch`, `devices` and `m` are not all positive";
  if (manifest.batch > kMaxBatch || manifest.devices > INT32_MAX)
    return "`batch` or `devices` is impossibly large";
  if (manifest.m > manifest.deviceBatch())
    return "`m` is larger than the per-device batch";
  if ((manifest.deviceBatch() - 1) / manifest.m >= UINT32_MAX)
    return "`batch` takes more micro-steps than a program counts";
  if (!manifest.isCuttable() && manifest.devices != 1)
    return "`whole_batch` at once on several devices";
  if (!std::set<std::string>{"f32", "tf32", "bf16", "f64"}.contains(manifest.precision))
    return "unknown precision `" + manifest.precision + "`";
  if (!findOptimizer(manifest.optimizer))
    return "unknown optimizer `" + manifest.optimizer + "`";
  for (const FileSpec &file : manifest.files)
    if (file.name.empty() || file.name.find('/') != std::string::npos || file.name == "..")
      return "file name `" + file.name + "` leaves the artifact";
  return {};
}

} // namespace

std::optional<std::string> findContradiction(const Manifest &manifest) {
  for (Finding (*check)(const Manifest &) : {checkSizes, checkKernels, checkInputs, checkPhases, checkOutputs,
                                             checkSegments, checkParameters, checkState})
    if (Finding finding = check(manifest))
      return finding;
  return {};
}

} // namespace accum::runtime
