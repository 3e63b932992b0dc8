// SPDX-License-Identifier: Apache-2.0
// A step of commands as a planning problem.
#include "dialects/Device/DeviceDialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Origin.h"
#include "dialects/NN/Placement.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/AttentionShape.h"
#include "dialects/Train/CommandTail.h"
#include "dialects/Train/Phases.h"
#include "dialects/Train/RowPitch.h"
#include "dialects/Train/SplitBatch.h"
#include "passes/Plan/CommandShape.h"
#include "passes/Plan/Plan.h"
#include "passes/Plan/Slices.h"

using namespace mlir;

namespace accum {

namespace {

planner::Amount amountOf(train::PolyAttr poly) {
  return {.fixed = poly.getConstant(), .perSample = poly.getSlope()};
}

planner::Amount bytesOfValue(Type type, int64_t pitch = 0) {
  int64_t bytes = device::bytesOf(cast<RankedTensorType>(type), pitch);
  return nn::Placement::of(type).isBatched() ? planner::Amount{.perSample = bytes}
                                             : planner::Amount{.fixed = bytes};
}

bool runsInTf32(train::CommandOp attention, StringRef precision, SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(attention, attention.getKernelAttr());
  return precision == "tf32" && usesTensorCores(attentionOf(kernel), precision);
}

/// What is computed in: library calls in their operands' type (f32 products in tf32 where that was asked
/// for), kernels in f32 whatever they store.
std::string dtypeOf(train::CommandOp command, StringRef precision, SymbolTableCollection &symbols) {
  for (Type type : llvm::concat<const Type>(command.getInputs().getTypes(), command.getResultTypes())) {
    Type element = cast<RankedTensorType>(type).getElementType();
    if (element.isF64())
      return "f64";
    if (command.getLibrary() && element.isBF16())
      return "bf16";
    if (command.getLibrary() == "gemm" && element.isF32() && precision == "tf32")
      return "tf32";
    if (command.getLibrary() == "attention" && runsInTf32(command, precision, symbols))
      return "tf32";
  }
  return "f32";
}

/// From f32 to bf16, with as many elements.
bool isRounded(Type from, Type to) {
  auto wide = cast<ShapedType>(from), narrow = cast<ShapedType>(to);
  return wide.getNumElements() == narrow.getNumElements() && wide.getElementType().isF32() &&
         narrow.getElementType().isBF16();
}

/// Fills a Problem phase by phase.
class ProblemBuilder {
public:
  explicit ProblemBuilder(train::StepOp step) : step(step) {}

  planner::Problem build() {
    problem.name = step.getSymName().str();
    kept = train::keptForward(step);
    resumes = kept ? kept->resumes() : train::CommandOp();
    findForward();
    problem.cloneIds = repetitionIds(step->getParentOfType<ModuleOp>());
    findGradients();
    problem.phases.clear();
    train::PhaseOp main = step.getMainLoop();
    for (train::PhaseOp phase : step.getPhases()) {
      problem.phases.push_back({phase.getName().str(), kindOf(phase, phase == main)});
      if (!kept || kept->whole != phase)
        addPhase(phase);
    }
    addSliceVariants(group, groupIndices, problem);
    countWeightReads();
    noteCopyReaders();
    planner::noteCarried(problem);
    return std::move(problem);
  }

private:
  /// The forward part of the micro-step ends behind the loss, or with the commands that run in slices
  /// together.
  void findForward() {
    lastForward = lastForwardCommand(step);
    if (train::PhaseOp loop = step.getMainLoop())
      group = slicedCommands(loop.getBlock());
    if (!group.empty() && (!lastForward || lastForward->isBeforeInBlock(group.back())))
      lastForward = group.back();
  }

  /// The command behind which each gradient is final; several may add to one.
  void findGradients() {
    train::PhaseOp loop = step.getMainLoop();
    if (!loop)
      return;
    train::YieldOp yield = loop.getYield();
    llvm::MapVector<Attribute, train::CommandOp> last;
    for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets())) {
      auto command = llvm::dyn_cast_or_null<train::CommandOp>(nn::behindViews(value).getDefiningOp());
      if (isa<StringAttr>(target) || !command)
        continue;
      adders[target].push_back(static_cast<int64_t>(command.getId()));
      auto [entry, isNew] = last.try_emplace(target, command);
      if (!isNew && entry->second->isBeforeInBlock(command))
        entry->second = command;
    }
    for (auto &[target, command] : last)
      problem.parameters.push_back({.after = static_cast<int64_t>(command.getId()),
                                    .label = cast<FlatSymbolRefAttr>(target).getValue().str(),
                                    .adders = adders[target]});
    noteReaders();
  }

  /// Who reads which parameter; those without a gradient, too.
  void noteReaders() {
    llvm::StringMap<std::vector<int64_t>> readers;
    for (train::PhaseOp phase : step.getPhases())
      for (auto command : phase.getBlock().getOps<train::CommandOp>())
        for (Value input : command.getInputs())
          if (auto load = nn::behindViews(input).getDefiningOp<train::LoadParamOp>();
              load && !copiedParameter(command, symbols))
            readers[load.getParam()].push_back(static_cast<int64_t>(command.getId()));
    for (auto &[name, ids] : readers)
      parameterOf(name).readers = std::move(ids);
  }

  /// The entry of a parameter, which may have no gradient.
  planner::Parameter &parameterOf(StringRef name) {
    auto of = llvm::find_if(problem.parameters, [&](const auto &each) { return each.label == name; });
    if (of == problem.parameters.end())
      of = problem.parameters.insert(of, {.label = name.str()});
    return *of;
  }

  void followCaptures(train::PhaseOp phase) {
    for (auto [value, argument] : llvm::zip(phase.getCaptures(), phase.getBlock().getArguments()))
      follow(value, argument);
  }

  /// What runs once on the whole batch, where the micro-step that is added has its forward part done.
  void addWhole() {
    size_t before = problem.commands.size();
    isOnce = true;
    addPhase(kept->whole);
    isOnce = false;
    for (size_t index = before; index < problem.commands.size(); ++index) {
      problem.commands[index].of = static_cast<int>(problem.phases.size()) - 2;
      problem.commands[index].once = true;
    }
    followCaptures(kept->micro);
  }

  /// What it keeps is the same buffer wherever it is read.
  void addPhase(train::PhaseOp phase) {
    followCaptures(phase);
    for (Operation &op : phase.getBlock()) {
      if (&op == resumes)
        addWhole();
      if (auto command = dyn_cast<train::CommandOp>(op))
        addCommand(command);
      else if (isa<nn::ReshapeOp>(op))
        follow(op.getOperand(0), op.getResult(0));
    }
    if (!phase.getLoop())
      for (auto [value, result] : llvm::zip(phase.getYield().getValues(), phase->getResults()))
        follow(value, result);
  }

  void addCommand(train::CommandOp command) {
    int index = static_cast<int>(problem.commands.size());
    planner::Command entry;
    entry.id = static_cast<int64_t>(command.getId());
    entry.phase = static_cast<int>(problem.phases.size()) - 1;
    entry.kind = kindOf(command);
    entry.kernel = command.getKernel().str();
    entry.node = nodeLabel(command.getLoc());
    entry.dtype = dtypeOf(command, train::precisionOf(step->getParentOp()), symbols);
    entry.backward = problem.isMain(entry) && !isOnce && lastForward && lastForward->isBeforeInBlock(command);
    entry.once = isSliced(command) || !command.getAccumulate().empty() ||
                 llvm::any_of(command->getUsers(), llvm::IsaPred<train::StoreOp>);
    if (kept && kept->addsOnlyTerms(command))
      entry.of = static_cast<int>(problem.phases.size()) - 2;
    if (isSliced(command))
      groupIndices.push_back(index);
    entry.variants.front().flops = amountOf(command.getFlops());
    entry.variants.front().bytes = amountOf(command.getBytes());
    describeShape(command, command.getKernelAttr(), symbols, entry.variants.front());
    problem.commands.push_back(std::move(entry));
    for (Value input : command.getInputs())
      if (auto it = storage.find(input); it != storage.end())
        addUser(problem.buffers[it->second], index);
    auto tail = tailOf(command);
    for (OpResult result : command->getResults())
      if (needsBuffer(command, result) && !(tail && tail->result == result.getResultNumber()))
        addBuffer(command, result, index, slotName(result));
    if (tail)
      addTail(command, *tail);
  }

  /// Right behind its command, which comes last so far.
  void addTail(train::CommandOp command, const CommandTail &tail) {
    int index = static_cast<int>(problem.commands.size());
    planner::Command entry = problem.commands.back();
    entry.id = tail.id;
    entry.kernel = tail.kernel.getValue().str();
    entry.tail = true;
    entry.variants.front().flops = amountOf(tail.flops);
    entry.variants.front().bytes = amountOf(tail.bytes);
    describeShape(command, tail.kernel, symbols, entry.variants.front());
    problem.commands.push_back(std::move(entry));
    for (int64_t operand : tail.operands) {
      Value value = operand < 0 ? Value(command->getResult(~operand)) : command.getInputs()[operand];
      if (auto it = storage.find(value); it != storage.end())
        addUser(problem.buffers[it->second], index);
    }
    OpResult result = command->getResult(tail.result);
    addBuffer(command, result, index, slotName(result));
    problem.buffers.back().mayAlias.clear(); // it is written while the operands are still read
  }

  static planner::PhaseKind kindOf(train::PhaseOp phase, bool isMain) {
    if (phase->hasAttr(train::kRest))
      return planner::PhaseKind::Rest;
    if (phase.getLoop())
      return isMain ? planner::PhaseKind::Main : planner::PhaseKind::Loop;
    return phase.updates() ? planner::PhaseKind::Update : planner::PhaseKind::Once;
  }

  planner::CommandKind kindOf(train::CommandOp command) const {
    if (command.getLibrary() == "gemm")
      return planner::CommandKind::Gemm;
    if (command.getLibrary() == "attention")
      return planner::CommandKind::Attention;
    if (problem.phases.back().kind == planner::PhaseKind::Update)
      return planner::CommandKind::Update;
    if (command.getKernel().starts_with("cross_entropy"))
      return planner::CommandKind::Loss;
    return command.getKernel().starts_with("gather") ? planner::CommandKind::Gather
                                                     : planner::CommandKind::Kernel;
  }

  static bool needsBuffer(train::CommandOp command, OpResult result) {
    if (llvm::is_contained(command.getAccumulate(), static_cast<int64_t>(result.getResultNumber())))
      return false;
    if (command->getParentOp()->hasAttr(train::kLeavesInState) && isYielded(result))
      return false;
    return !llvm::any_of(result.getUsers(), llvm::IsaPred<train::StoreOp>);
  }

  void addBuffer(train::CommandOp command, OpResult result, int producer, std::string id) {
    planner::Buffer buffer;
    buffer.id = std::move(id);
    buffer.label = qualifiedLabel(result);
    buffer.bytes = bytesOfValue(result.getType(), pitchOf(result, symbols));
    buffer.producer = producer;
    bool leaves = isOnce || problem.phases.back().kind == planner::PhaseKind::Once;
    buffer.wholeStep = leaves && isYielded(result);
    if (auto parameter = buffer.wholeStep ? copiedParameter(command, symbols) : FlatSymbolRefAttr()) {
      buffer.role = planner::StateRole::Parameters;
      copies[static_cast<int>(problem.buffers.size())] = parameter.getValue();
    }
    if (buffer.wholeStep)
      buffer.kind = planner::BufferKind::Constant;
    else if (isHeldInSlices(result) || command.getKernel().starts_with("cross_entropy_grad"))
      buffer.kind = planner::BufferKind::Logits;
    for (Attribute pair : command.getMayAlias()) {
      ArrayRef<int64_t> entry = cast<DenseI64ArrayAttr>(pair).asArrayRef();
      auto it = storage.find(command.getInputs()[entry[1]]);
      if (entry[0] == static_cast<int64_t>(result.getResultNumber()) && it != storage.end())
        buffer.mayAlias.push_back(it->second);
    }
    storage[result] = static_cast<int>(problem.buffers.size());
    problem.buffers.push_back(std::move(buffer));
  }

  /// Who reads the copies of which parameter.
  void noteCopyReaders() {
    for (auto [index, name] : copies)
      for (int user : problem.buffers[index].users)
        parameterOf(name).copyReaders.push_back(problem.commands[user].id);
  }

  /// Where there are copies: what the main loop reads of them, and of weights as they are.
  void countWeightReads() {
    int64_t copies = 0, whole = 0;
    train::PhaseOp loop = step.getMainLoop();
    for (const planner::Buffer &buffer : problem.buffers)
      copies += buffer.role == planner::StateRole::Parameters ? buffer.bytes.fixed : 0;
    DenseSet<Attribute> seen;
    auto loads = loop ? llvm::to_vector(loop.getBlock().getOps<train::LoadParamOp>())
                      : SmallVector<train::LoadParamOp>();
    for (train::LoadParamOp load : loads) {
      auto param = symbols.lookupNearestSymbolFrom<train::ParamOp>(load, load.getParamAttr());
      if (param && param.getTrained() && !load.use_empty() && seen.insert(load.getParamAttr()).second)
        whole += bytesOfValue(load.getType()).fixed;
    }
    problem.weightReads = copies == 0 ? 0 : copies + whole;
  }

  static bool isYielded(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      return isa<train::YieldOp>(user) || (isa<nn::ReshapeOp>(user) && isYielded(user->getResult(0)));
    });
  }

  static void addUser(planner::Buffer &buffer, int command) {
    if (buffer.users.empty() || buffer.users.back() != command)
      buffer.users.push_back(command);
  }

  void follow(Value from, Value to) {
    if (auto it = storage.find(from); it != storage.end()) {
      int index = it->second; // the insertion below may move the entry
      storage[to] = index;
    }
  }

  train::StepOp step;
  SymbolTableCollection symbols; // nothing here changes kernels or parameters
  std::optional<train::KeptForward> kept;
  train::CommandOp resumes; ///< of that
  bool isOnce = false;      ///< what is added runs once, on the way through the main loop
  Operation *lastForward = nullptr;
  SmallVector<train::CommandOp> group; // that runs in slices
  SmallVector<int> groupIndices;
  DenseMap<Attribute, std::vector<int64_t>> adders; ///< gradient -> ids of commands
  planner::Problem problem;
  DenseMap<Value, int> storage;           // value -> buffer
  llvm::MapVector<int, StringRef> copies; // buffer -> the parameter
};

} // namespace

FlatSymbolRefAttr copiedParameter(train::CommandOp command, SymbolTableCollection &symbols) {
  auto load = command.getInputs().size() == 1
                  ? command.getInputs().front().getDefiningOp<train::LoadParamOp>()
                  : train::LoadParamOp();
  auto phase = dyn_cast<train::PhaseOp>(command->getParentOp());
  if (!load || command.getNumResults() != 1 || command.getLibrary() || !phase || phase.getLoop() ||
      !llvm::all_of(command->getUsers(), llvm::IsaPred<train::YieldOp>))
    return {};
  auto param = symbols.lookupNearestSymbolFrom<train::ParamOp>(load, load.getParamAttr());
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(command, command.getKernelAttr());
  if (!param || !param.getTrained() || !kernel || pitchOf(command->getResult(0), symbols) != 0)
    return {};
  Block &body = kernel.getBody().front();
  auto cast = body.getTerminator()->getOperand(0).getDefiningOp<nn::CastOp>();
  bool isPlain = cast && cast.getInput() == body.getArgument(0) && llvm::hasNItems(body, 2);
  return isPlain && isRounded(load.getType(), command->getResult(0).getType()) ? load.getParamAttr()
                                                                               : FlatSymbolRefAttr();
}

planner::Problem buildProblem(train::StepOp step) { return ProblemBuilder(step).build(); }

std::string slotName(OpResult result) {
  auto command = cast<train::CommandOp>(result.getOwner());
  auto number = static_cast<int64_t>(result.getResultNumber());
  if (auto numbers = command.getNumbers()) // the head of a repeated command
    number = (*numbers)[number];
  else if (auto tail = tailOf(command); tail && tail->result == number)
    return std::to_string(tail->id) + ":0";
  return std::to_string(command.getId()) + ":" + std::to_string(number);
}

planner::Amount inputBytes(train::StepOp step) {
  planner::Amount total;
  for (BlockArgument argument : step.getBlock().getArguments()) {
    if (!train::isStaged(argument))
      continue;
    planner::Amount bytes = bytesOfValue(argument.getType());
    total.fixed += bytes.fixed;
    total.perSample += bytes.perSample;
  }
  return total;
}

} // namespace accum
