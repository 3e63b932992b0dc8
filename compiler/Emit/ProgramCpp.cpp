// SPDX-License-Identifier: Apache-2.0
// device.program -> C++ to be read in a review.
#include "compiler/Emit/CppHelpers.h"
#include "compiler/Emit/CppNames.h"
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

constexpr size_t kLineWidth = 110;

/// What the printed helpers and functions use themselves.
constexpr StringRef kReserved[] = {"ctx",        "k",      "k_steps", "hyper",   "row",     "rows",
                                   "first",      "failed", "rng",     "last",    "write",   "add",
                                   "accumulate", "step",   "eval",    "launch",  "gemm",    "main",
                                   "attention",  "Matrix", "Batch",   "uint8_t", "int32_t", "uint32_t",
                                   "uint64_t",   "std",    "Kernel",  "program"};

class CppPrinter {
public:
  CppPrinter(ProgramOp program, llvm::raw_ostream &out) : program(program), out(out) {}
  void print(StringRef title);

private:
  void printKernels();
  void printFunction(StringRef signature, mlir::Region &region);
  void printBlock(mlir::Block &block);
  void printOp(mlir::Operation *op);
  void printBuffer(BufferOp buffer);
  void printLoop(ForMicroOp loop);
  void printLaunch(LaunchOp launch);
  void printGemm(GemmOp gemm);
  void printAttention(AttentionOp attention);
  std::string sumCall(StringRef entry, mlir::Value buffer);
  void printCheck(const std::string &call);
  void printCommand(std::string head, llvm::ArrayRef<std::string> words, mlir::Operation *op, uint64_t id);
  void printHeading(mlir::Location location);
  void printReturn(mlir::Operation *op, uint64_t id);
  void printTable();

  llvm::raw_ostream &line() { return out.indent(depth * 2); }
  std::string name(mlir::Value buffer) { return names.lookup(buffer); }
  std::string kernelName(mlir::FlatSymbolRefAttr kernel) { return kernels.lookup(kernel); }

  ProgramOp program;
  llvm::raw_ostream &out;
  unsigned depth = 0;
  std::string heading; ///< the last one printed
  std::optional<CppNames> scope;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseMap<mlir::Attribute, std::string> kernels;
};

template <typename Op> bool uses(mlir::Region &region, llvm::function_ref<bool(Op)> what) {
  return region
      .walk([&](Op op) { return what(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance(); })
      .wasInterrupted();
}

std::string typeText(BufferOp buffer) {
  std::string text;
  for (int64_t extent : buffer.getTensor().getShape())
    text += std::to_string(extent) + "x";
  llvm::raw_string_ostream(text) << buffer.getTensor().getElementType();
  return text;
}

std::string dtypeName(int32_t dtype) {
  return "ACCUM_" + StringRef(runtime::nameOf(static_cast<runtime::DType>(dtype))).upper();
}

/// Digits that give the same double again.
std::string exactNumber(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

StringRef phaseName(Phase phase) {
  return phase == Phase::prepass ? "ACCUM_PREPASS" : phase == Phase::micro ? "ACCUM_MICRO" : "ACCUM_EVAL";
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

StringRef flagName(Update update) {
  return update == Update::accumulate ? "accumulate" : update == Update::add ? "add" : "write";
}

} // namespace

void CppPrinter::print(StringRef title) {
  printCppHead(program, title, out);
  out << "\nnamespace {\n\n";
  printKernels();
  printCppHelpers(program, out);
  printFunction("int step(accum_ctx *ctx, uint32_t k_steps, const accum_hyper *hyper)", program.getStep());
  printFunction("int eval(accum_ctx *ctx, uint32_t k_steps)", program.getEval());
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

void CppPrinter::printFunction(StringRef signature, mlir::Region &region) {
  scope.emplace(kReserved);
  out << signature << " {\n";
  depth = 1;
  if (uses<BufferOp>(region, [](BufferOp buffer) { return buffer.getSpace() == Space::rng; }))
    line() << "const uint64_t *const rng = ctx->rng; // seed, step\n";
  if (uses<LaunchOp>(region, [](LaunchOp launch) { return launch.getUpdate().has_value(); }))
    line() << "[[maybe_unused]] const uint8_t *const add = ctx->flags, *const write = ctx->flags + 1;\n";
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
      .Case([&](LaunchOp launch) { printLaunch(launch); })
      .Case([&](GemmOp gemm) { printGemm(gemm); })
      .Case([&](AttentionOp attention) { printAttention(attention); })
      .Case([&](AllReduceOp reduce) { printCheck(sumCall("all_reduce", reduce.getTarget())); })
      .Case([&](StartAllReduceOp start) {
        printCheck("last ? " + sumCall("start_all_reduce", start.getTarget()) + " : 0");
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
      .Case([&](EndMicroOp) { printCheck("ctx->rt->end_micro(ctx, ACCUM_MICRO, k_steps - 1)"); })
      .Case([&](SectionOp section) {
        out << "\n";
        line() << "// " << cppComment(section.getTitle()) << "\n";
      });
}

void CppPrinter::printBuffer(BufferOp buffer) {
  if (buffer.getSpace() == Space::rng) {
    names[buffer] = "rng";
    return;
  }
  std::string &name = names[buffer] = scope->unique(buffer.getLabel());
  bool isDouble = buffer.getSpace() == Space::hyper || buffer.getSpace() == Space::decay;
  line() << (isDouble ? "const double *const " : "uint8_t *const ") << name << " = ";
  switch (buffer.getSpace()) {
  case Space::state:
    out << "ctx->state + " << buffer.getOffset();
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
    out << "hyper->decay + " << buffer.getOffset();
    break;
  case Space::rng:
    llvm_unreachable("named above");
  }
  if (buffer.getSkip() > 0)
    out << " + " << buffer.getSkip();
  out << "; // " << cppComment(buffer.getLabel()) << ": " << typeText(buffer) << "\n";
}

void CppPrinter::printCheck(const std::string &call) {
  line() << "if (int failed = " << call << ")\n";
  line() << "  return failed;\n";
}

void CppPrinter::printLoop(ForMicroOp loop) {
  line() << "for (uint32_t k = 0; k < k_steps; ++k) {\n";
  ++depth;
  line() << "uint64_t row;\n";
  line() << "uint32_t rows;\n";
  printCheck(formatv("ctx->rt->begin_micro(ctx, {0}, k, &row, &rows)", phaseName(loop.getPhase())));
  line() << "[[maybe_unused]] const bool first = k == 0;\n";
  if (uses<StartAllReduceOp>(loop.getBody(), [](StartAllReduceOp) { return true; }))
    line() << "const bool last = k + 1 == k_steps;\n";
  if (uses<LaunchOp>(loop.getBody(),
                     [](LaunchOp launch) { return launch.getUpdate() == Update::accumulate; }))
    line() << "const uint8_t *const accumulate = first ? write : add; // results of all micro-steps add up\n";
  CppNames outer = *scope;
  printBlock(loop.getBody().front());
  scope = outer;
  std::string end = formatv("ctx->rt->end_micro(ctx, {0}, k)", phaseName(loop.getPhase()));
  if (loop.getPhase() == Phase::micro) {
    line() << "if (k + 1 == k_steps)\n";
    line() << "  break; // the last one ends behind the update\n";
  }
  printCheck(end);
  --depth;
  line() << "}\n";
}

/// `if (head words...)`, wrapped, and the return of the command's number.
void CppPrinter::printCommand(std::string head, llvm::ArrayRef<std::string> words, mlir::Operation *op,
                              uint64_t id) {
  std::string text = "if (" + head;
  size_t column = depth * 2 + text.size();
  size_t hang = column;
  for (auto [i, word] : llvm::enumerate(words)) {
    std::string piece = word + (i + 1 < words.size() ? "," : "))");
    if (i > 0 && column + piece.size() + 1 > kLineWidth) {
      text += "\n" + std::string(hang, ' ');
      column = hang;
    } else if (i > 0) {
      text += " ";
      ++column;
    }
    text += piece;
    column += piece.size();
  }
  line() << text << "\n";
  printReturn(op, id);
}

/// Behind a failed command.
void CppPrinter::printReturn(mlir::Operation *op, uint64_t id) {
  line() << "  return " << id + 1 << ";";
  if (std::vector<std::string> nodes = nodeNames(op->getLoc()); !nodes.empty())
    out << " // " << cppComment(llvm::join(nodes, ", "));
  out << "\n";
}

void CppPrinter::printLaunch(LaunchOp launch) {
  std::vector<std::string> words = {"ctx", "Kernel::" + kernelName(launch.getKernelAttr())};
  for (mlir::Value argument : launch.getArgs())
    words.push_back(name(argument));
  if (launch.getUpdate())
    words.push_back(flagName(*launch.getUpdate()).str());
  printCommand("launch(", words, launch, launch.getId());
}

void CppPrinter::printGemm(GemmOp gemm) {
  accum_gemm words = describeGemm(gemm);
  auto matrix = [&](mlir::Value buffer, int64_t row, int64_t col) -> std::string {
    return formatv("{{{0}, {1}, {2}}", name(buffer), row, col);
  };
  std::vector<std::string> arguments = {"ctx",
                                        dtypeName(words.dtype),
                                        matrix(gemm.getC(), words.c_row, 1),
                                        matrix(gemm.getA(), words.a_row, words.a_col),
                                        matrix(gemm.getB(), words.b_row, words.b_col),
                                        formatv("{0}, {1}, {2}", words.m, words.n, words.k),
                                        gemm.getUpdate() == Update::write ? "0.0f"
                                        : gemm.getUpdate() == Update::add ? "1.0f"
                                                                          : "first ? 0.0f : 1.0f"};
  std::vector<std::string> batch;
  for (int32_t i = 0; i < words.batch_dims; ++i)
    batch.push_back(formatv("{{{0}, {1}, {2}, {3}}", words.batch[i], words.c_batch[i], words.a_batch[i],
                            words.b_batch[i]));
  if (!batch.empty())
    arguments.push_back("{" + llvm::join(batch, ", ") + "}");
  printCommand("gemm(", arguments, gemm, gemm.getId());
}

/// Operands are {first element, batch, head, row, column}.
void CppPrinter::printAttention(AttentionOp attention) {
  accum_attention words = describeAttention(attention);
  static constexpr StringRef kHidden[] = {"ACCUM_HIDDEN_EXCLUDED", "ACCUM_HIDDEN_INFINITE",
                                          "ACCUM_HIDDEN_LOWERED", "ACCUM_HIDDEN_REPLACED"};
  std::string fields =
      formatv(".backward = {0}, .dtype = {1}, .mask_dtype = {2}, .causal = {3}, .hidden = {4}, .reserved = 0",
              words.backward, dtypeName(words.dtype), dtypeName(words.mask_dtype), words.causal,
              kHidden[words.hidden]);
  std::vector<std::string> entries = {
      fields,
      formatv(".batch = {0}, .heads = {1}, .groups = {2}, .queries = {3}, .keys = {4}", words.batch,
              words.heads, words.groups, words.queries, words.keys),
      formatv(".features = {0}, .value_features = {1}, .scale = {2}", words.features, words.value_features,
              exactNumber(words.scale))};
  auto names = attention.names();
  for (StringRef operand : {"q", "k", "v", "mask", "y", "lse", "dy", "dq", "dk", "dv"}) {
    auto i = static_cast<unsigned>(llvm::find(names, operand) - names.begin());
    if (i == names.size()) {
      std::string absent = formatv(".{0} = {{}", operand);
      if (llvm::StringRef(entries.back()).ends_with("= {}"))
        entries.back() += ", " + absent;
      else
        entries.push_back(absent);
      continue;
    }
    std::string data = name(attention.getArgs()[i]);
    if (int64_t offset = byteOffsetOf(attention, i))
      data += " + " + std::to_string(offset);
    llvm::ArrayRef<int64_t> strides = attention.stridesOf(i);
    entries.push_back(formatv(".{0} = {{{1}, {2}, {3}, {4}, {5}}", operand, data, strides[0], strides[1],
                              strides[2], strides[3]));
  }
  line() << "if (attention(ctx, {" << entries.front();
  for (const std::string &entry : llvm::ArrayRef(entries).drop_front()) {
    out << ",\n";
    line() << "                    " << entry;
  }
  out << "}))\n";
  printReturn(attention, attention.getId());
}

std::string CppPrinter::sumCall(StringRef entry, mlir::Value buffer) {
  BufferOp target = definition(buffer);
  return formatv("ctx->rt->{0}(ctx, {1}, {2}, {3})", entry, name(target), target.getNumElements(),
                 dtypeName(*dtypeOf(target.getTensor().getElementType())));
}

void CppPrinter::printTable() {
  out << "constexpr accum_program_v1 program = {\n"
      << "    .abi = ACCUM_ABI_VERSION,\n"
      << "    .size = sizeof(accum_program_v1),\n"
      << formatv("    .state_bytes = {0},\n    .scratch_bytes = {1},\n    .m = {2},\n    .devices = {3},\n",
                 program.getStateBytes(), program.getScratchBytes(), program.getM(), program.getDevices())
      << "    .step = step,\n    .eval = eval,\n};\n\n} // namespace\n\n"
      << "extern \"C\" const accum_program_v1 *accum_program(void) { return &program; }\n";
}

void printProgram(ProgramOp program, StringRef title, llvm::raw_ostream &stream) {
  CppPrinter(program, stream).print(title);
}

} // namespace accum::emit
