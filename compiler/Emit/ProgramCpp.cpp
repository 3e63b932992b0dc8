// SPDX-License-Identifier: Apache-2.0
// device.program -> C++ to be read in a review.
#include "compiler/Emit/CppHelpers.h"
#include "compiler/Emit/CppPrinter.h"
#include "compiler/Emit/Program.h"
#include "dialects/NN/Origin.h"
#include "passes/Schedule/StateLayout.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace accum::device;
using llvm::formatv;
using llvm::StringRef;

namespace accum::emit {
namespace {

/// What the printed helpers and functions use themselves.
constexpr StringRef kReserved[] = {"ctx",        "k",         "k_steps", "hyper",   "row",     "rows",
                                   "first",      "failed",    "rng",     "last",    "write",   "add",
                                   "accumulate", "step",      "eval",    "predict", "launch",  "gemm",
                                   "main",       "attention", "Matrix",  "Batch",   "uint8_t", "int32_t",
                                   "uint32_t",   "uint64_t",  "std",     "Kernel",  "program"};
constexpr StringRef kDone = "done"; ///< where there are several lengths

template <typename Op> bool uses(mlir::Region &region, llvm::function_ref<bool(Op)> what) {
  return region
      .walk([&](Op op) { return what(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance(); })
      .wasInterrupted();
}

std::string typeText(BufferOp buffer) {
  std::string text;
  for (int64_t extent : buffer.getTensor().getShape())
    text += std::to_string(extent) + "x";
  llvm::raw_string_ostream stream(text);
  stream << buffer.getTensor().getElementType();
  if (buffer.getPitch() != 0)
    stream << ", rows " << buffer.getPitch() << " apart";
  return text;
}

/// `transformer.h.0.attn.c_attn` -> `transformer.h.0.attn`: a layer's parts, not theirs; without a numbered
/// layer the whole path.
std::string shortModule(StringRef path) {
  llvm::SmallVector<StringRef> parts;
  path.split(parts, '.');
  auto isNumber = [](StringRef part) { return !part.empty() && llvm::all_of(part, llvm::isDigit); };
  auto number = llvm::find_if(parts, isNumber);
  size_t kept = number - parts.begin() + 2;
  return llvm::join(llvm::ArrayRef(parts).take_front(std::min(parts.size(), kept)), ".");
}

bool accumulates(mlir::Operation *op) {
  if (auto launch = llvm::dyn_cast<LaunchOp>(op))
    return launch.getUpdate() == Update::accumulate;
  auto gemm = llvm::dyn_cast<GemmOp>(op);
  return gemm && gemm.getUpdate() == Update::accumulate;
}

} // namespace

void CppPrinter::print(StringRef title) {
  printCppHead(program, title, out);
  out << "\nnamespace {\n\n";
  printKernels();
  printPhases();
  printCppHelpers(program, out);
  printFunction("int step(accum_ctx *ctx, uint32_t k_steps, const accum_hyper *hyper)", program.getStep());
  printFunction("int eval(accum_ctx *ctx, uint32_t k_steps)", program.getEval());
  if (!program.getPredict().empty())
    printFunction("int predict(accum_ctx *ctx, uint32_t k_steps)", program.getPredict());
  printTable();
}

void CppPrinter::printKernels() {
  CppNames taken(kReserved);
  std::map<uint64_t, std::string> byIndex;
  program.walk([&](LaunchOp launch) {
    std::string &known = kernels[launch.getKernelAttr()];
    if (known.empty())
      known = taken.unique(launch.getKernel());
    byIndex[launch.getIndex()] = known;
  });
  out << "// Positions in the table of kernels.\nenum class Kernel : uint32_t {\n";
  for (auto &[index, kernel] : byIndex)
    out << "  " << kernel << " = " << index << ",\n";
  out << "};\n\n";
}

/// `16`, or `16x8` where two dimensions have several sizes.
static std::string lengthText(mlir::Attribute length) {
  auto sizes = llvm::cast<mlir::DictionaryAttr>(length).getAs<mlir::DenseI64ArrayAttr>("sizes");
  return llvm::join(llvm::map_range(sizes.asArrayRef(), [](int64_t size) { return std::to_string(size); }),
                    "x");
}

void CppPrinter::printPhases() {
  CppNames taken(kReserved);
  out << "// Rows of the manifest's `phases`: the loops over micro-batches.\nnamespace phase {\n";
  for (auto [number, attribute] : llvm::enumerate(program.getPhases())) {
    auto row = llvm::cast<mlir::DictionaryAttr>(attribute);
    llvm::StringRef prefix = row.contains("eval") ? "eval " : row.contains("predict") ? "predict " : "";
    std::string name = (prefix + row.getAs<mlir::StringAttr>("name").getValue()).str();
    if (auto length = row.getAs<mlir::IntegerAttr>("length"))
      name += " at " + lengthText((*program.getLengths())[length.getInt()]);
    phases.push_back(taken.unique(name));
    if (row.contains("loop"))
      out << "constexpr uint32_t " << phases.back() << " = " << number << ";\n";
  }
  out << "} // namespace phase\n\n";
}

void CppPrinter::printFunction(StringRef signature, mlir::Region &region) {
  scope.emplace(kReserved);
  if (program.getLengths())
    scope->unique(kDone);
  out << signature << " {\n";
  depth = 1;
  if (uses<BufferOp>(region, [](BufferOp buffer) { return buffer.getSpace() == Space::rng; }))
    line() << "const uint64_t *const rng = ctx->rng; // seed, step, samples before, rank, 0, 1, 2 ...\n";
  if (uses<LaunchOp>(region, [](LaunchOp launch) { return launch.getUpdate().has_value(); }))
    line() << "[[maybe_unused]] const uint8_t *const add = ctx->flags, *const write = ctx->flags + 1;\n";
  if (program.getLengths())
    line() << "[[maybe_unused]] uint32_t done = 0; // micro-steps of the loops of a phase, one for each "
              "length\n";
  printBlock(region.front());
  line() << "return 0;\n";
  out << "}\n\n";
}

void CppPrinter::printBlock(mlir::Block &block) {
  heading.clear();
  bool withCommand = true; // buffers stand before the command that needs them
  for (mlir::Operation &op : block) {
    mlir::Operation *command = &op;
    while (withCommand && command && mlir::isa<BufferOp>(command))
      command = command->getNextNode();
    if (withCommand && command)
      printHeading(command->getLoc());
    withCommand = !mlir::isa<BufferOp>(op);
    printOp(&op);
  }
}

/// `// backward of transformer.h.0.attn` where what follows is of another module than what stands before.
void CppPrinter::printHeading(mlir::Location location) {
  std::string module = shortModule(modulePath(location));
  if (module.empty())
    return;
  std::string title = (derivativeOf(location).empty() ? "" : "backward of ") + module;
  if (title == heading)
    return;
  heading = title;
  out << "\n";
  line() << "// " << cppComment(title) << "\n";
}

void CppPrinter::printOp(mlir::Operation *op) {
  llvm::TypeSwitch<mlir::Operation *>(op)
      .Case([&](BufferOp buffer) { printBuffer(buffer); })
      .Case([&](ForMicroOp loop) { printLoop(loop); })
      .Case([&](ForSlicesOp loop) { printSlices(loop); })
      .Case([&](FirstMicroOp part) { printFirst(part); })
      .Case([&](LaunchOp launch) { printLaunch(launch); })
      .Case([&](GemmOp gemm) { printGemm(gemm); })
      .Case([&](AttentionOp attention) { printAttention(attention); })
      .Case([&](AllReduceOp reduce) { printCheck(sumCall("all_reduce", reduce.getTarget())); })
      .Case([&](StartAllReduceOp start) {
        printCheck("last ? " + sumCall("start_all_reduce", start.getTarget()) + " : 0");
      })
      .Case([&](InspectGradientsOp inspect) { printInspect(inspect); })
      .Case([&](ReduceScatterOp reduce) {
        std::string sum = sumCall(reduce.getStart() ? "start_reduce_scatter" : "reduce_scatter",
                                  reduce.getTarget(), static_cast<int64_t>(program.getDevices()));
        printCheck(reduce.getIfLast() ? "last ? " + sum + " : 0" : sum);
      })
      .Case([&](AllGatherOp gather) {
        printCheck(formatv("ctx->rt->{0}all_gather(ctx, {1}, {2}, {3})", gather.getStart() ? "start_" : "",
                           name(gather.getTarget()), name(gather.getSource()),
                           definition(gather.getSource()).getBytes()));
      })
      .Case([&](FetchOp fetch) {
        printCheck(formatv("ctx->rt->{0}fetch(ctx, {1}, {2}, {3})", fetch.getStart() ? "start_" : "",
                           name(fetch.getTarget()), fetch.getOffset(),
                           definition(fetch.getTarget()).getBytes()));
      })
      .Case([&](StoreOp store) {
        printCheck(formatv("ctx->rt->{0}store(ctx, {1}, {2}, {3})", store.getStart() ? "start_" : "",
                           store.getOffset(), name(store.getSource()),
                           definition(store.getSource()).getBytes()));
      })
      .Case([&](OutputOp output) {
        printCheck(formatv("ctx->rt->output(ctx, {0}, {1}, {2})", output.getNumber(),
                           name(output.getSource()), definition(output.getSource()).getBytes()));
      })
      .Case([&](ZeroOp zero) {
        printCheck(formatv("{0}ctx->rt->zero(ctx, {1}, {2}){3}", zero.getIfFirst() ? "first ? " : "",
                           name(zero.getTarget()), definition(zero.getTarget()).getBytes(),
                           zero.getIfFirst() ? " : 0" : ""));
      })
      .Case([&](CopyOp copy) {
        printCheck(formatv("ctx->rt->copy(ctx, {0}, {1}, {2})", name(copy.getTarget()),
                           name(copy.getSource()), definition(copy.getSource()).getBytes()));
      })
      .Case([&](EndMicroOp end) {
        printCheck(formatv("ctx->rt->end_micro(ctx, phase::{0}, k_steps - 1)", phases[end.getPhase()]));
      })
      .Case([&](SectionOp section) {
        out << "\n";
        line() << "// " << cppComment(section.getTitle()) << "\n";
      });
}

void CppPrinter::printBuffer(BufferOp buffer) {
  if (buffer.getSpace() == Space::rng) {
    names[buffer] = buffer.getOffset() == 0 ? "rng" : "rng + " + std::to_string(buffer.getOffset());
    return;
  }
  std::string &name = names[buffer] = scope->unique(buffer.getLabel());
  bool isDouble = buffer.getSpace() == Space::hyper || buffer.getSpace() == Space::decay;
  line() << (isDouble ? "const double *const " : "uint8_t *const ") << name << " = ";
  switch (buffer.getSpace()) {
  case Space::state:
    out << "ctx->state + " << buffer.getOffset();
    if (buffer.getByRank() > 0)
      out << " + " << buffer.getByRank() << " * ctx->rank";
    break;
  case Space::scratch:
    out << "ctx->scratch + " << buffer.getOffset();
    break;
  case Space::input:
    out << "ctx->inputs[" << buffer.getOffset() << "]";
    break;
  case Space::hyper:
    out << "hyper->values";
    break;
  case Space::decay:
    out << "hyper->decay + " << 2 * buffer.getOffset();
    break;
  case Space::rng:
    llvm_unreachable("named above");
  }
  if (buffer.getSkip() > 0)
    out << " + " << buffer.getSkip();
  for (auto [step, round] : llvm::zip(buffer.getStep(), rounds))
    if (step > 0)
      out << " + " << round << " * " << step;
  out << "; // " << cppComment(buffer.getLabel()) << ": " << typeText(buffer) << "\n";
}

void CppPrinter::printCheck(const std::string &call) {
  line() << "if (int failed = " << call << ")\n";
  line() << "  return failed;\n";
}

void CppPrinter::printLoop(ForMicroOp loop) {
  std::optional<int64_t> length = loop.length();
  StringRef position = length ? "done" : "k";
  if (length == 0)
    line() << "done = 0;\n";
  if (length)
    line() << formatv("for (uint32_t k = 0; k < ctx->micro_steps[{0}]; ++k, ++done) {{\n", *length);
  else
    line() << formatv("for (uint32_t k = {0}; k < k_steps; ++k) {{\n", loop.getRest() ? 1 : 0);
  ++depth;
  line() << "uint64_t row;\n";
  line() << "uint32_t rows;\n";
  printCheck(formatv("ctx->rt->begin_micro(ctx, phase::{0}, k, &row, &rows)", phases[loop.getPhase()]));
  line() << "[[maybe_unused]] const bool first = " << position << " == 0;\n";
  if (uses<StartAllReduceOp>(loop.getBody(), [](StartAllReduceOp) { return true; }) ||
      uses<ReduceScatterOp>(loop.getBody(), [](ReduceScatterOp reduce) { return reduce.getIfLast(); }))
    line() << "const bool last = " << position << " + 1 == k_steps;\n";
  if (uses<LaunchOp>(loop.getBody(),
                     [&](LaunchOp launch) { return launch->getParentOp() == loop && accumulates(launch); }))
    line() << "const uint8_t *const accumulate = first ? write : add; // results of all micro-steps add up\n";
  CppNames outer = *scope;
  printBlock(loop.getBody().front());
  scope = outer;
  std::string end = formatv("ctx->rt->end_micro(ctx, phase::{0}, k)", phases[loop.getPhase()]);
  if (loop.addsGradients()) {
    line() << "if (" << position << " + 1 == k_steps)\n";
    line() << "  break; // the last one ends after the update\n";
  }
  printCheck(end);
  --depth;
  line() << "}\n";
}

void CppPrinter::printFirst(FirstMicroOp part) {
  CppNames outer = *scope;
  std::string before = heading;
  line() << "if (first) {\n";
  ++depth;
  printBlock(part.getBody().front());
  --depth;
  line() << "}\n";
  heading = before;
  scope = outer;
}

/// What adds up over slices is written in the first of them, in the first micro-step.
void CppPrinter::printSlices(ForSlicesOp loop) {
  CppNames outer = *scope;
  std::string round = scope->unique(loop.getName());
  out << "\n";
  line() << formatv("for (uint64_t {0} = 0; {0} < {1}; ++{0}) {{ // {2}\n", round, loop.getCount(),
                    cppComment(loop.getTitle()));
  ++depth;
  rounds.push_back(round);
  std::string outerFirst = firstName;
  if (uses<mlir::Operation *>(loop.getBody(), accumulates)) {
    firstName = scope->unique("first_" + round);
    line() << formatv("const bool {0} = {1} && {2} == 0;\n", firstName, outerFirst, round);
  }
  printBlock(loop.getBody().front());
  firstName = outerFirst;
  rounds.pop_back();
  --depth;
  line() << "}\n";
  scope = outer;
}

void CppPrinter::printTable() {
  out << "constexpr accum_program_v1 program = {\n"
      << "    .abi = ACCUM_ABI_VERSION,\n"
      << "    .size = sizeof(accum_program_v1),\n"
      << formatv("    .state_bytes = {0},\n    .scratch_bytes = {1},\n    .m = {2},\n    .devices = {3},\n",
                 program.getStateBytes(), program.getScratchBytes(), program.getM(), program.getDevices())
      << "    .step = step,\n    .eval = eval,\n    .predict = "
      << (program.getPredict().empty() ? "nullptr" : "predict") << ",\n};\n\n} // namespace\n\n"
      << "extern \"C\" const accum_program_v1 *accum_program(void) { return &program; }\n";
}

void printProgram(ProgramOp program, StringRef title, llvm::raw_ostream &stream) {
  CppPrinter(program, stream).print(title);
}

} // namespace accum::emit
