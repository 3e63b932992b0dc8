// SPDX-License-Identifier: Apache-2.0
// Prints a device.program as C++ to be read in a review.
#pragma once

#include "compiler/Emit/CppNames.h"
#include "dialects/Device/DeviceDialect.h"
#include "llvm/Support/raw_ostream.h"

namespace accum::emit {

class CppPrinter {
public:
  CppPrinter(device::ProgramOp program, llvm::raw_ostream &out) : program(program), out(out) {}
  void print(llvm::StringRef title);

private:
  void printKernels();
  void printPhases();
  void printFunction(llvm::StringRef signature, mlir::Region &region);
  void printBlock(mlir::Block &block);
  void printOp(mlir::Operation *op);
  void printBuffer(device::BufferOp buffer);
  void printLoop(device::ForMicroOp loop);
  void printFirst(device::FirstMicroOp part);
  void printSlices(device::ForSlicesOp loop);
  void printLaunch(device::LaunchOp launch);
  void printGemm(device::GemmOp gemm);
  void printAttention(device::AttentionOp attention);
  /// Of a range that is cut into `parts`.
  std::string sumCall(llvm::StringRef entry, mlir::Value buffer, int64_t parts = 1);
  void printInspect(device::InspectGradientsOp inspect);
  void printCheck(const std::string &call);
  void printCommand(const std::string &head, llvm::ArrayRef<std::string> words, mlir::Operation *op,
                    uint64_t id);
  void printHeading(mlir::Location location);
  void printReturn(mlir::Operation *op, uint64_t id);
  void printTable();

  std::string flagName(device::Update update) const;
  llvm::raw_ostream &line() { return out.indent(depth * 2); }
  std::string name(mlir::Value buffer) { return names.lookup(buffer); }
  std::string kernelName(mlir::FlatSymbolRefAttr kernel) { return kernels.lookup(kernel); }

  device::ProgramOp program;
  llvm::raw_ostream &out;
  unsigned depth = 0;
  std::vector<std::string> rounds; ///< of the loops over slices around what is printed
  std::string firstName = "first"; ///< says whether what is printed runs for the first time in a step
  std::string heading;             ///< the last one printed
  std::vector<std::string> phases; ///< what each is called, by number
  std::optional<CppNames> scope;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseMap<mlir::Attribute, std::string> kernels;
};

} // namespace accum::emit
