// SPDX-License-Identifier: Apache-2.0
// Commands and sums, as they read in the C++ program.
#include "compiler/Emit/CppPrinter.h"
#include "compiler/Emit/Program.h"
#include "dialects/NN/Origin.h"
#include "passes/Schedule/StateLayout.h"
#include "llvm/Support/FormatVariadic.h"

using namespace accum::device;
using llvm::formatv;
using llvm::StringRef;

namespace accum::emit {
namespace {

constexpr size_t kLineWidth = 110;

std::string dtypeName(int32_t dtype) {
  return "ACCUM_" + StringRef(runtime::nameOf(static_cast<runtime::DType>(dtype))).upper();
}

/// Of a product's operands.
std::string operandsName(int32_t dtype) {
  bool wide = (dtype & ACCUM_GEMM_WIDE_B) != 0;
  return dtypeName(dtype & ~ACCUM_GEMM_WIDE_B) + (wide ? " | ACCUM_GEMM_WIDE_B" : "");
}

/// Digits that give the same double again.
std::string exactNumber(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

} // namespace

/// The name of a launch's last argument.
std::string CppPrinter::flagName(Update update) const {
  if (update != Update::accumulate)
    return update == Update::add ? "add" : "write";
  return rounds.empty() ? "accumulate" : firstName + " ? write : add";
}

/// `if (head words...)`, wrapped, and the return of the command's number.
void CppPrinter::printCommand(const std::string &head, llvm::ArrayRef<std::string> words, mlir::Operation *op,
                              uint64_t id) {
  std::string text = "if (" + head;
  size_t column = 2 * size_t{depth} + text.size();
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
    words.push_back(flagName(*launch.getUpdate()));
  printCommand("launch(", words, launch, launch.getId());
}

void CppPrinter::printGemm(GemmOp gemm) {
  accum_gemm words = describeGemm(gemm);
  auto matrix = [&](mlir::Value buffer, int64_t row, int64_t col) -> std::string {
    return formatv("{{{0}, {1}, {2}}", name(buffer), row, col);
  };
  std::vector<std::string> arguments = {"ctx",
                                        dtypeName(words.c_dtype),
                                        matrix(gemm.getC(), words.c_row, 1),
                                        operandsName(words.dtype),
                                        matrix(gemm.getA(), words.a_row, words.a_col),
                                        matrix(gemm.getB(), words.b_row, words.b_col),
                                        formatv("{0}, {1}, {2}", words.m, words.n, words.k),
                                        gemm.getUpdate() == Update::write ? "0.0f"
                                        : gemm.getUpdate() == Update::add ? "1.0f"
                                                                          : firstName + " ? 0.0f : 1.0f"};
  std::vector<std::string> batch;
  for (int32_t i = 0; i < words.batch_dims; ++i)
    batch.push_back(formatv("{{{0}, {1}, {2}, {3}}", words.batch[i], words.c_batch[i], words.a_batch[i],
                            words.b_batch[i]));
  if (!batch.empty() || gemm.getBias())
    arguments.push_back("{" + llvm::join(batch, ", ") + "}");
  if (gemm.getBias())
    arguments.push_back(name(gemm.getBias()));
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

std::string CppPrinter::sumCall(StringRef entry, mlir::Value buffer, int64_t parts) {
  BufferOp target = definition(buffer);
  return formatv("ctx->rt->{0}(ctx, {1}, {2}, {3})", entry, name(target), target.getNumElements() / parts,
                 dtypeName(*dtypeOf(target.getTensor().getElementType())));
}

void CppPrinter::printInspect(InspectGradientsOp inspect) {
  BufferOp gradients = definition(inspect.getGradients());
  printCheck(formatv("ctx->rt->inspect_gradients(ctx, {0}, {1}, {2}, /*is_part=*/{3}, /*last=*/{4})",
                     name(gradients), gradients.getNumElements(),
                     dtypeName(*dtypeOf(gradients.getTensor().getElementType())), int(inspect.getPart()),
                     int(inspect.getLast())));
}

} // namespace accum::emit
