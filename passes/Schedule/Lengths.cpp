// SPDX-License-Identifier: Apache-2.0
// Steps of one model at several sizes of a dimension, in one program.
#include "passes/Schedule/Lengths.h"
#include "dialects/Train/CommandTail.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "passes/Schedule/StateLayout.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace accum {
namespace {

constexpr llvm::StringLiteral kKernelNumber = "accum.kernel";
/// On a step of another size than the largest: its plan.
constexpr llvm::StringLiteral kOwnPlan = "accum.plan";

/// What a kernel computes, without its name and number: the same text for the same code.
std::string textOf(func::FuncOp kernel) {
  func::FuncOp anonymous = kernel.clone();
  anonymous.setSymName("kernel");
  anonymous->removeAttr(kKernelNumber);
  std::string text;
  llvm::raw_string_ostream stream(text);
  anonymous.print(stream, OpPrintingFlags().useLocalScope());
  anonymous.erase();
  return text;
}

/// One more than all numbers of commands and their tails.
int64_t idsIn(ModuleOp module) {
  int64_t ids = repetitionIds(module);
  module.walk([&](train::CommandOp command) { ids = std::max<int64_t>(ids, command.getId() + 1); });
  return ids;
}

/// The module of the largest size, which takes in the others.
class JoinedModule {
public:
  explicit JoinedModule(ModuleOp module) : module(module), symbols(module) {
    for (auto kernel : module.getOps<func::FuncOp>()) {
      known.try_emplace(textOf(kernel), kernel.getSymNameAttr());
      if (auto number = kernel->getAttrOfType<IntegerAttr>(kKernelNumber))
        kernels = std::max(kernels, number.getInt() + 1);
    }
    ids = idsIn(module);
  }

  LogicalResult take(ModuleOp other, size_t length);
  /// Where all of them have a place.
  void settle();

private:
  StringAttr kernelLike(func::FuncOp kernel);
  void takeStep(train::StepOp step, train::PlanAttr plan, size_t length, AttrTypeReplacer &renamed);
  LogicalResult verifySame(ModuleOp other);

  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<StringAttr> known; ///< kernels by their text
  int64_t kernels = 0, ids = 0;      ///< numbers that are taken
  NamedAttrList shard;               ///< of the others: the most that each place takes
  int64_t scratch = 0;
};

/// Attributes of `shard` that say how much room there is; the largest is enough for all.
bool isRoom(StringRef name) { return name == "gathered" || name == "scattered" || name == "staged"; }

/// How a plan spreads the state, without the room that it takes.
DictionaryAttr waysOf(train::PlanAttr plan) {
  if (!plan.getShard())
    return {};
  NamedAttrList ways;
  for (NamedAttribute entry : plan.getShard())
    if (!isRoom(entry.getName()))
      ways.append(entry);
  return ways.getDictionary(plan.getContext());
}

} // namespace

StringAttr JoinedModule::kernelLike(func::FuncOp kernel) {
  auto [at, isNew] = known.try_emplace(textOf(kernel), kernel.getSymNameAttr());
  if (!isNew) {
    // One that only libraries ran may be launched at this size.
    auto same = symbols.lookup<func::FuncOp>(at->second);
    if (kernel->hasAttr(kKernelNumber) && !same->hasAttr(kKernelNumber))
      same->setAttr(kKernelNumber, Builder(module.getContext()).getI64IntegerAttr(kernels++));
    return at->second;
  }
  func::FuncOp copy = kernel.clone();
  if (copy->hasAttr(kKernelNumber))
    copy->setAttr(kKernelNumber, Builder(module.getContext()).getI64IntegerAttr(kernels++));
  return at->second = symbols.insert(copy);
}

/// Parameters and phases have one list in the program.
LogicalResult JoinedModule::verifySame(ModuleOp other) {
  auto differs = [&](const Twine &what) {
    return module.emitError() << "the sizes of the model do not have the same " << what
                              << ": one size, --dim NAME=SIZE, compiles [unsupported]";
  };
  auto own = module.getOps<train::ParamOp>(), others = other.getOps<train::ParamOp>();
  auto isSame = [](train::ParamOp a, train::ParamOp b) {
    return a.getSymName() == b.getSymName() && a.getType() == b.getType();
  };
  if (!std::equal(own.begin(), own.end(), others.begin(), others.end(), isSame))
    return differs("parameters");
  for (StringRef name : {"step", "eval", "predict"}) {
    auto one = module.lookupSymbol<train::StepOp>(name), two = other.lookupSymbol<train::StepOp>(name);
    if (!one && !two)
      continue;
    if (!one || !two || one.getGradients() != two.getGradients())
      return differs("trained parameters");
    auto phases = one.getPhases(), otherPhases = two.getPhases();
    auto isSamePhase = [](train::PhaseOp a, train::PhaseOp b) {
      return a.getName() == b.getName() && a.getLoop() == b.getLoop() && a.updates() == b.updates();
    };
    if (!llvm::equal(phases, otherPhases, isSamePhase))
      return differs("phases");
  }
  return success();
}

/// The step under another name, its commands under other numbers.
void JoinedModule::takeStep(train::StepOp step, train::PlanAttr plan, size_t length,
                            AttrTypeReplacer &renamed) {
  std::string name = (step.getSymName() + "_" + std::to_string(length)).str();
  step->remove();
  step.setSymName(name);
  module.push_back(step);
  step.walk([&](train::CommandOp command) {
    command.setId(command.getId() + ids);
    if (auto tail = tailOf(command)) {
      tail->id += ids;
      setTail(command, *tail);
    }
  });
  renamed.recursivelyReplaceElementsIn(step, /*replaceAttrs=*/true);
  NamedAttrList slots;
  for (NamedAttribute slot : plan.getSlots()) {
    auto [id, result] = slot.getName().strref().split(':');
    int64_t number = 0;
    [[maybe_unused]] bool isWrong = id.getAsInteger(10, number);
    assert(!isWrong && "slots are called id:result");
    slots.set((Twine(number + ids) + ":" + result).str(), slot.getValue());
  }
  step->setAttr(kOwnPlan, train::PlanAttr::get(module.getContext(), plan.getM(), plan.getDevices(),
                                               plan.getState(), plan.getScratch(), plan.getAlign(),
                                               plan.getVariant(), plan.getRecompute(), plan.getBefore(),
                                               plan.getShard(), slots.getDictionary(module.getContext())));
}

LogicalResult JoinedModule::take(ModuleOp other, size_t length) {
  if (failed(verifySame(other)))
    return failure();
  auto plan = other->getAttrOfType<train::PlanAttr>("train.plan");
  if (waysOf(plan) != waysOf(module->getAttrOfType<train::PlanAttr>("train.plan")))
    return module.emitError()
           << "the sizes of the model spread their state in different ways: --shard none, or one "
              "size, --dim NAME=SIZE, compiles [unsupported]";
  DenseMap<StringAttr, StringAttr> names;
  for (auto kernel : other.getOps<func::FuncOp>())
    names[kernel.getSymNameAttr()] = kernelLike(kernel);
  AttrTypeReplacer renamed;
  renamed.addReplacement([&](FlatSymbolRefAttr symbol) -> std::optional<Attribute> {
    StringAttr name = names.lookup(symbol.getAttr());
    return name ? std::optional<Attribute>(FlatSymbolRefAttr::get(name)) : std::nullopt;
  });
  int64_t most = idsIn(other);
  for (StringRef name : {"step", "eval", "predict"})
    if (auto step = other.lookupSymbol<train::StepOp>(name))
      takeStep(step, plan, length, renamed); // of its update only what adds to parts of gradients is written
  ids += most;
  scratch = std::max(scratch, plan.getScratch());
  if (DictionaryAttr places = plan.getShard())
    for (NamedAttribute place : places)
      if (isRoom(place.getName())) {
        auto widest = dyn_cast_or_null<IntegerAttr>(shard.get(place.getName()));
        auto own = cast<IntegerAttr>(place.getValue());
        if (!widest || widest.getInt() < own.getInt())
          shard.set(place.getName(), own);
      }
  return success();
}

void JoinedModule::settle() {
  auto plan = module->getAttrOfType<train::PlanAttr>("train.plan");
  DictionaryAttr places = plan.getShard();
  int64_t state = plan.getState();
  if (places) {
    NamedAttrList all(places);
    for (NamedAttribute place : shard) {
      auto own = dyn_cast_or_null<IntegerAttr>(all.get(place.getName()));
      int64_t more = cast<IntegerAttr>(place.getValue()).getInt() - (own ? own.getInt() : 0);
      if (more <= 0)
        continue;
      all.set(place.getName(), place.getValue());
      state += more;
    }
    places = all.getDictionary(module.getContext());
  }
  module->setAttr("train.plan", train::PlanAttr::get(module.getContext(), plan.getM(), plan.getDevices(),
                                                     state, std::max(plan.getScratch(), scratch),
                                                     plan.getAlign(), plan.getVariant(), plan.getRecompute(),
                                                     plan.getBefore(), places, plan.getSlots()));
}

SmallVector<SizedStep> stepsByLength(ModuleOp module, StringRef name, train::PlanAttr plan) {
  SmallVector<SizedStep> steps;
  auto lengths = module->getAttrOfType<ArrayAttr>(kLengths);
  for (size_t length = 0; lengths && length + 1 < lengths.size(); ++length)
    if (auto step = module.lookupSymbol<train::StepOp>((name + "_" + std::to_string(length)).str()))
      steps.push_back({step, step->getAttrOfType<train::PlanAttr>(kOwnPlan)});
  if (auto step = module.lookupSymbol<train::StepOp>(name))
    steps.push_back({step, plan});
  return steps;
}

LogicalResult joinLengths(ArrayRef<ModuleOp> sizes) {
  JoinedModule joined(sizes.back());
  for (auto [length, other] : llvm::enumerate(sizes.drop_back()))
    if (failed(joined.take(other, length)))
      return failure();
  joined.settle();
  return success();
}

} // namespace accum
