// SPDX-License-Identifier: Apache-2.0
// device.program -> manifest.
#include "compiler/Emit/Manifest.h"
#include "compiler/Emit/Objects.h"
#include "compiler/Import/Import.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include "dialects/NN/Origin.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/Outputs.h"
#include "dialects/Train/ParameterName.h"
#include "dialects/Train/SplitBatch.h"
#include "passes/Schedule/StateLayout.h"
#include "runtime/files/File.h"
#include <filesystem>
#include <set>

using namespace mlir;

namespace accum::emit {
namespace {

runtime::Synthesize synthesizeNamed(StringRef name) {
  return llvm::StringSwitch<runtime::Synthesize>(name)
      .Case("ones", runtime::Synthesize::Ones)
      .Case("zeros", runtime::Synthesize::Zeros)
      .Case("iota", runtime::Synthesize::Iota)
      .Case("position", runtime::Synthesize::Position)
      .Default(runtime::Synthesize::None);
}

/// `wholeBatch`: the batch size where the program computes all of it at once, so that it is in the shapes.
runtime::InputSpec inputOf(DictionaryAttr input, std::optional<int64_t> wholeBatch) {
  runtime::InputSpec spec;
  auto type = cast<RankedTensorType>(input.getAs<TypeAttr>("type").getValue());
  spec.name = input.getAs<StringAttr>("name").str();
  spec.dtype = dtypeOf(type.getElementType()).value_or(ACCUM_F32);
  spec.shape = type.getShape().vec();
  if (auto placement = nn::Placement::of(type); placement.isBatched()) {
    spec.batchDim = placement.dim;
    spec.outer = placement.outer;
  }
  if (auto axis = input.getAs<IntegerAttr>(train::kInputBatchAxis); axis && wholeBatch) {
    spec.batchDim = axis.getInt();
    spec.shape[*spec.batchDim] /= *wholeBatch;
  }
  if (auto padded = input.getAs<DictionaryAttr>("padded"))
    spec.padded = runtime::PaddedAxis{
        padded.getAs<IntegerAttr>("axis").getInt(), padded.getAs<IntegerAttr>("dim").getInt(),
        padded.getAs<FloatAttr>("fill").getValueAsDouble(), padded.getAs<BoolAttr>("mask").getValue(),
        padded.getAs<BoolAttr>("ones").getValue()};
  if (auto bound = input.getAs<IntegerAttr>("bound"))
    spec.bound = bound.getInt();
  if (auto ignore = input.getAs<IntegerAttr>("ignore_index"))
    spec.ignoreIndex = ignore.getInt();
  if (auto synthesize = input.getAs<StringAttr>("synthesize"))
    spec.synthesize = synthesizeNamed(synthesize.getValue());
  return spec;
}

uint32_t lengthOf(DictionaryAttr phase) {
  auto length = phase.getAs<IntegerAttr>("length");
  return length ? static_cast<uint32_t>(length.getInt()) : 0;
}

void addLengths(ModuleOp module, device::ProgramOp program, runtime::Manifest &manifest) {
  if (!program.getLengths())
    return;
  for (auto dim : module->getAttrOfType<ArrayAttr>(train::kLengthDims).getAsRange<StringAttr>())
    manifest.lengthDims.push_back(dim.str());
  for (auto length : program.getLengths()->getAsRange<DictionaryAttr>())
    manifest.lengths.push_back({length.getAs<DenseI64ArrayAttr>("sizes").asArrayRef().vec(),
                                length.getAs<IntegerAttr>("m").getInt(),
                                length.getAs<FloatAttr>("seconds").getValueAsDouble()});
}

/// The phases, and which inputs each loop reads.
void addPhases(device::ProgramOp program, runtime::Manifest &manifest) {
  for (auto phase : program.getPhases().getAsRange<DictionaryAttr>())
    manifest.phases.push_back({.name = phase.getAs<StringAttr>("name").str(),
                               .isEval = phase.contains("eval"),
                               .isPredict = phase.contains("predict"),
                               .isLoop = phase.contains("loop"),
                               .length = lengthOf(phase),
                               .addsGradients = phase.contains("gradients")});
  std::vector<std::set<size_t>> reads(manifest.phases.size());
  program.walk([&](device::BufferOp buffer) {
    if (auto loop = buffer->getParentOfType<device::ForMicroOp>();
        loop && buffer.getSpace() == device::Space::input)
      reads[loop.getPhase()].insert(buffer.getOffset());
  });
  for (auto [phase, inputs] : llvm::zip_equal(manifest.phases, reads))
    for (size_t input : inputs)
      phase.inputs.push_back(manifest.inputs[input].name);
}

void addOutputs(ModuleOp module, device::ProgramOp program, runtime::Manifest &manifest) {
  if (auto outputs = program.getOutputs())
    for (auto output : outputs->getAsRange<DictionaryAttr>()) {
      auto type = cast<RankedTensorType>(output.getAs<TypeAttr>("type").getValue());
      manifest.outputs.push_back({output.getAs<StringAttr>("name").str(),
                                  dtypeOf(type.getElementType()).value_or(ACCUM_F32), type.getShape().vec()});
    }
  if (auto left = module->getAttrOfType<ArrayAttr>(train::kOutputsLeftOut))
    for (auto output : left.getAsRange<DictionaryAttr>())
      manifest.outputsLeftOut.push_back(
          {output.getAs<StringAttr>("name").str(), output.getAs<StringAttr>("why").str()});
}

void addCommands(device::ProgramOp program, runtime::Manifest &manifest) {
  auto add = [&](uint64_t id, StringRef kernel, Location loc) {
    manifest.commands.push_back({static_cast<uint32_t>(id), kernel.str(), nodeNames(loc)});
  };
  program.walk([&](Operation *op) {
    if (auto launch = dyn_cast<device::LaunchOp>(op))
      add(launch.getId(), launch.getKernel(), op->getLoc());
    else if (auto gemm = dyn_cast<device::GemmOp>(op))
      add(gemm.getId(), gemm.getKernel(), op->getLoc());
    else if (auto attention = dyn_cast<device::AttentionOp>(op))
      add(attention.getId(), attention.getKernel(), op->getLoc());
  });
  llvm::sort(manifest.commands, [](const auto &a, const auto &b) { return a.id < b.id; });
}

/// What `load_state_dict` calls a parameter, with the framework's layout; nothing where that is not known.
std::vector<runtime::AliasSpec> frameworkNames(train::ParamOp param) {
  if (param.getNameless())
    return {};
  bool transposed = param.getModuleTransposed();
  double added = param.getModuleAdded().value_or(APFloat(0.0)).convertToDouble();
  std::string own = train::onnxName(param).str();
  std::vector<runtime::AliasSpec> names;
  if (param.getModule())
    names.push_back({param.getModule()->str(), transposed, added});
  else if (import::isModuleName(own))
    names.push_back({own, transposed, added});
  if (auto others = param.getModuleAliasesAttr(); others && !names.empty())
    for (auto other : others.getAsRange<StringAttr>())
      names.push_back({other.str(), transposed, added});
  return names;
}

void addSeparated(ModuleOp module, runtime::Manifest &manifest) {
  auto all = module->getAttrOfType<ArrayAttr>(import::kSeparated);
  if (!all)
    return;
  for (auto tensor : all.getAsRange<DictionaryAttr>()) {
    runtime::SeparatedSpec spec{
        tensor.getAs<StringAttr>("name").str(), tensor.getAs<StringAttr>("from").str(), {}};
    for (auto reader : tensor.getAs<ArrayAttr>("readers").getAsRange<DictionaryAttr>())
      spec.readers.push_back(
          {reader.getAs<StringAttr>("node").str(), reader.getAs<IntegerAttr>("operand").getInt()});
    manifest.separated.push_back(std::move(spec));
  }
}

/// A sole integer total is what the loss is divided by: its targets.
void nameTargets(runtime::Manifest &manifest) {
  auto isCount = [](const runtime::ScalarSpec &scalar) {
    return scalar.dtype == ACCUM_I64 && !scalar.isMetric();
  };
  if (llvm::count_if(manifest.scalars, isCount) == 1)
    llvm::find_if(manifest.scalars, isCount)->name = "targets";
}

} // namespace

FailureOr<runtime::Manifest> makeManifest(ModuleOp module, device::ProgramOp program,
                                          const ArtifactOptions &options) {
  auto layout = layOutState(module, program);
  if (failed(layout))
    return failure();
  runtime::Manifest manifest = std::move(layout->manifest);
  if (manifest.stateBytes != program.getStateBytes())
    return program.emitOpError("has another state than the layout of ") << manifest.stateBytes << " bytes";
  manifest.producer = "accumc " ACCUM_VERSION;
  auto cpu = targetCpuNamed(options.cpu);
  if (!cpu)
    return emitError(UnknownLoc::get(module.getContext()), llvm::toString(cpu.takeError())) << " [usage]";
  manifest.cpuFeatures = cpu->features;
  manifest.argv = options.argv;
  manifest.model = std::filesystem::path(options.model).filename().string();
  if (auto hash = runtime::hashFile(options.model))
    manifest.modelHash = *hash;
  std::error_code unknown;
  manifest.modelPath = std::filesystem::absolute(options.model, unknown).lexically_normal().string();
  manifest.batch = options.batch;
  manifest.m = static_cast<int64_t>(program.getM());
  manifest.wholeBatch = train::wholeBatchOf(module) || train::splitBatchOf(module);
  manifest.labels = options.labels;
  manifest.precision = train::precisionOf(module).str();
  for (auto input : program.getInputs().getAsRange<DictionaryAttr>())
    manifest.inputs.push_back(inputOf(input, train::wholeBatchOf(module)));
  runtime::markRuntimeInputs(manifest.inputs);
  addLengths(module, program, manifest);
  addPhases(program, manifest);
  addOutputs(module, program, manifest);
  for (auto [param, spec] : llvm::zip_equal(module.getOps<train::ParamOp>(), manifest.params)) {
    spec.onnxName = train::onnxName(param).str();
    spec.framework = frameworkNames(param);
    if (spec.framework.empty() && param.getModule())
      spec.madeOf = param.getModule()->str();
    spec.isRows = param.getRows();
    spec.detached = param.getDetached();
  }
  if (auto lacking = module->getAttrOfType<ArrayAttr>(import::kStateLacks))
    for (auto name : lacking.getAsRange<StringAttr>())
      manifest.stateLacks.push_back(name.str());
  addSeparated(module, manifest);
  addCommands(program, manifest);
  if (auto sources = module->getAttrOfType<ArrayAttr>("accum.nan_sources"))
    for (auto source : sources.getAsRange<DictionaryAttr>())
      manifest.nanSources.push_back(
          {source.getAs<StringAttr>("kind").str(), source.getAs<StringAttr>("node").str()});
  nameTargets(manifest);
  if (auto parsed = runtime::parseManifest(runtime::toJson(manifest), "manifest.json"); !parsed)
    return emitError(UnknownLoc::get(module.getContext()), parsed.error().message);
  return manifest;
}

} // namespace accum::emit
