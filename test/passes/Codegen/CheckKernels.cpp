// SPDX-License-Identifier: Apache-2.0
// check-kernels FILE.mlir [CPU]: every kernel of a model whose micro-batch is bound, compiled for the
// machine, against the f64 interpreter of the test of nn, op by op; added to what is there where it
// accumulates, and in place wherever its commands offer that. Prints how many agree; names those that do not
// and exits with 1.
#include "compiler/Emit/Kernels.h"
#include "dialects/Registration.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "test/dialects/NN/Evaluator.h"
#include "test/passes/Codegen/TensorMemory.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <dlfcn.h>
#include <filesystem>
#include <random>
#include <set>
#include <unistd.h>

using namespace mlir;
using namespace accum;
using test::TensorMemory;

namespace {

/// f32 kernels sum in f64 and round values in between: a few units of the last place of the largest element.
constexpr double kTolerance = 5e-6;

using Numbers = std::vector<double>;
using Alias = std::pair<int64_t, int64_t>; ///< result, operand

struct Tally {
  int agree = 0, accumulating = 0, inPlace = 0, random = 0, failed = 0;
  double worst = 0;
};

double distance(const Numbers &actual, const Numbers &expected) {
  double difference = 0, magnitude = 1e-30;
  for (auto [a, e] : llvm::zip_equal(actual, expected)) {
    if (std::isfinite(e))
      magnitude = std::max(magnitude, std::abs(e));
    bool same = a == e || (std::isnan(a) && std::isnan(e));
    difference = std::max(difference, same ? 0 : std::isfinite(a - e) ? std::abs(a - e) : INFINITY);
  }
  return difference / magnitude;
}

class KernelCheck {
public:
  KernelCheck(func::FuncOp function, const accum_kernel_v1 &kernel, Tally &tally)
      : function(function), kernel(kernel), tally(tally) {}

  bool run(double low, double high, const std::set<Alias> &aliases);

private:
  bool contains(StringRef name) {
    bool found = false;
    function.walk([&](Operation *op) { found |= op->getName().getStringRef() == name; });
    return found;
  }
  Numbers numbersFor(RankedTensorType type, double low, double high);
  void interpret(const std::vector<Numbers> &operands, std::vector<Numbers> &results);
  std::vector<TensorMemory> place(const std::vector<Numbers> &operands, const std::vector<Numbers> &before);
  void call(std::vector<TensorMemory> &memory, bool first, const std::vector<Alias> &aliases);
  bool agreesInPlace(const std::vector<Numbers> &operands, std::vector<TensorMemory> &plain,
                     const std::vector<Alias> &aliases);
  bool agrees(std::vector<TensorMemory> &memory, const std::vector<Numbers> &expected, StringRef how);

  func::FuncOp function;
  const accum_kernel_v1 &kernel;
  Tally &tally;
  std::mt19937_64 engine{17};
};

/// Integers are 0 or 1, which are indices and labels inside of every table (BERT has two token types); f32
/// values exactly. f64 operands are the optimizer's settings: positive, since it divides by sums of them, and
/// below 1, since the others' share of a mean is what they leave.
Numbers KernelCheck::numbersFor(RankedTensorType type, double low, double high) {
  Numbers numbers(type.getNumElements());
  bool isFloat = isa<FloatType>(type.getElementType());
  if (type.getElementType().isF64()) {
    low = 0.2;
    high = 0.8;
  }
  for (double &number : numbers)
    number = isFloat ? static_cast<float>(std::uniform_real_distribution(low, high)(engine))
                     : static_cast<double>(engine() % 2);
  // The place of the first sample: a share is the value only where it is 0. Otherwise a count.
  if (!isFloat && type.getRank() == 0)
    numbers[0] = contains("nn.share") ? 0 : 3;
  return numbers;
}

void KernelCheck::interpret(const std::vector<Numbers> &operands, std::vector<Numbers> &results) {
  Block &body = function.getBody().front();
  test::Evaluator evaluator({});
  for (auto [argument, numbers] : llvm::zip_equal(body.getArguments(), operands))
    evaluator.set(argument, {evaluator.shapeOf(argument), numbers});
  evaluator.run(body.getOperations());
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(evaluator.at(value).data);
}

std::vector<TensorMemory> KernelCheck::place(const std::vector<Numbers> &operands,
                                             const std::vector<Numbers> &before) {
  std::vector<TensorMemory> memory = test::memoryOf(function);
  for (size_t i = 0; i < operands.size() + before.size(); ++i)
    memory[i].write(i < operands.size() ? operands[i] : before[i - operands.size()]);
  return memory;
}

/// With alias (r, o) result r takes operand o's memory.
void KernelCheck::call(std::vector<TensorMemory> &memory, bool first, const std::vector<Alias> &aliases) {
  std::vector<void *> args;
  for (TensorMemory &one : memory)
    args.push_back(one.data());
  for (auto [result, operand] : aliases)
    args[function.getNumArguments() + result] = memory[operand].data();
  int32_t flag = first;
  if (function->hasAttr("accumulate"))
    args.push_back(&flag);
  test::runChunks(kernel, args.data());
}

bool KernelCheck::agrees(std::vector<TensorMemory> &memory, const std::vector<Numbers> &expected,
                         StringRef how) {
  for (size_t i = 0; i < expected.size(); ++i) {
    TensorMemory &result = memory[function.getNumArguments() + i];
    double far = distance(result.read(), expected[i]);
    tally.worst = std::max(tally.worst, far);
    if (far <= kTolerance && result.guarded())
      continue;
    llvm::errs() << "@" << function.getName() << " " << how << ": result " << i
                 << (result.guarded() ? " is off by " : " was written outside; off by ") << far << "\n";
    return false;
  }
  return true;
}

bool KernelCheck::agreesInPlace(const std::vector<Numbers> &operands, std::vector<TensorMemory> &plain,
                                const std::vector<Alias> &aliases) {
  std::vector<TensorMemory> shared = place(operands, {});
  call(shared, true, aliases);
  for (auto [result, operand] : aliases) {
    if (shared[operand].bytes != plain[function.getNumArguments() + result].bytes) {
      llvm::errs() << "@" << function.getName() << ": result " << result << " differs in place of operand "
                   << operand << " (" << aliases.size() << " in place)\n";
      return false;
    }
  }
  ++tally.inPlace;
  return true;
}

/// As many results in place together as there are, each of another operand.
std::vector<Alias> allAtOnce(const std::set<Alias> &aliases) {
  std::vector<Alias> chosen;
  for (Alias alias : aliases)
    if (llvm::none_of(
            chosen, [&](Alias other) { return other.first == alias.first || other.second == alias.second; }))
      chosen.push_back(alias);
  return chosen;
}

bool KernelCheck::run(double low, double high, const std::set<Alias> &aliases) {
  if (contains("nn.dropout")) { // the interpreter draws other masks
    ++tally.random;
    return true;
  }
  std::vector<Numbers> operands, expected, before;
  for (Type type : function.getArgumentTypes())
    operands.push_back(numbersFor(cast<RankedTensorType>(type), low, high));
  interpret(operands, expected);
  std::vector<TensorMemory> plain = place(operands, {});
  call(plain, true, {});
  if (!agrees(plain, expected, "alone"))
    return false;
  ++tally.agree;
  for (Alias alias : aliases)
    if (!agreesInPlace(operands, plain, {alias}))
      return false;
  std::vector<Alias> together = allAtOnce(aliases);
  if (together.size() > 1 && !agreesInPlace(operands, plain, together))
    return false;
  auto adds = function->getAttrOfType<DenseI64ArrayAttr>("accumulate");
  if (!adds)
    return true;
  for (Type type : function.getResultTypes())
    before.push_back(numbersFor(cast<RankedTensorType>(type), low, high));
  for (int64_t result : adds.asArrayRef())
    for (auto [sum, old] : llvm::zip_equal(expected[result], before[result]))
      sum += old;
  std::vector<TensorMemory> sums = place(operands, before);
  call(sums, false, {});
  ++tally.accumulating;
  return agrees(sums, expected, "added");
}

std::map<StringRef, std::set<Alias>> offeredAliases(ModuleOp module) {
  std::map<StringRef, std::set<Alias>> offered;
  module.walk([&](train::CommandOp command) {
    for (Attribute pair : command.getMayAlias()) {
      ArrayRef<int64_t> entry = cast<DenseI64ArrayAttr>(pair).asArrayRef();
      offered[command.getKernel()].insert({entry[0], entry[1]});
    }
  });
  return offered;
}

bool isOfDoubles(Type type) { return cast<RankedTensorType>(type).getElementType().isF64(); }

Tally checkAll(ModuleOp module, const accum_kernels_v1 &table) {
  Tally tally;
  auto aliases = offeredAliases(module);
  for (auto function : module.getOps<func::FuncOp>()) {
    auto index = function->getAttrOfType<IntegerAttr>("accum.kernel");
    if (!index)
      continue;
    KernelCheck check(function, table.kernels[index.getInt()], tally);
    // Roots and logarithms need positive numbers, branches those of both signs. An update has the root of a
    // mean of squares: near zero, where only a negative one leads, its error has no bound.
    bool updates = llvm::any_of(function.getArgumentTypes(), isOfDoubles);
    bool good = check.run(0.2, 1.8, aliases[function.getName()]) &&
                (updates || check.run(-2, 2, aliases[function.getName()]));
    tally.failed += !good;
  }
  return tally;
}

} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = argc < 2 ? OwningOpRef<ModuleOp>() : parseSourceFile<ModuleOp>(argv[1], &context);
  emit::KernelOptions options;
  if (argc > 2)
    options.cpu = argv[2];
  std::string path = std::string(argc < 2 ? "" : argv[1]) + "." + std::to_string(getpid()) + ".so";
  if (!module || failed(emit::compileKernels(*module, options, path)))
    return 2;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove(path);
  if (!library) {
    llvm::errs() << dlerror() << "\n";
    return 2;
  }
  auto table = reinterpret_cast<const accum_kernels_v1 *(*)()>(dlsym(library, "accum_kernels"))();
  Tally tally = checkAll(*module, *table);
  llvm::outs() << tally.agree << " runs agree, " << tally.accumulating << " added, " << tally.inPlace
               << " in place; " << tally.random << " left out: random; worst " << tally.worst << "\n";
  return tally.failed != 0 || tally.agree == 0;
}
